"""The checks survive what they find, and say what to do about it."""

import importlib.metadata

import pytest

from mzu import installation
from mzu.installation import Check, Requirement, advice_for, check_outcome, package_outcome, problem_of

WORKS = Check("works", "1 + 1", ("pytest",))
PYTEST = Requirement("pytest", "pytest>=8,<10")


def test_a_package_in_a_version_that_does_not_work_is_reported():
    outcome = package_outcome(Requirement("pytest", "pytest<2"))
    assert outcome.detail == f"{importlib.metadata.version('pytest')} is installed, <2 is needed"
    assert outcome.advice == 'pip install "pytest<2"'


@pytest.mark.parametrize("name", ["SIGILL", "SIGSEGV", "SIGABRT"])
def test_a_check_that_kills_its_interpreter_does_not_kill_the_caller(name):
    crash = f"import os, signal; os.kill(os.getpid(), signal.{name})"
    outcome = check_outcome(Check("crash", crash, ("pytest",)), [PYTEST])
    assert outcome.detail.startswith(f"stopped by {name}")
    assert outcome.advice


def test_a_check_that_hangs_is_stopped_and_reported():
    outcome = check_outcome(Check("hang", "import time; time.sleep(600)", ("pytest",)), [PYTEST], timeout=0.5)
    assert outcome.detail == "took longer than 0.5 seconds"
    assert "--timeout" in outcome.advice


def test_checks_are_reported_in_their_order_whichever_ends_first():
    checks = [Check(str(i), f"import time; time.sleep({0.2 if i == 0 else 0})", ()) for i in range(4)]
    assert [outcome.name for outcome in installation.check_outcomes(checks, [])] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        ("AttributeError: 'MjModel' object has no attribute 'flex_vertedge'", "mujoco>=3.17,<4"),
        ("ModuleNotFoundError: No module named 'tf_keras'", "tf-keras"),
        ("AttributeError: 'NoneType' object has no attribute 'glGetError'", "MUJOCO_GL=disable"),
        ("RuntimeError: Environment variable MUJOCO_GL must be one of ...", "MUJOCO_GL=disable"),
        ("ImportError: Cannot initialize a EGL device display.", "MUJOCO_GL=disable"),
        ("AssertionError: Keras runs on jax, not on TensorFlow", "KERAS_BACKEND=tensorflow"),
        ("ModuleNotFoundError: No module named 'torch'", "KERAS_BACKEND=tensorflow"),
        ("stopped by SIGILL: exit status -4", "AVX"),
    ],
)
def test_a_known_problem_has_its_own_advice(problem, advice):
    assert advice in advice_for(problem, WORKS, [PYTEST])


def test_the_pip_commands_of_known_problems_ask_for_the_versions_that_setup_cfg_asks_for():
    needed = {requirement.name: requirement.specification for requirement in installation.installed_requirements()}
    for name in ["mujoco", "tf-keras"]:
        command = next(advice for _, advice in installation.KNOWN_PROBLEMS if f'pip install "{name}' in advice)
        quoted = command.split('"')[1].removeprefix(name)
        assert set(quoted.split(",")) == set(needed[name].removeprefix(name).split(","))


def test_a_missing_module_is_installed_and_a_damaged_package_is_installed_again():
    assert advice_for("No module named 'iniconfig'", WORKS, [PYTEST]) == 'pip install "pytest>=8,<10"'
    assert "--force-reinstall" in advice_for("ImportError: broken", WORKS, [PYTEST])


def test_a_missing_package_of_an_extra_is_installed_with_the_extra():
    check = WORKS._replace(extra="control")
    assert advice_for("No module named 'mujoco'", check, [PYTEST]) == "pip install 'mzu[control]'"


def test_an_extra_that_is_not_installed_is_not_checked():
    absent = WORKS._replace(packages=("pytest", "no-such-package"))
    assert absent.is_due and not absent._replace(extra="control").is_due
    assert WORKS._replace(extra="control").is_due


def test_without_an_installed_mzu_the_advice_is_to_install_everything():
    assert advice_for("No module named 'tensorflow'", WORKS, []) == "pip install -r requirements.txt -e ."


def test_the_problem_is_the_line_of_the_error_and_not_a_warning_after_it():
    output = "Traceback (most recent call last):\n  x\nValueError: wrong\nwarning: goodbye\n"
    assert problem_of(1, output) == "ValueError: wrong"
    assert problem_of(1, "something else\n") == "something else"
    assert problem_of(3, "") == "exit status 3"


def test_a_requirement_is_read_with_its_bounds_and_its_extra():
    assert installation.parse_requirement("minari[hdf5]<0.6,>=0.5") == Requirement("minari", "minari[hdf5]<0.6,>=0.5")
    assert installation.parse_requirement('ruff>=0.12; extra == "dev"') == Requirement("ruff", "ruff>=0.12", "dev")


def test_a_file_in_the_current_folder_is_not_taken_for_a_library(tmp_path, monkeypatch):
    (tmp_path / "tqdm.py").write_text("raise RuntimeError('this is not the library')")
    monkeypatch.chdir(tmp_path)
    assert not check_outcome(Check("import", "import tqdm", ("tqdm",)), []).advice


def test_the_nine_tasks_of_the_paper_and_every_library_are_checked():
    names = [check.name for check in installation.CHECKS]
    libraries = ["TensorFlow", "Keras", "TensorFlow Probability", "Numba", "mzu's compiled search"]
    libraries += ["mzu's kernel cache", "Atari: Pong"]
    assert names[:7] == libraries
    assert [name.removeprefix("DM Control: ") for name in names[7:]] == [
        "cartpole-swingup",
        "finger-turn_hard",
        "fish-swim",
        "manipulator-insert_ball",
        "manipulator-insert_peg",
        "walker-stand",
        "walker-walk",
        "cheetah-run",
        "humanoid-run",
    ]


@pytest.mark.parametrize("name", ["Numba", "Atari: Pong", "DM Control: cartpole-swingup"])
def test_a_check_passes_here(name):
    check = next(check for check in installation.CHECKS if check.name == name)
    if not check.is_due:
        pytest.skip(f"needs the extra {check.extra}")
    assert check_outcome(check, []).advice == ""


def test_a_wrong_setting_is_found_by_the_real_check(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    check = next(check for check in installation.CHECKS if "cartpole" in check.name)
    if not check.is_due:
        pytest.skip(f"needs the extra {check.extra}")
    assert "MUJOCO_GL=disable" in check_outcome(check, []).advice
