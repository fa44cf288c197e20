"""Every environment keeps the same contract, and says in a sentence what it does not accept."""

import numpy as np
import pytest
from made_worlds import play

from mzu.environments.check import check_environment
from mzu.environments.environment import random_action
from mzu.environments.games import GAMES
from mzu.environments.make import make

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


def test_every_kind_of_environment_says_how_fast_it_is_shown():
    assert make("catch", render_mode="rgb_array").frames_per_second == 4
    assert make("atari:Pong").frames_per_second == 15
