"""Every environment keeps the same contract, and says in a sentence what it does not accept."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces as gym
from gymnasium.utils.env_checker import check_env

from mzu.environments.check import check_environment
from mzu.environments.environment import Environment, random_action
from mzu.environments.games import GAMES
from mzu.environments.make import make
from mzu.environments.policies import HEURISTICS, heuristic_policy, noisy_policy, random_policy
from mzu.environments.spaces import Spaces


def play(environment, seed=0, policy=None, max_steps=2000):
    """One episode: observations, rewards, and how it ended."""
    policy, rng = policy or random_policy(environment), np.random.default_rng([seed, 9])
    observations, rewards = [environment.reset(seed)], []
    for _ in range(max_steps):
        observation, reward, terminated, truncated = environment.step(policy(observations[-1], rng))
        observations.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            return np.stack(observations), np.array(rewards), terminated, truncated
    raise AssertionError("the episode did not end")


def mean_return(environment, policy, episodes=20):
    return np.mean([play(environment, seed, policy)[1].sum() for seed in range(episodes)])


@pytest.mark.parametrize("id", GAMES.values())
def test_the_games_pass_the_check_of_gymnasium(id):
    modes = gymnasium.spec(id).entry_point.endswith("Catch")
    check_env(gymnasium.make(id, disable_env_checker=True).unwrapped, skip_render_check=not modes)


HELD = ["catch?repeat=2", "identity_continuous?repeat=3", "CartPole-v1?repeat=4", "Pendulum-v1?repeat=1"]


@pytest.mark.parametrize(
    "id", [*GAMES, "CartPole-v1", "Pendulum-v1", "MountainCar-v0", "FrozenLake-v1", "Blackjack-v1", *HELD]
)
def test_an_environment_keeps_the_contract(id):
    environment = make(id)
    assert environment.id == id
    assert check_environment(environment, max_steps=300) == []


@pytest.mark.parametrize("id", [*GAMES, "CartPole-v1", "Pendulum-v1", *HELD])
def test_the_same_seed_gives_the_same_episode_and_another_seed_another(id):
    first, again, other = (play(make(id), seed) for seed in (3, 3, 4))
    assert np.array_equal(first[0], again[0]) and np.array_equal(first[1], again[1])
    assert first[0].shape != other[0].shape or not np.array_equal(first[0], other[0])


def test_what_comes_after_a_seeded_reset_is_seeded_too():
    def two_starts():
        environment = make("point")
        return environment.reset(5), environment.reset()

    (first, second), (again, also) = two_starts(), two_starts()
    assert np.array_equal(first, again) and np.array_equal(second, also) and not np.array_equal(first, second)


def test_a_policy_with_the_seed_of_the_environment_cannot_guess_its_answers():
    environment = make("identity")
    rng = np.random.default_rng(0)
    environment.reset(0)
    guesses = [environment.step(random_action(environment.spaces, rng))[1] for _ in range(10)]
    assert sum(guesses) < 8


def test_the_last_observation_belongs_to_the_episode_and_nothing_resets_by_itself():
    environment = make("chain", length=4)
    environment.reset(0)
    environment.step(1)
    observation, reward, terminated, truncated = environment.step(1)
    assert observation.tolist() == [0, 0, 0, 1] and (reward, terminated, truncated) == (1, True, False)
    with pytest.raises(ValueError, match=r"chain: the episode has ended or not begun; call reset\(\) before step"):
        environment.step(1)
    with pytest.raises(ValueError, match="not begun"):
        make("chain").step(1)


@pytest.mark.parametrize("id", ["Pendulum-v1", "identity", "point", "point?repeat=4"])
def test_a_time_limit_is_a_truncation(id):
    assert play(make(id))[2:] == (False, True)


def test_an_end_by_both_reasons_is_terminal():
    environment = make("CartPole-v1", max_episode_steps=12)
    ends = {play(environment, seed)[2:] for seed in range(200)}
    assert ends == {(True, False), (False, True)}


@pytest.mark.parametrize(
    "id, action, sentence",
    [
        ("catch", 3, r"the action is 3, but the environment has 3 actions \(0..2\)"),
        ("catch?repeat=2", 3, r"catch\?repeat=2: the action is 3, but the environment has 3 actions \(0..2\)"),
        ("catch", -1, "the action is -1, but"),
        ("catch", 1.0, r"the action is 1.0, but must be one whole number in 0..2"),
        ("catch", float("nan"), "is the policy's output NaN"),
        ("catch", [1], "one whole number"),
        ("catch", True, "one whole number"),
        ("point", [0.5, 1.5], r"must lie in \[-1, 1\] in every dimension"),
        ("point", [0.5, float("nan")], "is the policy's output NaN"),
        ("point", [0.5], r"must be 2 numbers in \[-1, 1\], shape \(2,\)"),
        ("point", 0, "must be 2 numbers"),
    ],
)
def test_an_action_outside_the_space_is_refused_in_a_sentence(id, action, sentence):
    environment = make(id)
    environment.reset(0)
    with pytest.raises(ValueError, match=sentence):
        environment.step(action)


def test_numpy_integers_are_actions():
    boards = []
    for action in (2, np.int64(2), np.array(2, np.uint8)):
        environment = make("catch")
        environment.reset(0)
        boards.append(environment.step(action)[0])
    assert np.array_equal(boards[0], boards[1]) and np.array_equal(boards[0], boards[2])


@pytest.mark.parametrize(
    "id, options, sentence",
    [
        ("CartPol-v1", {}, "no environment 'CartPol-v1'; did you mean 'CartPole-v1'"),
        ("nothing", {}, "ids look like"),
        ("nothing:else", {}, "the module nothing, which Python does not find"),
        ("CartPole-v77", {}, "CartPole-v1"),
        ("catch", {"raws": 3}, "does not understand the options raws"),
        ("catch", {"rows": 1}, "at least 2"),
        ("point", {"dimensions": 7}, "must have 1..6"),
        ("chain", {"length": 2}, "at least 3"),
        ("identity", {"kind": "other"}, "must be 'discrete', 'image' or 'continuous'"),
        (3, {}, "neither an id nor a gymnasium.Env"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence(id, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(id, **options)


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


def test_the_picture_of_catch_can_be_shown():
    environment = make("catch", render_mode="rgb_array")
    environment.reset(0)
    assert environment.render().shape == (160, 80, 3)
    with pytest.raises(ValueError, match="render_mode='rgb_array'"):
        make("catch").render()


class Faulty(Environment):
    """A world with one fault."""

    def __init__(self, fault):
        super().__init__("faulty", Spaces((2,), 2))
        self.fault, self.shared = fault, np.zeros(2, np.float32)

    def reset(self, seed=None):
        self.steps, self.rng = 0, np.random.default_rng(None if self.fault == "seed" else seed)
        return self._look()

    def step(self, action):
        if self.steps == 5 and self.fault != "autoreset":
            raise ValueError("ended")
        self.steps += 1
        end = self.steps >= 5
        reward = np.nan if self.fault == "reward" else 1.0
        return self._look(), reward, 1 if self.fault == "flag" else end, end and self.fault == "both"

    def legal_actions(self):
        return [True, True] if self.fault == "legal" else None

    def _look(self):
        observation = self.rng.normal(size=2).astype(np.float32)
        if self.fault == "shared":
            self.shared[:] = observation
            return self.shared
        if self.fault == "large":
            observation *= 1e4
        if self.fault == "nan":
            observation[0] = np.nan
        return {"list": list(observation), "dtype": observation.astype(float)}.get(self.fault, observation)


@pytest.mark.parametrize(
    "fault, sentence",
    [
        ("seed", "two episodes with the seed 0 and the same actions differ"),
        ("autoreset", r"step\(\) goes on after the end"),
        ("reward", "the reward nan, but must return a finite number"),
        ("flag", "terminated = 1, but must return True or False"),
        ("both", "both terminated and truncated"),
        ("legal", "legal_actions"),
        ("shared", "return a copy"),
        ("large", "scale them to about the size of 1"),
        ("nan", "NaN or infinity"),
        ("list", "a list of 2 as observation, but must return a numpy array"),
        ("dtype", r"an observation float64 \(2,\), but spaces says float32 \(2,\)"),
    ],
)
def test_the_check_finds_each_fault(fault, sentence):
    findings = check_environment(Faulty(fault))
    assert any(re.search(sentence, finding) for finding in findings), findings
    assert check_environment(Faulty(None)) == []


@pytest.mark.parametrize(
    "id, least", [("CartPole-v1", 490), ("Pendulum-v1", -250), ("catch", 1), ("point", 20), ("chain", 1)]
)
def test_a_heuristic_is_good_and_better_than_random_play(id, least):
    environment = make(id)
    score = mean_return(environment, heuristic_policy(environment))
    assert score >= least and score > mean_return(environment, random_policy(environment)) + 0.9


def test_the_identity_games_are_solved_by_reading_the_observation():
    for id in ("identity", "identity_image", "identity_continuous"):
        environment = make(id)
        assert mean_return(environment, heuristic_policy(environment), 3) == pytest.approx(10)
        assert mean_return(environment, random_policy(environment), 10) < 7.5
    assert GAMES.keys() <= HEURISTICS.keys()


def test_undirected_play_does_not_find_the_treasure_of_a_long_chain():
    environment = make("chain", length=30)
    assert max(play(environment, seed)[1].max() for seed in range(50)) == pytest.approx(0.001)


@pytest.mark.parametrize("dimensions", [1, 6])
def test_point_has_as_many_dimensions_as_asked_for(dimensions):
    environment = make("point", dimensions=dimensions)
    assert environment.spaces == Spaces((2 * dimensions,), dimensions, continuous=True)
    position, way = np.split(environment.reset(0), 2)
    moved, rest = np.split(environment.step(np.sign(way))[0], 2)
    assert np.allclose(moved + rest, position + way, atol=1e-6) and np.linalg.norm(rest) < np.linalg.norm(way)


def test_noise_and_stickiness_happen_as_often_as_said():
    environment = make("identity", size=10)
    observation = environment.reset(0)
    act = noisy_policy(environment, lambda observation, rng: 3, noise=0.5)
    rng = np.random.default_rng(0)
    actions = np.array([act(observation, rng) for _ in range(4000)])
    assert np.mean(actions != 3) == pytest.approx(0.45, abs=0.03)
    act = noisy_policy(environment, random_policy(environment), noise=0, sticky=0.6)
    actions = np.array([act(observation, rng) for _ in range(4000)])
    assert np.mean(actions[1:] == actions[:-1]) == pytest.approx(0.6 + 0.4 * 0.1, abs=0.03)
