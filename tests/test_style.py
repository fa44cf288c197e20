"""The code is formatted, the folders are the agreed ones, and no room of mzu/ reaches into one that builds on it."""

import ast
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
MODULES = sorted((REPOSITORY / "mzu").rglob("*.py"))

FOLDERS = {"mzu", "notebooks", "tutorials", "tests", ".ci"}
FILES = {"README.md", "LICENSE", "requirements.txt", "setup.cfg", "pyproject.toml", ".gitignore", ".gitattributes"}

# A room may use the rooms listed before it.
ROOMS = ["available_memory", "compilation", "files", "extras", "installation", "silent_tensorflow", "nested_arrays"]
ROOMS += ["config_fields", "config"]
ROOMS += ["environments", "episodes", "presets", "networks", "search", "replay", "reanalyse", "games", "acting"]
ROOMS += ["learning", "training"]
# These look into every room, and no room looks into them: only the commands start them.
ONLOOKERS = ["explain", "experiments", "bench", "classroom"]
COMMAND_LINE = ["commands", "__main__"]


def ruff(*arguments):
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("needs ruff: pip install ruff")
    command = [sys.executable, "-m", "ruff", *arguments, "--config", ".ci/ruff.toml", "."]
    process = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr


def test_ruff_finds_nothing_to_complain_about():
    ruff("check", "--quiet")


def test_ruff_would_format_nothing_differently():
    ruff("format", "--check")


def test_only_the_agreed_names_stand_at_the_top_of_the_repository():
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("needs a git checkout")
    command = ["git", "-c", "safe.directory=*", "ls-files"]
    files = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {name.split("/")[0] for name in files} <= FOLDERS | FILES


def test_no_module_is_a_drawer_for_everything():
    names = {part for path in MODULES for part in path.relative_to(REPOSITORY).with_suffix("").parts}
    assert not names & {"utils", "util", "common", "helpers", "misc"}


def test_no_two_public_classes_have_one_name():
    homes = {}
    for path in MODULES:
        if path.parent.name != "commands":  # what a command keeps for itself
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes.setdefault(node.name, []).append(path.relative_to(REPOSITORY).as_posix())
    assert not {name: paths for name, paths in homes.items() if len(paths) > 1}


def room_of(module):
    """`mzu.search.tree` lives in the room `search`; `mzu` itself is the entrance and has no room."""
    return module.split(".")[1] if "." in module else ""


def imported_modules(source, module, is_package=False):
    """The modules of mzu that `source` imports, also inside functions; `from mzu import x` counts as `mzu.x`."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # One dot is the own package, each further dot the one around it.
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join(base + ([node.module] if node.module else []))
            names = [f"{origin}.{alias.name}" for alias in node.names] if origin == "mzu" else [origin]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "mzu")


def may_use(user, used):
    """Whether a module of room `user` may import a module of room `used`."""
    if used in ("", "__version__", user) or user in COMMAND_LINE:
        return True
    if (user, used) == ("classroom", "explain"):  # an assignment finds bugs with it
        return True
    if used not in ROOMS:
        return user == "" and used in ONLOOKERS  # the front door leads everywhere
    return user in ("", *ONLOOKERS) or ROOMS.index(used) < ROOMS.index(user)


def test_the_order_of_rooms_is_told_apart_from_its_opposite():
    assert may_use("search", "networks") and not may_use("networks", "search")
    assert may_use("bench", "training") and not may_use("training", "bench")
    assert may_use("commands", "bench") and not may_use("bench", "commands")
    assert may_use("classroom", "explain") and not may_use("explain", "classroom")


def test_imports_are_seen_in_all_their_spellings():
    source = (
        "import mzu.search, numpy\nfrom mzu import replay\ndef f():\n    from . import tree\n    from ..config import C"
    )
    found = list(imported_modules(source, "mzu.networks.blocks"))
    assert found == ["mzu.search", "mzu.replay", "mzu.networks", "mzu.config"]
    assert list(imported_modules("from . import acting", "mzu", is_package=True)) == ["mzu.acting"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_a_module_uses_only_rooms_before_its_own(path):
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    module = ".".join(parts[:-1] if is_package else parts)
    user = room_of(module)
    assert user in ["", *ROOMS, *ONLOOKERS, *COMMAND_LINE], f"mzu/{user} has no place in the order of rooms yet"
    imports = imported_modules(path.read_text(), module, is_package)
    wrong = [name for name in imports if not may_use(user, room_of(name))]
    assert not wrong, f"{module} may not import {', '.join(wrong)}"
