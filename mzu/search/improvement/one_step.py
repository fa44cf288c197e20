"""ROSMO's operator (Liu et al. 2023): one step of the model instead of a tree.

    A_k   r_k + discount * v_k - v(root)                            after one step, from the first evaluations
    w_k   p_k * exp(A_k / T), normalised

T is 1 in ROSMO, in units of the reward.
"""

import numpy as np

from mzu.search.improvement.root import Root


def one_step_policy(root: Root, temperature: float) -> np.ndarray:
    """w [B, K]; the injected candidate's value is what really followed, where that is given."""
    is_stored = (np.arange(root.prior.shape[1]) == root.injected[:, None]) & ~np.isnan(root.stored_value)[:, None]
    q = np.where(is_stored, root.stored_value[:, None], root.q)
    exponent = np.where(root.prior > 0, (q - root.raw_value[:, None]) / temperature, -np.inf)
    # Normalised afterwards: the largest may be taken out, and nothing overflows.
    weights = root.prior * np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
