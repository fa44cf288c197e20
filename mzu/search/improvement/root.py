"""`Root`: what a search knows of its root's candidates when it ends, which is all that an operator looks at."""

from typing import NamedTuple

import numpy as np

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
    """The roots of finished trees, as copies."""
    edges = tree.edges[:, ROOT]
    q = np.where(edges["child"] != NO_NODE, edges["reward"] + discount * edges["value"], np.nan)
    raw_value = tree.nodes["raw_value"][:, ROOT].copy()
    return Root(edges["prior"].copy(), edges["visits"].copy(), q, raw_value, injected, stored_value)
