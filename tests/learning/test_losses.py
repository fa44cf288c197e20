"""The loss of one batch, on paper: known logits, known targets, every weight and mask."""

import math

import numpy as np
import pytest
import tensorflow as tf

from mzu.config import LearningConfig, NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.learning.losses import Predictions, over_steps, policy_losses, unroll, unrolled_losses
from mzu.learning.targets import Targets
from mzu.networks.network import build_network

NETWORK = NetworkConfig(width=8, num_blocks=1, value_support=3, reward_support=2)  # 7 and 5 categories
STATES = Spaces((2,), 3)
log = math.log


def made_targets(rows=1, unroll_steps=1, num_actions=2, **given):
    """Everything is trained, every target is 0, the policy is uniform."""
    values, rewards = np.zeros((rows, unroll_steps + 1), np.float32), np.zeros((rows, unroll_steps), np.float32)
    plain = Targets(
        rewards=rewards,
        reward_mask=np.ones_like(rewards),
        values=values,
        value_mask=np.ones_like(values),
        policy_actions=np.zeros((rows, unroll_steps + 1, 0), np.int32),
        policy_weights=np.full((rows, unroll_steps + 1, num_actions), 1 / num_actions, np.float32),
        policy_mask=np.ones_like(values),
    )
    return plain._replace(**{name: np.asarray(array, np.float32) for name, array in given.items()})


def losses_of(network, targets, actions, unroll_steps, **settings):
    """The losses of the network's predictions for observations of ones."""
    actions = tf.constant(actions, tf.int32)
    config = LearningConfig(unroll_steps=unroll_steps, **settings)
    predictions = unroll(network, tf.ones((len(actions), 2)), actions, unroll_steps, 0.5)
    return unrolled_losses(predictions, targets, actions, config, continuous=False)


# A fresh network's heads are zero: uniform over 3 actions, 7 values, 5 rewards.


def test_a_fresh_networks_loss_is_the_logarithm_of_what_it_chooses_among():
    losses = losses_of(build_network(NETWORK, STATES), made_targets(2, 1, 3), [[0, 1], [2, 2]], 1)
    np.testing.assert_allclose(losses.policy, [2 * log(3)] * 2, rtol=1e-6)
    np.testing.assert_allclose(losses.value, [2 * log(7)] * 2, rtol=1e-6)
    np.testing.assert_allclose(losses.reward, [log(5)] * 2, rtol=1e-6)
    np.testing.assert_allclose(losses.total, [2 * log(3) + 2 * log(7) + log(5)] * 2, rtol=1e-6)


def test_step_zero_weighs_one_and_the_unrolled_steps_share_one():
    network = build_network(NETWORK, STATES)
    masks = {
        "policy_mask": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "value_mask": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "reward_mask": [[1, 0], [0, 1], [0, 0]],
    }
    losses = losses_of(network, made_targets(3, 2, 3, **masks), np.zeros((3, 3), int), 2)
    np.testing.assert_allclose(losses.policy, [log(3), log(3) / 2, log(3) / 2], rtol=1e-6)
    np.testing.assert_allclose(losses.value, [log(7), log(7) / 2, log(7) / 2], rtol=1e-6)
    np.testing.assert_allclose(losses.reward, [log(5) / 2, log(5) / 2, 0], rtol=1e-6)
    np.testing.assert_array_equal(over_steps(tf.constant([[1.0, 10.0, 30.0]])), [21.0])
    np.testing.assert_array_equal(over_steps(tf.constant([[1.0]])), [1.0])


def test_an_absorbing_position_has_a_value_and_a_reward_but_no_policy_loss():
    targets = made_targets(1, 1, 3, policy_mask=[[1, 0]])
    losses = losses_of(build_network(NETWORK, STATES), targets, [[0, 0]], 1)
    np.testing.assert_allclose(losses.total, [log(3) + 2 * log(7) + log(5)], rtol=1e-6)


def test_the_value_loss_is_scaled_as_asked_for_and_only_it():
    losses = losses_of(build_network(NETWORK, STATES), made_targets(1, 1, 3), [[0, 0]], 1, value_loss_scale=0.25)
    np.testing.assert_allclose(losses.total, [2 * log(3) + 2 * log(7) / 4 + log(5)], rtol=1e-6)


# Known logits, given as predictions


def test_the_loss_of_two_positions_on_paper():
    # Probabilities of 2 actions: 1/4, 3/4 at t and 1/2, 1/2 at t + 1. Values -1, 0, 1 with 1/4, 1/2, 1/4.
    policy, value = np.log([[[1, 3], [1, 1]]] * 2), np.log([[[1, 2, 1], [1, 1, 2]]] * 2)
    reward = np.log([[[2, 1, 1]]] * 2)
    targets = made_targets(
        2,
        values=[[0, 3], [-3, 0]],  # h(3) = 1.003 is the last category, h(-3) the first
        rewards=[[0], [-3]],
        policy_weights=[[[1, 0], [0.5, 0.5]], [[0.2, 0.8], [0, 1]]],
        policy_mask=[[1, 1], [1, 0]],
        value_mask=[[1, 1], [1, 1]],
    )
    predictions = Predictions(*(tf.constant(array, tf.float32) for array in (policy, value, reward)), None)
    losses = unrolled_losses(predictions, targets, np.zeros((2, 2), np.int32), LearningConfig(unroll_steps=1), False)
    np.testing.assert_allclose(losses.policy, [log(4) + log(2), 0.2 * log(4) + 0.8 * log(4 / 3)], rtol=1e-5)
    np.testing.assert_allclose(losses.value, [log(2) + log(2), log(4) + log(4)], rtol=1e-5)
    np.testing.assert_allclose(losses.reward, [log(4), log(2)], rtol=1e-5)
    np.testing.assert_allclose(losses.total, losses.policy + losses.value + losses.reward, rtol=1e-6)


