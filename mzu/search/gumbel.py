"""How Gumbel MuZero chooses its way through the tree (Danihelka et al. 2022; notebook 08_unplugged).

At the root, sequential halving: of the candidates with the highest g + log(prior) + sigma(q), g being Gumbel noise,
each gets the same number of simulations, then the better half of them, until two are left. Below, the candidate whose
share of the visits lags furthest behind the improved policy. Both compare *completed* values: a candidate that was
never visited is given the node's mixed value, an average of the network's value and of what its visited siblings
brought.

    mixed     (value + N * sum of prior * q / sum of prior, over visited candidates) / (1 + N)
    sigma(q)  (visit_offset + most visits) * value_scale * (q - lowest) / (highest - lowest)
    improved  softmax(log(prior) + sigma(q))

`improvement/completed_q.py` makes the policy target of the same numbers.
"""

import math

import numpy as np

from mzu.compilation import kernel_part

SMALLEST_RANGE = 1e-8  # below which differences between values are not blown up


def considered_visits(candidates: int, simulations: int) -> np.ndarray:
    """[S]: how often a candidate must have been visited to be considered in simulation s, of so many candidates.

    >>> considered_visits(4, 8).tolist()
    [0, 0, 0, 0, 1, 1, 2, 2]
    """
    if candidates <= 1:
        return np.arange(simulations)
    rounds = math.ceil(math.log2(candidates))
    sequence, visits, left = [], [0] * candidates, candidates
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (rounds * left))):
            sequence += visits[:left]
            visits[:left] = [count + 1 for count in visits[:left]]
        left = max(2, left // 2)
    return np.array(sequence[:simulations])


def considered_table(candidates: int, simulations: int) -> np.ndarray:
    """[C + 1, S]: `considered_visits` of 0..C candidates."""
    return np.stack([considered_visits(count, simulations) for count in range(candidates + 1)]).astype(np.int32)


@kernel_part
def gumbel_root(node, edges, gumbels, settings):
    """Sequential halving: the best of the candidates that were visited as often as this simulation asks for."""
    mixed, low, high, scale = completion(node, edges, settings)
    existing = 0
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            existing += 1
    wanted = settings.considered[min(existing, settings.considered.shape[0] - 1), node.visits - 1]
    best, best_score = 0, -math.inf
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0 and edges[k].visits == wanted:
            score = gumbels[k] + math.log(edges[k].prior) + sigma(edges[k], mixed, low, high, scale, settings)
            if score > best_score:
                best, best_score = k, score
    return best


@kernel_part
def gumbel_inside(node, edges, settings):
    """The candidate with the largest improved(k) - visits(k) / (1 + N): visits follow the improved policy."""
    mixed, low, high, scale = completion(node, edges, settings)
    largest, total, visits = -math.inf, 0.0, 0
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            logit = math.log(edges[k].prior) + sigma(edges[k], mixed, low, high, scale, settings)
            largest = max(largest, logit)
            visits += edges[k].visits
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            logit = math.log(edges[k].prior) + sigma(edges[k], mixed, low, high, scale, settings)
            total += math.exp(logit - largest)
    best, best_score = 0, -math.inf
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            logit = math.log(edges[k].prior) + sigma(edges[k], mixed, low, high, scale, settings)
            score = math.exp(logit - largest) / total - edges[k].visits / (1.0 + visits)
            if score > best_score:
                best, best_score = k, score
    return best


@kernel_part
def completion(node, edges, settings):
    """What completes and scales the values of a node's candidates: mixed value, lowest, highest, scale of sigma."""
    visits, most, share, weighted, unvisited = 0, 0, 0.0, 0.0, False
    low, high = math.inf, -math.inf
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            if edges[k].visits == 0:
                unvisited = True
                continue
            q = edges[k].reward + settings.discount * edges[k].value
            visits += edges[k].visits
            most = max(most, edges[k].visits)
            share += edges[k].prior
            weighted += edges[k].prior * q
            low, high = min(low, q), max(high, q)
    mixed = node.raw_value if visits == 0 else (node.raw_value + visits * weighted / share) / (visits + 1.0)
    if unvisited:
        low, high = min(low, mixed), max(high, mixed)
    return mixed, low, high, (settings.visit_offset + most) * settings.value_scale


@kernel_part
def sigma(edge, mixed, low, high, scale, settings):
    """The completed value of an edge, from 0 for the lowest of its siblings to `scale` for the highest."""
    q = edge.reward + settings.discount * edge.value if edge.visits > 0 else mixed
    return scale * (q - low) / max(high - low, SMALLEST_RANGE)


@kernel_part
def gumbel_terms(node, edges, gumbels, settings, is_root, value_terms, prior_terms):
    """The two parts of every candidate's score, into arrays [K], for a history.

    At the root sigma(q), and g + log(prior), minus infinity for those that are not considered; below it the improved
    policy, and minus the share of the visits.
    """
    mixed, low, high, scale = completion(node, edges, settings)
    existing, visits, largest, total = 0, 0, -math.inf, 0.0
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            existing += 1
            visits += edges[k].visits
            largest = max(largest, math.log(edges[k].prior) + sigma(edges[k], mixed, low, high, scale, settings))
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            logit = math.log(edges[k].prior) + sigma(edges[k], mixed, low, high, scale, settings)
            total += math.exp(logit - largest)
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            value = sigma(edges[k], mixed, low, high, scale, settings)
            logit = math.log(edges[k].prior)
            if is_root:
                wanted = settings.considered[min(existing, settings.considered.shape[0] - 1), node.visits - 1]
                value_terms[k] = value
                prior_terms[k] = gumbels[k] + logit if edges[k].visits == wanted else -math.inf
            else:
                value_terms[k] = math.exp(logit + value - largest) / total
                prior_terms[k] = -edges[k].visits / (1.0 + visits)
