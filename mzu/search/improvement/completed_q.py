"""Gumbel MuZero's operator (Danihelka et al. 2022): the policy of `mzu/search/gumbel.py`, at the root.

w   softmax(log(p) + sigma(q)), with unvisited candidates completed by the mixed value
"""

import numpy as np

from mzu.search.gumbel import SMALLEST_RANGE
from mzu.search.improvement.root import Root


def completed_q_policy(root: Root, value_scale: float, visit_offset: float) -> np.ndarray:
    """w [B, K]."""
    exists = root.prior > 0
    logits = np.where(exists, np.log(np.where(exists, root.prior, 1.0)), -np.inf)
    logits = logits + completed_sigma(root, value_scale, visit_offset)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def completed_sigma(root: Root, value_scale: float, visit_offset: float) -> np.ndarray:
    """sigma(q) [B, K]; 0 where there is no candidate."""
    exists, visited = root.prior > 0, root.visits > 0
    prior, q = np.where(visited, root.prior, 0.0), np.where(visited, root.q, 0.0)
    visits, share = root.visits.sum(axis=1), prior.sum(axis=1)
    weighted = (prior * q).sum(axis=1) / np.where(visits > 0, share, 1.0)
    mixed = (root.raw_value + visits * weighted) / (visits + 1)
    completed = np.where(visited, q, mixed[:, None])
    low = np.where(exists, completed, np.inf).min(axis=1, keepdims=True)
    high = np.where(exists, completed, -np.inf).max(axis=1, keepdims=True)
    scale = (visit_offset + root.visits.max(axis=1, keepdims=True)) * value_scale
    return np.where(exists, scale * (completed - low) / np.maximum(high - low, SMALLEST_RANGE), 0.0)


def gumbel_choice(root: Root, gumbels: np.ndarray, value_scale: float, visit_offset: float) -> np.ndarray:
    """[B]: the candidate that sequential halving ends with, the best of the most visited by g + log(p) + sigma(q)."""
    last = (root.visits == root.visits.max(axis=1, keepdims=True)) & (root.prior > 0)
    logits = np.log(np.where(root.prior > 0, root.prior, 1.0))
    scores = gumbels + logits + completed_sigma(root, value_scale, visit_offset)
    return np.argmax(np.where(last, scores, -np.inf), axis=1)
