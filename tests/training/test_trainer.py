"""The same seed gives the same run, however often it is stopped; what cannot work is refused in a sentence."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from made_runs import ONLINE, OPTIONS, assert_same_state, tiny_config, train

from mzu.config import Config
from mzu.training.recorder import Recorder
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer

KINDS = ("online", "offline")
BEHAVIOUR = "learning.behaviour_loss_scale=0.25"  # goes with policies that are searched


@pytest.fixture(scope="module", params=KINDS)
def whole(request, tmp_path_factory):
    """A run from beginning to end in one go: its kind, config, folder and final state."""
    folder = tmp_path_factory.mktemp(request.param)
    config = tiny_config(request.param, folder)
    state, finished = train(config, folder / "run")
    assert finished
    return request.param, config, folder / "run", state


def log(folder):
    return (folder / "log.csv").read_text()


def test_the_same_seed_gives_the_same_run_also_without_a_folder(whole, tmp_path):
    kind, config, folder, state = whole
    again = tmp_path / "again" if kind == "online" else None
    assert_same_state(train(config, again)[0], state)
    if again:
        assert log(again) == log(folder)


def test_a_trainer_that_has_learned_can_begin_again_from_its_first_state(tmp_path):
    with contextlib.closing(Trainer(tiny_config("offline", tmp_path))) as trainer:
        beginning = trainer.state()
        first = [trainer.step()["loss"] for _ in range(5)]
        trainer.restore(beginning)
        assert [trainer.step()["loss"] for _ in range(5)] == first


def test_another_seed_gives_another_beginning():
    first, other = (Trainer(Config().override(*ONLINE, f"seed={seed}")).state() for seed in (0, 1))
    assert not np.array_equal(first["learner/network/0"], other["learner/network/0"])
    assert str(first["generators"]) != str(other["generators"])


RUNS = """
import os, signal, sys
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer

def kill_in_step_8(trainer, row):
    if trainer.steps == 8:
        os.kill(os.getpid(), signal.SIGKILL)

def in_a_process_of_its_own(path, on_step=None):
    child = os.fork()  # TensorFlow is imported once for all
    if child == 0:
        folder = RunFolder(path)
        Trainer(folder.config).run(folder, on_step)
        os._exit(0)
    return os.waitpid(child, 0)[1]

whole, killed = sys.argv[1:]
assert in_a_process_of_its_own(whole) == 0
status = in_a_process_of_its_own(killed, kill_in_step_8)
assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
folder = RunFolder(killed)
assert folder.checkpoints() == [5], folder.checkpoints()
assert folder.read_log()[-1]["step"] == 6  # it had logged what now happens again
assert in_a_process_of_its_own(killed) == 0
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_goes_on_as_if_nothing_had_happened(kind, tmp_path):
    """Each in a process of its own, as on the command line: one to the end, one until kill -9, one that resumes it."""
    config = tiny_config(kind, tmp_path)
    whole, killed = (RunFolder.create(tmp_path / name, config) for name in ("whole", "killed"))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", RUNS, str(whole.path), str(killed.path)]
    process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    last = config.learning.training_steps
    assert whole.checkpoints()[-1] == killed.checkpoints()[-1] == last
    assert_same_state(killed.load_checkpoint(last), whole.load_checkpoint(last))
    assert log(killed.path) == log(whole.path)
    assert killed.best() == whole.best()


def press_control_c(trainer, row):
    if trainer.steps == 7:
        os.kill(os.getpid(), signal.SIGINT)


def test_control_c_leaves_a_run_that_goes_on_as_if_nothing_had_happened(whole, tmp_path):
    kind, config, folder, state = whole
    if kind == "offline":
        pytest.skip("one kind of run is enough: what is saved is the same as for a killed run")
    before = signal.getsignal(signal.SIGINT)
    _, finished = train(config, tmp_path / "run", press_control_c)
    assert not finished and RunFolder(tmp_path / "run").checkpoints() == [5, 7]
    assert signal.getsignal(signal.SIGINT) is before
    resumed, finished = train(config, tmp_path / "run")
    assert finished
    assert_same_state(resumed, state)
    assert log(tmp_path / "run") == log(folder)


def test_a_run_with_every_option_on_goes_on_too_and_saves_the_averaged_network(tmp_path):
    config = tiny_config("offline", tmp_path).override(*OPTIONS, BEHAVIOUR)
    state, _ = train(config, tmp_path / "whole")
    _, finished = train(config, tmp_path / "stopped", press_control_c)
    assert not finished
    resumed, finished = train(config, tmp_path / "stopped")
    assert finished
    assert_same_state(resumed, state)
    assert log(tmp_path / "stopped") == log(tmp_path / "whole")
    assert_explained(tmp_path / "whole")
    saved = RunFolder(tmp_path / "whole").load_network().trainable_variables
    for number, variable in enumerate(saved):
        np.testing.assert_array_equal(variable.numpy(), state[f"learner/averaged_network/{number}"])
    assert not np.array_equal(saved[0].numpy(), state["learner/network/0"])


