"""The loss of one batch, on paper: known logits, known targets, every weight and mask."""

import dataclasses
import math
import types

import numpy as np
import pytest
import tensorflow as tf
from made_batches import made_batch, made_config, value_of_position

from mzu.config import LearningConfig, NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.learning.losses import (
    Following,
    Predictions,
    consistency_losses,
    following_of,
    over_steps,
    policy_losses,
    unroll,
    unrolled_losses,
)
from mzu.learning.targets import Targets, make_targets
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


def behaviour_targets(**given):
    """Targets at t with U = 0; the stored action has A = 1 + 10 - 10 > 0 and the weight 0.2."""
    batch = made_batch([[1.0]], [1], [False], 0, 1)._replace(**given)
    config = made_config("learning.unroll_steps=0", "learning.td_steps=1", "learning.behaviour_loss_scale=0.2")
    return make_targets(batch, config, value_of_position)


def test_a_behaviour_term_adds_the_stored_actions_share_of_its_likelihood():
    # Probabilities 1/8, 2/8, 5/8; the search has 3/4 and 1/4 for the actions 2 and 0, and action 1 was stored.
    outputs = tf.constant(np.log([[[1.0, 2.0, 5.0]]]), tf.float32)
    expected = -0.75 * log(5 / 8) - 0.25 * log(1 / 8) - 0.2 * log(2 / 8)
    stored = np.array([[1]], np.int32)
    every = behaviour_targets(actions=stored, search_policy=np.float32([[[0.25, 0, 0.75]]]))
    np.testing.assert_allclose(policy_losses(outputs, every, continuous=False), [[expected]], rtol=1e-6)
    candidates, policy = np.array([[[2, 0]]], np.int32), np.float32([[[0.75, 0.25]]])
    sampled = behaviour_targets(actions=stored, search_actions=candidates, search_policy=policy)
    np.testing.assert_allclose(policy_losses(outputs, sampled, continuous=False), [[expected]], rtol=1e-6)


def test_a_behaviour_term_adds_to_the_loss_of_a_gaussian_too():
    # Mean 0 and scale s: - log density is (a / s)^2 / 2 + log s + log(2 pi) / 2, here for a = 1 and, stored, a = -0.5.
    outputs = tf.zeros((1, 1, 2))
    scale = log(1 + math.exp(0.5413)) + 0.001
    constant = log(scale) + 0.5 * log(2 * math.pi)
    targets = behaviour_targets(
        actions=np.float32([[[-0.5]]]), search_actions=np.float32([[[[1.0]]]]), search_policy=np.float32([[[1.0]]])
    )
    expected = 0.5 * (1 / scale) ** 2 + constant + 0.2 * (0.5 * (0.5 / scale) ** 2 + constant)
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


# Smooth heads, finer categories, squared errors


@pytest.mark.parametrize(
    "scalar_head, value", [("categorical", 2 * log(25)), ("hl_gauss", 2 * log(25)), ("regression", 2 * 1.003**2)]
)
def test_a_fresh_networks_value_loss_is_one_of_its_categories_or_the_squared_target(scalar_head, value):
    # Four categories per unit of -3..3 are 25; uniform over them, any target costs the same. h(3) is 1.003 away from 0.
    config = dataclasses.replace(NETWORK, scalar_head=scalar_head, bins_per_unit=4)
    targets, actions = made_targets(1, 1, 3, values=[[3, 3]]), tf.zeros((1, 2), tf.int32)
    predictions = unroll(build_network(config, STATES), tf.ones((1, 2)), actions, 1, 0.5)
    losses = unrolled_losses(predictions, targets, actions, LearningConfig(unroll_steps=1), False, config)
    np.testing.assert_allclose(losses.value, [value], rtol=1e-5)


