"""MuZero's operator: the share of the simulations that each candidate got."""

import numpy as np

from mzu.search.improvement.root import Root


def visits_policy(root: Root) -> np.ndarray:
    """n / sum of n: [B, K]. Every simulation takes one of the root's edges."""
    return root.visits / root.visits.sum(axis=1, keepdims=True)
