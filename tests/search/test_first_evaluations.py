"""The root's candidates are evaluated before the first simulation, and no simulation goes deeper than it may."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mzu.config import SearchConfig
from mzu.networks.model import GaussianPolicy, TabularModel
from mzu.search.history import prefix, simulation_depths
from mzu.search.kernels import ALL_ACTIONS
from mzu.search.search import make_settings, search

NO_NOISE = {"dirichlet_fraction": 0.0}
# From state 0 three actions lead to states of value 1, 5 and 2 with rewards 0, -1, 1: q is 0.5, 1.5 and 2.
FORK = TabularModel([[1, 2, 3], [1] * 3, [2] * 3, [3] * 3], [[0, -1, 1], [0] * 3, [0] * 3, [0] * 3], value=[9, 1, 5, 2])


def run(model, seed=0, **settings):
    config = SearchConfig(**(NO_NOISE | settings))
    return search(model, np.array([0]), config, np.random.default_rng(seed), record=True)


def test_first_evaluations_are_nodes_that_nobody_visited():
    result = run(FORK, num_simulations=1, discount=0.5, first_evaluations=True)
    tree = result.tree
    assert tree.first == 3 and tree.nodes.shape == (1, 5)
    assert tree.nodes["parent"][0].tolist()[:4] == [-1, 0, 0, 0]
    assert tree.edges["child"][0, 0].tolist() == [1, 2, 3]
    assert_allclose(tree.nodes["raw_value"][0, 1:4], [1, 5, 2])
    assert_allclose(tree.edges["reward"][0, 0], [0, -1, 1])
    # One simulation: one visit, of the best of the three, and its path is two edges long.
    assert result.visits.tolist() == [[0, 0, 1]]
    assert tree.nodes["visits"][0].tolist() == [2, 1, 1, 2, 1]
    assert simulation_depths(tree).tolist() == [[2]]


def test_the_first_simulation_starts_from_their_values():
    history = run(FORK, num_simulations=1, discount=0.5, first_evaluations=True).history
    assert_allclose(history.bounds, [[[0.5, 2.0]]])
    assert_allclose(history.value_terms[0, 0, 0], [0, 2 / 3, 1])  # q of 0.5, 1.5 and 2 in the range 0.5..2
    without = run(FORK, num_simulations=1, discount=0.5).history
    assert_allclose(without.value_terms[0, 0, 0], 0)


def test_the_value_of_the_root_is_the_mean_over_the_simulations_only():
    # The network says 9 of the root, and 2 of state 3 for ever: the one simulation brings 1 + 0.5 * (0 + 0.5 * 2).
    assert_allclose(run(FORK, num_simulations=1, discount=0.5, first_evaluations=True).value, (9 + 1.5) / 2)


class Slope:
    """Actions in one dimension, of which the largest is the best; every state is worth nothing."""

    def initial(self, observations):
        batch = len(observations)
        return np.zeros((batch, 1)), GaussianPolicy(np.zeros((batch, 1)), np.full((batch, 1), 0.2)), np.zeros(batch)

    def recurrent(self, hidden, actions):
        hidden, policy, value = self.initial(actions)
        return hidden, np.asarray(actions, float)[:, 0], policy, value


def test_without_them_the_first_candidate_keeps_the_visits_and_with_them_the_best_has_most():
    settings = {"num_simulations": 50, "discount": 0.5, "num_sampled_actions": 20}
    found = {}
    for first in (False, True):
        results = [run(Slope(), seed, first_evaluations=first, **settings) for seed in range(20)]
        chosen = [result.actions[0, result.visits[0].argmax(), 0] for result in results]
        found[first] = np.mean([action == result.actions.max() for action, result in zip(chosen, results, strict=True)])
    assert found[False] < 0.2 < 0.6 < found[True]


def test_they_are_the_default_where_actions_are_sampled():
    assert SearchConfig(num_sampled_actions=3).evaluates_first
    assert not SearchConfig().evaluates_first
    assert not SearchConfig(num_sampled_actions=3, selection="gumbel").evaluates_first
    assert not SearchConfig(num_sampled_actions=3, first_evaluations=False).evaluates_first


def test_an_action_that_is_not_legal_is_not_evaluated():
    class Watched(TabularModel):
        def recurrent(self, hidden, actions):
            assert 1 not in np.asarray(actions)
            return super().recurrent(hidden, actions)

    model = Watched(FORK.next_state, FORK.reward, value=FORK.value, logits=[[0, 0, 0]] + [[0, -np.inf, 0]] * 3)
    config = SearchConfig(num_simulations=5, first_evaluations=True)
    legal = np.array([[True, False, True]])
    result = search(model, np.array([0]), config, np.random.default_rng(0), legal_actions=legal)
    assert result.tree.edges["child"][0, 0].tolist() == [1, -1, 3]
    assert result.tree.nodes["visits"][0, 2] == 0 and result.tree.nodes["parent"][0, 2] == -1
    assert np.isnan(result.q[0, 1]) and result.policy[0, 1] == 0


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_no_path_is_longer_than_the_greatest_depth(depth, first):
    result = run(FORK, num_simulations=60, discount=0.9, max_depth=depth, first_evaluations=first)
    depths = simulation_depths(result.tree)
    assert depths.max() == depth
    assert result.visits.sum() == 60
    assert result.history.depth.max() == depth
    free = run(FORK, num_simulations=60, discount=0.9, first_evaluations=first)
    assert simulation_depths(free.tree).max() > 4


def test_at_the_greatest_depth_the_same_value_goes_up_again():
    # One step deep, every simulation brings r + discount * value of one of three states.
    result = run(FORK, num_simulations=30, discount=0.5, max_depth=1)
    values = np.array([0.5, 1.5, 2.0])
    assert_allclose(result.value, (9 + result.visits[0] @ values) / 31)
    assert_allclose(result.q, [values])
    assert np.count_nonzero(result.tree.nodes["visits"][0]) == 4  # the root and its three children


@pytest.mark.parametrize("settings", [{"first_evaluations": True}, {"max_depth": 2}, {"selection": "gumbel"}], ids=str)
def test_a_prefix_is_the_tree_after_so_many_simulations(settings):
    config = SearchConfig(num_simulations=20, gumbel_scale=0.0, **NO_NOISE, **settings)
    tree = search(FORK, np.array([0, 2]), config, np.random.default_rng(0)).tree
    kernels = make_settings(config, ALL_ACTIONS, 3, tree.first)
    np.testing.assert_array_equal(prefix(tree, kernels, 20).nodes, tree.nodes)
    np.testing.assert_array_equal(prefix(tree, kernels, 20).bounds, tree.bounds)
    none = prefix(tree, kernels, 0)
    assert none.nodes["visits"][0].tolist() == [1] + [1] * tree.first + [0] * 20
    half = prefix(tree, kernels, 10)
    assert half.nodes["visits"][:, 0].tolist() == [11, 11]
    for field in ("child", "visits"):
        assert (half.edges[field] <= tree.edges[field]).all()
