"""The drawings of the notebooks show all that they are given."""

from dataclasses import dataclass, field

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

from mzu.explain import toy
from mzu.plots.circle import PLACES, circle_svg
from mzu.plots.trees import draw_small_tree, draw_tree
from mzu.plots.worlds import draw_episodes, draw_five_states


@dataclass
class Node:
    index: int
    value: float
    visits: int = 1
    edges: list = field(default_factory=list)


@dataclass
class Edge:
    action: int
    visits: int
    child: Node | None


@dataclass
class SmallNode:
    state: int
    value: float
    children: list
    edge_visits: list


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def words(ax):
    return [text.get_text() for text in ax.texts]


def test_the_circle_names_all_parts_and_fills_those_asked_for():
    drawn = circle_svg("search", "network")
    assert all(f">{name}</text>" in drawn for name in PLACES)
    assert drawn.count('font-weight="bold"') == 2
    with pytest.raises(ValueError, match="The circle has no serach; its parts are environment"):
        circle_svg("serach")


def test_a_tree_shows_the_visits_of_every_node_and_the_edges_that_were_never_taken(ax):
    below = Node(2, 0.2, 1, [Edge(0, 0, None), Edge(1, 0, None)])
    root = Node(0, 0.5, 3, [Edge(0, 2, Node(1, 0.9, 2, [Edge(0, 1, below), Edge(1, 0, None)])), Edge(1, 0, None)])
    draw_tree(ax, root)
    assert sorted(words(ax)) == ["0", "0", "1", "2", "3"]  # two actions, three nodes
    assert sum(line.get_linestyle() == ":" for line in ax.lines) == 4


def test_a_small_tree_names_states_and_actions(ax):
    leaf = SmallNode(1, 2.0, [None, None], [0, 0])
    draw_small_tree(ax, SmallNode(0, 1.5, [None, leaf], [0, 1]), ["home", "path"], [["rest", "walk"]] * 2)
    assert words(ax) == ["path\n2.0", "walk 1", "home\n1.5"]


def test_the_five_states_have_ten_arrows_with_their_texts(ax):
    next_state = np.array([[0, 1], [0, 2], [4, 3], [3, 0], [4, 0]])
    texts = [[f"{s}{a}" for a in (0, 1)] for s in range(5)]
    draw_five_states(ax, "title", list("abcde"), next_state, texts)
    assert {text for row in texts for text in row} | set("abcde") <= set(words(ax))
    assert sum(text.arrow_patch is not None for text in ax.texts if hasattr(text, "arrow_patch")) == 10


def test_episodes_show_their_rewards_and_how_they_end():
    episodes = toy.toy_system().episodes
    figure, axes = plt.subplots(1, 3)
    draw_episodes(axes, episodes, segment_length=4)
    for ax, episode in zip(axes, episodes, strict=True):
        assert words(ax) == [f"{reward:+.1f}" for reward in episode.rewards]
        end = ax.get_legend().get_texts()[0].get_text()
        assert end == ("terminal" if episode.terminated else "cut off")
    plt.close(figure)
