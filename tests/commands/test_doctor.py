"""`mzu doctor` prints what the checks of the installation found."""

import argparse
import importlib.metadata
import os
import subprocess
import sys

import pytest

from mzu.commands import doctor
from mzu.installation import Check, Requirement

ARGUMENTS = argparse.Namespace(timeout=60)
WORKS = Check("works", "1 + 1", ("pytest",))
FAILS = Check("fails", "raise RuntimeError('the cable is not plugged in')", ("pytest",))
PYTEST = Requirement("pytest", "pytest>=8,<10")
ABSENT = Requirement("no-such-package", "no-such-package>=2")


def test_when_everything_works_the_status_is_0(capsys):
    assert doctor.run(ARGUMENTS, [WORKS], [PYTEST]) == 0
    output = capsys.readouterr().out
    assert "All is well." in output
    assert "MISSING" not in output


def test_a_failing_check_is_reported_with_advice_and_status_1(capsys):
    assert doctor.run(ARGUMENTS, [FAILS, WORKS], [PYTEST]) == 1
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    position = lines.index(["fails", "MISSING", "RuntimeError: the cable is not plugged in"])
    assert " ".join(lines[position + 1]) == 'to do: pip install --force-reinstall --no-deps "pytest>=8,<10"'
    assert lines[position + 2][:2] == ["works", "ok"]


def test_a_missing_package_is_reported_with_its_pip_command_and_status_1(capsys):
    assert doctor.run(ARGUMENTS, [WORKS], [ABSENT]) == 1
    assert 'to do: pip install "no-such-package>=2"' in capsys.readouterr().out


def test_a_missing_optional_package_is_listed_and_does_not_fail(capsys):
    optional = ABSENT._replace(extra="data")
    assert doctor.run(ARGUMENTS, [WORKS], [optional, PYTEST._replace(extra="dev")]) == 0
    output = capsys.readouterr().out
    assert "no-such-package [data]" in output and "absent   pip install 'mzu[data]'" in output
    assert ["pytest", "[dev]", "present", importlib.metadata.version("pytest")] in [
        line.split() for line in output.splitlines()
    ]


@pytest.mark.slow
def test_the_whole_doctor_finds_nothing_missing_here():
    process = subprocess.run([sys.executable, "-m", "mzu", "doctor"], env=os.environ, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout
    assert process.stdout.endswith("All is well.\n")
