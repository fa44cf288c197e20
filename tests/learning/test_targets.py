"""Targets at every kind of end, worked out by hand; the discount is 1/2 and n = 2 where nothing else is said.

The episode of most tests has the rewards 1, 2, 4; the value of its observations is 10, 20, 30, 40.
"""

import numpy as np
import pytest
from made_batches import made_batch, made_config, value_of_position

from mzu.config import Config, LearningConfig, ReplayConfig
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.games.piece import piece_of
from mzu.games.stored_game import StoredGame
from mzu.learning.targets import crr_advantages, crr_weights, make_targets
from mzu.replay.replay import Replay

REWARDS = [1.0, 2.0, 4.0]


def targets_of(steps_left, terminated, *assignments, rewards=None, unroll_steps=3, td_steps=2, **given):
    """The targets of one position t with U = 3."""
    config = made_config(f"learning.unroll_steps={unroll_steps}", f"learning.td_steps={td_steps}", *assignments)
    rewards = REWARDS[:steps_left] if rewards is None else rewards
    batch = made_batch([rewards], [steps_left], [terminated], unroll_steps, td_steps, **given)
    return make_targets(batch, config, value_of_position)


# The n-step return


def test_a_return_is_n_discounted_rewards_and_the_discounted_value_n_steps_later():
    # 1 + 2 / 2 + 30 / 4: two rewards, then the value of the observation two steps later.
    assert targets_of(3, False).values[0, 0] == 1 + 1 + 7.5


def test_a_truncated_episode_bootstraps_and_a_terminated_one_does_not():
    # At t + 1 the end is exactly n steps away, at t + 2 only one.
    np.testing.assert_array_equal(targets_of(3, False).values[0, 1:3], [2 + 2 + 40 / 4, 4 + 40 / 2])
    np.testing.assert_array_equal(targets_of(3, True).values[0, 1:3], [2 + 2, 4])


def test_a_terminal_end_further_than_n_steps_away_changes_nothing():
    np.testing.assert_array_equal(targets_of(3, True).values[0, 0], targets_of(3, False).values[0, 0])


def test_an_episode_shorter_than_n_ends_where_it_ends():
    np.testing.assert_allclose(targets_of(1, True, td_steps=5).values[0, 0], 1)
    np.testing.assert_allclose(targets_of(1, False, td_steps=5).values[0, 0], 1 + 20 / 2)


def test_an_episode_of_exactly_n_steps_has_all_its_rewards():
    np.testing.assert_allclose(targets_of(3, True, td_steps=3).values[0, 0], 1 + 1 + 1)
    np.testing.assert_allclose(targets_of(3, False, td_steps=3).values[0, 0], 1 + 1 + 1 + 40 / 8)


def test_data_that_merely_end_are_no_end_of_the_episode():
    # A piece from the middle of an episode brings E = U + n further steps; its last target looks at the last of them.
    targets = targets_of(5, False, rewards=[1, 2, 4, 8, 16], ended=[False])
    expected = [1 + 1 + 30 / 4, 2 + 2 + 40 / 4, 4 + 4 + 50 / 4, 8 + 8 + 60 / 4]
    np.testing.assert_array_equal(targets.values[0], expected)
    assert targets.value_mask.all() and targets.reward_mask.all() and targets.policy_mask.all()