def test_a_sampled_policy_is_trained_towards_the_actions_it_names():
    # Probabilities 1/8, 2/8, 5/8; the candidates are the actions 2 and 0, visited 3 : 1, and an empty place.
    outputs = tf.constant(np.log([[[1.0, 2.0, 5.0]]]), tf.float32)
    actions, weights = np.array([[[2, 0, 0]]], np.int32), [[[0.75, 0.25, 0.0]]]
    targets = made_targets(1, 0)._replace(policy_actions=actions, policy_weights=np.float32(weights))
    expected = -0.75 * log(5 / 8) - 0.25 * log(1 / 8)
    np.testing.assert_allclose(policy_losses(outputs, targets, continuous=False), [[expected]], rtol=1e-6)


def test_a_gaussian_policy_is_trained_towards_the_actions_it_names():
    # Means 0.5 and -0.5, scales 1.001 (raw 0) and another; two candidates with weights 3/4 and 1/4.
    raw = np.array([0.0, -1.0])
    outputs = tf.constant(np.concatenate([[0.5, -0.5], raw])[None, None], tf.float32)
    scale = np.log1p(np.exp(raw + 0.5413)) + 0.001
    assert scale[0] == pytest.approx(1.001, abs=1e-4)
    actions = np.array([[[[1.0, -1.0], [0.0, 0.25]]]], np.float32)
    targets = made_targets(1, 0)._replace(policy_actions=actions, policy_weights=np.float32([[[0.75, 0.25]]]))

    def log_density(action):
        return sum(
            -0.5 * ((a - m) / s) ** 2 - log(s) - 0.5 * log(2 * math.pi)
            for a, m, s in zip(action, (0.5, -0.5), scale, strict=True)
        )

    expected = -0.75 * log_density((1.0, -1.0)) - 0.25 * log_density((0.0, 0.25))
    np.testing.assert_allclose(policy_losses(outputs, targets, continuous=True), [[expected]], rtol=1e-5)


def test_the_action_value_of_the_action_taken_is_trained_and_no_other():
    logits = tf.Variable(np.log([[[1.0, 2.0, 1.0], [1.0, 1.0, 2.0], [1.0, 1.0, 1.0]]]), dtype=tf.float32)
    targets = made_targets(1, 0, values=[[3]], value_mask=[[1]])
    with tf.GradientTape() as tape:
        predictions = Predictions(tf.zeros((1, 1, 2)), tf.zeros((1, 1, 3)), None, logits)
        losses = unrolled_losses(predictions, targets, np.array([[1]], np.int32), LearningConfig(unroll_steps=0), False)
    np.testing.assert_allclose(losses.action_value, [log(2)], rtol=1e-5)
    np.testing.assert_allclose(losses.total, [log(2) + log(3) + log(2)], rtol=1e-5)  # policy, value, action value
    np.testing.assert_array_equal(losses.reward, [0])
    gradient = tape.gradient(losses.action_value, logits).numpy()[0]
    assert (gradient[[0, 2]] == 0).all()
    np.testing.assert_allclose(gradient[1], [0.25, 0.25, -0.5], atol=1e-6)  # probabilities minus target


# Unrolling


def test_the_unrolled_predictions_are_those_of_the_network_step_by_step():
    network = random_network()
    observations = tf.constant(np.random.default_rng(0).normal(size=(3, 2)), tf.float32)
    actions = tf.constant([[0, 2], [1, 1], [2, 0]])
    predictions = unroll(network, observations, actions, 2, 0.5)
    output = network.initial(observations)
    np.testing.assert_allclose(predictions.policy[:, 0], output.policy, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(predictions.value[:, 0], output.value, rtol=1e-4, atol=1e-5)
    for step in range(2):
        output = network.recurrent(output.hidden, actions[:, step])
        np.testing.assert_allclose(predictions.reward[:, step], output.reward, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(predictions.policy[:, step + 1], output.policy, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(predictions.value[:, step + 1], output.value, rtol=1e-4, atol=1e-5)


def random_network(config=NETWORK):
    """Random heads too: behind heads of zero no gradient reaches the hidden state."""
    network, rng = build_network(config, STATES), np.random.default_rng(3)
    for variable in network.trainable_variables:
        variable.assign(variable + rng.normal(0, 0.1, variable.shape).astype(np.float32))
    return network


@pytest.mark.parametrize("step", [0, 1, 3])
def test_the_representation_sees_half_of_the_gradient_for_every_dynamics_step(step):
    network = random_network()
    kernel = network.representation.get_layer("first").kernel.value
    gradients = []
    for scale in (1.0, 0.5):
        with tf.GradientTape() as tape:
            predictions = unroll(network, tf.ones((2, 2)), tf.zeros((2, 3), tf.int32), 3, scale)
            loss = tf.reduce_sum(predictions.value[:, step] ** 2)
        gradients.append(tape.gradient(loss, kernel).numpy())
    assert np.abs(gradients[0]).max() > 1e-4
    np.testing.assert_allclose(gradients[1], gradients[0] / 2**step, rtol=1e-3, atol=1e-7)


def test_no_gradient_flows_into_the_targets():
    network = random_network()
    values, rewards = tf.Variable([[1.0, 2.0]]), tf.Variable([[0.5]])
    targets = made_targets(1, 1, 3)._replace(values=values, rewards=rewards)
    with tf.GradientTape() as tape:
        losses = losses_of(network, targets, [[0, 1]], 1)
    assert tape.gradient(losses.total, [values, rewards]) == [None, None]
