"""Candidates of a small discrete space: all its actions, with the policy as prior (notebook 03_search)."""

import math

from mzu.compilation import kernel_part


@kernel_part
def propose_all_actions(logits, legal, edges):
    """logits [A], legal [A] -> priors of edges [A]: softmax over the legal actions, else 0. False if not finite."""
    largest = -math.inf
    for a in range(logits.shape[0]):
        if legal[a]:
            largest = max(largest, logits[a])
    total = 0.0
    for a in range(logits.shape[0]):
        edges[a].prior = math.exp(logits[a] - largest) if legal[a] else 0.0
        total += edges[a].prior
    for a in range(logits.shape[0]):
        edges[a].prior /= total
    return math.isfinite(total)
