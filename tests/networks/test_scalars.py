"""h and its inverse, two-hot and smooth targets and the losses, against numbers worked out by hand."""

import numpy as np
import pytest
import scipy.special
import scipy.stats
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from mzu.config import NetworkConfig
from mzu.networks.scalars import (
    head_size,
    hl_gauss,
    inverse_transform,
    scalar_from_logits,
    scalar_loss,
    target_distribution,
    transform,
    two_hot,
)


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


def test_a_head_with_one_output_says_the_transformed_scalar_and_is_learned_by_its_squared_error():
    # h(3) = sqrt(4) - 1 + 0.003 and h(-255) = -(sqrt(256) - 1 + 0.255)
    output = tf.constant([[1.003], [-15.255]])
    np.testing.assert_allclose(scalar_from_logits(output), [3, -255], rtol=1e-5)
    np.testing.assert_allclose(scalar_loss(output, [0.0, -255.0]), [1.003**2, 0], atol=1e-5)


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
    assert head_size("hl_gauss", 10) == 21
    assert head_size("categorical", 10, bins_per_unit=4) == head_size("hl_gauss", 10, bins_per_unit=4) == 81
    assert head_size("regression", 10, bins_per_unit=4) == 1


# Smooth targets


@pytest.mark.parametrize("sigma", [0.3, 0.75, 2.0])
@pytest.mark.parametrize("y", [0.0, 0.3, -1.5, 2.9, -3.0])
def test_a_smooth_target_is_the_mass_of_a_normal_distribution_in_each_category(y, sigma):
    mass = np.diff(scipy.stats.norm(y, sigma).cdf([-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]))
    np.testing.assert_allclose(hl_gauss(np.float32(y), 7, sigma), mass / mass.sum(), atol=1e-6)


def test_a_smooth_target_in_numbers():
    # Half a category is 2/3 of 0.75: Phi(2/3) = 0.7475, Phi(2) = 0.9772, Phi(10/3) = 0.9996.
    expected = [0.0223, 0.2297, 0.4950, 0.2297, 0.0223]
    np.testing.assert_allclose(hl_gauss(np.float32(0), 7, 0.75)[1:-1], expected, atol=1e-4)


@given(st.floats(-300, 300, width=32))
@settings(deadline=None)
def test_a_smooth_target_sums_to_one_and_has_its_number_as_mean_away_from_the_ends(y):
    probabilities = hl_gauss(np.float32(y), 601, 0.75).numpy().astype(float)
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)
    assert probabilities.min() >= -1e-7
    mean = probabilities @ np.arange(-300, 301)
    assert mean == pytest.approx(y, abs=1e-3 if abs(y) < 297 else 0.5)


def test_at_an_end_of_the_support_a_smooth_target_is_drawn_inwards_and_what_is_beyond_goes_to_the_end():
    at_the_end, beyond = hl_gauss(np.float32([3.0, 50.0]), 7, 0.75).numpy()
    np.testing.assert_array_equal(beyond, at_the_end)
    assert 2.5 < at_the_end @ np.arange(-3, 4) < 2.8


def test_a_very_narrow_smooth_target_is_the_nearest_category():
    np.testing.assert_allclose(hl_gauss(np.float32([0.3, -1.6]), 5, 0.01), np.eye(5)[[2, 0]], atol=1e-6)


def test_the_loss_of_a_smooth_head_is_the_cross_entropy_to_its_target_and_never_below_its_entropy():
    config = NetworkConfig(scalar_head="hl_gauss", value_support=2)
    logits = np.random.default_rng(0).normal(size=(2, 5)).astype(np.float32)
    targets = []
    for y in (1.003, 0.0):  # h(3), h(0)
        mass = np.diff(scipy.stats.norm(y, 0.75).cdf(np.arange(-2.5, 3)))
        targets.append(mass / mass.sum())
    expected = -(targets * scipy.special.log_softmax(logits, axis=-1)).sum(axis=-1)
    np.testing.assert_allclose(scalar_loss(tf.constant(logits), [3.0, 0.0], config), expected, rtol=1e-5)
    learned = scalar_loss(tf.constant(np.log(targets), tf.float32), [3.0, 0.0], config)
    np.testing.assert_allclose(learned, scipy.stats.entropy(targets, axis=-1), rtol=1e-4)
    two_hot_loss = scalar_loss(tf.constant(logits), [3.0, 0.0]).numpy()
    assert (np.abs(expected - two_hot_loss) > 0.01).all()


# More categories per unit


def test_with_four_categories_per_unit_the_two_around_a_number_are_a_quarter_apart():
    # h(3) = 1.003 is 4.012 quarters.
    spread = target_distribution(np.float32(3), 17, NetworkConfig(bins_per_unit=4)).numpy()
    np.testing.assert_allclose(spread[[12, 13]], [0.988, 0.012], atol=1e-4)
    assert spread.sum() == pytest.approx(1)


@pytest.mark.parametrize("scalar_head", ["categorical", "hl_gauss"])
@pytest.mark.parametrize("bins_per_unit", [1, 4])
@pytest.mark.parametrize("x", [0.0, 3.0, -17.3, 41.5])
def test_what_any_head_over_categories_learned_perfectly_it_predicts(x, bins_per_unit, scalar_head):
    config = NetworkConfig(scalar_head=scalar_head, bins_per_unit=bins_per_unit)
    bins = head_size(scalar_head, 10, bins_per_unit)
    with np.errstate(divide="ignore"):
        logits = np.log(np.maximum(target_distribution(np.float32(x), bins, config).numpy(), 0))
    assert scalar_from_logits(tf.constant(logits), bins_per_unit).numpy() == pytest.approx(x, rel=1e-3, abs=1e-3)


def test_smooth_targets_are_as_wide_as_their_categories():
    fine = NetworkConfig(scalar_head="hl_gauss", bins_per_unit=4, hl_gauss_sigma=0.5)
    np.testing.assert_array_equal(
        target_distribution(np.float32(0.7), 81, fine), hl_gauss(4 * transform(np.float32(0.7)), 81, 0.5)
    )


def test_regression_has_no_categories_to_divide():
    config = NetworkConfig(scalar_head="regression", bins_per_unit=4)
    output = tf.constant([[1.003]])  # h(3)
    np.testing.assert_allclose(scalar_from_logits(output, config.bins_per_unit), [3], rtol=1e-6)
    np.testing.assert_allclose(scalar_loss(output, [0.0], config), [1.003**2], rtol=1e-6)


def test_no_gradient_flows_into_a_smooth_target():
    logits, target = tf.Variable([[0.1, 0.2, 0.3]]), tf.Variable([0.5])
    with tf.GradientTape() as tape:
        loss = scalar_loss(logits, target, NetworkConfig(scalar_head="hl_gauss"))
    to_logits, to_target = tape.gradient(loss, [logits, target])
    assert np.abs(to_logits).max() > 0 and to_target is None
