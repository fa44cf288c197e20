"""Fitted Q evaluation gives the answers that are known, and every bug planted in it misses one of them."""

import dataclasses

import numpy as np
import pytest

from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.learning import fitted_q
from mzu.learning.fitted_q import FitSettings, QFit, interval_of_members, stored_steps

QUICK = FitSettings(32, iterations=40, steps=10, batch_size=64, members=1, learning_rate=3e-3, jit_compile=False)
STATES, DISCOUNT = np.eye(3, dtype=np.float32), 0.8


def tabular_world(rng):
    """Three states; action 0 goes to the next and pays its number + 1, action 1 stays and pays 1 or 3 by chance; from
    state 2 action 0 is the terminal end. The policy: 0 in states 0 and 2, in state 1 it stays (and earns 2 a step).

    By hand, with discount 0.8: V(1) = 2 / (1 - 0.8) = 10, V(0) = 1 + 0.8 * 10 = 9, V(2) = 3. Episodes begin in the
    states 0, 1 and 2 in turn, and are cut off after 3 steps: truncated, while some of them end by themselves.
    """
    episodes = []
    for number in range(240):
        state, seen, actions, rewards, over = number % 3, [number % 3], [], [], False
        while len(actions) < 3 and not over:
            action = int(rng.integers(2))
            over = state == 2 and action == 0
            rewards.append(rng.choice([1.0, 3.0]) if action else state + 1.0)
            state = state if action or over else state + 1
            actions.append(action)
            seen.append(state)
        episodes.append(Episode(STATES[seen], np.array(actions), np.array(rewards), over, not over))
    choose = lambda observations: np.array([0, 1, 0])[observations.argmax(axis=1)]  # noqa: E731
    truth = np.array([9.0, 10.0, 3.0])[[episode.observations[0].argmax() for episode in episodes]]
    return episodes, choose, Spaces((3,), 2), truth


def bandit(rng):
    """One step each: arm 0 pays 1, arm 1, which is tried one time in four, 3 or 5. The policy pulls arm 1: 4."""
    arms = (rng.random(400) < 0.25).astype(int)
    pays = np.where(arms, rng.choice([3.0, 5.0], 400), 1.0)
    episodes = [Episode(np.ones((2, 1)), [arm], [pay], terminated=True) for arm, pay in zip(arms, pays, strict=True)]
    return episodes, lambda observations: np.ones(len(observations), int), Spaces((1,), 2), np.full(400, 4.0)


def own_episodes(rng):
    """A point that its own policy, a = -x / 2, pulls to 0: x' = x + a, and x is paid. On the policy's own episodes Q
    says what they really earned: the discounted sum of their rewards."""
    episodes = []
    for start in rng.uniform(0.2, 1, 60):
        path = start * 0.5 ** np.arange(13)
        episodes.append(Episode(path[:, None].astype(np.float32), -path[:-1, None] / 2, path[:-1], truncated=True))
    truth = np.array([np.sum(episode.rewards * DISCOUNT ** np.arange(12)) for episode in episodes])
    return episodes, lambda observations: -observations / 2, Spaces((1,), 1, continuous=True), truth


WORLDS = {"tabular": tabular_world, "bandit": bandit, "own episodes": own_episodes}


def misses(world, changed=lambda stored: stored, seed=1):
    """By how much the estimates of first states are off on average, as a share of the truth."""
    episodes, choose, spaces, truth = WORLDS[world](np.random.default_rng(seed))
    stored = changed(stored_steps(episodes, choose))
    values = QFit(spaces, DISCOUNT, QUICK).values(stored, np.random.default_rng(seed)).mean(axis=0)
    return np.abs(values - truth).mean() / np.abs(truth).mean()


CLOSE = 0.04  # the chance in rewards and bootstrap is part of it


@pytest.mark.parametrize("world", WORLDS)
def test_the_known_answer_is_found(world):
    assert misses(world) < CLOSE


@pytest.mark.parametrize(
    "world, targets",
    [
        ("tabular", lambda rewards, goes_on, values, discount: rewards + discount * values),  # the end is forgotten
        ("bandit", lambda rewards, goes_on, values, discount: rewards + discount * values),
        ("tabular", lambda rewards, goes_on, values, discount: rewards + goes_on * values),  # the discount is
        ("own episodes", lambda rewards, goes_on, values, discount: rewards + goes_on * values),
    ],
)
def test_a_bug_in_the_target_misses_it(world, targets, monkeypatch):
    monkeypatch.setattr(fitted_q, "fitted_targets", targets)
    assert misses(world) > 3 * CLOSE


BUGS = {
    "rewards one step late": lambda stored: stored._replace(rewards=np.roll(stored.rewards, 1)),
    "truncated episodes end": lambda stored: stored._replace(
        goes_on=np.where(np.isin(np.arange(len(stored.rewards)), stored.ends - 1), 0, 1).astype(np.float32)
    ),
    "the stored action instead of the policy's": lambda stored: stored._replace(
        policy_actions=np.insert(stored.actions, stored.ends, 0)
    ),
    "the policy's action instead of the stored one": lambda stored: stored._replace(
        actions=stored.policy_actions[stored.here]
    ),
    "the same observation again": lambda stored: stored._replace(
        observations=np.repeat(stored.observations[:1], len(stored.observations), axis=0)
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_steps_misses_it(bug):
    world = "own episodes" if bug == "rewards one step late" else "tabular"
    assert misses(world, BUGS[bug]) > 3 * CLOSE


def test_members_differ_more_where_there_is_less_to_learn_from():
    def spread(episodes):
        stored = stored_steps(episodes, choose)
        settings = dataclasses.replace(QUICK, members=5)
        return np.std(QFit(spaces, DISCOUNT, settings).values(stored, np.random.default_rng(0)).mean(axis=1))

    episodes, choose, spaces, _ = bandit(np.random.default_rng(1))
    pulled = [episode for episode in episodes if episode.actions[0] == 1]
    assert spread(pulled[:8]) > 1.5 * spread(pulled)


def test_steps_are_laid_out_behind_each_other():
    one = Episode(np.arange(3.0)[:, None], [0, 1], [1.0, 2.0], terminated=True)
    two = Episode(10 + np.arange(2.0)[:, None], [1], [5.0], truncated=True)
    stored = stored_steps([one, two], lambda observations: observations[:, 0].astype(int) % 2)
    assert stored.observations[:, 0].tolist() == [0, 1, 2, 10, 11]
    assert stored.policy_actions.tolist() == [0, 1, 0, 0, 1]
    assert stored.here.tolist() == [0, 1, 3] and stored.first.tolist() == [0, 3] and stored.ends.tolist() == [2, 3]
    assert stored.actions.tolist() == [0, 1, 1] and stored.rewards.tolist() == [1, 2, 5]
    assert stored.goes_on.tolist() == [1, 0, 1]


def test_the_interval_knows_both_chances():
    one = interval_of_members(np.array([[1.0, 3.0], [3.0, 5.0]]))
    assert one["mean"] == 3 and one["members"] == [2, 4]
    # The members' means have variance 2, the first observations variance 1 over 2 of them; t of one degree is 12.706.
    assert one["high"] - 3 == pytest.approx(12.706 * np.sqrt(2 + 0.5), rel=1e-4)
    assert np.isnan(interval_of_members(np.ones((1, 4)))["low"])


def test_without_a_policy_the_stored_actions_are_asked_about():
    one = Episode(np.zeros((3, 1)), np.float32([[0.1], [0.7]]), np.zeros(2))
    assert stored_steps([one, one], None).policy_actions[:, 0].tolist() == pytest.approx([0.1, 0.7, 0.7] * 2)