def test_smooth_heads_are_learned_by_smooth_targets_everywhere():
    smooth = NetworkConfig(scalar_head="hl_gauss")
    logits = np.log([1.0, 2.0, 1.0])
    # The mass of a normal distribution around 0 with deviation 3/4: Phi(2/3) = 0.7475 and Phi(2) = 0.9772.
    side, middle = 0.9772 - 0.7475, 2 * 0.7475 - 1
    expected = -(2 * side * log(1 / 4) + middle * log(2 / 4)) / (2 * side + middle)
    arrays = (np.zeros((1, 2, 2)), np.tile(logits, (1, 2, 1)), logits[None, None], np.tile(logits, (1, 2, 1)))
    predictions = Predictions(*(tf.constant(array, tf.float32) for array in arrays))
    losses = unrolled_losses(
        predictions, made_targets(), np.zeros((1, 2), np.int32), LearningConfig(unroll_steps=1), False, smooth
    )
    np.testing.assert_allclose([*losses.value / 2, *losses.reward, *losses.action_value], [expected] * 3, rtol=1e-3)


# Consistency of the hidden states


def turning_world(turn_of_the_model=math.pi / 2):
    """A world whose state is a point on the circle, which action 1 turns by 90 degrees; how far the model turns it.

    The representation of a point is three times the point, and the model halves it at every step: lengths do not count.
    """

    def turned(points, actions, angle):
        angle = angle * tf.cast(actions, tf.float32)
        x, y = points[:, 0], points[:, 1]
        return tf.stack([tf.cos(angle) * x - tf.sin(angle) * y, tf.sin(angle) * x + tf.cos(angle) * y], axis=1)

    def dynamics(inputs):
        return turned(*inputs, turn_of_the_model) / 2, tf.zeros((len(inputs[0]), 3))

    model = types.SimpleNamespace(
        representation=lambda points: 3 * points,
        dynamics=dynamics,
        prediction=lambda hidden: (tf.zeros((len(hidden), 2)), tf.zeros((len(hidden), 3))),
        action_value=None,
        hidden_shape=(2,),
    )
    return model, lambda points, actions: turned(points, actions, math.pi / 2)


def consistency_of(model, step, mask=((1, 1), (1, 1))):
    """Two positions, of which the first turns twice and the second once, in its second step -> [2, 2]."""
    start, actions = tf.constant([[1.0, 0.0], [0.6, 0.8]]), tf.constant([[1, 1], [0, 1]])
    first = step(start, actions[:, 0])
    following = Following(tf.stack([first, step(first, actions[:, 1])], axis=1), tf.constant(mask, tf.float32))
    return consistency_losses(model, unroll(model, start, actions, 2, 0.5).hidden, following)


def test_a_perfect_model_has_no_consistency_loss():
    np.testing.assert_allclose(consistency_of(*turning_world()), np.zeros((2, 2)), atol=1e-6)


def test_the_consistency_loss_of_a_model_that_turns_too_little_on_paper():
    # 60 degrees instead of 90 leave angles of 30 and 60, or 0 and 30 degrees; the loss is 2 - 2 cos.
    losses = consistency_of(*turning_world(math.pi / 3))
    expected = 2 - 2 * np.cos(np.deg2rad([[30, 60], [0, 30]]))
    np.testing.assert_allclose(losses, expected, atol=1e-5)
    np.testing.assert_allclose(consistency_of(*turning_world(-math.pi / 2))[0], [4, 0], atol=1e-5)  # opposite: the most


def test_past_the_end_there_is_no_consistency_loss():
    mask = ((1, 0), (0, 0))
    losses = consistency_of(*turning_world(math.pi / 3), mask)
    np.testing.assert_allclose(losses, [[2 - 2 * math.cos(math.pi / 6), 0], [0, 0]], atol=1e-5)


