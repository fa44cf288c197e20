"""`--trust`: the commands that open a run's folder may import the module that its environment asks for."""

from pathlib import Path

from mzu.environments.make import import_trusted
from mzu.training.run_folder import RunFolder


def add_trust(parser) -> None:
    parser.add_argument("--trust", action="store_true",
                        help="import the module that the run's environment asks for, such as my_worlds of "
                        "my_worlds:Lift-v0: its code runs")  # fmt: skip


def trust_run(folder: Path) -> None:
    """Imports the modules of the run in this folder, or of the runs of a comparison."""
    for file in (folder / "config.json", *sorted(folder.glob("*/config.json"))):
        if file.is_file():
            import_trusted(RunFolder(file.parent).config.environment)
