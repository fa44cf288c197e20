"""`learning/optimiser.py` against Keras' AdamW, and the cosine by hand."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from mzu.learning.optimiser import AdamW

SHAPES = {"kernel": (3, 4), "bias": (4,), "gamma": (2,), "beta": (2,)}
STEPS = 30


def new_weights(seed):
    rng = np.random.default_rng(seed)
    return [keras.Variable(rng.normal(size=shape).astype("float32"), name=name) for name, shape in SHAPES.items()]


@pytest.mark.parametrize("weight_decay", [0.0, 1e-2])
@pytest.mark.parametrize("learning_rate", [1e-3, 0.1])
def test_it_takes_the_steps_of_keras_adamw(weight_decay, learning_rate):
    rng = np.random.default_rng(0)
    own, theirs = new_weights(1), new_weights(1)
    optimiser = AdamW(own, learning_rate, weight_decay, STEPS)
    schedule = keras.optimizers.schedules.CosineDecay(learning_rate, STEPS)
    peer = keras.optimizers.AdamW(schedule, weight_decay=weight_decay / learning_rate)
    peer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    peer.build(theirs)
    for _ in range(STEPS):
        gradients = [tf.constant(rng.normal(size=shape).astype("float32")) for shape in SHAPES.values()]
        norm = optimiser.apply(gradients)
        peer.apply(gradients, theirs)
        assert float(norm) == pytest.approx(float(tf.linalg.global_norm(gradients)), rel=1e-5)
        for ours, others in zip(own, theirs, strict=True):
            np.testing.assert_allclose(ours.numpy(), others.numpy(), rtol=1e-4, atol=1e-6)


def test_the_first_step_by_hand():
    # m / sqrt(v), corrected, is the sign of the gradient: every weight moves by the learning rate.
    weight = keras.Variable([[1.0, -2.0]], name="kernel")
    AdamW([weight], learning_rate=0.1, weight_decay=0.01, training_steps=10).apply([tf.constant([[5.0, -0.3]])])
    np.testing.assert_allclose(weight.numpy(), [[0.99 - 0.1, -2 * 0.99 + 0.1]], rtol=1e-5)


def test_the_learning_rate_falls_to_zero_along_a_cosine():
    optimiser = AdamW(new_weights(0), learning_rate=0.04, weight_decay=1e-4, training_steps=100)
    rates = []
    for step in (0, 25, 50, 100, 120):
        optimiser.steps.assign(step)
        rates.append(optimiser.current_rate())
    np.testing.assert_allclose(rates, [0.04, 0.02 * (1 + np.sqrt(0.5)), 0.02, 0, 0], atol=1e-8)


def test_it_goes_on_where_its_variables_were_taken():
    gradients = [tf.ones(shape) for shape in SHAPES.values()]
    first, second = new_weights(0), new_weights(0)
    one, two = AdamW(first, 0.1, 0.01, STEPS), AdamW(second, 0.1, 0.01, STEPS)
    for _ in range(3):
        one.apply(gradients)
    for weights, others in zip(second + two.variables, first + one.variables, strict=True):
        weights.assign(others)
    one.apply(gradients)
    two.apply(gradients)
    for weights, others in zip(second, first, strict=True):
        np.testing.assert_array_equal(weights.numpy(), others.numpy())


# A limit for the gradient's length


def test_a_gradient_that_is_too_long_is_scaled_down_and_keeps_its_direction():
    weight = keras.Variable(tf.zeros((1, 2)), name="kernel")
    optimiser = AdamW([weight], 0.1, 0.0, STEPS, max_gradient_norm=2.5)
    norm = optimiser.apply([tf.constant([[3.0, 4.0]])])
    assert float(norm) == pytest.approx(5)  # as it was
    gradient = optimiser.mean / 0.1  # m = (1 - b1) g after the first step
    np.testing.assert_allclose(gradient, [1.5, 2.0], rtol=1e-5)
    np.testing.assert_allclose(optimiser.square / 0.001, [2.25, 4.0], rtol=1e-4)


def test_the_length_is_that_of_all_weights_together():
    weights = new_weights(0)
    optimiser = AdamW(weights, 0.1, 0.0, STEPS, max_gradient_norm=1.0)
    gradients = [tf.ones(shape) for shape in SHAPES.values()]  # 20 numbers
    assert float(optimiser.apply(gradients)) == pytest.approx(np.sqrt(20))
    np.testing.assert_allclose(optimiser.mean / 0.1, np.full(20, 1 / np.sqrt(20)), rtol=1e-5)


@pytest.mark.parametrize("numbers", [[[0.3, -0.4]], [[0.0, 0.0]]])
def test_a_gradient_within_the_limit_is_left_as_it_is(numbers):
    moved = []
    for limit in (0.0, 0.5001):
        weight = keras.Variable([[1.0, 2.0]], name="kernel")
        optimiser = AdamW([weight], 0.1, 0.01, STEPS, max_gradient_norm=limit)
        optimiser.apply([tf.constant(numbers)])
        moved.append([weight.numpy(), optimiser.mean.numpy(), optimiser.square.numpy()])
    for plain, limited in zip(*moved, strict=True):
        np.testing.assert_array_equal(plain, limited)
