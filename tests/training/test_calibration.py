import json
import time

import numpy as np
import pytest
from made_runs import OPTIONS, assert_same_state, tiny_config

from mzu.environments.make import make
from mzu.presets import preset
from mzu.training import calibration
from mzu.training.calibration import Calibration, calibrate
from mzu.training.clock import Time, now
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer

SELECTIONS = ("policy", "search")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(calibration, "SECONDS", 0.02)


def trained(config, folder, measured):
    """-> (the state in the end, log.csv) of a run that was measured before, or not."""
    trainer = Trainer(config)
    if measured:
        calibrate(trainer, SELECTIONS, now(), config.learning.training_steps)
    folder = RunFolder.create(folder, config)
    assert trainer.run(folder)
    return trainer.state(), (folder.path / "log.csv").read_text()


@pytest.mark.parametrize("kind, settings", [("online", ()), ("offline", ()), ("online", OPTIONS)])
def test_a_run_that_was_measured_learns_what_it_would_have_learned(kind, settings, tmp_path):
    config = tiny_config(kind, tmp_path).override(*settings)
    state, log = trained(config, tmp_path / "alone", measured=False)
    measured_state, measured_log = trained(config, tmp_path / "measured", measured=True)
    assert measured_log == log
    assert_same_state(measured_state, state)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cartpole_offline", "catch", "swingup"])
def test_a_compiled_run_of_a_preset_learns_the_same_where_it_was_measured(name, tmp_path):
    settings = {"learning.training_steps": 30, "run.log_period": 1, "evaluation.period": 10}
    config = preset(name).config.replace(**settings)
    state, log = trained(config, tmp_path / "alone", measured=False)
    measured_state, measured_log = trained(config, tmp_path / "measured", measured=True)
    assert measured_log == log
    assert_same_state(measured_state, state)


def test_every_part_is_measured_and_counted(tmp_path):
    config = tiny_config("online", tmp_path)
    numbers = np.random.get_state()[1].copy()  # noqa: NPY002 (worlds of others may use them)
    found = calibrate(Trainer(config), SELECTIONS, now(), config.learning.training_steps)
    assert list(found.parts) == [
        "starting", "compiling and measuring", "filling the replay", "learner steps", "evaluations on the way",
        "final evaluation",
    ]  # fmt: skip
    assert all(part.wall > 0 for part in found.parts.values())
    assert found.memory > 100_000_000 and found.cores >= 1
    assert (np.random.get_state()[1] == numbers).all()  # noqa: NPY002


def test_a_world_that_does_not_say_when_it_ends_is_played_to_its_end(monkeypatch, tmp_path):
    """Catch: nine steps, and one choice of actions for each, whatever the limit of the games that are measured."""
    config = tiny_config("online", tmp_path).override("environment=catch", "evaluation.episodes=2")
    monkeypatch.setattr(calibration, "_choice", lambda *arguments: (Time(0.0, 0.0), Time(1000.0, 0.0)))
    found = calibrate(Trainer(config), ("policy",), now(), 13)
    assert found.parts["final evaluation"].wall == pytest.approx(9000, abs=5)


def test_a_run_that_goes_on_fills_no_replay_and_a_run_without_a_world_is_not_evaluated(tmp_path):
    config = tiny_config("offline", tmp_path)
    assert "filling the replay" not in calibrate(Trainer(config), SELECTIONS, now(), 5).parts
    alone = config.replace(environment=None)
    assert "final evaluation" not in calibrate(Trainer(alone), SELECTIONS, now(), 13).parts


def test_a_learner_step_that_sleeps_is_forecast_to_sleep(tmp_path, monkeypatch):
    trainer = Trainer(tiny_config("offline", tmp_path))
    step = trainer.learner.step

    def slow(*arguments):
        time.sleep(0.03)
        return step(*arguments)

    monkeypatch.setattr(trainer.learner, "step", slow)
    taken = calibrate(trainer, SELECTIONS, now(), 1000).parts["learner steps"]
    assert taken.wall > 30


def test_a_world_that_says_when_it_ends_is_evaluated_until_then():
    """250 decisions of four steps each, though random play is over after twenty."""
    assert make("dm_control:cartpole-swingup?repeat=4").time_limit == 250
    assert make("CartPole-v1?repeat=2").time_limit == 250
    assert make("identity").time_limit == 10
    assert make("catch").time_limit is None


def test_a_calibration_survives_its_way_from_one_process_to_another():
    found = Calibration({"starting": Time(1.5, 1.0)}, 1.5, 10, 1.0)
    assert Calibration.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_a_replay_that_is_smaller_than_a_round_of_games_can_be_measured(tmp_path):
    config = tiny_config("offline", tmp_path).replace(replay={"capacity": 4, "start_size": 4}, acting={"games": 12})
    assert calibrate(Trainer(config), ("policy",), now(), 13).parts["learner steps"].wall > 0
