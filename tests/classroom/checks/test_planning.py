"""Assignment 1: its right answers keep what its texts promise."""

import numpy as np
import pytest

from mzu.classroom.checks.planning import (
    BELIEF,
    HABIT,
    IMPROVEMENT,
    MOUNTAIN,
    MOUNTAIN_BEST,
    MOUNTAIN_REWARD,
    action_values,
    greedy,
    improvement,
    policy_value,
    random_policy,
    random_world,
    steps_needed,
    worth_of_lookahead,
)


def best_value(transition, reward, discount):
    value = np.zeros(len(reward))
    for _ in range(2000):
        value = action_values(transition, reward, value, discount).max(axis=1)
    return value


def test_the_value_of_a_policy_is_the_mean_return_of_its_walks():
    rng = np.random.default_rng(0)
    returns = []
    for _ in range(4000):
        state, total, factor = 0, 0.0, 1.0
        while state < 4:
            action = rng.choice(2, p=HABIT[state])
            total += factor * MOUNTAIN_REWARD[state, action]
            factor *= 0.9
            row = MOUNTAIN[state, action]
            state = rng.choice(5, p=[*row, 1 - row.sum()])  # 4 is the end
        returns.append(total)
    error = np.std(returns) / np.sqrt(len(returns))
    assert abs(np.mean(returns) - policy_value(MOUNTAIN, MOUNTAIN_REWARD, HABIT, 0.9)[0]) < 4 * error


@pytest.mark.parametrize("seed", range(20))
def test_what_is_guaranteed_is_never_worse(seed):
    rng = np.random.default_rng(seed)
    transition, reward = random_world(rng, 5, 3)
    old = random_policy(rng, 5, 3)
    value = policy_value(transition, reward, old, 0.9)
    best = greedy(action_values(transition, reward, value, 0.9))
    for new in (best, (old + best) / 2, random_policy(rng, 5, 3)):
        advantage, guaranteed = improvement(transition, reward, old, new, 0.9)
        gain = policy_value(transition, reward, new, 0.9) - value
        assert not guaranteed or (gain >= -1e-9).all()
        np.testing.assert_allclose(gain, policy_value(transition, advantage[:, None] + 0 * reward, new, 0.9), atol=1e-9)
    assert improvement(transition, reward, old, best, 0.9)[1]


def test_the_best_policy_of_the_mountain_is_better_without_a_guarantee():
    value = policy_value(MOUNTAIN, MOUNTAIN_REWARD, MOUNTAIN_BEST, 0.9)
    np.testing.assert_allclose(value, best_value(MOUNTAIN, MOUNTAIN_REWARD, 0.9))
    assert (value > policy_value(MOUNTAIN, MOUNTAIN_REWARD, HABIT, 0.9)).all()
    assert not improvement(MOUNTAIN, MOUNTAIN_REWARD, HABIT, MOUNTAIN_BEST, 0.9)[1]


def test_the_visible_changes_of_policy_are_of_all_kinds():
    found = set()
    for transition, reward, old, new, discount in IMPROVEMENT.examples:
        value = policy_value(transition, reward, old, discount)
        better = (policy_value(transition, reward, new, discount) >= value - 1e-9).all()
        found.add((IMPROVEMENT.right(transition, reward, old, new, discount)[1], bool(better)))
    assert found == {(True, True), (False, True), (False, False)}


def test_one_step_ahead_is_worse_than_the_habit_and_five_are_the_best():
    worth = worth_of_lookahead(MOUNTAIN, MOUNTAIN_REWARD, BELIEF, 0.9, 5)
    best = best_value(MOUNTAIN, MOUNTAIN_REWARD, 0.9)
    assert (worth[0] < policy_value(MOUNTAIN, MOUNTAIN_REWARD, HABIT, 0.9)).all()
    np.testing.assert_allclose(worth[4], best)
    assert not np.allclose(worth[3], best)


@pytest.mark.parametrize("seed", range(20))
def test_after_the_needed_steps_lookahead_takes_the_best_action(seed):
    rng = np.random.default_rng(seed)
    transition, reward = random_world(rng, 4, 2)
    best = best_value(transition, reward, 0.8)
    best_q = action_values(transition, reward, best, 0.8)
    value = best + rng.choice([-3.0, 3.0], 4)
    for state in range(4):
        q, looked = None, value
        for _ in range(steps_needed(3.0, np.ptp(best_q[state]), 0.8)):
            q = action_values(transition, reward, looked, 0.8)
            looked = q.max(axis=1)
        assert q[state].argmax() == best_q[state].argmax()