def test_the_observation_with_which_an_episode_ends_is_the_last_to_compare_with():
    batch = made_batch([[1] * 5, [1], [1, 1]], [5, 1, 2], [False, True, False])
    following = following_of(batch, 2)
    np.testing.assert_array_equal(following.mask, [[1, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(following.observations[0], [[0, 1], [0, 2]])  # row and position
    np.testing.assert_array_equal(following.observations[1], [[1, 1], [1, 1]])  # nothing behind the end


def test_the_consistency_loss_is_a_mean_over_the_unrolled_steps_and_scaled_as_asked_for():
    targets, actions = made_targets(2, 2, 3), tf.zeros((2, 3), tf.int32)
    predictions = unroll(build_network(NETWORK, STATES), tf.ones((2, 2)), actions, 2, 0.5)
    config = LearningConfig(unroll_steps=2, consistency_loss_scale=0.5)
    plain = unrolled_losses(predictions, targets, actions, config, False)
    assert plain.consistency is None
    consistency = tf.constant([[1.0, 3.0], [0.0, 4.0]])
    losses = unrolled_losses(predictions, targets, actions, config, False, NETWORK, consistency)
    np.testing.assert_array_equal(losses.consistency, [2, 2])
    np.testing.assert_allclose(losses.total, plain.total + 1.0, rtol=1e-6)


def test_the_gradient_of_consistency_flows_through_the_dynamics_only():
    network, frozen = random_network(), random_network()  # the same weights
    observations, actions = tf.constant([[0.3, -1.0], [2.0, 0.5]]), tf.constant([[0, 1], [2, 2]])
    following = Following(tf.constant(np.random.default_rng(0).normal(size=(2, 2, 2)), tf.float32), tf.ones((2, 2)))
    variables = [variable.value for variable in network.trainable_variables]

    def gradients(seeing, stopped=False):
        """With what is seen by `seeing`, which is given so that its weights can be others than the network's."""
        with tf.GradientTape() as tape:
            hidden = unroll(network, observations, actions, 2, 0.5).hidden
            hidden = tf.stop_gradient(hidden) if stopped else hidden
            loss = tf.reduce_sum(consistency_losses(seeing, hidden, following))
        return tape.gradient(loss, variables, unconnected_gradients="zero")

    own, others = gradients(network), gradients(frozen)
    for one, other in zip(own, others, strict=True):
        np.testing.assert_array_equal(one, other)
    names = [f"{model.name}/{variable.path}" for model in network.models for variable in model.trainable_variables]
    reached = {name.split("/")[0] for name, gradient in zip(names, own, strict=True) if np.abs(gradient).max() > 1e-6}
    # The representation of t, from which it is unrolled, takes part; the heads do not.
    assert reached == {"representation", "dynamics"}
    assert all((gradient.numpy() == 0).all() for gradient in gradients(network, stopped=True))


def test_hidden_images_are_compared_as_a_whole_and_hidden_states_of_zero_are_no_division_by_zero():
    network = build_network(NETWORK, Spaces((6, 4, 2), 3))
    hidden = np.random.default_rng(0).random((2, 3, *network.hidden_shape)).astype(np.float32)
    observations = tf.constant(np.random.default_rng(1).random((2, 2, 6, 4, 2)), tf.float32)
    seen = network.representation(tf.reshape(observations, (4, 6, 4, 2))).numpy().reshape(4, -1)
    states = hidden[:, 1:].reshape(4, -1)
    cosines = (seen * states).sum(axis=1) / np.linalg.norm(seen, axis=1) / np.linalg.norm(states, axis=1)
    losses = consistency_losses(network, hidden, Following(observations, tf.ones((2, 2))))
    np.testing.assert_allclose(np.ravel(losses), 2 - 2 * cosines, atol=1e-5)
    nothing = tf.zeros_like(hidden)
    with tf.GradientTape() as tape:
        tape.watch(nothing)
        loss = tf.reduce_sum(consistency_losses(network, nothing, Following(observations, tf.ones((2, 2)))))
    assert np.isfinite(loss) and np.isfinite(tape.gradient(loss, nothing)).all()
