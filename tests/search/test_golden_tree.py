"""A tree that DeepMind's mctx grew, grown again. The file holds the network's output at every node: it is the model."""

import json
import math

import numpy as np

from mzu.config import SearchConfig
from mzu.networks.model import TabularModel
from mzu.search.search import search


def read_nodes(tree):
    """The expanded nodes by the simulation that created them."""
    nodes, queue = {}, [tree]
    while queue:
        node = queue.pop()
        nodes[node["evaluation_index"]] = node
        queue += [child for child in node["child_stats"] if "evaluation_index" in child]
    return [nodes[i] for i in range(len(nodes))]


def test_the_golden_tree_of_mctx_is_grown_node_by_node(fixtures_folder):
    golden = json.loads((fixtures_folder / "mctx" / "muzero_qtransform_tree.json").read_text())
    nodes = read_nodes(golden["tree"])
    assert len(nodes) == 51
    next_state, reward = np.zeros((51, 18), int), np.zeros((51, 18))
    for node in nodes:
        for child in node["child_stats"]:
            if "evaluation_index" in child:
                next_state[node["evaluation_index"], child["action"]] = child["evaluation_index"]
                reward[node["evaluation_index"], child["action"]] = child["reward"]
    logits = [[math.log(child["prior"]) for child in node["child_stats"]] for node in nodes]
    model = TabularModel(next_state, reward, logits, [node["raw_value_view"] for node in nodes])
    config = SearchConfig(
        num_simulations=50, discount=golden["env_config"]["discount"], normaliser="siblings", dirichlet_fraction=0.0
    )

    tree = search(model, np.array([0]), config, np.random.default_rng(0)).tree

    # The hidden state is the number of the golden node, so this is the order of expansion.
    assert tree.hidden[0].tolist() == list(range(51))
    for index, node in enumerate(nodes):
        flat = tree.nodes[0, index]
        assert flat["visits"] == node["visit"]
        np.testing.assert_allclose(flat["value"], node["value_view"], atol=1e-5)
        np.testing.assert_allclose(flat["raw_value"], node["raw_value_view"], atol=1e-5)
        for child in node["child_stats"]:
            edge = tree.edges[0, index, child["action"]]
            np.testing.assert_allclose(edge["prior"], child["prior"], atol=1e-5)
            assert edge["child"] == child.get("evaluation_index", -1)
            assert edge["visits"] == child.get("visit", 0)
