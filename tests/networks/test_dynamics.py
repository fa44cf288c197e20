"""How an action enters the dynamics, and how the gradient leaves it."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from made_networks import IMAGES, SMALL, STATES, VECTORS, actions, observations

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network, scale_gradient
from mzu.networks.scalars import scalar_loss


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
    rng = np.random.default_rng(0)
    hidden, action = rng.normal(size=(4, 8)).astype(np.float32), rng.uniform(-1, 1, (4, 2)).astype(np.float32)
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


def test_hidden_states_lie_in_the_unit_interval_where_asked_for(random_network):
    config = NetworkConfig(width=8, num_blocks=1, value_support=3, reward_support=2, scale_hidden=True)
    network = random_network(config, STATES)
    first = network.initial(observations(STATES)).hidden
    for hidden in (first, network.recurrent(first, actions(STATES)).hidden):
        np.testing.assert_allclose(np.min(hidden, axis=1), 0, atol=1e-6)
        np.testing.assert_allclose(np.max(hidden, axis=1), 1, atol=1e-6)


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
