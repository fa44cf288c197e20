"""The tree as it was after its first simulations: visits and values then, and what the latest simulation did."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Prefix:
    """The tree after `simulations` simulations, by node; the root is node 0.

    field     meaning
    visits    [N], 0 for nodes that no simulation has passed yet, evaluated first or not
    values    [N] means of what was backed up, None for those
    parents   [N] nodes, -1 for the root
    latest    nodes that the latest simulation passed, from the root to the new leaf; empty before the first one
    children  [N] lists of nodes, by visits in the finished tree, so that they never change places
    unvisited [N] how many candidates of a node were not tried yet
    """

    simulations: int
    visits: list[int]
    values: list[float | None]
    parents: list[int]
    latest: list[int]
    children: list[list[int]]
    unvisited: list[int]


def tree_after(explanation, simulations: int | None = None) -> Prefix:
    """The tree after that many simulations; None: after all of them."""
    tree, history = explanation.tree, explanation.simulations
    if tree is None:
        raise ValueError("This explanation has no tree: its targets do not come from a search")
    simulations = len(history) if simulations is None else simulations
    if not 0 <= simulations <= len(history):
        raise ValueError(f"There is no tree after {simulations} simulations: the search had {len(history)} (0 is none)")
    visits, values = [0] * len(tree["parent"]), [None] * len(tree["parent"])
    visits[0], values[0] = 1, tree["raw_value"][0]
    for simulation in history[:simulations]:
        leaf = simulation["leaf"]
        visits[leaf["node"]], values[leaf["node"]] = leaf["visits"], leaf["value"]
        for step in simulation["backup"]:
            visits[step["node"]], values[step["node"]] = step["visits"], step["value"]
    latest = []
    if simulations:
        latest = [step["node"] for step in history[simulations - 1]["path"]]
        latest.append(history[simulations - 1]["leaf"]["node"])
    children = [_children(tree, edges, visits) for edges in tree["edges"]]
    unvisited = [len(edges) - len(below) for edges, below in zip(tree["edges"], children, strict=True)]
    return Prefix(simulations, visits, values, tree["parent"], latest, children, unvisited)


def edge_to(explanation, node: int) -> dict:
    """The edge that leads to a node."""
    tree = explanation.tree
    return next(edge for edge in tree["edges"][tree["parent"][node]] if edge["child"] == node)


def _children(tree: dict, edges: list[dict], visits: list[int]) -> list[int]:
    below = [edge["child"] for edge in edges if edge["child"] is not None and visits[edge["child"]]]
    return sorted(below, key=lambda node: (-tree["visits"][node], node))
