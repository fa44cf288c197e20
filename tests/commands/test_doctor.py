"""The doctor survives what it finds, and says what to do about it."""

import argparse
import importlib.metadata
import os
import subprocess
import sys

import pytest

from mzu.commands import doctor
from mzu.commands.doctor import Check, Requirement, advice_for, check_finding, package_finding, problem_of

ARGUMENTS = argparse.Namespace(timeout=60)
WORKS = Check("works", "1 + 1", ("pytest",))
FAILS = Check("fails", "raise RuntimeError('the cable is not plugged in')", ("pytest",))
PYTEST = Requirement("pytest", "pytest>=8,<10")
ABSENT = Requirement("no-such-package", "no-such-package>=2")


def test_when_everything_works_the_status_is_0(capsys):
    assert doctor.run(ARGUMENTS, [WORKS], [PYTEST]) == 0
    output = capsys.readouterr().out
    assert "All is well." in output
    assert "MISSING" not in output


def test_a_failing_check_is_reported_with_advice_and_status_1(capsys):
    assert doctor.run(ARGUMENTS, [FAILS, WORKS], [PYTEST]) == 1
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    position = lines.index(["fails", "MISSING", "RuntimeError: the cable is not plugged in"])
    assert " ".join(lines[position + 1]) == 'to do: pip install --force-reinstall --no-deps "pytest>=8,<10"'
    assert lines[position + 2][:2] == ["works", "ok"]


def test_a_missing_package_is_reported_with_its_pip_command_and_status_1(capsys):
    assert doctor.run(ARGUMENTS, [WORKS], [ABSENT]) == 1
    assert 'to do: pip install "no-such-package>=2"' in capsys.readouterr().out


def test_a_missing_optional_package_is_listed_and_does_not_fail(capsys):
    optional = ABSENT._replace(extra="data")
    assert doctor.run(ARGUMENTS, [WORKS], [optional, PYTEST._replace(extra="dev")]) == 0
    output = capsys.readouterr().out
    assert ["no-such-package", "[data]", "absent"] in [line.split() for line in output.splitlines()]
    assert ["pytest", "[dev]", "present", importlib.metadata.version("pytest")] in [
        line.split() for line in output.splitlines()
    ]


def test_a_package_in_a_version_that_does_not_work_is_reported():
    finding = package_finding(Requirement("pytest", "pytest<2"))
    assert finding.detail == f"{importlib.metadata.version('pytest')} is installed, <2 is needed"
    assert finding.advice == 'pip install "pytest<2"'


@pytest.mark.parametrize("name", ["SIGILL", "SIGSEGV", "SIGABRT"])
def test_a_check_that_kills_its_interpreter_does_not_kill_the_doctor(name):
    crash = f"import os, signal; os.kill(os.getpid(), signal.{name})"
    finding = check_finding(Check("crash", crash, ("pytest",)), [PYTEST])
    assert finding.detail.startswith(f"stopped by {name}")
    assert finding.advice


def test_a_check_that_hangs_is_stopped_and_reported():
    finding = check_finding(Check("hang", "import time; time.sleep(600)", ("pytest",)), [PYTEST], timeout=0.5)
    assert finding.detail == "took longer than 0.5 seconds"
    assert "--timeout" in finding.advice


def test_checks_are_reported_in_their_order_whichever_ends_first():
    checks = [Check(str(i), f"import time; time.sleep({0.2 if i == 0 else 0})", ()) for i in range(4)]
    assert [finding.name for finding in doctor.check_findings(checks, [])] == ["0", "1", "2", "3"]


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
    needed = {requirement.name: requirement.specification for requirement in doctor.installed_requirements()}
    for name in ["mujoco", "tf-keras"]:
        command = next(advice for _, advice in doctor.KNOWN_PROBLEMS if f'pip install "{name}' in advice)
        quoted = command.split('"')[1].removeprefix(name)
        assert set(quoted.split(",")) == set(needed[name].removeprefix(name).split(","))


def test_a_missing_module_is_installed_and_a_damaged_package_is_installed_again():
    assert advice_for("No module named 'iniconfig'", WORKS, [PYTEST]) == 'pip install "pytest>=8,<10"'
    assert "--force-reinstall" in advice_for("ImportError: broken", WORKS, [PYTEST])


def test_without_an_installed_mzu_the_advice_is_to_install_everything():
    assert advice_for("No module named 'tensorflow'", WORKS, []) == "pip install -r requirements.txt -e ."


def test_the_problem_is_the_line_of_the_error_and_not_a_warning_after_it():
    output = "Traceback (most recent call last):\n  x\nValueError: wrong\nwarning: goodbye\n"
    assert problem_of(1, output) == "ValueError: wrong"
    assert problem_of(1, "something else\n") == "something else"
    assert problem_of(3, "") == "exit status 3"


def test_a_requirement_is_read_with_its_bounds_and_its_extra():
    assert doctor.parse_requirement("gymnasium[atari]<2,>=1.2") == Requirement("gymnasium", "gymnasium[atari]<2,>=1.2")
    assert doctor.parse_requirement('ruff>=0.12; extra == "dev"') == Requirement("ruff", "ruff>=0.12", "dev")


def test_a_file_in_the_current_folder_is_not_taken_for_a_library(tmp_path, monkeypatch):
    (tmp_path / "tqdm.py").write_text("raise RuntimeError('this is not the library')")
    monkeypatch.chdir(tmp_path)
    assert not check_finding(Check("import", "import tqdm", ("tqdm",)), []).advice


def test_the_nine_tasks_of_the_paper_and_every_library_are_checked():
    names = [check.name for check in doctor.CHECKS]
    libraries = ["TensorFlow", "Keras", "TensorFlow Probability", "Numba", "mzu's compiled search", "Atari: Pong"]
    assert names[:6] == libraries
    assert [name.removeprefix("DM Control: ") for name in names[6:]] == [
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
    check = next(check for check in doctor.CHECKS if check.name == name)
    assert check_finding(check, []).advice == ""


def test_a_wrong_setting_is_found_by_the_real_check(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    check = next(check for check in doctor.CHECKS if "cartpole" in check.name)
    assert "MUJOCO_GL=disable" in check_finding(check, []).advice


@pytest.mark.slow
def test_the_whole_doctor_finds_nothing_missing_here():
    process = subprocess.run([sys.executable, "-m", "mzu", "doctor"], env=os.environ, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout
    assert process.stdout.endswith("All is well.\n")
