"""`mzu doctor`: versions, and whether all that mzu needs works on this machine (`mzu/installation.py`)."""

import argparse
import textwrap
from collections.abc import Sequence

from mzu.extras import install_command
from mzu.installation import (
    CHECKS,
    Check,
    Requirement,
    check_outcomes,
    installed_requirements,
    installed_version,
    package_outcome,
    system_outcomes,
)

MOST_SECONDS = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="how long one check may take")


def run(
    arguments: argparse.Namespace,
    checks: Sequence[Check] = CHECKS,
    requirements: Sequence[Requirement] | None = None,
) -> int:
    """Print the report line by line as it becomes known; 0 when all is well, 1 when something is missing."""
    if not 0 < arguments.timeout <= MOST_SECONDS:
        raise ValueError(f"--timeout is {arguments.timeout:g}, but must be greater than 0 and at most {MOST_SECONDS:,}")
    requirements = installed_requirements() if requirements is None else requirements
    due = [check for check in checks if check.is_due]
    outcomes = []
    for title, section in [
        ("System", system_outcomes()),
        ("Packages", map(package_outcome, (needed for needed in requirements if not needed.extra))),
        ("Checks", check_outcomes(due, requirements, arguments.timeout)),
    ]:
        print(title)
        for outcome in section:
            detail = textwrap.shorten(outcome.detail, 110, placeholder=" ...")
            print_line(outcome.name, "MISSING" if outcome.advice else "ok", detail)
            if outcome.advice:
                print_line("", "", f"to do: {outcome.advice}")
            outcomes.append(outcome)
        print()

    print("Optional")
    for optional in requirements:
        if optional.extra:
            version = installed_version(optional.name)
            detail = version or install_command(optional.extra)
            print_line(f"{optional.name} [{optional.extra}]", "present" if version else "absent", detail)
    print()

    missing = sum(bool(outcome.advice) for outcome in outcomes)
    print(f"{missing} of {len(outcomes)} MISSING: see what to do above." if missing else "All is well.")
    return 1 if missing else 0


def print_line(name: str, status: str, detail: str) -> None:
    print(f"  {name:<37}{status:<9}{detail}".rstrip(), flush=True)
