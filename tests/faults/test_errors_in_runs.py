"""An error in a world or a model costs no more than a step: a checkpoint is saved, and a sentence says where it was."""

import re

import gymnasium
import numpy as np
import pytest
from made_runs import TINY, train

from mzu.commands.cli import main
from mzu.config import Config
from mzu.environments.make import make
from mzu.learning.learner import Learner
from mzu.training.run_folder import RunFolder

ID = "mzu/Crashing-v0"
MORE = "learning.training_steps=40"
SETTINGS = (
    *TINY,
    f"environment={ID}",
    "reanalyse.fraction=0.5",
    "evaluation.period=0",
    "run.checkpoint_period=100",
    MORE,
)
WORDS = [word for setting in SETTINGS for word in ("--set", setting)]


class Crashing(gymnasium.Env):
    """Ten steps of nothing; with `error` set, the step after `steps` further ones raises it."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,))
    action_space = gymnasium.spaces.Discrete(2)
    error, steps = None, 0

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.taken = 0
        return self.np_random.uniform(-1, 1, 3).astype(np.float32), {}

    def step(self, action):
        self.taken += 1
        Crashing.steps -= 1
        if Crashing.error is not None and Crashing.steps < 0:
            raise Crashing.error
        return self.np_random.uniform(-1, 1, 3).astype(np.float32), 1.0, False, self.taken == 10, {}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(Crashing, "error", None)
    gymnasium.register(ID, Crashing)
    yield
    del gymnasium.registry[ID]


def test_an_error_in_a_world_names_the_world_the_episode_and_the_step():
    world = make(ID)
    world.reset(seed=17)
    world.step(0)
    Crashing.error, Crashing.steps = ZeroDivisionError("division by zero"), 1
    world.step(0)
    with pytest.raises(ValueError) as error:
        world.step(1)
    assert str(error.value) == f"{ID} failed in step 3 of the episode with seed 17: ZeroDivisionError: division by zero"
    assert isinstance(error.value.__cause__, ZeroDivisionError)  # --traceback shows it


def test_of_held_actions_it_is_said_once():
    world = make("catch?repeat=2")
    world.world._reset = lambda seed: 1 / 0
    with pytest.raises(ValueError, match=r"^catch failed at the reset of the episode with seed 3: ZeroDivisionError"):
        world.reset(seed=3)


def test_a_run_whose_world_fails_leaves_a_checkpoint_and_goes_on_from_there(tmp_path, capsys):
    Crashing.error, Crashing.steps = KeyError("lost"), 60
    out = tmp_path / "run"
    assert main(["train", *WORDS, "--out", str(out), "--env", ID]) == 2
    said = capsys.readouterr().err
    assert re.search(rf"^mzu: {ID} failed in step \d+ of the episode with seed \d+: KeyError: 'lost'", said)
    (step,) = RunFolder(out).checkpoints()
    assert f"; a checkpoint after learner step {step} is saved; `mzu train --resume --out {out}` goes on from" in said
    assert said.count("\n") == 1
    Crashing.error = None
    assert main(["train", "--resume", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "an error had ended the run: its games begin anew" in said and "not what an uninterrupted run" in said
    assert [row["step"] for row in RunFolder(out).read_log()][-1] == RunFolder(out).result()["steps"] == 40


def test_a_world_that_fails_in_the_final_evaluation_costs_no_learned_step(tmp_path, capsys):
    out = tmp_path / "run"
    Crashing.error, Crashing.steps = KeyError("lost"), 100
    assert main(["train", *WORDS, "--out", str(out), "--env", ID, "--set", "learning.training_steps=3"]) == 2
    assert "; all 3 steps are learned and saved; `mzu train --resume --out" in capsys.readouterr().err
    Crashing.error = None
    assert main(["train", "--resume", "--out", str(out)]) == 0
    assert RunFolder(out).result()["steps"] == 3


def test_before_anything_was_learned_there_is_nothing_to_save(tmp_path, capsys):
    Crashing.error, Crashing.steps = KeyError("lost"), 10
    assert main(["train", *WORDS, "--out", str(tmp_path / "run"), "--env", ID]) == 2
    assert "checkpoint" not in capsys.readouterr().err
    assert RunFolder(tmp_path / "run").checkpoints() == []


def test_an_error_in_the_model_leaves_a_checkpoint_of_the_step_before(tmp_path, monkeypatch):
    step = Learner.step

    def fails_after_4(self, *arguments):
        if self.steps == 4:
            raise RuntimeError("out of memory")
        return step(self, *arguments)

    monkeypatch.setattr(Learner, "step", fails_after_4)
    config = Config().override(*SETTINGS)
    with pytest.raises(RuntimeError, match="out of memory") as error:
        train(config, tmp_path / "run")
    assert error.value.__notes__[0].startswith("a checkpoint after learner step 4 is saved; `mzu train --resume --out")
    monkeypatch.setattr(Learner, "step", step)
    with pytest.warns(UserWarning, match="an error had ended the run"):
        assert train(config, tmp_path / "run")[1]


def test_an_error_while_the_disk_is_full_is_still_the_one_that_is_raised(tmp_path, monkeypatch):
    def full_disk(*_, **__):
        raise OSError(28, "No space left on device", "state.npz")

    monkeypatch.setattr(np, "savez", full_disk)
    Crashing.error, Crashing.steps = KeyError("lost"), 60
    with pytest.raises(ValueError, match="KeyError: 'lost'") as error:
        train(Config().override(*SETTINGS), tmp_path / "run")
    assert "no checkpoint could be saved (state.npz: No space left on device" in error.value.__notes__[0]


def break_weights(monkeypatch, in_step):
    """One learner step leaves NaN in the network, after its own loss was finite."""
    step = Learner.step

    def breaks(self, *arguments):
        found = step(self, *arguments)
        if self.steps == in_step:
            self.network.trainable_variables[0].assign(self.network.trainable_variables[0] * np.nan)
        return found

    monkeypatch.setattr(Learner, "step", breaks)


@pytest.mark.parametrize("period", ["run.checkpoint_period=3", "evaluation.period=3"])
def test_weights_that_are_not_finite_are_never_saved(period, tmp_path, monkeypatch):
    break_weights(monkeypatch, in_step=3)
    with pytest.raises(ValueError, match="The weights are not finite since learner step 3, and no checkpoint is made"):
        train(Config().override(*SETTINGS, period), tmp_path / "run")
    assert RunFolder(tmp_path / "run").checkpoints() == [] and not RunFolder(tmp_path / "run").best()


def test_a_run_that_diverges_says_how_to_go_on_with_a_lower_learning_rate(tmp_path, monkeypatch):
    break_weights(monkeypatch, in_step=5)
    out = tmp_path / "run"
    with pytest.raises(ValueError) as error:
        train(Config().override(*SETTINGS, "run.checkpoint_period=2", "run.keep_checkpoints=9"), out)
    assert RunFolder(out).checkpoints() == [2, 4]
    assert f"`mzu train --resume --out {out} --set learning.learning_rate=" in str(error.value)
    assert "goes on from learner step 4" in str(error.value)
