"""Notebooks from their sources (jupytext percent `.py`), executed by this interpreter; same source, same file."""

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

MZU = Path(__file__).resolve().parents[2]  # the folder that holds the package, for the kernel to import the same one
KEPT_METADATA = ("jupyter", "nbgrader", "tags")  # of a cell; "jupyter" folds its code


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
    """Keeps of all metadata the kernel's name and the cells' tags, folds and nbgrader's: no versions, times, states."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"file_extension": ".py", "name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {name: cell.metadata[name] for name in KEPT_METADATA if cell.metadata.get(name)}
        )
    return notebook


def execute(notebook: nbformat.NotebookNode, seconds: float, fast: bool = False) -> None:
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


def disagreements(wanted: nbformat.NotebookNode, path: Path) -> list[str]:
    """What makes a stored notebook differ from the wanted one, cell by cell, outputs aside; empty: it is up to date."""
    if not path.exists():
        return [f"{path.name} does not exist"]
    wanted, stored = wanted.cells, nbformat.read(path, as_version=4).cells
    found = []
    if len(wanted) != len(stored):
        found.append(f"the source has {len(wanted)} cells, {path.name} {len(stored)}")
    for number, (ours, theirs) in enumerate(zip(wanted, stored, strict=False)):
        for name in ("cell_type", "source", "metadata"):
            if ours[name] != theirs[name]:
                found.append(f"cell {number} differs in its {name}")
    return found


def _environment(fast: bool) -> dict[str, str]:
    """What the kernel sees: this mzu, and no settings of the caller's own."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MZU_FAST", "MPLBACKEND")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(MZU), environment.get("PYTHONPATH")]))
    environment["PYTHONHASHSEED"] = "0"  # the order of sets of strings
    environment["TF_CPP_MIN_LOG_LEVEL"] = "3"  # otherwise a cell that uses TensorFlow says that there is no GPU
    environment.setdefault("MUJOCO_GL", "disable")
    if fast:
        environment["MZU_FAST"] = "1"
    return environment
