"""h and its inverse, the two-hot projection and the losses, against numbers worked out by hand."""

import numpy as np
import pytest
import scipy.special
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from mzu.networks.scalars import head_size, inverse_transform, scalar_from_logits, scalar_loss, transform, two_hot


@pytest.mark.parametrize(("x", "expected"), [(0, 0), (3, 1.003), (-8, -2.008), (99, 9.099), (-3, -1.003)])
def test_h_of_numbers_whose_square_root_is_known(x, expected):
    assert transform(np.float32(x)).numpy() == pytest.approx(expected, rel=1e-6)
    assert inverse_transform(np.float32(expected)).numpy() == pytest.approx(x, rel=1e-6)


@given(st.floats(-1e5, 1e5, width=32))
@settings(deadline=None)
def test_h_and_its_inverse_undo_each_other(x):
    x = np.float32(x)
    assert inverse_transform(transform(x)).numpy() == pytest.approx(x, rel=2e-6)
    y = transform(x)
    assert transform(inverse_transform(y)).numpy() == pytest.approx(y.numpy(), rel=2e-6)


def test_the_inverse_is_the_textbook_formula_without_its_rounding():
    y = np.concatenate([np.linspace(-420, 420, 1001), [-1e-6, 1e-6]])
    e = np.longdouble(0.001)
    textbook = np.sign(y) * (((np.sqrt(1 + 4 * e * (np.abs(y) + 1 + e)) - 1) / (2 * e)) ** 2 - 1)
    np.testing.assert_allclose(inverse_transform(y.astype(np.float32)), textbook.astype(float), rtol=1e-5)


def test_h_is_increasing():
    x = np.concatenate([-np.geomspace(1e5, 1e-5, 500), np.geomspace(1e-5, 1e5, 500)]).astype(np.float32)
    assert (np.diff(transform(x).numpy()) > 0).all()


def test_two_hot_is_exact_at_grid_points():
    np.testing.assert_array_equal(two_hot(np.arange(-3, 4), bins=7), np.eye(7))


def test_two_hot_is_linear_between_grid_points():
    np.testing.assert_allclose(two_hot(np.float32([0.25, -2.5]), 7), [[0, 0, 0, 0.75, 0.25, 0, 0],
                                                                      [0.5, 0.5, 0, 0, 0, 0, 0]])  # fmt: skip


def test_two_hot_puts_what_is_beyond_the_support_at_its_end():
    np.testing.assert_array_equal(two_hot(np.float32([100, -3.5]), 5), np.eye(5)[[4, 0]])


@given(st.floats(-300, 300, width=32))
@settings(deadline=None)
def test_a_two_hot_distribution_has_its_number_as_mean(y):
    probabilities = two_hot(np.float32(y), 601).numpy().astype(float)
    assert probabilities.sum() == pytest.approx(1, abs=1e-6)
    assert probabilities @ np.arange(-300, 301) == pytest.approx(y, abs=1e-4)
    assert (probabilities > 0).sum() <= 2


@given(st.floats(-200, 200, width=32))
@settings(deadline=None)
def test_a_head_that_learned_its_target_perfectly_predicts_it(x):
    with np.errstate(divide="ignore"):
        logits = np.log(two_hot(transform(np.float32(x)), 41).numpy())
    assert scalar_from_logits(tf.constant(logits)).numpy() == pytest.approx(x, rel=1e-4, abs=1e-5)


def test_the_prediction_is_the_inverse_of_the_expected_category():
    logits = np.random.default_rng(0).normal(size=(5, 21)).astype(np.float32)
    expected = scipy.special.softmax(logits, axis=-1) @ np.arange(-10, 11)
    np.testing.assert_allclose(transform(scalar_from_logits(tf.constant(logits))), expected, atol=1e-5)


def test_the_loss_is_the_cross_entropy_to_the_two_hot_target():
    logits = np.random.default_rng(0).normal(size=(2, 5)).astype(np.float32)
    log_probabilities = scipy.special.log_softmax(logits, axis=-1)
    # h(3) = 1.003: 0.997 of category 1, 0.003 of category 2. h(0) = 0: category 0.
    expected = [-(0.997 * log_probabilities[0, 3] + 0.003 * log_probabilities[0, 4]), -log_probabilities[1, 2]]
    np.testing.assert_allclose(scalar_loss(tf.constant(logits), [3.0, 0.0]), expected, rtol=1e-5)


def test_a_head_with_one_output_is_the_scalar_itself_with_squared_error():
    output = tf.constant([[3.0], [-250.0]])
    np.testing.assert_array_equal(scalar_from_logits(output), [3, -250])
    np.testing.assert_array_equal(scalar_loss(output, [1.0, -250.0]), [4, 0])


def test_the_gradient_reaches_the_logits_and_stops_at_the_target():
    logits, target = tf.Variable([[0.1, 0.2, 0.3]]), tf.Variable([0.5])
    for outputs in (logits, tf.Variable([[0.7]])):
        with tf.GradientTape() as tape:
            loss = scalar_loss(outputs, target)
        to_outputs, to_target = tape.gradient(loss, [outputs, target])
        assert np.abs(to_outputs).max() > 0
        assert to_target is None


def test_a_head_has_one_output_per_category_or_just_one():
    assert head_size("categorical", 300) == 601
    assert head_size("regression", 300) == 1
