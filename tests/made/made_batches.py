"""Batches whose every number is chosen, for targets and losses that can be worked out on paper."""

import numpy as np

from mzu.config import Config
from mzu.replay.replay import Batch


def made_config(*assignments):
    """Discount 1/2, U = 2, n = 2, and the step not compiled by XLA, which takes longer than any test."""
    small = ("learning.unroll_steps=2", "learning.td_steps=2", "search.discount=0.5", "learning.jit_compile=false")
    return Config().override(*small, *assignments)


def made_batch(
    rewards,
    steps_left,
    terminated,
    unroll_steps=2,
    td_steps=2,
    num_actions=3,
    actions=None,
    searched=None,
    search_value=None,
    search_policy=None,
    weights=None,
    observations=None,
    ended=None,
):
    """Rewards [B][<= steps left], padded with 0; everything that is not given is random or plain.

    Observations are [number of the row, position], so that a value function can tell which one it was asked for.
    """
    rows, positions = len(rewards), unroll_steps + 1
    steps_left, terminated = np.array(steps_left, np.int32), np.array(terminated, bool)
    padded = np.zeros((rows, unroll_steps + max(td_steps, 1)), np.float32)
    for row, known in enumerate(rewards):
        padded[row, : len(known)] = known[: padded.shape[1]]
    rng = np.random.default_rng(0)

    def observed(first, count):
        """Row and position of the observations at first, first + 1, ..., at most at the end of the data."""
        places = np.minimum(np.arange(first, first + count), steps_left[:, None])
        numbers = np.broadcast_to(np.arange(rows)[:, None], places.shape)
        return np.stack([numbers, places], axis=-1).astype(np.float32)

    if actions is None:
        actions = rng.integers(num_actions, size=(rows, positions))
    if search_value is None:
        search_value = rng.normal(size=(rows, positions))
    if search_policy is None:
        search_policy = rng.dirichlet(np.ones(num_actions), (rows, positions))
    return Batch(
        positions=np.arange(rows),
        observations=observed(0, 1)[:, 0] if observations is None else np.asarray(observations, np.float32),
        actions=np.asarray(actions, np.int32),
        rewards=padded,
        steps_left=steps_left,
        ended=terminated.copy() if ended is None else np.array(ended, bool),
        terminated=terminated,
        bootstrap_observations=observed(td_steps, positions),
        following_observations=observed(0, positions + 1),
        search_policy=np.asarray(search_policy, np.float32),
        search_actions=np.zeros((rows, positions, 0), np.int32),
        search_value=np.asarray(search_value, np.float32),
        searched=np.ones((rows, positions), bool) if searched is None else np.array(searched, bool),
        weights=np.ones(rows, np.float32) if weights is None else np.array(weights, np.float32),
    )


def value_of_position(observations):
    """A value function for the observations of `made_batch`: 10 at position 0, 20 at position 1, 30, 40, ..."""
    return 10.0 * (observations[..., 1] + 1)
