"""Networks whose every weight is random, heads included: an untrained head is zero and would agree with anything."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def random_network():
    """A function (config, spaces, seed=0) -> Network."""
    from mzu.networks.network import build_network

    def build(config, spaces, seed=0):
        network = build_network(config, spaces, seed=seed)
        rng = np.random.default_rng(seed)
        for variable in network.trainable_variables:
            variable.assign(variable + rng.normal(0, 0.1, variable.shape).astype(np.float32))
        return network

    return build
