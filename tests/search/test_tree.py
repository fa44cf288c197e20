"""The memory of a search is what the formula says, and the rows are spread over the cores."""

import numpy as np
import pytest

from mzu.config import SearchConfig
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import random_weights
from mzu.search.search import search
from mzu.search.tree import tree_bytes


@pytest.mark.parametrize("continuous, sampled, dimensions", [(False, None, 0), (False, 6, 1), (True, 6, 3)])
def test_a_tree_has_the_documented_size(continuous, sampled, dimensions):
    rng = np.random.default_rng(0)
    model = CompiledModel(random_weights(rng, 4, 3, 32, 1, continuous=continuous))
    config = SearchConfig(num_simulations=9, num_sampled_actions=sampled)
    tree = search(model, rng.normal(size=(5, 4)), config, rng).tree
    found = sum(array.nbytes for array in tree)
    assert found == tree_bytes(5, 9, sampled or 3, 32, dimensions, first=sampled or 0)
