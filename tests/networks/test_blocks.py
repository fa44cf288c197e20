"""Layer order, normalisation axes, initialisation and down-sampling are the ones that the docstrings state."""

import keras
import numpy as np
import pytest

from mzu.networks.blocks import (
    downsample,
    new_initialiser,
    norm_relu,
    num_halvings,
    residual_block,
    scale_to_unit,
    trunk,
)

RNG = np.random.default_rng(0)


def model_of(build, *shape, randomise=True):
    x = keras.Input(shape)
    model = keras.Model(x, build(x))
    if randomise:
        for variable in model.trainable_variables:
            variable.assign(variable + RNG.normal(0, 0.3, variable.shape))
    return model


@pytest.mark.parametrize("shape", [(12,), (5, 4, 12)])
def test_a_block_normalises_first_and_adds_last(shape):
    model = model_of(lambda x: residual_block(x, new_initialiser(0), "block"), *shape)
    inner = x = RNG.normal(size=(3, *shape)).astype(np.float32)
    for number in (0, 1):
        for part in (f"{number}_norm", f"{number}_relu", f"layer_{number}"):
            inner = model.get_layer(f"block_{part}")(inner)
    np.testing.assert_allclose(model(x), x + inner, rtol=1e-5, atol=1e-5)
    assert model.count_params() == 2 * (np.prod(model.get_layer("block_layer_0").kernel.shape) + 12 + 24)


def test_a_trunk_is_a_layer_then_blocks_then_norm_and_relu():
    model = model_of(lambda x: trunk(x, 6, 2, new_initialiser(0)), 4)
    names = [layer.name for layer in model.layers[1:]]
    block = ["0_norm", "0_relu", "layer_0", "1_norm", "1_relu", "layer_1", "add"]
    blocks = [f"block_{number}_{part}" for number in (0, 1) for part in block]
    assert names == ["first", *blocks, "last_norm", "last_relu"]


def test_a_trunk_is_this_arithmetic():
    model = model_of(lambda x: trunk(x, 6, 1, new_initialiser(0)), 4)
    first, first_bias, g0, b0, w0, c0, g1, b1, w1, c1, g2, b2 = (variable.numpy() for variable in model.variables)

    def norm_and_relu(x, gain, offset):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return np.maximum((x - mean) / np.sqrt(variance + 1e-5) * gain + offset, 0)

    observation = RNG.normal(size=(3, 4)).astype(np.float32)
    x = observation @ first + first_bias
    x = x + norm_and_relu(norm_and_relu(x, g0, b0) @ w0 + c0, g1, b1) @ w1 + c1
    np.testing.assert_allclose(model(observation), norm_and_relu(x, g2, b2), rtol=1e-4, atol=1e-5)


def test_images_are_normalised_over_height_width_and_channels_with_a_gain_per_channel():
    model = model_of(lambda x: norm_relu(x, "a"), 5, 4, 3)
    gain, offset = (variable.numpy() for variable in model.variables)
    assert gain.shape == offset.shape == (3,)
    x = RNG.normal(2, 3, size=(2, 5, 4, 3)).astype(np.float32)
    mean, variance = x.mean((1, 2, 3), keepdims=True), x.var((1, 2, 3), keepdims=True)
    expected = np.maximum((x - mean) / np.sqrt(variance + 1e-5) * gain + offset, 0)
    np.testing.assert_allclose(model(x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(40,), (6, 6, 40)])
def test_kernels_start_with_variance_1_over_inputs_and_are_all_different(shape):
    model = model_of(lambda x: trunk(x, 40, 2, new_initialiser(3)), *shape, randomise=False)
    kernels = [variable.numpy() for variable in model.variables if variable.name == "kernel"]
    for kernel in kernels:
        assert kernel.var() * np.prod(kernel.shape[:-1]) == pytest.approx(1, rel=0.15)
    assert len({kernel.tobytes() for kernel in kernels}) == len(kernels) == 5
    for variable in model.variables:
        if variable.name in ("bias", "beta"):
            assert (variable.numpy() == 0).all()
        elif variable.name == "gamma":
            assert (variable.numpy() == 1).all()


@pytest.mark.parametrize(
    ("sides", "halvings", "result"),
    [
        ((96, 96), 4, (6, 6)),
        ((84, 84), 4, (6, 6)),
        ((64, 64), 3, (8, 8)),
        ((20, 10), 2, (5, 3)),
        ((16, 10), 0, None),
    ],
)
def test_large_images_are_halved_until_no_side_is_longer_than_8(sides, halvings, result):
    assert num_halvings(sides) == halvings
    if halvings:
        model = model_of(lambda x: downsample(x, 4, 1, new_initialiser(0)), *sides, 2, randomise=False)
        assert model.output_shape == (None, *result, 4)


def test_the_down_sampling_of_atari_frames_has_muzeros_stages():
    model = model_of(lambda x: downsample(x, 8, 10, new_initialiser(0)), 84, 84, 4, randomise=False)
    blocks = [layer for layer in model.layers if layer.name.endswith("_add")]
    stages = [(layer.output.shape[1], layer.output.shape[3]) for layer in blocks]
    assert stages == [(42, 4)] * 2 + [(21, 8)] * 3 + [(11, 8)] * 3


def test_hidden_states_are_scaled_to_the_unit_interval_each_on_its_own():
    x = np.float32([[1, 3, 2], [-5, -5, -5], [0, 1e-7, 0]])
    scaled = scale_to_unit(x).numpy()
    np.testing.assert_allclose(scaled[0], [0, 1, 0.5])
    np.testing.assert_array_equal(scaled[1], 0)
    assert scaled[2].max() <= 0.011  # what is all but constant is not blown up to noise
    image = RNG.normal(size=(2, 4, 3, 5)).astype(np.float32)
    np.testing.assert_allclose(scale_to_unit(image).numpy().min((1, 2, 3)), 0)
    np.testing.assert_allclose(scale_to_unit(image).numpy().max((1, 2, 3)), 1)
