"""The steps of a simulation on flat arrays: select, (evaluate the model), expand, back up (notebook 03_search).

    select    from the root take the candidate with the best pUCT score until an edge without a child is reached
    (model)   evaluate that edge: reward, policy and value of the new hidden state
    expand    the new node gets its candidates and their priors
    back up   the discounted value goes up the path, mean values and visit counts are updated

Functions that take b work on tree number b of the batch. `reference.py` is the same search in plain Python objects.
"""

import math
from typing import NamedTuple

import numpy as np

from mzu.compilation import kernel_part
from mzu.search.action_injection import inject_index, inject_vector
from mzu.search.all_actions import propose_all_actions
from mzu.search.sampled_actions import propose_categorical, propose_gaussian
from mzu.search.tree import NO_NODE, ROOT

ALL_ACTIONS, SAMPLED_CATEGORICAL, SAMPLED_GAUSSIAN = 0, 1, 2  # where candidates come from
SMALLEST_RANGE = 1e-8  # of the siblings normaliser, as in mctx


class Settings(NamedTuple):
    """A SearchConfig as the kernels read it."""

    discount: float
    exploration: np.ndarray  # [N + 1] sqrt(n) * (log((n + base + 1) / base) + init) for n visits of a node
    siblings: bool
    parent_for_unvisited: bool  # the value term of an edge that was never taken is the node's own value, not 0
    candidate_source: int
    sampled: int  # K, the number of sampled actions
    temperature: float
    dirichlet_fraction: float
    injected_prior: float


class Inputs(NamedTuple):
    """What makes the candidates of a batch of searches, beside the policy."""

    legal: np.ndarray  # [B, A] bool: the roots' legal actions
    all_legal: np.ndarray  # [1, A] bool, true: below the root every action is searched
    inject: np.ndarray  # [B] bool: does an injected action join the root's candidates?
    action_index: np.ndarray  # [B] injected discrete actions
    action_vector: np.ndarray  # [B, D] injected continuous actions
    log_gamma: np.ndarray  # [B, K] Dirichlet noise, see `randomness.py`
    uniforms: np.ndarray  # [B, N, K] for sampling discrete actions, or empty
    slots: np.ndarray  # [B] int32, written: the root's candidate that holds the injected action, or -1


@kernel_part
def select(tree, settings, b):
    """Follows the best scores from the root to an edge that has no child. Returns its node and candidate."""
    node = ROOT
    while True:
        candidate = best_candidate(tree.nodes[b, node], tree.edges[b, node], tree.bounds[b], settings)
        child = tree.edges[b, node, candidate].child
        if child == NO_NODE:
            return node, candidate
        node = child


@kernel_part
def best_candidate(node, edges, bounds, settings):
    """The candidate with the highest score; the first of equals."""
    low, high = value_range(node, edges, bounds, settings)
    best, best_score = 0, -math.inf
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            score = value_term(edges[k], node, low, high, settings) + prior_term(edges[k], node, settings)
            if score > best_score:
                best, best_score = k, score
    return best


@kernel_part
def prior_term(edge, node, settings):
    """pUCT's exploration: prior * sqrt(N) * (log((N + base + 1) / base) + init) / (1 + n)."""
    return edge.prior * settings.exploration[node.visits] / (1 + edge.visits)


@kernel_part
def value_term(edge, node, low, high, settings):
    """The edge's reward + discount * value, normalised by the range; 0 for an edge that was never taken.

    0 is the lowest value in the tree: what was never tried is taken to be as bad as anything seen. With
    `parent_for_unvisited` it is taken to be as good as its node.
    """
    if edge.visits > 0:
        value = edge.reward + settings.discount * edge.value
    elif settings.parent_for_unvisited:
        value = node.value
    else:
        return 0.0
    # A range of one number normalises nothing: until there are two, MuZero uses the value as it is.
    return (value - low) / (high - low) if high > low else value


@kernel_part
def value_range(node, edges, bounds, settings):
    """The range that `value_term` normalises by: of the whole tree, or of the node and its visited children."""
    if not settings.siblings:
        return bounds[0], bounds[1]
    low = high = node.value
    for k in range(edges.shape[0]):
        if edges[k].visits > 0:
            value = edges[k].reward + settings.discount * edges[k].value
            low, high = min(low, value), max(high, value)
    return low, max(high, low + SMALLEST_RANGE)


