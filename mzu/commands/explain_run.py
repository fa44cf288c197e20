"""The part of `mzu explain` that judges a whole run: `mzu explain RUN`; exit status 1 where something is wrong."""

import sys

from mzu.files import written_whole


def run(arguments) -> int:
    """Prints or writes the verdict."""
    for name in ("simulations", "compare"):
        if getattr(arguments, name) is not None:
            raise ValueError(f"--{name} is about one position; give --episode N and --step N, or leave it out")
    import mzu.explain

    print(f"Looking at {arguments.source} ...", file=sys.stderr, flush=True)
    verdict = mzu.explain.verdict(arguments.source, arguments.checkpoint)
    if arguments.json is not None:
        verdict.save(arguments.json)
        print(f"{arguments.json}: all findings")
    if arguments.html is not None:
        with written_whole(arguments.html) as temporary:
            temporary.write_text(verdict.page(), encoding="utf-8")
        print(f"{arguments.html}: the page")
    if arguments.json is None and arguments.html is None:
        print(verdict, end="")
    return 1 if verdict.is_wrong else 0
