"""Turns notebooks/NN_name.py, the source, into notebooks/NN_name.ipynb, executed in full length by this interpreter.

    python .ci/notebooks.py 01_planning_with_a_model    # build one; without a name: all
    python .ci/notebooks.py --check                     # which .ipynb do not agree with their source?
    python .ci/notebooks.py --fast 01                   # the test suite's short version, into a temporary folder

The figures as files: `jupyter nbconvert --to markdown --output-dir FOLDER notebooks/NN_name.ipynb`.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import jupytext
import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from mzu.files import written_whole

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = sorted((REPOSITORY / "notebooks").glob("[0-9]*.py"))
FULL_SECONDS = 1800  # a notebook is meant for ten minutes; a busy machine may take longer


class ThisInterpreter(AsyncKernelManager):
    """Starts the kernel with the interpreter that runs this file, whichever kernels the machine has registered."""

    @property
    def kernel_spec(self) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")


def read_source(path: Path) -> nbformat.NotebookNode:
    """The notebook that a source describes, without outputs; the same source always gives the same file."""
    notebook = jupytext.read(path)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # otherwise random
    return with_stable_metadata(notebook)


def with_stable_metadata(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Keeps of all metadata the kernel's name and the cells' tags: no versions, times or states of widgets."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"file_extension": ".py", "name": "python"},
        }
    )
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
    return notebook


def execute(notebook: nbformat.NotebookNode, fast: bool, seconds: float) -> None:
    """Runs all cells in a fresh kernel and an empty working folder; `seconds` is for the whole notebook."""
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            kernel_manager_class=ThisInterpreter,
            resources={"metadata": {"path": folder}},
            timeout_func=lambda cell: max(1, round(deadline - time.monotonic())),
            coalesce_streams=True,  # where the kernel cuts a stream into pieces is a matter of chance
            record_timing=False,
        )
        client.execute(env=_environment(fast))
    with_stable_metadata(notebook)


def _environment(fast: bool) -> dict[str, str]:
    """What the kernel sees: this repository's mzu, and no settings of the caller's own."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MZU_FAST", "MPLBACKEND")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), environment.get("PYTHONPATH")]))
    environment["PYTHONHASHSEED"] = "0"  # the order of sets of strings
    environment.setdefault("MUJOCO_GL", "disable")
    if fast:
        environment["MZU_FAST"] = "1"
    return environment


def disagreements(source: Path) -> list[str]:
    """What makes the .ipynb differ from its source, cell by cell; empty: it is up to date."""
    path = source.with_suffix(".ipynb")
    if not path.exists():
        return [f"{path.name} does not exist"]
    wanted, stored = read_source(source).cells, nbformat.read(path, as_version=4).cells
    found = []
    if len(wanted) != len(stored):
        found.append(f"{source.name} has {len(wanted)} cells, {path.name} {len(stored)}")
    for number, (ours, theirs) in enumerate(zip(wanted, stored, strict=False)):
        for name in ("cell_type", "source", "metadata"):
            if ours[name] != theirs[name]:
                found.append(f"cell {number} differs in its {name}")
    return found


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
        execute(notebook, fast, FULL_SECONDS)
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
