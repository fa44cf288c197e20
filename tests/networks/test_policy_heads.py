"""Policies against scipy: likelihood, sampling, entropy, the bounds, the scale at evaluation."""

import numpy as np
import pytest
import scipy.special
import scipy.stats
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from mzu.networks.policy_heads import gaussian_parameters, mode, policy_distribution, sample

RNG = np.random.default_rng(0)
OUTPUTS = RNG.normal(size=(7, 6)).astype(np.float32)  # 3 means, 3 raw scales
ACTIONS = RNG.uniform(-1, 1, (7, 3)).astype(np.float32)


def scipy_parameters(outputs):
    mean, raw = np.split(outputs.astype(float), 2, axis=-1)
    return mean, np.log1p(np.exp(raw + 0.5413)) + 1e-3


def test_an_untrained_gaussian_has_mean_0_and_scale_1():
    mean, scale = gaussian_parameters(np.zeros((1, 4), np.float32))
    np.testing.assert_array_equal(mean, [[0, 0]])
    np.testing.assert_allclose(scale, [[1, 1]], atol=2e-3)


def test_the_scale_is_positive_and_finite_for_every_output():
    _, scale = gaussian_parameters(np.float32([[0, -1e4], [0, 0], [0, 1e4]]))
    np.testing.assert_allclose(np.ravel(scale), [1e-3, 1.001, 1e4], rtol=1e-3)


def test_the_gaussian_log_likelihood_is_scipys():
    expected = scipy.stats.norm.logpdf(ACTIONS, *scipy_parameters(OUTPUTS)).sum(axis=-1)
    np.testing.assert_allclose(policy_distribution(OUTPUTS, True).log_prob(ACTIONS), expected, rtol=1e-4, atol=1e-4)


def test_many_candidates_of_a_position_broadcast_over_its_policy():
    candidates = RNG.uniform(-1, 1, (7, 20, 3)).astype(np.float32)
    together = policy_distribution(OUTPUTS[:, None], True).log_prob(candidates)
    one_by_one = [policy_distribution(OUTPUTS, True).log_prob(candidates[:, k]) for k in range(20)]
    np.testing.assert_allclose(together, np.transpose(one_by_one), rtol=1e-5)


@given(st.lists(st.sampled_from([-1.0, 1.0]), min_size=3, max_size=3))
@settings(deadline=None)
def test_an_action_exactly_on_the_bounds_has_an_ordinary_likelihood_and_gradient(action):
    outputs = tf.Variable(OUTPUTS)
    with tf.GradientTape() as tape:
        log_prob = policy_distribution(outputs, True).log_prob(np.float32(action))
    expected = scipy.stats.norm.logpdf(action, *scipy_parameters(OUTPUTS)).sum(axis=-1)
    np.testing.assert_allclose(log_prob, expected, rtol=1e-4, atol=1e-4)
    assert np.isfinite(tape.gradient(log_prob, outputs)).all()


def test_samples_are_the_gaussians_clipped_to_the_bounds():
    outputs = np.tile(np.float32([0.8, 0.3]), (20_000, 1))  # one dimension
    mean, scale = (float(part[0, 0]) for part in scipy_parameters(outputs))
    actions = np.ravel(sample(policy_distribution(outputs, True), seed=(1, 2)))
    assert actions.min() == -1 and actions.max() == 1
    inside = np.sort(actions[np.abs(actions) < 1])
    low, high = scipy.stats.norm.cdf([-1, 1], mean, scale)
    assert np.mean(actions == 1) == pytest.approx(1 - high, abs=0.012)
    assert np.mean(actions == -1) == pytest.approx(low, abs=0.012)
    truncated = scipy.stats.truncnorm((-1 - mean) / scale, (1 - mean) / scale, mean, scale)
    assert scipy.stats.kstest(inside, truncated.cdf).pvalue > 1e-3


def test_the_gaussian_entropy_is_scipys():
    expected = scipy.stats.norm.entropy(*scipy_parameters(OUTPUTS)).sum(axis=-1)
    np.testing.assert_allclose(policy_distribution(OUTPUTS, True).entropy(), expected, rtol=1e-4)


def test_the_mode_is_the_mean_within_the_bounds():
    outputs = np.float32([[0.3, -1.7, 0, 0]])
    np.testing.assert_allclose(mode(policy_distribution(outputs, True)), [[0.3, -1]])


def test_at_evaluation_the_scale_is_the_smaller_of_the_predicted_one_and_the_cap():
    outputs = np.float32([[0, 0, 0.0, -6.0]])
    _, predicted = scipy_parameters(outputs)
    _, scale = gaussian_parameters(outputs, max_scale=0.05)
    assert predicted[0, 0] > 0.05 > predicted[0, 1]
    np.testing.assert_allclose(scale, [[0.05, predicted[0, 1]]], rtol=1e-4)
    np.testing.assert_allclose(
        policy_distribution(outputs, True, max_scale=0.05).stddev(), [[0.05, predicted[0, 1]]], rtol=1e-4
    )


def test_the_categorical_log_likelihood_entropy_and_mode_are_scipys():
    policy = policy_distribution(OUTPUTS, False)
    log_probabilities = scipy.special.log_softmax(OUTPUTS.astype(float), axis=-1)
    actions = np.arange(7) % 6
    np.testing.assert_allclose(policy.log_prob(actions), log_probabilities[np.arange(7), actions], rtol=1e-5)
    np.testing.assert_allclose(policy.entropy(), scipy.stats.entropy(np.exp(log_probabilities), axis=-1), rtol=1e-5)
    np.testing.assert_array_equal(mode(policy), OUTPUTS.argmax(axis=-1))


def test_categorical_samples_have_the_policys_frequencies():
    logits = np.tile(np.float32([0, 1, -1]), (20_000, 1))
    counts = np.bincount(sample(policy_distribution(logits, False), seed=(3, 4)), minlength=3)
    assert scipy.stats.chisquare(counts, 20_000 * scipy.special.softmax([0, 1, -1])).pvalue > 1e-3


@pytest.mark.parametrize("continuous", [False, True])
def test_the_same_seed_gives_the_same_actions_and_another_seed_others(continuous):
    policy = policy_distribution(np.zeros((50, 4), np.float32), continuous)
    np.testing.assert_array_equal(sample(policy, (1, 2)), sample(policy, (1, 2)))
    assert (np.asarray(sample(policy, (1, 2))) != np.asarray(sample(policy, (1, 3)))).any()
