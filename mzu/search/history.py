"""The history of a search, worked out from its tree (for `mzu.explain` and notebook 03_search).

Simulation s creates node s + 1, and the tree keeps the model's output at every node. So the finished tree is itself a
model of which every simulation can be run again, with the same kernels, watching each score. That is what `record=True`
does, and why it costs nothing when off.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from mzu.compilation import kernel, kernel_part
from mzu.search.kernels import Settings, attach, backup, prior_term, value_range, value_term
from mzu.search.tree import NO_NODE, ROOT, Tree, without_hidden


@dataclass(frozen=True)
class History:
    """S simulations of B searches; L is the longest path. Places past the end of a path hold -1 or NaN.

    depth        [B, S] int32        edges on the path, the new one included
    nodes        [B, S, L] int32     the nodes passed, from the root
    candidates   [B, S, L] int32     the candidate taken at each
    value_terms  [B, S, L, K]        pUCT's value term of every candidate there; NaN where there is no candidate
    prior_terms  [B, S, L, K]        pUCT's prior term
    bounds       [B, S, 2]           the tree's smallest and largest value when the simulation started
    rewards      [B, S]              the model's reward on the new edge
    values       [B, S]              the model's value of the new node
    root_values  [B, S]              mean value of the root after the simulation
    """

    depth: np.ndarray
    nodes: np.ndarray
    candidates: np.ndarray
    value_terms: np.ndarray
    prior_terms: np.ndarray
    bounds: np.ndarray
    rewards: np.ndarray
    values: np.ndarray
    root_values: np.ndarray


def replay(tree: Tree, settings: Settings) -> History:
    """Runs every simulation of a finished search again and keeps what it looked at."""
    batch, nodes, candidates = tree.edges.shape
    depth = np.zeros((batch, nodes - 1), np.int32)
    _depths(tree.nodes, depth)
    steps = (*depth.shape, depth.max())
    history = History(
        depth=depth,
        nodes=np.full(steps, NO_NODE, np.int32),
        candidates=np.full(steps, -1, np.int32),
        value_terms=np.full((*steps, candidates), np.nan),
        prior_terms=np.full((*steps, candidates), np.nan),
        bounds=np.zeros((*depth.shape, 2)),
        rewards=np.zeros(depth.shape),
        values=tree.nodes["raw_value"][:, 1:].copy(),
        root_values=np.zeros(depth.shape),
    )
    arrays = [getattr(history, field.name) for field in dataclasses.fields(history)]
    _replay(without_hidden(tree), without_hidden(_start_again(tree)), settings, nodes - 1, *arrays)
    return history


def prefix(tree: Tree, settings: Settings, simulations: int) -> Tree:
    """The tree as it was after the first `simulations` simulations."""
    nodes = tree.nodes.shape[1]
    if not 0 <= simulations < nodes:
        raise ValueError(f"simulations is {simulations}, but this search has 0..{nodes - 1}")
    early = _start_again(tree)
    _grow(without_hidden(tree), without_hidden(early), settings, simulations)
    return early


def _start_again(tree: Tree) -> Tree:
    """A tree with just the root; what belongs to later nodes (priors, actions, hidden states) is there, not linked."""
    early = tree._replace(nodes=np.zeros_like(tree.nodes), edges=tree.edges.copy(), bounds=tree.bounds.copy())
    early.nodes["parent"] = NO_NODE
    for field, value in (("child", NO_NODE), ("visits", 0), ("reward", 0.0), ("value", 0.0)):
        early.edges[field] = value
    early.nodes["raw_value"][:, ROOT] = early.nodes["value"][:, ROOT] = tree.nodes["raw_value"][:, ROOT]
    early.nodes["visits"][:, ROOT] = 1
    early.bounds[:] = np.inf, -np.inf
    return early


@kernel
def _depths(nodes, depth):
    for b in range(nodes.shape[0]):
        for node in range(1, nodes.shape[1]):
            above = nodes[b, node].parent
            depth[b, node - 1] = 1 + (depth[b, above - 1] if above != ROOT else 0)


@kernel
def _grow(tree, early, settings, simulations):
    for b in range(tree.nodes.shape[0]):
        for node in range(1, simulations + 1):
            _add_again(tree, early, settings, b, node)


@kernel_part
def _add_again(tree, early, settings, b, node):
    parent, candidate = tree.nodes[b, node].parent, tree.nodes[b, node].parent_candidate
    reward = tree.edges[b, parent, candidate].reward
    attach(early, b, node, parent, candidate, reward, tree.nodes[b, node].raw_value)
    backup(early, settings, b, node)


@kernel
def _replay(
    tree, early, settings, simulations,
    depth, nodes, candidates, value_terms, prior_terms, bounds, rewards, values, root_values,
):  # fmt: skip
    """Grows `early` again, simulation by simulation, and writes down every score along each path."""
    for b in range(depth.shape[0]):
        for s in range(simulations):
            bounds[b, s, 0], bounds[b, s, 1] = early.bounds[b, 0], early.bounds[b, 1]
            child = s + 1
            for step in range(depth[b, s] - 1, -1, -1):
                node, candidate = tree.nodes[b, child].parent, tree.nodes[b, child].parent_candidate
                if child == s + 1:
                    rewards[b, s] = tree.edges[b, node, candidate].reward
                nodes[b, s, step], candidates[b, s, step] = node, candidate
                low, high = value_range(early.nodes[b, node], early.edges[b, node], early.bounds[b], settings)
                for k in range(early.edges.shape[2]):
                    edge = early.edges[b, node, k]
                    if edge.prior > 0.0:
                        value_terms[b, s, step, k] = value_term(edge, early.nodes[b, node], low, high, settings)
                        prior_terms[b, s, step, k] = prior_term(edge, early.nodes[b, node], settings)
                child = node
            _add_again(tree, early, settings, b, s + 1)
            root_values[b, s] = early.nodes[b, ROOT].value
