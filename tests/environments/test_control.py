"""DM Control: the nine tasks of RL Unplugged, with observations as in its data, and time limits as truncations."""

import os
import subprocess
import sys

import numpy as np
import pytest

from mzu.environments.check import check_environment
from mzu.environments.control import OBSERVATION_KEYS, flatten_observation
from mzu.environments.environment import random_action
from mzu.environments.make import make

# Numbers in an observation and dimensions of an action, as the paper's table and the datasets have them.
TASKS = {
    "cartpole_swingup": (5, 1),
    "cheetah_run": (17, 6),
    "finger_turn_hard": (10, 2),
    "fish_swim": (24, 5),
    "humanoid_run": (67, 21),
    "manipulator_insert_ball": (44, 5),
    "manipulator_insert_peg": (44, 5),
    "walker_stand": (24, 6),
    "walker_walk": (24, 6),
}


def make_task(task):
    return make("dm_control:" + task.replace("_", "-", 1))


def test_making_a_task_says_nothing(caplog):
    """MuJoCo would call a setting of the cheetah's own model deprecated, once for every game of a run."""
    make_task("cheetah_run")
    assert not caplog.records


@pytest.mark.parametrize("task", TASKS)
def test_a_task_of_rl_unplugged_runs_1000_steps_and_is_then_truncated(task):
    environment = make_task(task)
    size, dimensions = TASKS[task]
    assert environment.spaces.observation_shape == (size,) and environment.spaces.num_actions == dimensions
    rng = np.random.default_rng(0)
    environment.reset(0)
    for step in range(1, 1001):
        observation, reward, terminated, truncated = environment.step(random_action(environment.spaces, rng))
        assert observation.dtype == np.float32 and 0 <= reward <= 1 and not terminated
        assert truncated == (step == 1000)
    with pytest.raises(ValueError, match="ended"):
        environment.step(np.zeros(dimensions))


@pytest.mark.parametrize("task", TASKS)
def test_the_observation_joins_the_keys_of_the_data_in_their_order(task):
    environment = make_task(task)
    observation = environment.reset(1)
    parts = environment.world.task.get_observation(environment.world.physics)
    start = 0
    for key, size in OBSERVATION_KEYS[task].items():
        assert np.allclose(observation[start : start + size], np.ravel(parts[key]), atol=1e-6), key
        start += size
    assert start == len(observation)
    left_out = set(parts) - set(OBSERVATION_KEYS[task])
    assert left_out == ({"touch"} if task == "finger_turn_hard" else set())


def test_tasks_that_rl_unplugged_lacks_work_too():
    assert check_environment(make("dm_control:pendulum-swingup"), max_steps=50) == []


def test_the_same_seed_gives_the_same_episode():
    environment = make_task("fish_swim")  # the target is drawn at every reset
    first, second, third = environment.reset(3), environment.reset(), environment.reset(3)
    assert np.array_equal(first, third) and not np.array_equal(first, second)
    assert np.array_equal(make_task("fish_swim").reset(3), first)
    assert check_environment(environment, max_steps=50) == []


def test_a_terminal_end_is_told_apart_from_the_time_limit(monkeypatch):
    environment = make_task("cartpole_swingup")
    environment.reset(0)
    monkeypatch.setattr(environment.world.task, "get_termination", lambda physics: 0.0)
    assert environment.step([0.0])[2:] == (True, False)


def test_actions_reach_the_motors_over_their_whole_range():
    environment = make_task("cartpole_swingup")
    for action in (-1.0, 0.25, 1.0):
        environment.reset(0)
        environment.step([action])
        assert environment.world.physics.control()[0] == pytest.approx(action)


@pytest.mark.parametrize(
    "id, sentence",
    [
        ("dm_control:cartpole_swingup", "did you mean 'dm_control:cartpole-swingup'"),
        ("dm_control:finger.turn_hard", "did you mean 'dm_control:finger-turn_hard'"),
        ("dm_control:nothing", "ids look like dm_control:cheetah-run"),
    ],
)
def test_an_unknown_task_is_answered_with_the_nearest(id, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(id)


def test_it_starts_without_a_screen():
    hidden = ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    code = "from mzu.environments.make import make; print(make('dm_control:cartpole-swingup').reset(0).shape)"
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert process.stdout == "(5,)\n", process.stderr


def test_flattening_takes_rows_out_of_flat_files_and_names_what_is_missing():
    sizes = {"b": 2, "a": 1}
    parts = {"a": [10, 20, 30], "b": [1, 2, 3, 4, 5, 6], "unused": [0]}
    assert flatten_observation(parts, sizes).tolist() == [[1, 2, 10], [3, 4, 20], [5, 6, 30]]
    with pytest.raises(ValueError, match="lacks b; it has a, but needs b, a"):
        flatten_observation({"a": [1]}, sizes)
    with pytest.raises(ValueError, match="observation/b has 3 numbers, which is no multiple of its size 2"):
        flatten_observation({"a": [1], "b": [1, 2, 3]}, sizes)
    with pytest.raises(ValueError, match="different numbers of steps"):
        flatten_observation({"a": [1, 2], "b": [1, 2]}, sizes)


def test_the_recorded_episode_of_rl_unplugged_happens_again_in_the_environment(fixtures_folder):
    """The whole state of cartpole is in its observation: from each one, the recorded action leads to the next."""
    from mzu.episodes.readers.rlu_control import control_task, read_control

    path = fixtures_folder / "rlu_control_suite" / "cartpole_swingup" / "train-00000-of-00001"
    (episode,) = read_control(path, control_task("cartpole_swingup"))
    place, cosine, sine, speed, turning = episode.observations.T
    assert np.allclose(cosine**2 + sine**2, 1, atol=1e-5) and np.abs(place).max() < 2
    environment = make_task("cartpole_swingup")
    physics = environment.world.physics
    for step in range(0, 1000, 7):
        environment.reset(0)
        with physics.reset_context():
            physics.data.qpos[:] = place[step], np.arctan2(sine[step], cosine[step])
            physics.data.qvel[:] = speed[step], turning[step]
        observation, reward, _, _ = environment.step(episode.actions[step])
        assert np.allclose(observation, episode.observations[step + 1], atol=2e-3)
        assert reward == pytest.approx(episode.rewards[step], abs=2e-4)
