"""`?repeat=N` is the world stepped N times by hand: the same observations, the rewards added, the same ends."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces as gym

from mzu.acting.collect import collect
from mzu.config import Config
from mzu.environments import scores
from mzu.environments.environment import random_action
from mzu.environments.held_actions import HeldActions, held_id, split_id
from mzu.environments.make import make
from mzu.environments.players import draw_player
from mzu.environments.policies import heuristic_policy, random_policy
from mzu.training.inputs import environment_maker


def step_by_hand(world, action, repeat):
    """What one decision must bring, and how many steps of the world it took."""
    rewards = []
    for _ in range(repeat):
        observation, reward, terminated, truncated = world.step(action)
        rewards.append(reward)
        if terminated or truncated:
            break
    return (observation, sum(rewards), terminated, truncated), len(rewards)


def lengths_of_holds(id, repeat, seed, max_decisions=2000, **options):
    """Plays a held world beside the world itself, checks that they agree, -> steps per decision, and the end."""
    held, world = make(f"{id}?repeat={repeat}", **options), make(id, **options)
    rng, holds = np.random.default_rng(seed), []
    assert np.array_equal(held.reset(seed), world.reset(seed))
    for _ in range(max_decisions):
        action = random_action(held.spaces, rng)
        expected, steps = step_by_hand(world, action, repeat)
        observation, *rest = held.step(action)
        assert np.array_equal(observation, expected[0]) and observation.dtype == expected[0].dtype
        assert tuple(rest) == expected[1:]
        holds.append(steps)
        if rest[1] or rest[2]:
            return holds, tuple(rest[1:])
    raise AssertionError("the episode did not end")


@pytest.mark.parametrize("repeat", [1, 2, 3, 5])
def test_discrete_actions_are_held_until_the_pole_falls(repeat):
    ends = [lengths_of_holds("CartPole-v1", repeat, seed) for seed in range(8)]
    assert all(end == (True, False) for _, end in ends)
    assert all(set(holds[:-1]) <= {repeat} for holds, _ in ends)
    assert repeat == 1 or any(holds[-1] < repeat for holds, _ in ends)  # some fall within a hold


@pytest.mark.parametrize(
    "id, repeat, decisions, last",
    [
        ("dm_control:cartpole-swingup", 4, 250, 4),
        ("dm_control:cartpole-swingup", 3, 334, 1),
        ("point", 4, 7, 1),
        ("point", 30, 1, 25),
        ("Pendulum-v1", 8, 25, 8),
    ],
)
def test_a_time_limit_is_that_of_the_world(id, repeat, decisions, last):
    holds, end = lengths_of_holds(id, repeat, seed=3)
    assert holds == [repeat] * (decisions - 1) + [last] and end == (False, True)


def test_pictures_and_the_dice_of_the_emulator_are_those_of_the_world():
    holds, end = lengths_of_holds("atari:Pong", 2, seed=5, stack=1, frame_limit=204)
    assert holds == [2] * 25 + [1] and end == (False, True)  # 204 frames are 51 steps of four


def test_an_end_within_a_hold_ends_it_with_what_was_collected():
    """Start at place 1 of 5: left earns 0.001 at every step; three steps to the right reach the treasure."""
    chain = make("chain?repeat=2", length=5)
    assert chain.reset(0).tolist() == [0, 1, 0, 0, 0]
    observation, reward, terminated, truncated = chain.step(0)
    assert observation.tolist() == [1, 0, 0, 0, 0] and reward == pytest.approx(0.002)
    assert not terminated and not truncated
    assert chain.step(1)[0].tolist() == [0, 0, 1, 0, 0]
    observation, reward, terminated, truncated = chain.step(1)
    assert observation.tolist() == [0, 0, 0, 0, 1] and (reward, terminated, truncated) == (1.0, True, False)
    with pytest.raises(ValueError, match=r"chain\?repeat=2: the episode has ended or not begun; call reset"):
        chain.step(1)
    chain.reset(0)
    chain.step(1)
    observation, reward, terminated, _ = chain.step(1)  # the first of the two steps ends it
    assert chain.world.world.unwrapped.steps == 3 and terminated and reward == 1.0


def test_seeds_reach_the_world_and_last_over_later_resets():
    held, world = make("point?repeat=3"), make("point")
    assert np.array_equal(held.reset(7), world.reset(7)) and np.array_equal(held.reset(), world.reset())
    assert not np.array_equal(held.reset(7), held.reset(8))


class Doors(gymnasium.Env):
    """Action 1 is legal in even steps only; the reward counts the steps."""

    observation_space, action_space = gym.Box(0, 1, (1,)), gym.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), self._info()

    def step(self, action):
        assert self._info()["action_mask"][action], "an illegal action was taken"
        self.steps += 1
        return np.zeros(1, np.float32), 1.0, False, False, self._info()

    def _info(self):
        return {"action_mask": np.int8([1, self.steps % 2 == 0])}


def test_a_hold_ends_where_its_action_stops_being_legal():
    world = Doors()
    held = HeldActions(make(world), 4)
    held.reset(0)
    assert held.legal_actions().tolist() == [True, True]
    assert held.step(0)[1] == 4 and held.legal_actions().tolist() == [True, True]
    assert held.step(1)[1] == 1 and held.legal_actions().tolist() == [True, False]
    assert held.step(0)[1] == 4 and world.steps == 9


def test_what_is_not_held_passes_through():
    held = make("catch?repeat=2", render_mode="rgb_array", rows=6)
    plain = make("catch", render_mode="rgb_array", rows=6)
    assert held.id == "catch?repeat=2" and held.spaces == plain.spaces == held.unheld.spaces
    assert (held.repeat, plain.repeat) == (2, 1) and plain.unheld is plain and held.unheld.id == "catch"
    assert (held.frames_per_second, plain.frames_per_second) == (2, 4)
    held.reset(0), plain.reset(0)
    assert np.array_equal(held.render(), plain.render())
    assert make(held) is held
    held.close()
    for closed in (held, held.unheld):
        with pytest.raises(ValueError, match="call reset"):
            closed.step(1)


@pytest.mark.parametrize(
    "id, frames_per_second", [("atari:Pong?repeat=2", 7.5), ("dm_control:cartpole-swingup?repeat=4", 25)]
)
def test_a_video_shows_one_picture_per_decision(id, frames_per_second):
    assert make(id).frames_per_second == pytest.approx(frames_per_second)


@pytest.mark.parametrize("id, parts", [
    ("CartPole-v1", ("CartPole-v1", None)),
    ("ALE/Pong-v5", ("ALE/Pong-v5", None)),
    ("my_worlds:Lift-v0?repeat=12", ("my_worlds:Lift-v0", 12)),
    ("dm_control:finger-turn_hard?repeat=2", ("dm_control:finger-turn_hard", 2)),
])  # fmt: skip
def test_an_id_is_split_at_its_question_mark(id, parts):
    assert split_id(id) == parts
    assert held_id(id, 5) == f"{parts[0]}?repeat=5" and held_id(id, 1) == parts[0]


@pytest.mark.parametrize(
    "id, sentence",
    [
        ("catch?foo=1", r"'catch\?foo=1' has the option 'foo', which is not known; .* as in catch\?repeat=4"),
        ("catch?", r"'catch\?' has nothing behind the '\?'; the one option of an id is repeat"),
        ("catch?repeat=x", "has the repeat 'x', but it must be a whole number"),
        ("catch?repeat=", "has the repeat '', but it must be a whole number"),
        ("catch?repeat=2.5", "has the repeat '2.5', but it must be a whole number"),
        ("catch?repeat=-2", "has the repeat '-2', but it must be a whole number"),
        ("catch?repeat=2?repeat=3", r"has the repeat '2\?repeat=3'"),
        ("catch?repeat=0", "catch: repeat is 0, but must be a whole number of at least 1"),
        ("?repeat=2", r"names no environment before the '\?'"),
        ("cetch?repeat=2", "There is no environment 'cetch'; did you mean 'catch'"),
        ("atari:Pang?repeat=2", "did you mean 'atari:Pong'"),
        ("dm_control:cartpole-swing?repeat=2", "did you mean 'dm_control:cartpole-swingup'"),
    ],
)
def test_an_option_that_is_not_understood_is_said_in_a_sentence(id, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(id)


def test_an_object_is_held_by_hand_and_only_once():
    held = HeldActions(make(gymnasium.make("CartPole-v1")), np.int64(2))
    assert held.id == "CartPole-v1?repeat=2" and type(held.repeat) is int
    with pytest.raises(ValueError, match=r"CartPole-v1\?repeat=2 holds its actions already"):
        HeldActions(held, 2)
    with pytest.raises(ValueError, match=r"repeat is 1\.5, but must be a whole number"):
        HeldActions(make("catch"), 1.5)
    with pytest.raises(ValueError, match="the options rows come too late"):
        make(held, rows=3)


@pytest.mark.parametrize(
    "id, least", [("CartPole-v1?repeat=2", 490), ("catch?repeat=2", 1), ("dm_control:cartpole-swingup?repeat=4", 750)]
)
def test_the_heuristic_of_the_world_plays_with_held_actions(id, least):
    environment = make(id)
    returns = [episode.total_reward for episode in collect(environment, heuristic_policy(environment), 2)]
    assert np.mean(returns) >= least


def test_the_players_of_the_world_play_with_held_actions():
    for id in ("catch?repeat=2", "dm_control:cartpole-swingup?repeat=4"):
        with make(id) as held, make(split_id(id)[0]) as plain:
            drawn = [draw_player(world, np.random.default_rng(1))[0] for world in (held, plain)]
            assert drawn[0] == drawn[1]
            held.step(draw_player(held, np.random.default_rng(1))[1](held.reset(0), np.random.default_rng(0)))
    for wanted in ("heuristic", "players"):
        with pytest.raises(ValueError, match=rf"no {wanted} for MountainCar-v0\S*; there are for CartPole"):
            next(collect(make("MountainCar-v0?repeat=4"), wanted))


def test_held_random_play_goes_further():
    """What holding is for: random pushes of 80 ms swing the pole, of 10 ms they cancel each other out."""
    returns = {}
    for repeat in (1, 8):
        environment = make(f"dm_control:cartpole-swingup?repeat={repeat}")
        returns[repeat] = np.mean([one.total_reward for one in collect(environment, random_policy(environment), 8)])
    assert returns[8] > 2 * returns[1]


def test_scores_and_settings_know_the_world_behind_the_option():
    assert scores.normalised_score("atari:Pong?repeat=2", 20.6) == scores.normalised_score("Pong", 20.6)
    with environment_maker(Config(environment="atari:Pong?repeat=2"))() as pong:
        assert pong.spaces.observation_shape == (84, 84, 1)  # single frames, as without the option
    with environment_maker(Config(environment="catch?repeat=2"), picture=True)() as catch:
        catch.reset(0)
        assert catch.render().shape == (160, 80, 3)
