"""The heads: their outputs, and what they say before training."""

import numpy as np
import pytest
from made_networks import IMAGES, SMALL, STATES, VECTORS, actions, observations

from mzu.config import NetworkConfig
from mzu.networks.network import build_network


def test_regression_heads_have_one_output():
    network = build_network(NetworkConfig(width=8, num_blocks=1, scalar_head="regression"), STATES)
    output = network.recurrent(network.initial(observations(STATES)).hidden, actions(STATES))
    assert output.reward.shape == output.value.shape == (4, 1)


@pytest.mark.parametrize("spaces", [STATES, VECTORS, IMAGES], ids=["states", "vectors", "images"])
def test_an_untrained_network_predicts_nothing_at_all(spaces):
    network = build_network(SMALL, spaces)
    output = network.recurrent(network.initial(observations(spaces)).hidden, actions(spaces))
    for outputs in (output.reward, output.policy, output.value):
        assert (outputs.numpy() == 0).all()
    assert np.abs(output.hidden).max() > 0


def test_the_action_value_head_gives_a_distribution_for_each_action():
    network = build_network(NetworkConfig(width=8, num_blocks=1, value_support=3, action_value_head=True), STATES)
    assert network.action_value(network.initial(observations(STATES)).hidden).shape == (4, 3, 7)
    with pytest.raises(ValueError, match="action_value_head needs discrete actions"):
        build_network(NetworkConfig(width=8, num_blocks=1, action_value_head=True), VECTORS)
