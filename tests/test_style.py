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
ROOMS += ["plots"]
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


# Modules whose functions have the names of those whose place they take.
NAMESAKES = (
    "search/reference.py",  # the plain twins of the search's kernels
    "search/reference_candidates.py",
    "search/improvement/reference.py",
    "networks/compiled/state_pass.py",  # the compiled twin of the Keras networks
    "classroom/checks/",  # what a student's function is compared with
    "classroom/exercises/",
    "explain/mistakes.py",  # what the gallery of bugs plants
)
SHARED_NAMES = {
    "add_arguments": "every command and every benchmark has one",
    "run": "every command and every benchmark has one",
    "main": "what `python -m` starts",
}


def test_no_two_public_things_have_one_name():
    homes = {}
    for path in MODULES:
        place = path.relative_to(REPOSITORY / "mzu").as_posix()
        kinds = ast.ClassDef if place.startswith(NAMESAKES) else ast.ClassDef | ast.FunctionDef
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, kinds) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(place)
    shared = {name: places for name, places in homes.items() if len(places) > 1}
    assert not {name: places for name, places in shared.items() if name not in SHARED_NAMES}
    assert shared.keys() == SHARED_NAMES.keys()


# tests/ROOM/test_x.py tests mzu/ROOM/x.py. Modules that are tested together with others, or through them:
TESTED_IN = {
    "__main__.py": "commands/test_cli.py",
    "available_memory.py": "faults/test_mutations.py",
    "bench/mctx_peer.py": "bench/test_search.py",
    "bench/timing.py": "bench/test_search.py",
    "classroom/checking.py": "classroom/test_exercises.py",
    "classroom/checks/targets.py": "classroom/test_assignments.py",
    "classroom/exercises/": "classroom/test_exercises.py",
    "classroom/handed_in.py": "classroom/test_grading.py",
    "classroom/isolation.py": "classroom/test_grading.py",
    "classroom/notebooks.py": "classroom/test_build.py",
    "classroom/patients.py": "classroom/checks/test_find_the_bug.py",
    "classroom/plain_values.py": "classroom/test_grading.py",
    "classroom/student_process.py": "classroom/test_grading.py",
    "classroom/submission.py": "classroom/test_grading.py",
    "commands/bench.py": "bench/test_search.py",
    "commands/classroom.py": "classroom/test_build.py",
    "commands/evaluate.py": "commands/test_train.py",
    "commands/explain_run.py": "explain/test_run_verdict.py",
    "commands/grade.py": "classroom/test_classroom_batch.py",
    "commands/trust.py": "faults/test_strangers.py",
    "config_fields.py": "test_config.py",
    "episodes/doctor/findings.py": "episodes/doctor/test_check.py",
    "episodes/readers/files.py": "episodes/readers/test_faults.py",
    "experiments/record_with_sac.py": "experiments/test_datasets.py",
    "experiments/recordings.py": "experiments/test_datasets.py",
    "experiments/tasks.py": "experiments/test_catalogue.py",
    "explain/data_checks.py": "explain/test_checks.py",
    "explain/found_position.py": "explain/test_explanation.py",
    "explain/mistakes.py": "explain/test_bugs.py",
    "explain/play.py": "explain/test_run_verdict.py",
    "explain/positions.py": "explain/test_run_verdict.py",
    "explain/verdict_text.py": "explain/test_run_verdict.py",
    "explain/offline_text.py": "explain/test_offline_report.py",
    "experiments/offline_statistics.py": "experiments/test_offline_calibration.py",
    "explain/model_drawing.py": "explain/test_model_report.py",
    "explain/model_text.py": "explain/test_model_report.py",
    "explain/prefix.py": "explain/test_drawing.py",
    "explain/rounding.py": "explain/test_checks.py",
    "explain/search_checks.py": "explain/test_checks.py",
    "explain/search_terms.py": "explain/test_explanation.py",
    "explain/server.py": "explain/test_page.py",
    "explain/svg.py": "explain/test_drawing.py",
    "explain/system.py": "explain/test_explanation.py",
    "explain/tables.py": "explain/test_text.py",
    "explain/target_checks.py": "explain/test_checks.py",
    "explain/target_terms.py": "explain/test_explanation.py",
    "explain/toy.py": "explain/test_by_hand.py",
    "nested_arrays.py": "training/test_trainer.py",
    "networks/compiled/convolution.py": "networks/compiled/test_picture_pass.py",
    "networks/compiled/forward_pass.py": "networks/compiled/test_compile_model.py",
    "networks/compiled/picture_weights.py": "networks/compiled/test_picture_pass.py",
    "networks/compiled/rows.py": "networks/compiled/test_compile_model.py",
    "networks/compiled/state_pass.py": "networks/compiled/test_compile_model.py",
    "networks/compiled/vector_code.py": "networks/compiled/test_compile_model.py",
    "networks/compiled/weights.py": "networks/compiled/test_compile_model.py",
    "networks/constants.py": "networks/compiled/test_compile_model.py",
    "networks/keras_model.py": "networks/compiled/test_compile_model.py",
    "networks/model.py": "search/test_search.py",
    "networks/size.py": "networks/test_network.py",
    "plots/": "plots/test_plots.py",
    "search/action_injection.py": "search/test_search.py",
    "search/all_actions.py": "search/test_search.py",
    "search/batched_kernels.py": "search/test_reference.py",
    "search/improvement/": "search/test_improvement.py",
    "search/kernels.py": "search/test_reference.py",
    "search/randomness.py": "search/test_reference.py",
    "search/reference_candidates.py": "search/test_reference.py",
    "search/sampled_actions.py": "search/test_search.py",
    "training/changes.py": "faults/test_resumed_settings.py",
    "training/comparison.py": "training/test_train.py",
    "training/evaluate_run.py": "commands/test_train.py",
    "training/interruption.py": "faults/test_signals.py",
    "training/made_with.py": "commands/test_train.py",
    "training/plan.py": "commands/test_train.py",
    "training/recorder.py": "training/test_trainer.py",
    "training/run_lock.py": "faults/test_one_writer.py",
    "training/run_process.py": "training/test_train.py",
    "training/side_by_side.py": "training/test_train.py",
    "training/single_run.py": "training/test_train.py",
    "training/tensorboard.py": "training/test_run_folder.py",
    "training/training_result.py": "training/test_train.py",
}
# Test files of more than one module: of a property that all of them share, of documents, of the whole.
WHOLE = (
    "classroom/test_classroom_batch.py", "classroom/test_exercises.py", "classroom/test_nbgrader.py",
    "episodes/readers/test_memory.py", "episodes/readers/test_round_trips.py",
    "experiments/test_results.py", "explain/test_by_hand.py", "explain/test_tutorial.py", "networks/test_full_size.py",
    "plots/test_plots.py", "search/test_bad_input.py", "search/test_first_evaluations.py",
    "search/test_golden_tree.py", "search/test_improvement.py", "search/test_planted_bugs.py",
    "test_api.py", "test_documents.py", "test_packaging.py", "test_references.py", "test_style.py",
    "training/test_identity_games.py", "training/test_learning.py", "training/test_same_seed.py",
)  # fmt: skip
NO_ROOMS = ("notebooks/", "tutorials/", "faults/")  # folders of tests that belong to no room


def test_who_edits_a_module_knows_which_test_file_to_run():
    tests = {path.relative_to(REPOSITORY / "tests").as_posix() for path in (REPOSITORY / "tests").rglob("test_*.py")}
    modules = [path.relative_to(REPOSITORY / "mzu") for path in MODULES if path.name != "__init__.py"]
    own = {module.as_posix(): (module.parent / f"test_{module.name}").as_posix() for module in modules}
    alone = {module for module, test in own.items() if test not in tests and not module.startswith(tuple(TESTED_IN))}
    assert not alone, "give each a test file of its name, or say in TESTED_IN where it is tested"
    others = {test for test in tests - set(own.values()) if not test.startswith(NO_ROOMS)}
    assert others == set(WHOLE), "name a test file after the module that it tests"
    needless = {module for module in TESTED_IN if own.get(module) in tests}
    assert not needless and set(TESTED_IN.values()) <= tests
    assert all((REPOSITORY / "mzu" / module).exists() for module in TESTED_IN)


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
