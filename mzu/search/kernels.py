"""The steps of a simulation on flat arrays: select, (evaluate the model), expand, back up (notebook 03_search).

    select    from the root take the candidate with the best score until an edge without a child is reached
    (model)   evaluate that edge: reward, policy and value of the new hidden state
    expand    the new node gets its candidates and their priors
    back up   the discounted value goes up the path, mean values and visit counts are updated

Where `search.first_evaluations` asks for it, all candidates of the root are evaluated before the first simulation
(Sampled MuZero): they are nodes from then on, and pUCT knows their values, but they were never visited. A simulation
that reaches `search.max_depth` ends there: the value of the node that it reached goes up once more.

Functions that take b work on tree number b of the batch. `reference.py` is the same search in plain Python objects.
"""

import math
from typing import NamedTuple

import numpy as np

from mzu.compilation import kernel_part
from mzu.search.action_injection import inject_index, inject_vector, share_prior
from mzu.search.all_actions import propose_all_actions
from mzu.search.gumbel import gumbel_inside, gumbel_root
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
    first: int  # nodes that the first evaluations take, one for each candidate of the root; 0 where there are none
    max_depth: int  # edges on the longest path; 0: no limit
    gumbel: bool  # candidates are chosen as Gumbel MuZero does, not by pUCT
    considered: np.ndarray  # [C + 1, S] Gumbel: visits of the candidates that simulation s considers, of so many
    value_scale: float  # Gumbel: sigma(q) = (visit_offset + most visits) * value_scale * q
    visit_offset: float


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
    gumbels: np.ndarray  # [B, K] Gumbel noise of the root's candidates, or [B, 0]


@kernel_part
def select(tree, settings, inputs, b):
    """Follows the best scores from the root to an edge without a child, or to one that ends at the greatest depth.

    Returns its node and candidate.
    """
    node, depth = ROOT, 0
    while True:
        if settings.gumbel:
            candidate = gumbel_candidate(tree, settings, inputs, b, node)
        else:
            candidate = best_candidate(tree.nodes[b, node], tree.edges[b, node], tree.bounds[b], settings)
        child = tree.edges[b, node, candidate].child
        depth += 1
        if child == NO_NODE or depth == settings.max_depth:
            return node, candidate
        node = child


@kernel_part
def gumbel_candidate(tree, settings, inputs, b, node):
    """Gumbel MuZero's choice: sequential halving at the root, visits that follow the improved policy below."""
    if node == ROOT:
        return gumbel_root(tree.nodes[b, node], tree.edges[b, node], inputs.gumbels[b], settings)
    return gumbel_inside(tree.nodes[b, node], tree.edges[b, node], settings)


@kernel_part
def best_candidate(node, edges, bounds, settings):
    """The candidate with the highest pUCT score, value term plus prior term; the first of equals."""
    low, span = value_range(node, edges, bounds, settings)
    factor = settings.exploration[node.visits]
    unvisited = (node.value - low) / span if settings.parent_for_unvisited else 0.0
    best, best_score = 0, -math.inf
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            if edges[k].child == NO_NODE:
                # Most edges: their terms without the two divisions.
                score = unvisited + edges[k].prior * factor
            else:
                score = value_term(edges[k], node, low, span, settings) + prior_term(edges[k], node, settings)
            if score > best_score:
                best, best_score = k, score
    return best


@kernel_part
def prior_term(edge, node, settings):
    """pUCT's exploration: prior * sqrt(N) * (log((N + base + 1) / base) + init) / (1 + n)."""
    return edge.prior * settings.exploration[node.visits] / (1 + edge.visits)


@kernel_part
def value_term(edge, node, low, span, settings):
    """The edge's reward + discount * value, normalised by the range; 0 for an edge that was never evaluated.

    0 is the lowest value in the tree: what was never tried is taken to be as bad as anything seen. With
    `parent_for_unvisited` it is taken to be as good as its node.
    """
    unvisited = node.value if settings.parent_for_unvisited else low
    value = edge.reward + settings.discount * edge.value if edge.child != NO_NODE else unvisited
    return (value - low) / span


@kernel_part
def value_range(node, edges, bounds, settings):
    """Low end and width of the range that `value_term` normalises by: of the tree, or of the node and its children."""
    low, high = bounds[0], bounds[1]
    if settings.siblings:
        low = high = node.value
        for k in range(edges.shape[0]):
            if edges[k].child != NO_NODE:
                value = edges[k].reward + settings.discount * edges[k].value
                low, high = min(low, value), max(high, value)
        high = max(high, low + SMALLEST_RANGE)
    # A range of one number normalises nothing: until there are two, MuZero uses the value as it is.
    return (low, high - low) if high > low else (0.0, 1.0)


@kernel_part
def backup(tree, settings, b, leaf):
    """Sends the leaf's value up its path: discounted, with the rewards met on the way."""
    nodes, edges, bounds = tree.nodes[b], tree.edges[b], tree.bounds[b]
    value = nodes[leaf].raw_value
    # The root is backed up too, once: with N = 0 all scores of the first simulation would be an arbitrary tie at 0.
    # A leaf that was here before ended a simulation at the greatest depth: its mean stays what it is.
    nodes[leaf].visits += 1
    child = leaf
    while child != ROOT:
        parent = nodes[child].parent
        node, edge = nodes[parent], edges[parent, nodes[child].parent_candidate]
        edge.visits += 1
        note_value(edge, nodes[child].value, bounds, settings.discount)
        value = edge.reward + settings.discount * value
        node.value = (node.value * node.visits + value) / (node.visits + 1)
        node.visits += 1
        child = parent


@kernel_part
def note_value(edge, value, bounds, discount):
    """The edge learns its child's value, and the tree's range holds reward + discount * value."""
    edge.value = value
    q = edge.reward + discount * value
    bounds[0] = min(bounds[0], q)
    bounds[1] = max(bounds[1], q)


@kernel_part
def attach(tree, b, node, parent, candidate, reward, value):
    """Hangs a new node below (parent, candidate), with what the model says of it; the root hangs nowhere."""
    tree.nodes[b, node].parent = parent
    tree.nodes[b, node].parent_candidate = candidate
    tree.nodes[b, node].raw_value = tree.nodes[b, node].value = value
    tree.nodes[b, node].visits = 0
    if node == ROOT:
        tree.nodes[b, node].parent = NO_NODE
        tree.bounds[b, 0], tree.bounds[b, 1] = math.inf, -math.inf
    else:
        tree.edges[b, parent, candidate].child = node
        tree.edges[b, parent, candidate].reward = reward


@kernel_part
def attach_first(tree, settings, b, candidate, reward, value):
    """A first evaluation of the root's candidate: a node with its own value, on an edge that was never visited."""
    node = 1 + candidate
    attach(tree, b, node, ROOT, candidate, reward, value)
    tree.nodes[b, node].visits = 1
    note_value(tree.edges[b, ROOT, candidate], value, tree.bounds[b], settings.discount)


@kernel_part
def leave_empty(tree, b, node):
    """A node that no evaluation needed: of a candidate that does not exist, or of a simulation that ended above."""
    tree.nodes[b, node].visits = 0
    tree.nodes[b, node].parent = NO_NODE
    tree.nodes[b, node].parent_candidate = 0
    tree.nodes[b, node].value = tree.nodes[b, node].raw_value = 0.0
    clear_edges(tree.edges[b, node])


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
        elif settings.candidate_source == ALL_ACTIONS:
            inputs.slots[b] = inputs.action_index[b]
            share_prior(edges, inputs.slots[b], settings.injected_prior)
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