@kernel_part
def backup(tree, settings, b, leaf):
    """Sends the leaf's value up its path: discounted, with the rewards met on the way."""
    nodes, edges, bounds = tree.nodes[b], tree.edges[b], tree.bounds[b]
    value = nodes[leaf].raw_value
    nodes[leaf].value = value
    # The root is backed up too, once: with N = 0 all scores of the first simulation would be an arbitrary tie at 0.
    nodes[leaf].visits = 1
    child = leaf
    while child != ROOT:
        parent = nodes[child].parent
        node, edge = nodes[parent], edges[parent, nodes[child].parent_candidate]
        edge.visits += 1
        edge.value = nodes[child].value
        q = edge.reward + settings.discount * edge.value
        bounds[0] = min(bounds[0], q)
        bounds[1] = max(bounds[1], q)
        value = edge.reward + settings.discount * value
        node.value = (node.value * node.visits + value) / (node.visits + 1)
        node.visits += 1
        child = parent


@kernel_part
def attach(tree, b, node, parent, candidate, reward, value):
    """Hangs a new node below (parent, candidate), with what the model says of it; the root hangs nowhere."""
    tree.nodes[b, node].parent = parent
    tree.nodes[b, node].parent_candidate = candidate
    tree.nodes[b, node].raw_value = value
    if node == ROOT:
        tree.nodes[b, node].parent = NO_NODE
        tree.bounds[b, 0], tree.bounds[b, 1] = math.inf, -math.inf
    else:
        tree.edges[b, parent, candidate].child = node
        tree.edges[b, parent, candidate].reward = reward


@kernel_part
def clear_edges(edges):
    """Edges that no simulation has taken yet."""
    for k in range(edges.shape[0]):
        edges[k].child = NO_NODE
        edges[k].visits = 0
        edges[k].prior = 0.0
        edges[k].reward = 0.0
        edges[k].value = 0.0


@kernel_part
def expand(tree, settings, inputs, b, node, policy):
    """Candidates and priors of a node from the policy there; at the root also noise or injection.

    Returns False if the policy is not finite.
    """
    edges = tree.edges[b, node]
    clear_edges(edges)
    legal = inputs.legal[b] if node == ROOT else inputs.all_legal[0]
    if settings.candidate_source == ALL_ACTIONS:
        finite = propose_all_actions(policy, legal, edges)
    elif settings.candidate_source == SAMPLED_CATEGORICAL:
        uniforms, actions = inputs.uniforms[b, node], tree.action_index[b, node]
        finite = propose_categorical(policy, legal, settings.temperature, uniforms, edges, actions)
    else:
        actions = tree.action_vector[b, node]
        finite = propose_gaussian(policy, settings.temperature, settings.sampled, edges, actions)
    if node == ROOT:
        if not inputs.inject[b]:
            add_root_noise(edges, inputs.log_gamma[b], settings.dirichlet_fraction)
        elif settings.candidate_source == SAMPLED_CATEGORICAL:
            actions, injected = tree.action_index[b, ROOT], inputs.action_index[b]
            inputs.slots[b] = inject_index(edges, actions, injected, settings.injected_prior)
        else:
            actions, injected = tree.action_vector[b, ROOT], inputs.action_vector[b]
            inputs.slots[b] = inject_vector(edges, actions, injected, settings.injected_prior)
    return finite


@kernel_part
def add_root_noise(edges, log_gamma, fraction):
    """Priors become (1 - fraction) * prior + fraction * Dirichlet noise over the candidates that exist."""
    if fraction == 0.0:
        return
    largest = -math.inf
    for k in range(log_gamma.shape[0]):
        if edges[k].prior > 0.0:
            largest = max(largest, log_gamma[k])
    total = 0.0
    for k in range(log_gamma.shape[0]):
        if edges[k].prior > 0.0:
            total += math.exp(log_gamma[k] - largest)
    for k in range(log_gamma.shape[0]):
        if edges[k].prior > 0.0:
            noise = math.exp(log_gamma[k] - largest) / total
            edges[k].prior = (1.0 - fraction) * edges[k].prior + fraction * noise
