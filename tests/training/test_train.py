"""`train` and `compare` do what the command does; runs side by side do not influence each other, and none is lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from made_runs import TINY, write_data

from mzu.commands.cli import main
from mzu.config import Config, LearningConfig
from mzu.episodes.dataset import load_episodes
from mzu.training.comparison import METHODS
from mzu.training.plan import create_folders, plan_new, plan_resumed
from mzu.training.run_folder import RunFolder
from mzu.training.side_by_side import run_side_by_side
from mzu.training.train import compare, train
from mzu.training.training_result import Comparison, TrainingResult

REPOSITORY = Path(__file__).parents[2]
OFFLINE = (*TINY, "reanalyse.fraction=1", "learning.training_steps=60", "evaluation.period=30", "run.log_period=10")
ONLINE = (*TINY, "environment=identity", "reanalyse.fraction=0.5", "learning.training_steps=4", "evaluation.period=0")


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """Tiny settings of a comparison in the identity game, and its data."""
    data = write_data(tmp_path_factory.mktemp("data") / "data.npz", "identity")
    return Config().override(*OFFLINE, "environment=identity", f"data={data}")


@pytest.fixture(scope="module")
def comparison(config, tmp_path_factory):
    """An uninterrupted comparison."""
    return compare(config, out=tmp_path_factory.mktemp("comparison") / "whole", jobs=3, progress=0)


def logs(out):
    return {name: (out / name / "log.csv").read_text() for name in METHODS}


def children():
    """The ids of the processes that this one has started."""
    found = [int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]
    return [pid for pid in found if "run_process" in Path(f"/proc/{pid}/cmdline").read_text()]


def test_a_comparison_equals_three_runs_alone(comparison, config, tmp_path):
    for name in METHODS:
        alone = train(config.override(*METHODS[name]), out=tmp_path / name, progress=0)
        assert (alone.folder / "log.csv").read_text() == logs(comparison.folder)[name]
        for way, evaluation in alone.evaluation.items():
            assert evaluation.returns.tolist() == comparison.runs[name].evaluation[way].returns.tolist()


def test_a_comparison_has_the_three_runs_a_table_and_a_plot(comparison):
    assert isinstance(comparison, Comparison) and list(comparison.runs) == list(METHODS) and not comparison.failed
    assert [row["name"] for row in comparison.rows] == [
        "dataset",
        "behaviour cloning, by policy",
        "CRR, by policy",
        "Unplugged, by policy",
        "Unplugged, by value",
        "Unplugged, by search",
    ]
    assert all(row["low"] <= row["mean"] <= row["high"] for row in comparison.rows)
    text = repr(comparison)
    assert all(row["name"] in text and row["name"] in comparison._repr_html_() for row in comparison.rows)
    assert "Time of training: behaviour cloning" in text
    assert len(comparison.plot().axes) == 4 and comparison.plot()._repr_png_().startswith(b"\x89PNG")
    assert comparison.evaluation.keys() == {"policy", "value", "search"}
    assert comparison.network is comparison.runs["unplugged"].network
    assert children() == []


def test_a_result_has_the_curves_as_arrays_and_the_network(comparison):
    result = comparison.runs["unplugged"]
    assert isinstance(result, TrainingResult) and result.config.learning.policy_loss == "reanalyse"
    assert result.curves["step"].tolist() == [10, 20, 30, 40, 50, 60]
    rows = RunFolder(result.folder).read_log()
    assert result.curves.keys() == rows[0].keys()
    np.testing.assert_array_equal(result.curves["loss"], [row["loss"] for row in rows])
    assert np.flatnonzero(~np.isnan(result.curves["evaluation"])).tolist() == [2, 5]
    assert result.network.spaces.num_actions == 4
    assert result.evaluation["search"].returns.shape == (3,)
    assert "Unplugged, by value" in result._repr_html_() and len(result.plot().axes) == 4


class PressesControlC:
    """Stands in for a progress display; somebody presses Ctrl-C when the first figures arrive."""

    def __init__(self, seconds):
        self.pressed = False

    def show(self, label, figures):
        if not self.pressed:
            self.pressed = True
            os.kill(os.getpid(), signal.SIGINT)

    def begin(self, *_):
        pass

    def say(self, *_):
        pass

    def close(self):
        pass


def test_control_c_in_a_comparison_leaves_runs_that_go_on_as_if_nothing_had_happened(
    comparison, config, tmp_path, monkeypatch
):
    out = tmp_path / "stopped"
    with monkeypatch.context() as patch:
        patch.setattr("mzu.training.train.open_display", PressesControlC)
        with pytest.raises(KeyboardInterrupt, match=f"Interrupted; go on with `mzu train --resume --out {out}`"):
            compare(config, out=out, jobs=2, progress=0)
    assert children() == []
    assert not (out / "result.csv").exists()
    unfinished = [run for run in plan_resumed(out).runs if not RunFolder(run.path).result()]
    assert "behaviour_cloning" in [run.name for run in unfinished]  # it waited for its turn
    train(out=out, resume=True, progress=0)
    assert logs(out) == logs(comparison.folder)


def test_a_run_that_fails_is_named_and_the_others_finish(config, tmp_path):
    plan = plan_new(config, out=tmp_path / "out", compared=True, assignments=["learning.training_steps=3"])
    runs = [
        run if run.name != "crr" else run._replace(config=run.config.override("data=gone.npz")) for run in plan.runs
    ]
    create_folders(plan._replace(runs=runs))
    result = train(out=tmp_path / "out", resume=True, jobs=3, progress=0)
    assert list(result.runs) == ["behaviour_cloning", "unplugged"] and list(result.failed) == ["crr"]
    assert "gone.npz does not exist" in result.failed["crr"] and "CRR failed: gone.npz does" in str(result)
    assert (tmp_path / "out" / "curve.png").exists()


class Kills(PressesControlC):
    """Stands in for a progress display; somebody kills the process when its first figures arrive."""

    def show(self, label, figures):
        for pid in children():
            os.kill(pid, signal.SIGKILL)


def test_a_process_that_is_killed_is_told_apart_from_one_that_failed(config, tmp_path):
    plan = create_folders(plan_new(config, out=tmp_path / "out", compared=True, only="crr"))
    failures = run_side_by_side(plan.runs, 1, Kills(0))
    assert "its process was ended by SIGKILL (perhaps memory ran out; --jobs 1 needs less)" in failures["crr"]
    assert "crash.txt" in failures["crr"] and (tmp_path / "out" / "crr" / "crash.txt").exists()
    assert children() == []


def is_running(pid):
    """Whether the process is there, and no more than a zombie that waits for whoever inherits it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_script_needs_no_main_guard_its_progress_is_lines_and_its_runs_end_when_it_is_killed(config, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"""
from mzu.config import Config
from mzu.training.train import compare
config = Config.from_json({config.override("learning.training_steps=100000", "evaluation.period=0").to_json()!r})
compare(config, out="out", jobs=2, progress=0.1)
""")
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        [sys.executable, script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as parent:
        shown = []
        while not {"Unplugged", "behaviour cloning"} <= {line.split(":")[0] for line in shown if " left" in line}:
            shown.append(parent.stdout.readline())
        listed = subprocess.run(["pgrep", "-P", str(parent.pid)], capture_output=True, text=True).stdout
        parent.kill()
    pids = [int(pid) for pid in listed.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 60
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_running, pids))
    assert RunFolder(tmp_path / "out" / "unplugged").checkpoints()  # they left one on their way out
    assert shown[0].startswith("data checked: ") and shown[1].startswith("identity, 5 episodes of ")
    line = next(line for line in shown if line.startswith("Unplugged: ") and " left" in line)
    assert "of 100000, value " in line


