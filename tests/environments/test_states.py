"""A world that was put into the state of an observation shows it, and goes on from there as it did."""

import numpy as np
import pytest

from mzu.acting.collect import collect
from mzu.environments.make import make
from mzu.environments.states import state_setter

WORLDS = ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "dm_control:cartpole-swingup?repeat=2")


@pytest.mark.parametrize("id", WORLDS)
def test_a_recorded_step_can_be_taken_again(id):
    environment = make(id)
    environment.max_steps = 30
    (episode,) = collect(environment, "random", 1)
    put = state_setter(environment)
    for step in (0, len(episode) // 2, len(episode) - 1):
        environment.reset(seed=5)
        assert np.allclose(put(episode.observations[step]), episode.observations[step], atol=1e-4)
        following, reward, _, _ = environment.step(episode.actions[step])
        assert np.allclose(following, episode.observations[step + 1], atol=1e-3)
        assert abs(reward - episode.rewards[step]) < 1e-3


def test_joints_are_turned_into_their_ranges():
    """A leg that is a whole turn further looks the same, and would be torn back by its limit."""
    environment = make("dm_control:walker-walk")
    environment.max_steps = 25
    (episode,) = collect(environment, "random", 1, seed=300)
    put, agreed = state_setter(environment), []
    for step in (2, 9, 16, 23):
        environment.reset(seed=0)
        put(episode.observations[step])
        agreed.append(
            np.allclose(environment.step(episode.actions[step])[0], episode.observations[step + 1], atol=0.05)
        )
    assert sum(agreed) >= 3


def test_what_no_state_shows_is_not_claimed():
    environment = make("dm_control:cartpole-swingup")
    environment.reset(seed=0)
    wanted = np.float32([0, 0.9, 0.9, 0, 0])  # cosine and sine of no angle
    assert np.abs(state_setter(environment)(wanted) - wanted).max() > 0.1


def test_worlds_that_nobody_can_set_are_named_by_none():
    assert state_setter(make("catch")) is None and state_setter(make("point?repeat=2")) is None