@pytest.mark.parametrize("terminated", [True, False])
def test_rewards_and_values_of_a_played_chain_stand_where_they_happened(terminated):
    """Every position of two pieces of an episode, through the replay: a shift by one gives other numbers."""
    config = Config().override(
        "learning.unroll_steps=2", "learning.td_steps=3", "search.discount=0.5", "replay.segment_length=4"
    )
    steps, unroll_steps, td_steps = 7, 2, 3
    rewards = 10.0 ** np.arange(steps)
    states = np.arange(steps + 1, dtype=np.float32)[:, None]
    end = {"terminated": True} if terminated else {"truncated": True}
    episode = Episode(states, np.zeros(steps, np.int32), np.float32(rewards), **end)
    kept = ReplayConfig(capacity=4, segment_length=4)
    replay = Replay(kept, Spaces((1,), 2), unroll_steps=2, td_steps=3, candidates=2, sampled=False)
    for start, stop in ((0, 4), (4, 7)):
        game = StoredGame(piece_of(episode, start, stop, config), config)
        while not game.finished:
            game.take(0, np.full(2, 0.5), None, 0.0, 0.0)
        replay.add(*game.pop_segments())
    batch = replay.sample(200, np.random.default_rng(0))
    targets = make_targets(batch, config, lambda observations: 1e7 * (observations[..., 0] + 1))
    seen = set()
    for row, t in enumerate(batch.observations[:, 0].astype(int)):
        seen.add(t)
        for k in range(unroll_steps + 1):
            at = t + k
            if at >= steps:
                assert targets.value_mask[row, k] == terminated
                continue
            last = min(at + td_steps, steps)
            expected = sum(0.5**i * rewards[at + i] for i in range(last - at))
            if not (terminated and last == steps):
                expected += 0.5 ** (last - at) * 1e7 * (last + 1)
            np.testing.assert_allclose(targets.values[row, k], expected, rtol=1e-6)
            if k < unroll_steps:
                assert targets.rewards[row, k] == np.float32(rewards[at])
    assert seen == set(range(steps))


# What is trained at all


def test_after_a_terminal_end_value_and_reward_are_zero_and_there_is_no_policy():
    targets = targets_of(1, True, rewards=[7])
    np.testing.assert_array_equal(targets.values[0], [7, 0, 0, 0])
    np.testing.assert_array_equal(targets.value_mask[0], [1, 1, 1, 1])
    np.testing.assert_array_equal(targets.rewards[0], [7, 0, 0])
    np.testing.assert_array_equal(targets.reward_mask[0], [1, 1, 1])
    np.testing.assert_array_equal(targets.policy_mask[0], [1, 0, 0, 0])


def test_after_a_truncated_end_nothing_is_trained():
    targets = targets_of(1, False, rewards=[7])
    np.testing.assert_array_equal(targets.value_mask[0], [1, 0, 0, 0])
    np.testing.assert_array_equal(targets.reward_mask[0], [1, 0, 0])
    np.testing.assert_array_equal(targets.policy_mask[0], [1, 0, 0, 0])


def test_positions_that_were_not_searched_have_a_value_target_but_no_policy():
    targets = targets_of(3, False, searched=[[True, True, False, False]])
    np.testing.assert_array_equal(targets.policy_mask[0], [1, 1, 0, 0])
    np.testing.assert_array_equal(targets.value_mask[0], [1, 1, 1, 0])


def test_td_0_takes_the_search_value_where_there_is_one():
    values, searched = [[5, 6, 7, 0]], [[True, True, True, False]]
    for terminated in (False, True):
        targets = targets_of(3, terminated, td_steps=0, search_value=values, searched=searched)
        np.testing.assert_array_equal(targets.values[0, :3], [5, 6, 7])
        assert targets.value_mask[0].tolist() == [1, 1, 1, terminated]
        np.testing.assert_array_equal(targets.rewards[0], REWARDS)
    # In the tail of a piece rewards are known, search values are not.
    targets = targets_of(3, False, td_steps=0, search_value=values, searched=[[True, False, False, False]])
    assert targets.value_mask[0].tolist() == [1, 0, 0, 0]
    assert targets.reward_mask[0].tolist() == [1, 1, 1]


def test_td_0_is_zero_after_a_terminal_end_whatever_was_stored():
    targets = targets_of(1, True, td_steps=0, search_value=[[5, 6, 7, 8]])
    np.testing.assert_array_equal(targets.values[0], [5, 0, 0, 0])
    np.testing.assert_array_equal(targets.value_mask[0], [1, 1, 1, 1])


def test_td_0_does_not_ask_the_target_network():
    config = made_config("learning.td_steps=0")
    batch = made_batch([REWARDS], [3], [False], td_steps=0)
    asked = []
    targets = make_targets(batch, config, target_values=asked.append)
    assert not asked and targets.values.shape == batch.search_value.shape


