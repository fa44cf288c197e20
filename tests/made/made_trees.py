"""Comparing the flat arrays of the kernels with the objects of the reference search, node by node."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal


def nodes_in_order(root):
    """The nodes of a reference tree by their index, and for each the (parent, candidate) it hangs on."""
    found, links = {0: root}, {0: (-1, None)}
    queue = [root]
    while queue:
        node = queue.pop()
        for edge in node.edges:
            if edge.child is not None:
                found[edge.child.index] = edge.child
                links[edge.child.index] = (node.index, edge)
                queue.append(edge.child)
    return dict(sorted(found.items())), links


def assert_same_tree(tree, b, root, bounds=None, tolerance=1e-9):
    """Every array of tree b equals the reference tree with this root."""
    nodes, links = nodes_in_order(root)
    assert set(np.flatnonzero(tree.nodes[b]["visits"] > 0)) == nodes.keys()
    for index, node in nodes.items():
        flat = tree.nodes[b, index]
        assert flat["visits"] == node.visits, f"visits of node {index}"
        assert_allclose(flat["value"], node.value, rtol=tolerance, atol=tolerance)
        assert_allclose(flat["raw_value"], node.raw_value, rtol=tolerance, atol=tolerance)
        assert flat["parent"] == links[index][0], f"parent of node {index}"
        assert_array_equal(tree.hidden[b, index], node.hidden)
        # Slots without a candidate are skipped: the reference leaves no room for them.
        slots = np.flatnonzero(tree.edges[b, index]["prior"] > 0)
        edges = [edge for edge in node.edges if edge.prior > 0]
        assert len(slots) == len(edges), f"candidates of node {index}"
        for slot, edge in zip(slots, edges, strict=True):
            flat_edge = tree.edges[b, index, slot]
            assert_array_equal(tree.actions[b, index, slot], edge.action)
            assert_allclose(flat_edge["prior"], edge.prior, rtol=tolerance)
            assert flat_edge["visits"] == edge.visits
            assert flat_edge["child"] == (-1 if edge.child is None else edge.child.index)
            assert_allclose(flat_edge["reward"], edge.reward, rtol=tolerance, atol=tolerance)
            assert_allclose(flat_edge["value"], edge.child.value if edge.child else 0, rtol=tolerance, atol=tolerance)
            if edge.child is not None:
                assert tree.nodes[b, edge.child.index]["parent_candidate"] == slot
