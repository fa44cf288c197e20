"""Turns notebooks/NN_name.py, the source, into notebooks/NN_name.ipynb, executed in full length by this interpreter.

    python .ci/notebooks.py 01_planning_with_a_model    # build one; without a name: all
    python .ci/notebooks.py --check                     # which .ipynb do not agree with their source?
    python .ci/notebooks.py --fast 01                   # the test suite's short version, into a temporary folder

The figures as files: `jupyter nbconvert --to markdown --output-dir FOLDER notebooks/NN_name.ipynb`.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError

from mzu.classroom import notebooks
from mzu.classroom.notebooks import execute, read_source
from mzu.files import written_whole

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = sorted((REPOSITORY / "notebooks").glob("[0-9]*.py"))
FULL_SECONDS = 1800  # a notebook is meant for ten minutes; a busy machine may take longer


def disagreements(source: Path) -> list[str]:
    """What makes the .ipynb differ from its source; empty: it is up to date."""
    return notebooks.disagreements(read_source(source), source.with_suffix(".ipynb"))


def chosen_sources(names: list[str]) -> list[Path]:
    """The sources whose names begin with one of `names` (a path or a suffix may be part of it); all without names."""
    chosen = []
    for name in map(lambda name: Path(name).name.split(".")[0], names):
        found = [path for path in SOURCES if path.stem.startswith(name)]
        if not found:
            known = ", ".join(path.stem for path in SOURCES)
            raise SystemExit(f"No notebook's name begins with '{name}'; there are: {known}")
        chosen += found
    return chosen if names else SOURCES


def build(source: Path, path: Path, fast: bool) -> bool:
    """Executes `source` and writes the result to `path`; where a cell fails, shows how and writes nothing."""
    notebook = read_source(source)
    start = time.monotonic()
    try:
        execute(notebook, FULL_SECONDS, fast)
    except (CellExecutionError, TimeoutError) as error:
        print(f"{source.name} failed:\n{error}", file=sys.stderr)
        return False
    with written_whole(path) as temporary:
        nbformat.write(notebook, temporary)
    print(f"{path}: {time.monotonic() - start:.0f} s")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="NN_name or its beginning; default all")
    parser.add_argument("--fast", action="store_true", help="the short version, into a temporary folder")
    parser.add_argument("--check", action="store_true", help="only say which .ipynb are not up to date")
    arguments = parser.parse_args()
    sources = chosen_sources(arguments.names)
    if arguments.check:
        differing = {source.name: disagreements(source) for source in sources}
        for name, found in differing.items():
            print(f"{name}: {'; '.join(found) or 'up to date'}")
        return int(any(differing.values()))
    folder = Path(tempfile.mkdtemp(prefix="notebooks-")) if arguments.fast else REPOSITORY / "notebooks"
    done = [build(source, folder / f"{source.stem}.ipynb", arguments.fast) for source in sources]
    return int(not all(done))


if __name__ == "__main__":
    sys.exit(main())