def test_the_search_policy_is_the_policy_target_of_reanalyse():
    policy = [[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]
    targets = targets_of(3, False, search_policy=policy)
    np.testing.assert_array_equal(targets.policy_weights, np.float32(policy))
    assert targets.policy_actions.shape == (1, 4, 0)  # all actions in order


# Behaviour cloning and CRR


def test_behaviour_cloning_raises_the_stored_actions_searched_or_not():
    given = {"actions": [[2, 0, 1, 1]], "searched": [[True, False, False, False]]}
    targets = targets_of(3, False, "learning.policy_loss=behaviour_cloning", **given)
    np.testing.assert_array_equal(targets.policy_actions[0, :, 0], [2, 0, 1, 1])
    np.testing.assert_array_equal(targets.policy_weights[0, :, 0], [1, 1, 1, 1])
    np.testing.assert_array_equal(targets.policy_mask[0], [1, 1, 1, 0])  # the last action is a random one past the end


def test_an_advantage_is_reward_and_next_value_minus_value():
    rewards, values = np.array([[1.0, 2.0]]), np.array([[10.0, 20.0, 40.0]])
    truncated = crr_advantages(rewards, values, np.array([2]), np.array([False]), 0.5)
    np.testing.assert_array_equal(truncated, [[1 + 20 / 2 - 10, 2 + 40 / 2 - 20]])
    terminated = crr_advantages(rewards, values, np.array([2]), np.array([True]), 0.5)
    np.testing.assert_array_equal(terminated, [[1 + 20 / 2 - 10, 2 - 20]])


def test_crr_weighs_stored_actions_by_their_advantage():
    # The values are 10, 20, 30, 40, so A = 1 + 10 - 10, 2 + 15 - 20, 4 + 20 - 30 with a truncated end, else 4 - 30.
    truncated = targets_of(3, False, "learning.policy_loss=crr", actions=[[2, 0, 1, 1]])
    np.testing.assert_allclose(truncated.policy_weights[0, :3, 0], np.exp([1, -3, -6]), rtol=1e-5)
    terminated = targets_of(3, True, "learning.policy_loss=crr", actions=[[2, 0, 1, 1]])
    np.testing.assert_allclose(terminated.policy_weights[0, :3, 0], np.exp([1, -3, -26]), rtol=1e-5)
    np.testing.assert_array_equal(terminated.policy_actions[0, :3, 0], [2, 0, 1])
    np.testing.assert_array_equal(terminated.policy_mask[0], [1, 1, 1, 0])
    np.testing.assert_array_equal(terminated.values[0, 0], 1 + 1 + 30 / 4)  # the value target is the n-step return


def test_exponential_weights_are_clipped_and_cannot_overflow():
    with np.errstate(over="raise"):
        weights = crr_weights(np.array([-1e6, 0.0, 1.0, np.log(19.9), 5.0, 1e6]), LearningConfig())
    np.testing.assert_allclose(weights, [0, 1, np.e, 19.9, 20, 20], rtol=1e-12)
    half = crr_weights(np.array([1.0, 100.0]), LearningConfig(crr_temperature=2.0, crr_clip=3.0))
    np.testing.assert_allclose(half, [np.exp(0.5), 3])


def test_the_indicator_takes_actions_that_were_better_than_expected():
    weights = crr_weights(np.array([-0.1, 0.0, 0.1, 1e6]), LearningConfig(crr_weight="indicator"))
    np.testing.assert_array_equal(weights, [0, 0, 1, 1])


# The behaviour term of ROSMO

BEHAVIOUR = "learning.behaviour_loss_scale=0.25"
UNEVEN = [1.0, 5.0, 20.0]  # A = 1 + 10 - 10, 5 + 15 - 20, 20 + 20 - 30 with a truncated end, else 20 - 30


def test_the_behaviour_term_adds_to_the_stored_action_where_its_advantage_is_above_zero():
    policy = [[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]
    given = {"rewards": UNEVEN, "actions": [[2, 0, 1, 1]], "search_policy": policy}
    truncated = targets_of(3, False, BEHAVIOUR, **given)
    expected = [[0.2, 0.3, 0.75], [1.0, 0.0, 0.0], [0.5, 0.75, 0.0]]
    np.testing.assert_array_equal(truncated.policy_weights[0, :3], np.float32(expected))
    np.testing.assert_array_equal(truncated.policy_mask[0], [1, 1, 1, 0])
    assert truncated.policy_actions.shape == (1, 4, 0)  # all actions in order, as without it
    terminated = targets_of(3, True, BEHAVIOUR, **given)
    np.testing.assert_array_equal(terminated.policy_weights[0, :3], np.float32([*expected[:2], policy[0][2]]))
    np.testing.assert_array_equal(terminated.policy_mask[0], [1, 1, 1, 0])


@pytest.mark.parametrize("td_steps", [0, 2])
@pytest.mark.parametrize("continuous", [True, False])
def test_among_sampled_actions_the_stored_one_is_one_more(continuous, td_steps):
    batch = made_batch([UNEVEN], [3], [False], 3, td_steps, searched=[[True, True, False, False]])
    if continuous:
        stored = np.float32([[[0.1, -0.1], [0.2, -0.2], [0.3, -0.3], [0.4, -0.4]]])
    else:
        stored = np.array([[2, 0, 1, 1]], np.int32)
    rng = np.random.default_rng(1)
    candidates = rng.integers(-1, 2, (1, 4, 3, *stored.shape[2:])).astype(stored.dtype)
    batch = batch._replace(actions=stored, search_actions=candidates)
    settings = ("learning.unroll_steps=3", f"learning.td_steps={td_steps}")
    without = make_targets(batch, made_config(*settings), value_of_position)
    targets = make_targets(batch, made_config(*settings, BEHAVIOUR), value_of_position)
    np.testing.assert_array_equal(targets.policy_actions[:, :, :3], candidates)
    np.testing.assert_array_equal(targets.policy_actions[:, :, 3], stored)
    np.testing.assert_array_equal(targets.policy_weights[:, :, :3], batch.search_policy)
    # Not at t + 2, where nothing was searched, and not past the end, where the action is a random one.
    np.testing.assert_array_equal(targets.policy_weights[0, :, 3], [0.25, 0, 0, 0])
    np.testing.assert_array_equal(targets.policy_mask[0], [1, 1, 0, 0])
    assert targets.policy_actions.dtype == stored.dtype and targets.policy_weights.dtype == np.float32
    for name in ("rewards", "reward_mask", "values", "value_mask", "policy_mask"):
        np.testing.assert_array_equal(getattr(targets, name), getattr(without, name))
    assert without.policy_actions is batch.search_actions and without.policy_weights.shape == (1, 4, 3)


def test_past_the_end_there_is_no_behaviour_term_even_where_values_are_negative():
    # Past the end the last observation stands still: A = 0 - 20 + 40 would be above 0, for an action nobody took.
    policy = np.full((1, 4, 3), 1 / 3, np.float32)
    batch = made_batch([UNEVEN], [3], [False], 3, search_policy=policy)
    config = made_config("learning.unroll_steps=3", BEHAVIOUR)
    targets = make_targets(batch, config, lambda observations: -value_of_position(observations))
    np.testing.assert_allclose(targets.policy_weights[0].sum(axis=1), [1.25, 1.25, 1.25, 1], rtol=1e-6)
    np.testing.assert_array_equal(targets.policy_weights[0, 3], policy[0, 3])


@pytest.mark.parametrize("weight", ["exp", "indicator"])
def test_the_behaviour_term_is_an_indicator_however_crr_weighs(weight):
    targets = targets_of(3, False, BEHAVIOUR, f"learning.crr_weight={weight}", rewards=UNEVEN, actions=[[2, 0, 1, 1]])
    np.testing.assert_allclose(targets.policy_weights[0, :3].sum(axis=1), [1.25, 1, 1.25], rtol=1e-6)
