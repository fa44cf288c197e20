"""Any Gymnasium environment, seen through the contract: spaces, bounds, order of parts, legal actions."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces as gym

from mzu.environments.check import check_environment
from mzu.environments.environment import random_action
from mzu.environments.make import make
from mzu.environments.spaces import Spaces


class Echo(gymnasium.Env):
    """Any two spaces; remembers the action that reaches it."""

    def __init__(self, observation_space, action_space, observation=None):
        self.observation_space, self.action_space, self.observation = observation_space, action_space, observation

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._next(), {}

    def step(self, action):
        self.action = action
        return self._next(), 0.0, False, False, {}

    def _next(self):
        return self.observation_space.sample() if self.observation is None else self.observation


def test_continuous_actions_are_mapped_to_the_bounds_of_the_world():
    world = Echo(gym.Box(0, 1, (1,)), gym.Box(np.float32([[0, -10]]), np.float32([[4, -2]])))
    environment = make(world)
    assert environment.spaces.num_actions == 2 and environment.spaces.continuous
    environment.reset(0)
    for action, expected in [([-1, -1], [0, -10]), ([1, 1], [4, -2]), ([0, 0.5], [2, -4])]:
        environment.step(action)
        assert world.action.shape == (1, 2) and np.allclose(world.action, expected)


def test_discrete_actions_begin_at_zero():
    world = Echo(gym.Box(0, 1, (1,)), gym.Discrete(3, start=5))
    environment = make(world)
    environment.reset(0)
    environment.step(2)
    assert world.action == 7


def test_the_parts_of_a_dict_are_joined_in_the_order_of_their_names():
    space = gym.Dict({"b": gym.Box(-1, 1, (2,)), "a": gym.Discrete(3), "c": gym.Tuple([gym.Box(-1, 1, (1,))])})
    observation = {"b": np.float32([0.25, 0.5]), "a": 1, "c": (np.float32([-1]),)}
    environment = make(Echo(space, gym.Discrete(2), observation))
    assert environment.reset().tolist() == [0, 1, 0, 0.25, 0.5, -1]


def test_images_keep_their_bytes_and_get_channels_last():
    picture = np.random.default_rng(0).integers(0, 256, (3, 6, 5), np.uint8)
    world = Echo(gym.Box(0, 255, (3, 6, 5), np.uint8), gym.Discrete(2), picture)
    environment = make(world, channels_first=True)
    assert environment.spaces == Spaces((6, 5, 3), 2, observation_dtype="uint8")
    assert np.array_equal(environment.reset()[2, 4], picture[:, 2, 4])
    assert "looks like [channels, height, width]" in check_environment(make(world), max_steps=3)[0]
    grey = make(Echo(gym.Box(0, 255, (6, 5), np.uint8), gym.Discrete(2)))
    assert grey.reset().shape == (6, 5, 1)


@pytest.mark.parametrize(
    "observations, actions, sentence",
    [
        (gym.Text(5), gym.Discrete(2), r"observation space Text\(.*but mzu supports Box, Discrete"),
        (gym.Dict(a=gym.Sequence(gym.Discrete(2))), gym.Discrete(2), r"observation space Sequence\(.* at \['a'\]"),
        (gym.Tuple([gym.Box(0, 255, (8, 8, 3), np.uint8)]), gym.Discrete(2), r"at \[0\].*without images"),
        (gym.Box(0, 1, (2, 3, 4, 5)), gym.Discrete(2), r"shape \(2, 3, 4, 5\).*channels"),
        (gym.Box(0, 1, (2,)), gym.MultiDiscrete([2, 3]), r"action space MultiDiscrete\(.*supports Discrete and Box"),
        (gym.Box(0, 1, (2,)), gym.Box(-np.inf, 1, (2,)), "without finite bounds"),
    ],
)
def test_an_unsupported_space_is_named_together_with_what_is_supported(observations, actions, sentence):
    with pytest.raises(ValueError, match=f"Echo has.*{sentence}"):
        make(Echo(observations, actions))


def test_illegal_actions_are_passed_on():
    environment = make("Taxi-v4")
    environment.reset(seed=0)
    legal = environment.legal_actions()
    assert legal.dtype == bool and legal.shape == (6,) and not legal.all()
    rng = np.random.default_rng(0)
    assert all(legal[random_action(environment.spaces, rng, legal)] for _ in range(50))
