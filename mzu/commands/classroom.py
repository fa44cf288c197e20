"""`mzu classroom build`: the notebooks of the assignments from their sources."""

import time
from pathlib import Path

from mzu.extras import require

FOLDER = Path(__file__).resolve().parents[2] / "tutorials" / "assignments"


def add_arguments(parser) -> None:
    commands = parser.add_subparsers(dest="action", metavar="action", required=True)
    build = commands.add_parser("build", help="make the notebooks for students and the solved ones from their sources")
    build.add_argument("names", nargs="*", metavar="NAME", help="2_search or its beginning; default all")
    build.add_argument("--check", action="store_true", help="only say which are out of date; exit with 1 if any is")
    build.add_argument("--nbgrader", type=Path, metavar="FOLDER",
                       help="make a course folder for nbgrader instead: nbgrader_config.py and source/")  # fmt: skip
    build.add_argument("--folder", type=Path, default=FOLDER,
                       help="which holds the folder `source` (default tutorials/assignments)")  # fmt: skip


def run(arguments) -> int:
    require("jupytext", "`mzu classroom build`")
    from mzu.classroom import build

    sources = chosen_sources(arguments.folder / "source", arguments.names)
    if arguments.nbgrader:
        build.write_nbgrader_course(sources, arguments.nbgrader)
        print(f"{arguments.nbgrader}: {len(sources)} assignments; `nbgrader generate_assignment NAME` there goes on")
        return 0
    if arguments.check:
        problems = {source.stem: build.out_of_date(source, arguments.folder) for source in sources}
        for name, found in problems.items():
            print(f"{name}: {'; '.join(found) or 'up to date'}")
        return int(any(problems.values()))
    for source in sources:
        start = time.monotonic()
        for path in build.build(source, arguments.folder):
            print(path)
        print(f"    {time.monotonic() - start:.0f} s")
    return 0


def chosen_sources(folder: Path, names: list[str]) -> list[Path]:
    """The sources whose names begin with one of `names`; all without names."""
    sources = sorted(folder.glob("[0-9]*.py"))
    if not sources:
        raise ValueError(f"There are no assignments in {folder}; name the folder that holds `source` with --folder")
    chosen = []
    for name in names:
        found = [path for path in sources if path.stem.startswith(name)]
        if not found:
            raise ValueError(
                f"No assignment's name begins with {name!r}; there are: {', '.join(p.stem for p in sources)}"
            )
        chosen += found
    return chosen if names else sources
