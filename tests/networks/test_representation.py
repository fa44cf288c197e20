"""What the representation makes of observations: bytes, histories, states of any scale."""

import numpy as np
import pytest
from made_networks import SMALL, STATES, observations

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network
from mzu.networks.representation import fit_to_observations, stack_history


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
    frames = np.random.default_rng(0).integers(256, size=(2, 6, 4, 2), dtype=np.uint8)
    expected = float_network.representation(frames.astype(np.float32) / 255)
    np.testing.assert_allclose(bytes_network.representation(frames), expected, rtol=1e-4, atol=1e-5)


def test_muzeros_input_is_frames_and_a_plane_for_each_action():
    rng = np.random.default_rng(0)
    frames = rng.integers(256, size=(2, 32, 6, 5, 3), dtype=np.uint8)
    played = rng.integers(18, size=(2, 32))
    stacked = stack_history(frames, played, 18)
    assert stacked.shape == (2, 6, 5, 128) and stacked.dtype == np.uint8
    for step in (0, 31):
        np.testing.assert_array_equal(stacked[1, :, :, 3 * step : 3 * step + 3], frames[1, step])
        np.testing.assert_allclose(stacked[1, :, :, 96 + step] / 255, played[1, step] / 18, atol=1 / 510)
    with pytest.raises(ValueError, match="there are 4 actions"):
        stack_history(frames, np.full((2, 32), 4), 4)
    with pytest.raises(ValueError, match="uint8"):
        stack_history(frames.astype(np.float32), played, 18)
