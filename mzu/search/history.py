"""The history of a search, worked out from its tree (for `mzu.explain` and notebook 03_search).

The tree keeps the model's output at every node, and where each simulation ended. So the finished tree is itself a model
of which every simulation can be run again, with the same kernels, watching each score. That is what `record=True`
does, and why it costs nothing when off.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from mzu.compilation import kernel, kernel_part
from mzu.search.gumbel import gumbel_terms
from mzu.search.kernels import Settings, attach, attach_first, backup, prior_term, value_range, value_term
from mzu.search.tree import NO_NODE, ROOT, Tree, without_hidden


@dataclass(frozen=True)
class History:
    """S simulations of B searches; L is the longest path. Places past the end of a path hold -1 or NaN.

    depth        [B, S] int32        edges on the path, the new one included
    nodes        [B, S, L] int32     the nodes passed, from the root
    candidates   [B, S, L] int32     the candidate taken at each
    value_terms  [B, S, L, K]        pUCT's value term of every candidate there; NaN where there is no candidate
    prior_terms  [B, S, L, K]        pUCT's prior term; for Gumbel's two terms see `gumbel_terms`
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


def history_of(tree: Tree, settings: Settings, gumbels: np.ndarray) -> History:
    """Runs every simulation of a finished search again and keeps what it looked at; gumbels [B, K] as it had them."""
    depth = simulation_depths(tree)
    steps = (*depth.shape, depth.max(initial=1))
    candidates = tree.edges.shape[2]
    history = History(
        depth=depth,
        nodes=np.full(steps, NO_NODE, np.int32),
        candidates=np.full(steps, -1, np.int32),
        value_terms=np.full((*steps, candidates), np.nan),
        prior_terms=np.full((*steps, candidates), np.nan),
        bounds=np.zeros((*depth.shape, 2)),
        rewards=np.zeros(depth.shape),
        values=np.take_along_axis(tree.nodes["raw_value"], tree.ends.astype(np.int64), axis=1),
        root_values=np.zeros(depth.shape),
    )
    arrays = [getattr(history, field.name) for field in dataclasses.fields(history)]
    _run_again(without_hidden(tree), without_hidden(_start_again(tree, settings)), settings, gumbels, *arrays)
    return history


def simulation_depths(tree: Tree) -> np.ndarray:
    """[B, S] int32: the edges on the path of each simulation."""
    depth = np.zeros(tree.ends.shape, np.int32)
    _depths(tree.nodes, tree.ends, depth)
    return depth


def prefix(tree: Tree, settings: Settings, simulations: int) -> Tree:
    """The tree as it was after the first `simulations` simulations."""
    most = tree.ends.shape[1]
    if not 0 <= simulations <= most:
        raise ValueError(f"simulations is {simulations}, but this search has 0..{most}")
    early = _start_again(tree, settings)
    _grow(without_hidden(tree), without_hidden(early), settings, simulations)
    return early


def _start_again(tree: Tree, settings: Settings) -> Tree:
    """A tree before its first simulation; what belongs to later nodes (priors, actions, ...) is there, not linked."""
    early = tree._replace(nodes=np.zeros_like(tree.nodes), edges=tree.edges.copy(), bounds=tree.bounds.copy())
    early.nodes["parent"] = NO_NODE
    for field, value in (("child", NO_NODE), ("visits", 0), ("reward", 0.0), ("value", 0.0)):
        early.edges[field] = value
    early.nodes["raw_value"][:, ROOT] = early.nodes["value"][:, ROOT] = tree.nodes["raw_value"][:, ROOT]
    early.nodes["visits"][:, ROOT] = 1
    early.bounds[:] = np.inf, -np.inf
    _first_again(without_hidden(tree), without_hidden(early), settings)
    return early


@kernel
def _depths(nodes, ends, depth):
    for b in range(ends.shape[0]):
        for s in range(ends.shape[1]):
            node = ends[b, s]
            while node != ROOT:
                node = nodes[b, node].parent
                depth[b, s] += 1


@kernel
def _first_again(tree, early, settings):
    for b in range(tree.nodes.shape[0]):
        for k in range(settings.first):
            edge = tree.edges[b, ROOT, k]
            if edge.prior > 0.0:
                attach_first(early, settings, b, k, edge.reward, tree.nodes[b, 1 + k].raw_value)


@kernel
def _grow(tree, early, settings, simulations):
    for b in range(tree.nodes.shape[0]):
        for simulation in range(simulations):
            _simulate_again(tree, early, settings, b, simulation)


@kernel_part
def _simulate_again(tree, early, settings, b, simulation):
    node = tree.ends[b, simulation]
    if early.nodes[b, node].visits == 0:
        parent, candidate = tree.nodes[b, node].parent, tree.nodes[b, node].parent_candidate
        reward = tree.edges[b, parent, candidate].reward
        attach(early, b, node, parent, candidate, reward, tree.nodes[b, node].raw_value)
    backup(early, settings, b, node)


@kernel
def _run_again(
    tree, early, settings, gumbels,
    depth, nodes, candidates, value_terms, prior_terms, bounds, rewards, values, root_values,
):  # fmt: skip
    """Grows `early` again, simulation by simulation, and writes down every score along each path."""
    for b in range(depth.shape[0]):
        for s in range(depth.shape[1]):
            bounds[b, s, 0], bounds[b, s, 1] = early.bounds[b, 0], early.bounds[b, 1]
            end = child = tree.ends[b, s]
            for step in range(depth[b, s] - 1, -1, -1):
                node, candidate = tree.nodes[b, child].parent, tree.nodes[b, child].parent_candidate
                if child == end:
                    rewards[b, s] = tree.edges[b, node, candidate].reward
                nodes[b, s, step], candidates[b, s, step] = node, candidate
                _note_terms(early, settings, gumbels, b, node, value_terms[b, s, step], prior_terms[b, s, step])
                child = node
            _simulate_again(tree, early, settings, b, s)
            root_values[b, s] = early.nodes[b, ROOT].value


@kernel_part
def _note_terms(early, settings, gumbels, b, node, value_terms, prior_terms):
    """Both parts of the score of every candidate of a node, into arrays [K]."""
    record, edges = early.nodes[b, node], early.edges[b, node]
    if settings.gumbel:
        gumbel_terms(record, edges, gumbels[b], settings, node == ROOT, value_terms, prior_terms)
        return
    low, span = value_range(record, edges, early.bounds[b], settings)
    for k in range(edges.shape[0]):
        if edges[k].prior > 0.0:
            value_terms[k] = value_term(edges[k], record, low, span, settings)
            prior_terms[k] = prior_term(edges[k], record, settings)
