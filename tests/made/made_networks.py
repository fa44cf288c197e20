"""Small spaces and networks, with random inputs for them."""

import numpy as np

from mzu.bench.networks import random_training_batch
from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces

SMALL = NetworkConfig(width=8, num_blocks=1, value_support=3, reward_support=2)
STATES = Spaces((5,), 3)
VECTORS = Spaces((5,), 2, continuous=True)
IMAGES = Spaces((6, 4, 2), 3)


def observations(spaces, batch=4):
    return random_training_batch(np.random.default_rng(0), spaces, batch)[0]


def actions(spaces, batch=4):
    return random_training_batch(np.random.default_rng(0), spaces, batch)[1][:, 0]
