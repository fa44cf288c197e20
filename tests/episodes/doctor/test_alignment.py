"""Rewards that stand a step off are found in pictures and in states."""

import numpy as np
import pytest
from made_findings import assert_found, check, moving_sprite

from mzu.episodes.dataset import shift_rewards
from mzu.episodes.doctor.alignment import ImageAlignment, StateAlignment
from mzu.episodes.episode import Episode


def driven_states(steps=600, seed=0):
    """A noisy point that is rewarded for where the step took it and for small actions."""
    rng = np.random.default_rng(seed)
    observations, actions = np.zeros((steps + 1, 2), np.float32), rng.uniform(-1, 1, (steps, 1)).astype(np.float32)
    rewards = np.zeros(steps, np.float32)
    for t in range(steps):
        push = 0.5 * actions[t, 0] + 0.1 * rng.normal()
        observations[t + 1] = 0.8 * observations[t, 0] + push, rng.normal()
        rewards[t] = -(observations[t + 1, 0] ** 2)
    return Episode(observations, actions, rewards, truncated=True)


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_a_shift_of_rewards_is_measured_in_pictures_and_in_states(shift):
    images = ImageAlignment()
    images.add(shift_rewards(moving_sprite(), shift))
    assert images.judge().shift == -shift
    states = StateAlignment(after_step=True)
    for seed in range(3):
        states.add(shift_rewards(driven_states(seed=seed), shift))
    assert states.judge().shift == -shift


def test_without_a_visible_score_nothing_is_claimed():
    images = ImageAlignment()
    images.add(shift_rewards(moving_sprite(score=False), 1))
    assert images.judge().shift == 0
    few = ImageAlignment()
    few.add(moving_sprite(20))
    assert few.judge() == (0, (-2, -1, 1, 2), None)


def test_rewards_for_the_state_before_the_step_are_no_mistake():
    episodes = [shift_rewards(driven_states(seed=seed), 1) for seed in range(3)]
    assert not check(episodes).is_wrong  # rewards[t] is a function of observations[t] here
    early = [shift_rewards(driven_states(seed=seed), -1) for seed in range(3)]
    assert_found(check(early), "wrong", "one step before the action")
