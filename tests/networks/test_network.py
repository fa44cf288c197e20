"""The three networks together: shapes, action encodings, gradients, seeds, the automatic width."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from mzu.bench.networks import make_training_step, random_training_batch
from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network, resolve_width, scale_gradient
from mzu.networks.representation import fit_to_observations, stack_history
from mzu.networks.scalars import scalar_loss

SMALL = NetworkConfig(width=8, num_blocks=1, value_support=3, reward_support=2)
STATES = Spaces((5,), 3)
VECTORS = Spaces((5,), 2, continuous=True)
IMAGES = Spaces((6, 4, 2), 3)
RNG = np.random.default_rng(0)


def observations(spaces, batch=4):
    return random_training_batch(RNG, spaces, batch)[0]


def actions(spaces, batch=4):
    return random_training_batch(RNG, spaces, batch)[1][:, 0]


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


@pytest.mark.parametrize("spaces", [STATES, VECTORS, IMAGES], ids=["states", "vectors", "images"])
def test_no_position_of_a_batch_influences_another(random_network, spaces):
    network = random_network(SMALL, spaces)
    seen, acted = observations(spaces), actions(spaces)
    together = network.recurrent(network.initial(seen).hidden, acted)
    for row in range(4):
        alone = network.recurrent(network.initial(seen[row : row + 1]).hidden, acted[row : row + 1])
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_allclose(one[0], many[row], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spaces", [STATES, IMAGES], ids=["one-hot", "planes"])
def test_a_discrete_action_selects_its_own_rows_of_the_first_dynamics_layer(random_network, spaces):
    network = random_network(SMALL, spaces)
    kernel = network.dynamics.get_layer("first_of_action").kernel
    hidden = tf.random.stateless_uniform((3, *network.hidden_shape), (0, 0))
    before = network.recurrent(hidden, [0, 1, 2]).hidden.numpy()
    changed = kernel.numpy()
    changed[..., 1, ::2] += 1.0  # only every second output: a norm hides what all have in common
    kernel.assign(changed)
    after = network.recurrent(hidden, [0, 1, 2]).hidden.numpy()
    np.testing.assert_array_equal(before[[0, 2]], after[[0, 2]])
    assert np.abs(before[1] - after[1]).max() > 1e-3


def test_a_continuous_action_enters_as_the_vector_it_is(random_network):
    network = random_network(SMALL, VECTORS)
    entered = keras.Model(network.dynamics.inputs, network.dynamics.get_layer("hidden_and_action").output)
    hidden, action = RNG.normal(size=(4, 8)).astype(np.float32), RNG.uniform(-1, 1, (4, 2)).astype(np.float32)
    added = entered([hidden, action]) - entered([hidden, np.zeros_like(action)])
    expected = action @ network.dynamics.get_layer("first_of_action").kernel.numpy()
    np.testing.assert_allclose(added, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "spaces",
    [Spaces((5,), 3), Spaces((5,), 18), Spaces((5,), 1, True), Spaces((5,), 6, True), Spaces((6, 4, 2), 4)],
    ids=["3 actions", "18 actions", "1 dimension", "6 dimensions", "image"],
)
def test_an_action_has_as_large_a_share_of_the_first_dynamics_layer_as_the_hidden_state(spaces):
    """In a fresh network: as one of 64 inputs of one layer, an action would be a 64th of the sum."""
    network = build_network(NetworkConfig(width=64, num_blocks=1, value_support=2, reward_support=2), spaces)
    parts = [network.dynamics.get_layer(name).output for name in ("hidden_and_action", "first_of_action")]
    hidden = network.initial(observations(spaces, 100)).hidden
    whole, of_action = keras.Model(network.dynamics.inputs, parts)([hidden, tf.constant(actions(spaces, 100))])
    ratio = np.square(of_action).mean() / np.square(whole - of_action).mean()
    assert 1 / 4 < ratio < 4
    # And different actions add different numbers: the share is not a constant.
    assert np.var(of_action, axis=0).mean() > 0.2 * np.square(of_action).mean()


def test_an_observation_and_its_double_have_different_hidden_states_in_a_fresh_network():
    # Layer Normalisation sees directions only; it is the biases of the first layer that tell lengths apart.
    network = build_network(NetworkConfig(width=64, num_blocks=0, value_support=2, reward_support=2), STATES)
    seen = observations(STATES)
    one, two = (network.representation(factor * seen).numpy() for factor in (1, 2))
    assert np.abs(one - two).mean() > 0.05
    network.representation.get_layer("first").bias.assign(np.zeros(64))
    one, two = (network.representation(factor * seen).numpy() for factor in (1, 2))
    assert np.abs(one - two).mean() < 1e-3


def test_the_first_layer_is_fitted_as_if_observations_had_mean_zero_and_variance_one():
    # Numbers of mean 10 and deviation 2, mean -1 and deviation 0.01, and a constant, which stays as it is.
    network = build_network(SMALL, Spaces((3,), 2))
    first = network.representation.get_layer("first")
    kernel, bias = first.kernel.numpy(), first.bias.numpy()
    seen = np.array([[8, -1.01, 5], [12, -0.99, 5], [8, -0.99, 5], [12, -1.01, 5]], np.float32)
    fit_to_observations(network.representation, seen)
    scaled = np.array([[-1, -1, 0], [1, 1, 0], [-1, 1, 0], [1, -1, 0]], np.float32)
    np.testing.assert_allclose(first(seen), scaled @ kernel + bias, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(first.kernel, kernel / [[2], [0.01], [1]], rtol=1e-3)
    # One deviation of either number now moves the layer by its own row of the kernel, whatever its unit.
    moved = first(seen + np.float32([2, 0, 0])) - first(seen)
    np.testing.assert_allclose(moved, np.tile(kernel[0], (4, 1)), rtol=1e-3, atol=1e-4)


def test_frames_of_bytes_are_divided_by_255():
    config = NetworkConfig(width=8, num_blocks=0)
    bytes_network = build_network(config, Spaces((6, 4, 2), 3, observation_dtype="uint8"), seed=1)
    float_network = build_network(config, Spaces((6, 4, 2), 3), seed=1)
    frames = RNG.integers(256, size=(2, 6, 4, 2), dtype=np.uint8)
    expected = float_network.representation(frames.astype(np.float32) / 255)
    np.testing.assert_allclose(bytes_network.representation(frames), expected, rtol=1e-4, atol=1e-5)


def test_muzeros_input_is_frames_and_a_plane_for_each_action():
    frames = RNG.integers(256, size=(2, 32, 6, 5, 3), dtype=np.uint8)
    played = RNG.integers(18, size=(2, 32))
    stacked = stack_history(frames, played, 18)
    assert stacked.shape == (2, 6, 5, 128) and stacked.dtype == np.uint8
    for step in (0, 31):
        np.testing.assert_array_equal(stacked[1, :, :, 3 * step : 3 * step + 3], frames[1, step])
        np.testing.assert_allclose(stacked[1, :, :, 96 + step] / 255, played[1, step] / 18, atol=1 / 510)
    with pytest.raises(ValueError, match="there are 4 actions"):
        stack_history(frames, np.full((2, 32), 4), 4)
    with pytest.raises(ValueError, match="uint8"):
        stack_history(frames.astype(np.float32), played, 18)


def test_hidden_states_lie_in_the_unit_interval_where_asked_for(random_network):
    config = NetworkConfig(width=8, num_blocks=1, value_support=3, reward_support=2, scale_hidden=True)
    network = random_network(config, STATES)
    first = network.initial(observations(STATES)).hidden
    for hidden in (first, network.recurrent(first, actions(STATES)).hidden):
        np.testing.assert_allclose(np.min(hidden, axis=1), 0, atol=1e-6)
        np.testing.assert_allclose(np.max(hidden, axis=1), 1, atol=1e-6)


def test_the_action_value_head_gives_a_distribution_for_each_action():
    network = build_network(NetworkConfig(width=8, num_blocks=1, value_support=3, action_value_head=True), STATES)
    assert network.action_value(network.initial(observations(STATES)).hidden).shape == (4, 3, 7)
    with pytest.raises(ValueError, match="action_value_head needs discrete actions"):
        build_network(NetworkConfig(width=8, num_blocks=1, action_value_head=True), VECTORS)


# Gradients


def test_scaling_a_gradient_leaves_the_number_alone():
    x = tf.Variable([1.5, -2.0])
    with tf.GradientTape() as tape:
        y = scale_gradient(x, 0.5)
        loss = tf.reduce_sum(y**2)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_allclose(tape.gradient(loss, x), [1.5, -2.0])


def hidden_gradient(network, steps, gradient_scale):
    """Gradient of the loss of the last of `steps` dynamics steps with respect to the first hidden state."""
    hidden = tf.constant(RNG_HIDDEN)
    with tf.GradientTape() as tape:
        tape.watch(hidden)
        loss = last_loss(network, hidden, steps, gradient_scale)
    return tape.gradient(loss, hidden).numpy()


def last_loss(network, hidden, steps, gradient_scale=1.0):
    for _ in range(steps):
        output = network.recurrent(hidden, [1, 2], gradient_scale)
        hidden = output.hidden
    return tf.reduce_sum(scalar_loss(output.value, [0.5, -1.0]))


RNG_HIDDEN = np.random.default_rng(1).uniform(0, 1, (2, 8)).astype(np.float32)


@pytest.mark.parametrize("steps", [1, 3])
def test_the_hidden_gradient_is_halved_at_every_dynamics_step(random_network, steps):
    network = random_network(SMALL, STATES)
    whole = hidden_gradient(network, steps, 1.0)
    assert np.abs(whole).max() > 1e-4
    np.testing.assert_allclose(hidden_gradient(network, steps, 0.5), whole / 2**steps, rtol=1e-4, atol=1e-7)


def test_the_halved_gradient_is_half_of_the_finite_difference(random_network):
    network = random_network(SMALL, STATES)
    gradient = hidden_gradient(network, 1, 0.5)
    direction = gradient / np.linalg.norm(gradient)
    ahead, behind = (last_loss(network, RNG_HIDDEN + s * 1e-2 * direction, 1).numpy() for s in (1, -1))
    assert (gradient * direction).sum() == pytest.approx((ahead - behind) / 2e-2 / 2, rel=0.02)


def test_the_dynamics_own_weights_get_their_whole_gradient(random_network):
    network = random_network(SMALL, STATES)
    kernel = network.dynamics.get_layer("first").kernel.value
    gradients = []
    for scale in (1.0, 0.5):
        with tf.GradientTape() as tape:
            loss = last_loss(network, tf.constant(RNG_HIDDEN), 1, scale)
        gradients.append(tape.gradient(loss, kernel).numpy())
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-4, atol=1e-7)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((5, 5), 3), "must be .size,. for states or .height, width, channels. for images"),
        (((0,), 3), "observation_shape is .0,., but"),
        (((5,), 0), "at least one action"),
        (((5,), 2, False, "int64"), "observation_dtype is 'int64'"),
        (((5,), 2, False, "uint8"), "Only images may be uint8"),
    ],
)
def test_impossible_spaces_are_refused_in_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        Spaces(*arguments)


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
