"""The history of a search explains each of its choices, and any prefix of it can be had back."""

import numpy as np
import pytest

from mzu.config import SearchConfig
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import random_weights
from mzu.search.history import prefix
from mzu.search.kernels import ALL_ACTIONS
from mzu.search.search import make_settings, search


@pytest.fixture
def recorded():
    rng = np.random.default_rng(5)
    model = CompiledModel(random_weights(rng, 4, 5, 16, 1))
    observations = rng.normal(size=(3, 4)).astype(np.float32)
    return model, observations


@pytest.mark.parametrize("unvisited", ["lowest", "parent"])
@pytest.mark.parametrize("normaliser", ["minmax", "siblings"])
def test_every_recorded_choice_has_the_highest_recorded_score(recorded, normaliser, unvisited):
    model, observations = recorded
    config = SearchConfig(num_simulations=40, normaliser=normaliser, unvisited_value=unvisited)
    history = search(model, observations, config, np.random.default_rng(0), record=True).history
    scores = history.value_terms + history.prior_terms
    for b, s, step in np.argwhere(history.nodes >= 0):
        assert history.candidates[b, s, step] == np.nanargmax(scores[b, s, step])
    assert (history.nodes[:, :, 0] == 0).all()
    assert history.depth.min() == 1 and (history.depth == (history.nodes >= 0).sum(axis=2)).all()


def test_a_prefix_equals_a_shorter_search(recorded):
    model, observations = recorded
    long, short = SearchConfig(num_simulations=40, dirichlet_fraction=0.0), None
    tree = search(model, observations, long, np.random.default_rng(0)).tree
    settings = make_settings(long, ALL_ACTIONS, 5)
    for simulations in (0, 1, 17, 40):
        early = prefix(tree, settings, simulations)
        if simulations:
            short = SearchConfig(num_simulations=simulations, dirichlet_fraction=0.0)
            fresh = search(model, observations, short, np.random.default_rng(0)).tree
            n = simulations + 1
            np.testing.assert_array_equal(early.nodes[:, :n], fresh.nodes)
            np.testing.assert_array_equal(early.edges[:, :n], fresh.edges)
            np.testing.assert_array_equal(early.bounds, fresh.bounds)
        assert early.nodes["visits"][:, 0].tolist() == [simulations + 1] * 3
    with pytest.raises(ValueError, match=r"simulations is 41, but this search has 0\.\.40"):
        prefix(tree, settings, 41)


def test_recording_changes_nothing_else(recorded):
    model, observations = recorded
    config = SearchConfig(num_simulations=20)
    plain = search(model, observations, config, np.random.default_rng(0))
    kept = search(model, observations, config, np.random.default_rng(0), record=True)
    assert plain.history is None
    np.testing.assert_array_equal(plain.tree.nodes, kept.tree.nodes)
    np.testing.assert_array_equal(plain.tree.edges, kept.tree.edges)
    np.testing.assert_allclose(kept.history.root_values[:, -1], kept.value)
    np.testing.assert_array_equal(kept.history.values, kept.tree.nodes["raw_value"][:, 1:])
