"""RL Unplugged's control tasks: read as recorded, written and read again."""

import dataclasses

import numpy as np
import pytest
from made_episodes import assert_same, control_episodes

from mzu import load_episodes
from mzu.environments.spaces import Spaces
from mzu.episodes.readers.rlu_control import ACTION_DIMENSIONS, NUM_EPISODES, control_task, own_task, write_control


def test_the_dm_control_fixture_has_1001_observations_and_the_known_return(fixtures_folder):
    dataset = load_episodes("rlu:cartpole_swingup", root=fixtures_folder)
    (episode,) = dataset
    assert episode.observations.shape == (1001, 5) and episode.observations.dtype == np.float32
    assert episode.actions.shape == (1000, 1)
    assert round(episode.total_reward, 1) == 861.0
    assert episode.truncated and not episode.terminated
    assert np.isfinite(episode.rewards).all()
    # The first numbers of the file: position before velocity, and the reward that follows the first action.
    first = [-0.00151776, -0.99999738, 0.00228323, -0.00756582, 0.00110069]
    np.testing.assert_allclose(episode.observations[0], first, rtol=1e-5)
    assert episode.actions[0] == 1.0 and episode.rewards[0] == pytest.approx(4.847754e-07)
    assert episode.actions[-1] == pytest.approx(0.169304)
    assert dataset.spaces.num_actions == 1 and dataset.spaces.continuous


@pytest.mark.parametrize("name", sorted(ACTION_DIMENSIONS))
def test_all_nine_tasks_are_read_key_by_key_in_the_documented_order(name, tmp_path):
    task = control_task(name)
    episodes = control_episodes(2, task.spaces.observation_shape[0], task.num_actions)
    write_control(tmp_path / name, episodes, task)
    dataset = load_episodes(f"rlu:{name}", root=tmp_path)
    assert dataset.spaces == task.spaces
    assert_same(episodes, dataset)
    assert NUM_EPISODES[name] >= 40


def test_a_terminal_end_survives_the_control_format(tmp_path):
    (episode,) = control_episodes(1)
    ended = dataclasses.replace(episode, terminated=True, truncated=False)
    write_control(tmp_path / "own", [ended], own_task("own", Spaces((5,), 1, continuous=True)))
    assert_same([ended], load_episodes(tmp_path / "own"))
