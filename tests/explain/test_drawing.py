"""The picture of the tree shows the numbers of that many simulations, and nothing in it moves."""

import itertools
import re
from xml.etree import ElementTree

import pytest
from made_systems import KINDS, made_system

from mzu.explain.drawing import CIVIDIS, _colour, tree_svg
from mzu.explain.explanation import explain_position
from mzu.explain.prefix import tree_after

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=KINDS)
def explanation(request):
    return explain_position(made_system(request.param), 0, 3)


@pytest.fixture(scope="module")
def gaussian():
    return explain_position(made_system("gaussian"), 0, 3)


def nodes(svg):
    """What the titles of the nodes say, by node: {0: {"visits": "3", "value": "0.5", ...}}."""
    found = {}
    for title in ElementTree.fromstring(svg).iter(f"{SVG}title"):
        first, *lines = title.text.split("\n")
        if match := re.match(r"node (\d+)", first):
            found[int(match[1])] = dict(line.split(" ", 1) for line in lines)
    return found


def places(svg):
    """x and y of the nodes, by their numbers."""
    groups = [group for group in ElementTree.fromstring(svg).iter(f"{SVG}g") if _is_node(group)]
    circles = {_number(group): group.find(f"{SVG}circle") for group in groups}
    return {node: (circle.get("cx"), circle.get("cy")) for node, circle in circles.items()}


def _number(group):
    return int(group.find(f"{SVG}title").text.split()[1].rstrip(","))


def _is_node(group):
    title = group.find(f"{SVG}title")
    return title is not None and title.text.startswith("node ")


def test_a_prefix_has_the_visits_and_values_of_then(explanation):
    """Worked out again from the returns that were backed up."""
    raw_values = explanation.tree["raw_value"]
    for count in range(len(explanation.simulations) + 1):
        visits, totals = {0: 1}, {0: raw_values[0]}
        for simulation in explanation.simulations[:count]:
            leaf = simulation["leaf"]
            visits[leaf["node"]], totals[leaf["node"]] = 1, leaf["value"]
            for step in simulation["backup"]:
                node = step["node"]  # one that was evaluated first is drawn once a simulation has passed it
                visits[node] = visits.get(node, 1) + 1
                totals[node] = totals.get(node, raw_values[node]) + step["return"]
        shown = nodes(tree_svg(explanation, count))
        assert {node: int(words["visits"]) for node, words in shown.items()} == visits
        for node, words in shown.items():
            assert float(words["value"]) == pytest.approx(totals[node] / visits[node], rel=1e-4)


def test_all_simulations_are_the_finished_tree(explanation):
    assert tree_svg(explanation) == tree_svg(explanation, len(explanation.simulations))
    prefix = tree_after(explanation)
    drawn = [node for node, visits in enumerate(prefix.visits) if visits]
    untouched = set(range(len(prefix.visits))) - set(drawn)
    assert all(1 <= node <= explanation.tree["first"] for node in untouched)
    assert [prefix.visits[node] for node in drawn] == [explanation.tree["visits"][node] for node in drawn]
    assert [prefix.values[node] for node in drawn] == pytest.approx([explanation.tree["value"][node] for node in drawn])


def test_nodes_stay_where_they_are(explanation):
    total = len(explanation.simulations)
    finished = places(tree_svg(explanation))
    assert len(set(finished.values())) == len(finished) >= total + 1
    for count in range(total):
        early = places(tree_svg(explanation, count))
        assert early.items() <= finished.items() and len(early) >= count + 1


def test_siblings_are_sorted_by_visits_and_rows_do_not_overlap(explanation):
    prefix, place = tree_after(explanation), places(tree_svg(explanation))
    for children in prefix.children:
        rows = [float(place[child][1]) for child in children]
        assert rows == sorted(rows) and len(set(rows)) == len(rows)
        visits = [prefix.visits[child] for child in children]
        assert visits == sorted(visits, reverse=True)


def test_the_latest_path_and_the_new_leaf_are_marked(gaussian):
    for count, simulation in enumerate(gaussian.simulations, start=1):
        svg = tree_svg(gaussian, count)
        rings = svg.count("--mzu-latest")
        # One ring for each node, one group for each edge, and two signs of the legend.
        assert rings == 2 * len(simulation["path"]) + 1 + 2
        assert svg.count(" new</text>") == 1
    assert tree_svg(gaussian, 0).count("--mzu-latest") == 2


def test_candidates_that_were_not_visited_are_counted_not_drawn(gaussian):
    assert tree_after(gaussian, 0).unvisited[0] == 5  # four sampled and the injected one
    after_one = tree_after(gaussian, 1)
    assert after_one.unvisited[0] == 4
    assert ">+4</text>" in tree_svg(gaussian, 1)


def test_edges_are_as_wide_as_their_priors(explanation):
    root = ElementTree.fromstring(tree_svg(explanation))
    for group in root.iter(f"{SVG}g"):
        title = group.find(f"{SVG}title")
        if title is not None and title.text.startswith("action"):
            prior = float(re.search(r"prior (\S+)", title.text)[1])
            across = group.findall(f"{SVG}path")[-1]
            assert float(across.get("stroke-width")) == pytest.approx(1 + 6 * prior, abs=0.06)


def test_colours_go_from_the_least_to_the_greatest_value():
    assert _colour(-2.0, (-2.0, 6.0)) == CIVIDIS[0] and _colour(6.0, (-2.0, 6.0)) == CIVIDIS[-1]
    assert _colour(2.0, (-2.0, 6.0)) == CIVIDIS[4] == _colour(3.0, (3.0, 3.0))


def test_the_picture_needs_nothing_else_and_has_a_plain_colour_behind_every_variable(explanation):
    svg = tree_svg(explanation, 3)
    for word in ("<script", "foreignObject", "href", "url(", "<style", "class="):
        assert word not in svg
    for what, plain in re.findall(r'style="(fill|stroke):var\(--mzu-\w+, (#\w{6})\)"', svg):
        assert f'{what}="{plain}" style="{what}:' in svg
    assert svg.count("var(") == len(re.findall(r'="#\w{6}" style="(?:fill|stroke):var\(', svg))


def test_long_trees_get_wider_rather_than_narrower(gaussian):
    root = ElementTree.fromstring(tree_svg(gaussian, width=200))
    columns = sorted({float(x) for x, _ in places(tree_svg(gaussian, width=200)).values()})
    assert min(right - left for left, right in itertools.pairwise(columns)) >= 66
    assert int(root.get("width")) > columns[-1]


def test_what_cannot_be_drawn():
    explanation = explain_position(made_system("tabular"), 0, 0)
    for count in (-1, 8):
        with pytest.raises(ValueError, match=f"no tree after {count} simulations: the search had 7"):
            tree_svg(explanation, count)
    cloned = explain_position(made_system("discrete", "learning.policy_loss=behaviour_cloning"), 0, 0)
    with pytest.raises(ValueError, match="has no tree"):
        tree_svg(cloned)
