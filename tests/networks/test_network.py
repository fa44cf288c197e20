"""The three networks together: shapes, action encodings, gradients, seeds, the automatic width."""

import subprocess
import sys

import numpy as np
import pytest
from made_networks import IMAGES, SMALL, STATES, VECTORS, actions, observations

from mzu.bench.networks import make_training_step, random_training_batch
from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network, resolve_width


@pytest.mark.parametrize("prediction_blocks", [0, 2])
@pytest.mark.parametrize(
    ("spaces", "hidden_shape"),
    [(STATES, (8,)), (VECTORS, (8,)), (IMAGES, (6, 4, 8)), (Spaces((20, 20, 3), 2, True, "uint8"), (5, 5, 8))],
)
def test_every_output_has_its_shape(spaces, hidden_shape, prediction_blocks):
    config = NetworkConfig(
        width=8, num_blocks=1, value_support=3, reward_support=2, prediction_blocks=prediction_blocks
    )
    network = build_network(config, spaces)
    assert [model.name for model in network.models] == ["representation", "dynamics", "prediction"]
    hidden, policy, value = network.initial(observations(spaces))
    assert hidden.shape == (4, *hidden_shape) == (4, *network.hidden_shape)
    assert policy.shape == (4, spaces.policy_size)
    assert value.shape == (4, 7)
    next_hidden, reward, policy, value = network.recurrent(hidden, actions(spaces))
    assert next_hidden.shape == hidden.shape
    assert reward.shape == (4, 5)
    assert policy.shape == (4, spaces.policy_size)
    assert value.shape == (4, 7)


@pytest.mark.parametrize("spaces", [STATES, VECTORS, IMAGES], ids=["states", "vectors", "images"])
def test_no_position_of_a_batch_influences_another(random_network, spaces):
    network = random_network(SMALL, spaces)
    seen, acted = observations(spaces), actions(spaces)
    together = network.recurrent(network.initial(seen).hidden, acted)
    for row in range(4):
        alone = network.recurrent(network.initial(seen[row : row + 1]).hidden, acted[row : row + 1])
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_allclose(one[0], many[row], rtol=1e-4, atol=1e-5)


# Gradients


@pytest.mark.parametrize("spaces", [STATES, VECTORS, IMAGES], ids=["states", "vectors", "images"])
def test_training_reaches_every_weight_and_lowers_the_loss(spaces):
    network = build_network(SMALL, spaces)
    before = network.read_weights()
    step = make_training_step(network, jit_compile=False, learning_rate=3e-3)
    batch = random_training_batch(np.random.default_rng(0), spaces, 16, unroll_steps=1)
    losses = [step(*batch).numpy() for _ in range(10)]
    assert losses[-1] < losses[0]
    for name, after in network.read_weights().items():
        assert (after != before[name]).any(), name


# Seeds, widths, mistakes


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    first, same, other = (build_network(SMALL, IMAGES, seed=seed).read_weights() for seed in (1, 1, 2))
    assert all((first[name] == same[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


def test_weights_are_read_by_name_as_the_variables_hold_them(random_network):
    network = random_network(SMALL, STATES)
    weights = network.read_weights()
    assert len(weights) == len(network.trainable_variables)
    kernel = network.dynamics.get_layer("block_0_layer_1").kernel
    np.testing.assert_array_equal(weights["dynamics/block_0_layer_1/kernel"], kernel.numpy())
    kernel.assign(kernel * 2)
    np.testing.assert_array_equal(network.read_weights()["dynamics/block_0_layer_1/kernel"], kernel.numpy())


def test_a_target_network_takes_over_weights_and_then_stays_as_it_is(random_network):
    network, target = random_network(SMALL, STATES), build_network(SMALL, STATES)
    target.copy_weights_from(network)
    seen = observations(STATES)
    expected = network.initial(seen).value.numpy()
    np.testing.assert_array_equal(target.initial(seen).value, expected)
    bias = network.prediction.get_layer("value").bias
    bias.assign(bias + 1)
    np.testing.assert_array_equal(target.initial(seen).value, expected)
    with pytest.raises(ValueError, match="same config and spaces"):
        target.copy_weights_from(build_network(SMALL, VECTORS))


@pytest.mark.parametrize(
    ("datapoints", "num_blocks", "width"), [(40_000, 10, 63), (3_000_000, 10, 548), (300_000, 2, 387), (2, 10, 1)]
)
def test_the_automatic_width_is_the_root_of_datapoints_by_layers(datapoints, num_blocks, width):
    config = NetworkConfig(width="auto", num_blocks=num_blocks)
    assert resolve_width(config, datapoints) == width


def test_an_automatic_width_becomes_a_number_in_the_networks_config():
    network = build_network(NetworkConfig(width="auto", num_blocks=1), STATES, datapoints=400)
    assert network.config.width == 20
    assert network.hidden_shape == (20,)
    with pytest.raises(ValueError, match='width is "auto", which needs the number of stored steps'):
        build_network(NetworkConfig(width="auto"), STATES)


def test_the_contract_and_the_compiled_network_do_not_need_tensorflow():
    code = """
import sys
import mzu.networks.model, mzu.networks.compiled.forward_pass, mzu.networks.constants
import mzu.environments.spaces, mzu.search.search
large = {"tensorflow", "keras", "tensorflow_probability"} & set(sys.modules)
assert not large, large
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
