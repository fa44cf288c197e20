"""The kernels applied to a whole batch: one simulation at a time for any model, or the whole search in one call.

`search_compiled` splits the rows over the cores. Each piece runs from observation to visit counts inside compiled code,
without the interpreter's lock, so the cores never wait for each other.
"""

import math

import numpy as np

from mzu.compilation import kernel, kernel_part
from mzu.networks.compiled import INPUT, OUTPUT, evaluate, new_buffers
from mzu.search.cores import run_on_cores
from mzu.search.kernels import SAMPLED_CATEGORICAL, SAMPLED_GAUSSIAN, Inputs, attach, backup, expand, select
from mzu.search.tree import ROOT, Tree


@kernel
def select_batch(tree, settings, parents, candidates):
    """`select` for every row, into parents [B] and candidates [B]."""
    for b in range(parents.shape[0]):
        parents[b], candidates[b] = select(tree, settings, b)


@kernel
def add_nodes(tree, settings, inputs, node, parents, candidates, reward, policy, value):
    """Adds one node to every tree. Returns the first row in which the model's output is not finite, or -1."""
    bad_row = -1
    for b in range(value.shape[0]):
        finite = add_node(tree, settings, inputs, b, node, parents[b], candidates[b], reward[b], policy[b], value[b])
        if not finite and bad_row < 0:
            bad_row = b
    return bad_row


@kernel_part
def add_node(tree, settings, inputs, b, node, parent, candidate, reward, policy, value):
    """Attaches a node, backs its value up and expands it. False if anything is not finite."""
    attach(tree, b, node, parent, candidate, reward, value)
    backup(tree, settings, b, node)
    finite = expand(tree, settings, inputs, b, node, policy)
    return finite and math.isfinite(reward) and math.isfinite(value)


def search_compiled(network, observations, tree, settings, inputs) -> tuple[int, int]:
    """The whole search of all rows in compiled code. Returns the first row and node that were not finite, or -1, -1.

    observations [B, O], padded to whole panels.
    """
    bad_nodes = np.full(len(observations), -1, np.int32)

    def run(start, stop):
        own_tree, own_inputs, rows = tree, inputs, slice(start, stop)
        if stop - start < len(observations):  # slicing twenty arrays takes as long as ten simulations of one row
            own_tree = Tree(*(array[rows] for array in tree))
            own_inputs = Inputs(*(array if array is inputs.all_legal else array[rows] for array in inputs))
        buffers = new_buffers(network, stop - start)
        edges = np.zeros((stop - start, 2), np.int64)
        _search_piece(network, observations[rows], buffers, own_tree, settings, own_inputs, edges, bad_nodes[rows])

    run_on_cores(run, len(observations))
    bad_rows = np.flatnonzero(bad_nodes >= 0)
    return (int(bad_rows[0]), int(bad_nodes[bad_rows[0]])) if len(bad_rows) else (-1, -1)


@kernel
def _search_piece(network, observations, buffers, tree, settings, inputs, edges, bad_nodes):
    """The search of R rows, one for each observation; edges [R, 2] is where it notes its choices."""
    rows = observations.shape[0]
    for node in range(tree.nodes.shape[1]):
        if node != ROOT:
            for b in range(rows):
                edges[b, 0], edges[b, 1] = select(tree, settings, b)
                _bring_edge(tree, settings, b, edges[b, 0], edges[b, 1], buffers)
        evaluate(network, observations, buffers, node == ROOT)
        for b in range(rows):
            _keep_hidden(tree, b, node, buffers)
            reward, policy, value = buffers.reward[b], buffers.policy[b], buffers.value[b]
            finite = add_node(tree, settings, inputs, b, node, edges[b, 0], edges[b, 1], reward, policy, value)
            if not finite and bad_nodes[b] < 0:
                bad_nodes[b] = node


@kernel_part
def _keep_hidden(tree, b, node, buffers):
    """The network's new hidden state of row b belongs to this node."""
    for j in range(tree.hidden.shape[2]):
        tree.hidden[b, node, j] = buffers.layers[OUTPUT, b, j]


@kernel_part
def _bring_edge(tree, settings, b, node, candidate, buffers):
    """The hidden state and the action of an edge become row b of the network's input."""
    for j in range(tree.hidden.shape[2]):
        buffers.layers[INPUT, b, j] = tree.hidden[b, node, j]
    # A sampled candidate's number is not its action.
    if settings.candidate_source == SAMPLED_CATEGORICAL:
        buffers.action_index[b] = tree.action_index[b, node, candidate]
    elif settings.candidate_source == SAMPLED_GAUSSIAN:
        for d in range(tree.action_vector.shape[3]):
            buffers.action_vector[b, d] = tree.action_vector[b, node, candidate, d]
    else:
        buffers.action_index[b] = candidate
