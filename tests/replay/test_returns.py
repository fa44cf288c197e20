"""The fast n-step returns are those of the definition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mzu.replay.returns import n_step_returns, n_step_returns_by_definition


@settings(deadline=None, max_examples=150)
@given(
    rows=st.integers(1, 4),
    unroll_steps=st.integers(0, 4),
    td_steps=st.integers(1, 5),
    discount=st.sampled_from([0.0, 0.5, 0.997, 1.0]),
    seed=st.integers(0, 10_000),
)
def test_the_fast_returns_are_those_of_the_definition(rows, unroll_steps, td_steps, discount, seed):
    rng = np.random.default_rng(seed)
    rewards = rng.normal(size=(rows, unroll_steps + td_steps))
    bootstrap = rng.normal(size=(rows, unroll_steps + 1))
    steps_left, terminated = rng.integers(1, unroll_steps + td_steps + 3, rows), rng.random(rows) < 0.5
    rewards[np.arange(rewards.shape[1]) >= steps_left[:, None]] = 0  # as the replay gives them
    arguments = (rewards, bootstrap, steps_left, terminated, discount, td_steps)
    np.testing.assert_allclose(n_step_returns(*arguments), n_step_returns_by_definition(*arguments), atol=1e-12)
