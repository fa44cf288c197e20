"""n-step returns, of which value targets and priorities are made (appendix "Value Learning"; notebook 04_reanalyse)."""

import numpy as np


def n_step_returns(rewards, bootstrap_values, steps_left, terminated, discount: float, td_steps: int) -> np.ndarray:
    """z [B, U + 1]: n discounted rewards and the discounted value of where they lead.

    rewards           [B, U + n]  from t on, 0 past the end
    bootstrap_values  [B, U + 1]  value of the observation at t + k + n, or of the last one where the data end earlier
    steps_left        [B]         steps from t to the end of the data
    terminated        [B] bool    whether that end is terminal
    """
    positions = bootstrap_values.shape[1]
    left = steps_left[:, None] - np.arange(positions)  # [B, U + 1], from t + k
    # Critical: a terminal state has no value, whatever the network says of it; a truncated episode would have gone on.
    is_over = terminated[:, None] & (left <= td_steps)
    bootstrap = np.where(is_over, 0.0, discount ** np.clip(left, 0, td_steps) * bootstrap_values)
    return sum(discount**i * rewards[:, i : i + positions] for i in range(td_steps)) + bootstrap


def n_step_returns_by_definition(rewards, bootstrap_values, steps_left, terminated, discount: float, td_steps: int):
    """The plain twin of `n_step_returns`: one position, one step, one reward at a time."""
    returns = np.zeros(np.shape(bootstrap_values))
    for row in range(len(returns)):
        for k in range(returns.shape[1]):
            position, steps = k, 0
            while steps < td_steps and position < steps_left[row]:
                returns[row, k] += discount**steps * rewards[row, position]
                position, steps = position + 1, steps + 1
            is_terminal = terminated[row] and position >= steps_left[row]
            if not is_terminal:
                returns[row, k] += discount**steps * bootstrap_values[row, k]
    return returns