def test_the_averaged_network_is_evaluated_and_the_trained_one_is_searched(tmp_path, monkeypatch):
    evaluated = []
    monkeypatch.setattr("mzu.training.trainer.evaluate_selection", lambda network, *_, **__: evaluated.append(network))
    with contextlib.closing(Trainer(tiny_config("offline", tmp_path).override(*OPTIONS))) as trainer:
        for _ in range(4):
            trainer.step()
        trainer.evaluate(1)
        (network,) = evaluated
        assert network is trainer.learner.evaluated_network is not trainer.network
        averaged, trained = network.read_weights(), trainer.network.read_weights()
        searched = trainer._acting_network.read_weights()
        name = "representation/first/kernel"
        np.testing.assert_array_equal(searched[name], trained[name])  # copied every second step
        assert np.abs(averaged[name] - trained[name]).max() > 1e-3


@pytest.mark.parametrize("policy_loss", ["behaviour_cloning", "crr"])
def test_every_option_goes_with_policies_that_are_not_searched(tmp_path, policy_loss):
    config = tiny_config("offline", tmp_path).override(*OPTIONS, f"learning.policy_loss={policy_loss}")
    with contextlib.closing(Trainer(config)) as trainer:
        losses = [trainer.step()["consistency_loss"] for _ in range(3)]
    assert all(0 < loss < 4 for loss in losses)


@pytest.mark.parametrize("kind", KINDS)
def test_a_trainer_with_a_behaviour_term_begins_again_from_a_state(tmp_path, kind):
    with contextlib.closing(Trainer(tiny_config(kind, tmp_path).override(BEHAVIOUR))) as trainer:
        for _ in range(2):
            trainer.step()
        state = trainer.state()
        first = [trainer.step() for _ in range(3)]
        trainer.restore(state)
        assert [trainer.step() for _ in range(3)] == first
    assert state["batch/following_observations"].shape[1] == 4  # U + 2
    weights, searched = state["targets/policy_weights"], state["batch/search_policy"]
    if kind == "offline":
        np.testing.assert_array_equal(state["targets/policy_actions"][:, :, -1], state["batch/actions"])
        added = weights[:, :, -1]
    else:
        added = (weights - searched).max(axis=2)
    assert set(np.round(added.ravel(), 5).tolist()) == {0, 0.25}


def test_without_a_consistency_loss_no_following_observations_are_sampled(tmp_path):
    with contextlib.closing(Trainer(tiny_config("offline", tmp_path))) as trainer:
        trainer.step()
        state = trainer.state()
    assert state["batch/following_observations"].shape[1] == 0
    assert not any(name.startswith("learner/averaged_network") for name in state)


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_again_with_a_new_log(tmp_path):
    folder = RunFolder.create(tmp_path / "run", Config())
    folder.log({"step": 100, "loss": 1.0})
    said = []
    trainer = SimpleNamespace(config=Config(), inputs=SimpleNamespace(held_out=()))
    with pytest.raises(KeyboardInterrupt), Recorder(trainer, folder, said.append):
        assert folder.read_log() == []
        raise KeyboardInterrupt
    assert said == ["there is no checkpoint yet: the run begins again"]


def test_the_log_has_a_line_per_period_evaluation_and_end(whole):
    kind, _, folder, _ = whole
    rows = RunFolder(folder).read_log()
    assert [row["step"] for row in rows] == [3, 6, 9, 12, 13]
    assert [row["step"] for row in rows if not np.isnan(row["evaluation"])] == [6, 12]
    assert all(row["low"] <= row["evaluation"] <= row["high"] for row in rows if not np.isnan(row["evaluation"]))
    stored, fresh = rows[-1]["stored_steps"], rows[-1]["fresh_steps"]
    assert rows[-1]["fraction"] == stored / (stored + fresh)
    assert (fresh == 0) == (kind == "offline")
    timing = RunFolder(folder).read_log("timing.csv")
    assert [row["step"] for row in timing] == [row["step"] for row in rows] and timing[-1]["seconds"] > 0


def test_every_column_of_the_log_is_explained(whole):
    _, _, folder, _ = whole
    assert_explained(folder)


def assert_explained(folder):
    text = (Path(__file__).parents[2] / "tutorials" / "metrics.md").read_text()
    for name in ("log.csv", "timing.csv"):
        for column in RunFolder(folder).read_log(name)[0]:
            assert f"| `{column}` |" in text, column


def test_a_run_plays_with_held_actions_and_goes_on_as_if_nothing_had_happened(tmp_path):
    config = Config().override(*ONLINE, "environment=identity?repeat=4", "replay.segment_length=2")
    state, finished = train(config, tmp_path / "whole")
    assert finished
    _, finished = train(config, tmp_path / "run", press_control_c)
    assert not finished
    resumed, finished = train(config, tmp_path / "run")
    assert finished
    assert_same_state(resumed, state)


def test_an_environment_that_does_not_repeat_itself_is_resumed_with_new_games_and_that_is_said():
    with contextlib.closing(Trainer(Config().override(*ONLINE, "reanalyse.fraction=0"))) as trainer:
        trainer.player.advance(temperature=1.0)
        state = trainer.state()
        assert trainer.restore(state) == ""
        for place in range(4):
            state[f"player/game_{place}/seed"] += 1  # has the same effect as randomness that no seed decides
        said = trainer.restore(state)
        anew = sum(len(game.actions) == 0 for game in trainer.player.games)  # the first of another seed may look alike
        assert (
            anew >= 2
            and f"identity does not repeat itself: the same seed and actions led elsewhere, so {anew} of 4" in said
        )
        assert "not what an uninterrupted run would have learned" in said
        trainer.step()
