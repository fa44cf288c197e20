"""The search of `search.py` as plain Python objects, one position at a time, to read in class (notebook 03_search)."""

import math
from dataclasses import dataclass

import numpy as np

from mzu.search.improvement.reference import gumbel_edge
from mzu.search.kernels import ALL_ACTIONS, SAMPLED_CATEGORICAL, SAMPLED_GAUSSIAN
from mzu.search.randomness import draw_gumbels, draw_randomness
from mzu.search.reference_candidates import (
    Edge,
    add_noise,
    all_actions,
    inject_action,
    sampled_categorical,
    sampled_gaussian,
)


@dataclass(eq=False)
class Node:
    index: int  # the root is 0, its candidate k that is evaluated first k + 1, and what simulations create follows
    hidden: np.ndarray
    raw_value: float
    value: float  # mean of the backed-up values, of which the node's own is the first
    edges: list[Edge]
    visits: int = 1


def search(
    model, observations, config, rng, injected_actions=None, inject=None, legal_actions=None, propose_mean=False
) -> list[Node]:
    """The roots of the finished trees. Arguments as in `mzu.search.search.search`, the same random numbers too."""
    hidden, policy, value = model.initial(observations)
    gaussian = isinstance(policy, tuple)
    policy = np.stack(policy, axis=1) if gaussian else policy  # [B, A] logits, or [B, 2, D] mean and scale
    policy = policy if legal_actions is None else np.where(legal_actions, policy, -math.inf)
    source = SAMPLED_GAUSSIAN if gaussian else SAMPLED_CATEGORICAL if config.num_sampled_actions else ALL_ACTIONS
    propose = {ALL_ACTIONS: all_actions, SAMPLED_CATEGORICAL: sampled_categorical, SAMPLED_GAUSSIAN: sampled_gaussian}
    batch, actions = len(policy), policy.shape[-1]
    count = config.num_sampled_actions or actions
    inject = np.full(batch, injected_actions is not None) if inject is None else inject
    candidates = count + bool(inject.any() and source != ALL_ACTIONS)
    nodes = 1 + (candidates if config.evaluates_first else 0) + config.simulations
    randomness = draw_randomness(rng, batch, nodes, count, source, actions, config.dirichlet_alpha)
    gumbels = draw_gumbels(rng, batch, candidates, config)
    numbers = randomness.uniforms if source == SAMPLED_CATEGORICAL else randomness.normals
    if propose_mean and gaussian:
        numbers[:, 0, 0] = 0
    roots = []
    for b in range(batch):
        edges = propose[source](policy[b], numbers[b, 0], config.sampling_temperature)
        if inject[b]:
            inject_action(edges, injected_actions[b], config.injected_prior)
        else:
            add_noise(edges, randomness.log_gamma[b], config.noise_fraction)
        root = Node(0, hidden[b], value[b], value[b], edges)
        roots.append(search_one(model, root, propose[source], numbers[b], config, gumbels[b]))
    return roots


def search_one(model, root, propose, numbers, config, gumbels=()) -> Node:
    """First evaluations where the config asks for them, and all simulations: select, evaluate, expand, back up."""
    bounds = [math.inf, -math.inf]  # smallest and largest reward + discount * value seen anywhere in the tree
    if config.evaluates_first:
        for place, edge in enumerate(root.edges, start=1):
            if edge.prior > 0:
                evaluate(model, root, edge, place, propose, numbers[place], config)
                widen(bounds, edge.q(config.discount))  # Critical: not visits += 1, it is no visit
    for index in range(len(numbers) - config.simulations, len(numbers)):
        path, node = [], root
        while node is not None and len(path) != (config.max_depth or math.inf):
            edge = best_edge(node, bounds, config, gumbels)
            path.append((node, edge))
            node = edge.child
        if node is None:
            node = evaluate(model, path[-1][0], edge, index, propose, numbers[index], config)
        else:
            node.visits += 1  # the greatest depth: the same value once more
        backup(path, node.raw_value, bounds, config.discount)
    return root


def evaluate(model, node, edge, index, propose, numbers, config) -> Node:
    """One step of the model: the edge gets its reward and a child with candidates of its own."""
    hidden, reward, policy, value = model.recurrent(node.hidden[None], np.asarray(edge.action)[None])
    policy = np.stack(policy, axis=1) if isinstance(policy, tuple) else policy
    edges = propose(policy[0], numbers, config.sampling_temperature)
    edge.reward, edge.child = reward[0], Node(index, hidden[0], value[0], value[0], edges)
    return edge.child


def best_edge(node, bounds, config, gumbels=()) -> Edge:
    """The first edge with the highest pUCT score: normalised value plus prior times exploration."""
    if config.selection == "gumbel":
        return gumbel_edge(node, config, gumbels)
    low, high = bounds
    if config.normaliser == "siblings":
        values = [node.value] + [edge.q(config.discount) for edge in node.edges if edge.child]
        low, high = min(values), max(max(values), min(values) + 1e-8)
    growth = math.log((node.visits + config.puct_base + 1) / config.puct_base) + config.puct_init

    def score(edge):
        value = edge.q(config.discount) if edge.child else node.value
        value = (value - low) / (high - low) if high > low else value
        value = value if edge.child or config.unvisited_value == "parent" else 0.0
        return value + edge.prior * (math.sqrt(node.visits) * growth) / (1 + edge.visits)

    return max((edge for edge in node.edges if edge.prior > 0), key=score)


def backup(path, value, bounds, discount) -> None:
    """The new node's value goes up the path [(node, edge), ...], from the last edge to the first."""
    for node, edge in reversed(path):
        edge.visits += 1
        widen(bounds, edge.q(discount))
        value = edge.reward + discount * value
        node.value = (node.value * node.visits + value) / (node.visits + 1)
        node.visits += 1


def widen(bounds, q) -> None:
    bounds[:] = min(bounds[0], q), max(bounds[1], q)
