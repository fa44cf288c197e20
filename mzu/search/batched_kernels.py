"""The kernels applied to a whole batch: one simulation at a time for any model, or the whole search in one call.

`search_compiled` splits the rows over the cores. Each piece runs from observation to visit counts inside compiled code,
without the interpreter's lock, so the cores never wait for each other.
"""

import math

import numpy as np

from mzu.compilation import kernel, kernel_part
from mzu.networks.compiled.forward_pass import evaluate, new_buffers
from mzu.networks.compiled.state_pass import INPUT, OUTPUT
from mzu.search.cores import ROWS_PER_PIECE, run_on_cores
from mzu.search.kernels import (
    SAMPLED_CATEGORICAL,
    SAMPLED_GAUSSIAN,
    attach,
    attach_first,
    backup,
    expand,
    leave_empty,
    select,
)
from mzu.search.tree import NO_NODE, ROOT

PICTURES_PER_PIECE = 8


@kernel
def select_batch(tree, settings, inputs, parents, candidates):
    """`select` for every row, into parents [B] and candidates [B]."""
    for b in range(parents.shape[0]):
        parents[b], candidates[b] = select(tree, settings, inputs, b)


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
    simulation = node - 1 - settings.first
    if simulation >= 0:
        end = tree.edges[b, parent, candidate].child
        if end != NO_NODE:  # the greatest depth: what the model says again is known already
            tree.ends[b, simulation] = end
            leave_empty(tree, b, node)
            backup(tree, settings, b, end)
            return True
        tree.ends[b, simulation] = node
    attach(tree, b, node, parent, candidate, reward, value)
    backup(tree, settings, b, node)
    finite = expand(tree, settings, inputs, b, node, policy)
    return finite and math.isfinite(reward) and math.isfinite(value)


@kernel
def add_first(tree, settings, inputs, reward, policy, value):
    """The first evaluations of all rows: reward and value [B, K], policy [B, K, P]. Returns a bad row, or -1."""
    bad_row = -1
    for b in range(value.shape[0]):
        for k in range(value.shape[1]):
            finite = add_first_evaluation(tree, settings, inputs, b, k, reward[b, k], policy[b, k], value[b, k])
            if not finite and bad_row < 0:
                bad_row = b
    return bad_row


@kernel_part
def add_first_evaluation(tree, settings, inputs, b, candidate, reward, policy, value):
    """Attaches the node of one of the root's candidates and expands it. False if anything is not finite."""
    if tree.edges[b, ROOT, candidate].prior == 0.0:
        leave_empty(tree, b, 1 + candidate)
        return True
    attach_first(tree, settings, b, candidate, reward, value)
    finite = expand(tree, settings, inputs, b, 1 + candidate, policy)
    return finite and math.isfinite(reward) and math.isfinite(value)


def search_compiled(network, observations, tree, settings, inputs) -> tuple[int, int]:
    """The whole search of all rows in compiled code. Returns the first row and node that were not finite, or -1, -1.

    observations as `CompiledModel.padded_observations` makes them.
    """
    bad_nodes = np.full(len(observations), -1, np.int32)
    chosen = np.zeros((len(observations), 2), np.int64)

    def run(start, stop):
        buffers = new_buffers(network, max(stop - start, settings.first))
        _search_piece(network, observations, buffers, tree, settings, inputs, chosen, bad_nodes, start, stop)

    # Of pictures, whose planes are many numbers, fewer rows fit a level-2 cache.
    run_on_cores(run, len(observations), ROWS_PER_PIECE if observations.ndim == 2 else PICTURES_PER_PIECE)
    if bad_nodes.max() < 0:
        return -1, -1
    row = int(np.flatnonzero(bad_nodes >= 0)[0])
    return row, int(bad_nodes[row])


@kernel
def _search_piece(network, observations, buffers, tree, settings, inputs, chosen, bad_nodes, start, stop):
    """The search of the rows start..stop - 1; `chosen` [B, 2] is where it notes the edges that it selected.

    Row b of the batch is row b - start of the buffers.
    """
    for step in range(1 + tree.ends.shape[1]):
        node = ROOT if step == 0 else settings.first + step
        if node != ROOT:
            for b in range(start, stop):
                chosen[b, 0], chosen[b, 1] = select(tree, settings, inputs, b)
                _bring_edge(tree, settings, b, chosen[b, 0], chosen[b, 1], buffers, b - start)
        evaluate(network, observations[start:stop], buffers, stop - start, node == ROOT)
        for b in range(start, stop):
            row = b - start
            _keep_hidden(tree, b, node, buffers, row)
            reward, policy, value = buffers.reward[row], buffers.policy[row], buffers.value[row]
            finite = add_node(tree, settings, inputs, b, node, chosen[b, 0], chosen[b, 1], reward, policy, value)
            if not finite and bad_nodes[b] < 0:
                bad_nodes[b] = node
        if node == ROOT and settings.first > 0:
            for b in range(start, stop):
                _evaluate_root(network, observations, buffers, tree, settings, inputs, b, bad_nodes)


@kernel_part
def _evaluate_root(network, observations, buffers, tree, settings, inputs, b, bad_nodes):
    """The first evaluations of row b: all candidates of its root that exist as one batch, one behind the other."""
    rows = 0
    for k in range(settings.first):
        if tree.edges[b, ROOT, k].prior > 0.0:
            _bring_edge(tree, settings, b, ROOT, k, buffers, rows)
            rows += 1
    evaluate(network, observations, buffers, rows, False)
    row = 0
    for k in range(settings.first):
        reward, policy, value = buffers.reward[row], buffers.policy[row], buffers.value[row]
        if tree.edges[b, ROOT, k].prior > 0.0:
            _keep_hidden(tree, b, 1 + k, buffers, row)
            row = min(row + 1, rows - 1)
        else:
            _clear_hidden(tree, b, 1 + k)
        finite = add_first_evaluation(tree, settings, inputs, b, k, reward, policy, value)
        if not finite and bad_nodes[b] < 0:
            bad_nodes[b] = 1 + k


@kernel_part
def _clear_hidden(tree, b, node):
    """A node that nobody evaluated has a hidden state of zeros."""
    for j in range(tree.hidden.shape[2]):
        tree.hidden[b, node, j] = np.float32(0)


@kernel_part
def _keep_hidden(tree, b, node, buffers, row):
    """The network's new hidden state of a row of the buffers belongs to this node."""
    for j in range(tree.hidden.shape[2]):
        tree.hidden[b, node, j] = buffers.layers[OUTPUT, row, j]


@kernel_part
def _bring_edge(tree, settings, b, node, candidate, buffers, row):
    """The hidden state and the action of an edge become a row of the network's input."""
    for j in range(tree.hidden.shape[2]):
        buffers.layers[INPUT, row, j] = tree.hidden[b, node, j]
    # A sampled candidate's number is not its action.
    if settings.candidate_source == SAMPLED_CATEGORICAL:
        buffers.action_index[row] = tree.action_index[b, node, candidate]
    elif settings.candidate_source == SAMPLED_GAUSSIAN:
        for d in range(tree.action_vector.shape[3]):
            buffers.action_vector[row, d] = tree.action_vector[b, node, candidate, d]
    else:
        buffers.action_index[row] = candidate
