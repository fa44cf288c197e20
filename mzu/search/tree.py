"""The search tree of a whole batch as one record of flat arrays (notebook 03_search).

Node 0 is the root, nodes 1..F are the first evaluations of its F candidates (F = 0 where there are none), and
simulation s creates node F + s + 1, so a tree never needs an index of free nodes. A node that was not needed has no
visits: of a candidate that does not exist, or of a simulation that ended at the greatest depth. An edge is a pair
(node, candidate): the K candidates of a node are the actions that the search may take there. A candidate with prior 0
does not exist: an illegal action, an empty slot.
"""

from typing import NamedTuple

import numba
import numpy as np

ROOT = 0
NO_NODE = -1


NODE = np.dtype(
    [
        ("visits", np.int32),  # evaluations backed up through the node, its own included
        ("parent", np.int32),  # NO_NODE for the root
        ("parent_candidate", np.int64),  # the parent's edge that leads here
        ("value", np.float64),  # mean of the backed-up values
        ("raw_value", np.float64),  # the network's value
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("child", np.int32),  # NO_NODE until the edge is evaluated for the first time
        ("visits", np.int32),
        ("prior", np.float64),  # 0 where there is no candidate
        ("reward", np.float64),  # the network's reward for taking the edge
        ("value", np.float64),  # value of the child
    ],
    align=True,
)


class Tree(NamedTuple):
    """B trees of up to N nodes with up to K candidates each.

    nodes          [B, N] of NODE
    edges          [B, N, K] of EDGE: one record of 32 bytes, since a search reads all of an edge at once
    hidden         [B, N, ...]             hidden states, in the model's own shape and type
    action_index   [B, N, K] int32         actions of a sampled discrete space; empty where candidate k is action k
    action_vector  [B, N, K, D] float32    continuous actions; D = 0 in a discrete space
    bounds         [B, 2]                  smallest and largest reward + discount * value seen on any edge
    ends           [B, S] int32            the node at which each simulation ended

    Each field of a record is a flat array of its own too: tree.edges["prior"] is [B, N, K].
    """

    nodes: np.ndarray
    edges: np.ndarray
    hidden: np.ndarray
    action_index: np.ndarray
    action_vector: np.ndarray
    bounds: np.ndarray
    ends: np.ndarray

    @property
    def first(self) -> int:
        """F, the number of nodes that the first evaluations take."""
        return self.nodes.shape[1] - 1 - self.ends.shape[1]

    @property
    def actions(self) -> np.ndarray:
        """[B, N, K] or [B, N, K, D]: the environment's action that each candidate stands for."""
        if self.action_vector.shape[-1]:
            return self.action_vector
        if self.action_index.size:
            return self.action_index
        return np.broadcast_to(np.arange(self.edges.shape[-1], dtype=np.int32), self.edges.shape)


def new_tree(
    hidden: np.ndarray, candidates: int, action_index: np.ndarray, action_vector: np.ndarray, first: int = 0
) -> Tree:
    """Memory for trees; a record is written when its node is added. The arrays given are taken over, not copied."""
    batch, nodes = hidden.shape[:2]
    # Kernels write tree.edges[b, n, k].visits; without the compiler, only NumPy's record arrays understand that.
    kind = np.recarray if numba.config.DISABLE_JIT else np.ndarray
    return Tree(
        nodes=np.empty((batch, nodes), NODE).view(kind),
        edges=np.empty((batch, nodes, candidates), EDGE).view(kind),
        hidden=hidden,
        action_index=action_index,
        action_vector=action_vector,
        bounds=np.empty((batch, 2)),
        ends=np.empty((batch, nodes - 1 - first), np.int32),
    )


def root_actions(tree: Tree) -> np.ndarray:
    """[B, K] or [B, K, D]: a copy of `tree.actions` at the roots."""
    if tree.action_vector.shape[-1] or tree.action_index.size:
        return tree.actions[:, ROOT].copy()
    actions = np.empty((len(tree.edges), tree.edges.shape[2]), np.int32)
    actions[:] = np.arange(tree.edges.shape[2])
    return actions


def without_hidden(tree: Tree) -> Tree:
    """The same tree for kernels that never look at hidden states, so that they are compiled once for all models."""
    return tree._replace(hidden=np.zeros((len(tree.nodes), 0, 0), np.float32))


def tree_bytes(
    batch: int, simulations: int, candidates: int, hidden_size: int, action_dimensions: int = 0, first: int = 0
) -> int:
    """Memory of a search in bytes: B * (16 + 4 S + N * (32 + 4 H + K * (32 + 4 D))), with N = S + first + 1.

    32 bytes a node, 32 an edge, 4 for each number of a hidden state (float32, H of them) and of an action (D of them; 1
    where discrete actions are sampled, 0 where all are searched).
    """
    nodes = simulations + first + 1
    node = 32 + 4 * hidden_size + candidates * (32 + 4 * action_dimensions)
    return batch * (16 + 4 * simulations + nodes * node)
