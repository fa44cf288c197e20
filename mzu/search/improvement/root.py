"""`Root`: what a search knows of its root's candidates when it ends, which is all that an operator looks at."""

from typing import NamedTuple

import numpy as np

from mzu.compilation import kernel
from mzu.search.tree import NO_NODE, ROOT, Tree


class Root(NamedTuple):
    """B roots with up to K candidates each.

    symbol  field         shape         meaning
    p       prior         [B, K]        0: no candidate
    n       visits        [B, K] int32
    q       q             [B, K]        reward + discount * value; NaN where the candidate was never evaluated
    v       raw_value     [B]           the network's value of the root
            injected      [B] int32     the candidate that holds the injected action, or -1
            stored_value  [B]           reward + discount * value of what really followed it, or NaN
    """

    prior: np.ndarray
    visits: np.ndarray
    q: np.ndarray
    raw_value: np.ndarray
    injected: np.ndarray
    stored_value: np.ndarray


def root_of(tree: Tree, discount: float, injected: np.ndarray, stored_value: np.ndarray) -> Root:
    """The roots of finished trees, as copies: who keeps them does not keep the whole tree with them."""
    shape = len(tree.edges), tree.edges.shape[2]
    root = Root(np.empty(shape), np.empty(shape, np.int32), np.empty(shape), np.empty(shape[0]), injected, stored_value)
    _read_roots(tree.nodes, tree.edges, discount, root.prior, root.visits, root.q, root.raw_value)
    return root


# Compiled: a dozen small operations of NumPy would take as long as ten simulations of one row.
@kernel
def _read_roots(nodes, edges, discount, prior, visits, q, raw_value):
    for b in range(raw_value.shape[0]):
        raw_value[b] = nodes[b, ROOT].raw_value
        for k in range(prior.shape[1]):
            edge = edges[b, ROOT, k]
            prior[b, k], visits[b, k] = edge.prior, edge.visits
            q[b, k] = edge.reward + discount * edge.value if edge.child != NO_NODE else np.nan
