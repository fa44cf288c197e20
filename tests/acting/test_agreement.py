"""How likely a policy finds stored actions, how they rank, and how often it would do the same: by hand."""

import numpy as np
import pytest

from mzu.acting.agreement import agreement, likelihoods
from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network

SMALL = NetworkConfig(width=8, num_blocks=0, value_support=5, reward_support=5)


def found(spaces, policy, actions):
    """Of a network that says `policy` of every observation."""
    network = build_network(SMALL, spaces)
    network.prediction.get_layer("policy").bias.assign(np.float32(policy))
    observations = np.zeros((len(actions), 1), np.float32)
    return likelihoods(network, observations, actions, np.random.default_rng(0))


def test_likelihood_and_rank_of_discrete_actions():
    actions = np.array([0, 1, 2])
    known = found(Spaces((1,), 3), np.log([0.6, 0.3, 0.1]), actions)
    assert known["likelihood"] == pytest.approx(np.log([0.6, 0.3, 0.1]).mean(), abs=1e-5)
    assert known["rank"] == pytest.approx((1 + 0.5 + 0) / 3) and known["positions"] == 3
    assert found(Spaces((1,), 3), [0, 0, 0], actions)["rank"] == 0.5


def test_likelihood_and_rank_of_continuous_actions():
    known = found(Spaces((1,), 1, continuous=True), [0.5, 0.0], np.float32([[0.5], [-1]]))
    scale = np.log1p(np.exp(0.5413248546)) + 0.001
    densities = -0.5 * np.square(np.array([0, -1.5]) / scale) - np.log(scale * np.sqrt(2 * np.pi))
    assert known["likelihood"] == pytest.approx(densities.mean(), abs=1e-4)
    assert known["rank"] == 0.5  # the mean itself beats all others, the far end none


def test_a_policy_agrees_where_it_does_what_was_done():
    assert agreement(np.array([1, 1, 1, 1]), np.array([0, 1, 1, 0])) == 0.5
    done = np.array([[0.1, 0.1], [0.1, 0.5]])
    assert agreement(np.zeros((2, 2)), done) == 0.5 and agreement(done, done) == 1
