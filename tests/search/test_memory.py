"""The memory of a search is that of its tree."""

import numpy as np
import pytest

from mzu.config import NetworkConfig, SearchConfig
from mzu.environments.spaces import Spaces
from mzu.networks.compiled.compile_model import model_for_search
from mzu.networks.network import build_network
from mzu.search.memory import search_bytes
from mzu.search.search import search


@pytest.mark.parametrize(
    ("spaces", "sampled"),
    [
        (Spaces((4, 4, 1), 3), None),
        (Spaces((17, 4, 1), 3), None),
        (Spaces((4, 4, 1), 3), 5),
        (Spaces((4, 4, 1), 2, continuous=True), 5),
    ],
)
def test_the_memory_of_a_search_is_that_of_its_tree(spaces, sampled):
    network = build_network(NetworkConfig(width=4, num_blocks=1), spaces)
    config = SearchConfig(num_simulations=7, num_sampled_actions=sampled)
    injected = None if sampled is None else np.zeros((3, 2)) if spaces.continuous else np.zeros(3, int)
    observations = np.zeros((3, *spaces.observation_shape))
    result = search(model_for_search(network), observations, config, np.random.default_rng(0), injected)
    assert search_bytes(network, config, batch=3) == sum(array.nbytes for array in result.tree)
