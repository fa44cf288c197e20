"""Turns notebooks/NN_name.py, the source, into notebooks/NN_name.ipynb, executed in full length by this interpreter.

    python .ci/notebooks.py 01_planning_with_a_model    # build one; without a name: all
    python .ci/notebooks.py --check                     # which .ipynb do not agree with their source?
    python .ci/notebooks.py --fast 01                   # the test suite's short version, into a temporary folder
    python .ci/notebooks.py --badges                    # "run in the browser", in all that are stored; executes nothing

Where setup.cfg says the address of a public repository (`url` in its section [metadata], and nowhere else), a stored
notebook has more than its source: a badge that opens it on Colab, and a first cell that installs mzu there.

The figures as files: `jupyter nbconvert --to markdown --output-dir FOLDER notebooks/NN_name.ipynb`.
"""

import argparse
import configparser
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
HOST, COLAB, BRANCH = "https://github.com/", "https://colab.research.google.com/github", "main"
EXTRAS = "atari,bench,control,data,video"  # what the notebooks use beyond the core
BADGE = "pictures/run_in_the_browser.svg"
INSTALL = "install"  # the id of the first cell
CODE = """\
# Opened in the browser, as on Colab: run this cell first. Where mzu is installed, it does nothing.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("mzu") is None:
    source = "mzu[{extras}] @ git+{url}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", source], check=True)"""
FULL_SECONDS = 1800  # a notebook is meant for ten minutes; a busy machine may take longer


def disagreements(source: Path) -> list[str]:
    """What makes the .ipynb differ from its source; empty: it is up to date."""
    wanted = with_badge(read_source(source), source, repository_url())
    return notebooks.disagreements(wanted, source.with_suffix(".ipynb"))


def repository_url() -> str:
    """The address of the public repository; empty where setup.cfg says none."""
    setup = configparser.ConfigParser()
    setup.read(REPOSITORY / "setup.cfg")
    url = setup["metadata"].get("url", "").rstrip("/")
    if url and not url.startswith(HOST):
        raise SystemExit(f"setup.cfg has url = {url}, but Colab opens notebooks from {HOST}OWNER/NAME only")
    return url


def with_badge(notebook: nbformat.NotebookNode, source: Path, url: str) -> nbformat.NotebookNode:
    """The notebook with badge and first cell for this address, whichever it had; without an address it has neither."""
    notebook.cells = [cell for cell in notebook.cells if cell.id != INSTALL]
    opening = notebook.cells[0]
    lines = [line for line in opening.source.split("\n") if BADGE not in line]
    if url:
        address = f"{COLAB}/{url.removeprefix(HOST)}/blob/{BRANCH}/notebooks/{source.stem}.ipynb"
        lines.insert(3, f"[![Run in the browser]({BADGE})]({address})")  # behind the links to the neighbours
        first = next(place for place, cell in enumerate(notebook.cells) if cell.cell_type == "code")
        code = CODE.format(extras=EXTRAS, url=url)
        # nbclient and jupyter-book know this tag: the cell is not run when the notebook is built.
        metadata = {"tags": ["skip-execution"]}
        notebook.cells.insert(first, nbformat.v4.new_code_cell(code, id=INSTALL, metadata=metadata))
    opening.source = "\n".join(lines)
    return notebook


def set_badge(source: Path, url: str) -> None:
    """Gives the stored notebook of `source` the badge of this address; all else stays as it was executed."""
    path = source.with_suffix(".ipynb")
    notebook = with_badge(nbformat.read(path, as_version=4), source, url)
    with written_whole(path) as temporary:
        nbformat.write(notebook, temporary)


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
    notebook = with_badge(read_source(source), source, repository_url())
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
    parser.add_argument("--badges", action="store_true", help="only set badge and first cell of the stored .ipynb")
    arguments = parser.parse_args()
    sources = chosen_sources(arguments.names)
    if arguments.badges:
        for source in sources:
            set_badge(source, repository_url())
        print("with badges" if repository_url() else "without badges: setup.cfg says no url in [metadata]")
        return 0
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
