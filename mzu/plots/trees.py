"""Search trees that a notebook built of objects, drawn by matplotlib. (`mzu.explain` draws those of the library.)"""

import itertools

import matplotlib.pyplot as plt
import numpy as np


def draw_small_tree(ax, node, states, actions) -> None:
    """The tree of notebook 01: nodes with state, value, children and edge_visits; edges as thick as their visits.

    states: names, actions[state]: names of its actions
    """
    _draw_small(ax, node, states, actions, left=0.0, depth=0)
    ax.axis("off")


def _draw_small(ax, node, states, actions, left, depth) -> float:
    """A row per step of lookahead -> the node's x."""
    places = []
    for a, child in enumerate(node.children):
        if child:
            places.append((a, _draw_small(ax, child, states, actions, left, depth + 1)))
            left += _width(child)
    x = float(np.mean([place for _, place in places])) if places else left
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    for a, place in places:
        visits = node.edge_visits[a]
        look = {"color": f"C{a}", "linewidth": 0.6 + 0.5 * visits, "zorder": 1}
        ax.plot([x, place], [-depth, -depth - 1], "-" if a == 0 else "--", **look)
        words = f"{actions[node.state][a]} {visits}"
        middle = 0.45 * x + 0.55 * place, -depth - 0.55
        ax.text(*middle, words, fontsize=8, ha="center", va="center", bbox=box)
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "black"}
    ax.text(x, -depth, f"{states[node.state]}\n{node.value:.1f}", fontsize=8, ha="center", va="center", bbox=box)
    return x


def _width(node) -> int:
    """How many nodes wide the tree below a node is."""
    return max(1, sum(_width(child) for child in node.children if child))


def draw_tree(ax, root) -> None:
    """The tree of notebook 03: circles are nodes with their visits, coloured by value; dotted edges were never taken.

    Nodes have index, value, visits and edges; edges have action, visits and child.
    """
    positions, free = {}, itertools.count()
    _lay_out(root, positions, free, 0)
    width, total = next(free), sum(edge.visits for edge in root.edges)
    _draw(ax, root, positions, max(total, 1), size=280 if width < 8 else 150)
    ax.set_xlim(-0.9, width - 0.1)
    ax.axis("off")


def _lay_out(node, positions, free, depth) -> None:
    """Leaves side by side, parents above the middle of their children."""
    children = [edge.child for edge in node.edges if edge.child]
    for child in children:
        _lay_out(child, positions, free, depth + 1)
    x = [positions[child.index][0] for child in children] or [next(free)]
    positions[node.index] = ((x[0] + x[-1]) / 2, -depth)


def _draw(ax, node, positions, total, size) -> None:
    x, y = positions[node.index]
    for number, edge in enumerate(node.edges):
        if edge.child is None:
            side = 0.3 * (2 * number / (len(node.edges) - 1) - 1)
            ax.plot([x, x + side], [y, y - 0.4], ":", color="grey", lw=1.2, zorder=1)
            continue
        below_x, below_y = positions[edge.child.index]
        ax.plot([x, below_x], [y, below_y], color="#999999", lw=1 + 6 * edge.visits / total, zorder=1)
        box = {"fc": "white", "ec": "none", "pad": 0.8}
        middle = (x + below_x) / 2, (y + below_y) / 2
        ax.text(*middle, edge.action, fontsize=8, ha="center", va="center", bbox=box)
        _draw(ax, edge.child, positions, total, size)
    ax.scatter(x, y, size, color=plt.cm.cividis(np.clip(node.value, 0, 1)), ec="black", zorder=2)
    ink = "black" if node.value > 0.55 else "white"
    ax.text(x, y, node.visits, ha="center", va="center", fontsize=8, color=ink, zorder=3)