def test_the_function_equals_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [word for setting in ONLINE[:-3] for word in ("--set", setting)]
    words += ["--set", "learning.training_steps=4", "--set", "evaluation.period=0"]
    assert main(["train", "--env", "identity", "--seed", "3", *words]) == 0
    settings = {"learning.training_steps": 4, "evaluation.period": 0, "learning.learning_rate": 1e-2}
    settings |= {"learning.jit_compile": False, "search.num_simulations": np.int64(4)}
    tiny = [setting.split("=") for setting in TINY if setting.split("=")[0] not in settings]
    result = train(environment="identity", seed=3, **{name: int(value) for name, value in tiny}, **settings)
    assert result.folder == Path("runs/identity-2")
    assert result.config == RunFolder("runs/identity").config
    assert (result.folder / "log.csv").read_text() == Path("runs/identity/log.csv").read_text()
    table = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert str(result).splitlines()[:-1] == table[:-1]  # all but the time


def test_a_config_is_trained_as_it_is_and_keeps_its_seed(tmp_path, capsys):
    config = Config().override(*ONLINE, "seed=7")
    result = train(config, out=tmp_path / "run", progress=0)
    assert result.config == config and list(result.evaluation) == ["policy", "value", "search"]
    assert capsys.readouterr().out == ""
    again = train(out=tmp_path / "run", resume=True, progress=0)
    assert again.rows == result.rows


def test_episodes_as_objects_are_kept_beside_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    episodes = list(load_episodes(write_data("data.npz", "identity")))
    os.remove("data.npz")
    config = Config().override(*OFFLINE, "learning.training_steps=3", "evaluation.period=0")
    result = train(config, environment="identity", data=episodes, out="run", progress=0)
    assert result.config.data == str(tmp_path / "run" / "data.npz")
    assert len(list(load_episodes(result.config.data))) == 5
    (result.folder / "result.json").unlink()
    monkeypatch.chdir("/")
    assert train(out=tmp_path / "run", resume=True, progress=0).rows[0]["episodes"] == 5
    plan = plan_new(config, data="data.npz", out="three", compared=True)
    assert {str(run.path) for run in plan.runs} == {f"three/{name}" for name in METHODS}


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ({"data": [1, 2]}, "data[0] is a int, but must be an Episode"),
        ({"data": []}, "There is no episode"),
        ({"data": 5}, "data is 5, but must be a name, a path, or episodes"),
        ({"learning.training_steps": "500"}, "learning.training_steps is '500', but must be a whole number"),
        ({"learning.trainingsteps": 5}, "did you mean 'learning.training_steps'?"),
        ({"learning": LearningConfig()}, "'learning' is a section, not a field"),
        ({"preset": "cartpole_offline", "only": "bc"}, "only is 'bc', but must be one of behaviour_cloning, crr, unpl"),
        ({"preset": "cartpole", "jobs": 0}, "jobs is 0, but must be at least 1"),
        ({"resume": True}, "--resume needs to know which run"),
        ({"resume": True, "out": "x", "seed": 0}, "A resumed run keeps its settings; leave seed out"),
    ],
)
def test_a_mistake_is_said_in_a_sentence_and_leaves_nothing_behind(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as error:
        train(**arguments)
    assert sentence in str(error.value)
    assert list(tmp_path.iterdir()) == []
