"""The representation: observation -> hidden state (paper, appendix "Network Architecture"; notebook 02_networks).

    states            hidden = trunk(observation)                              [B, O] -> [B, width]
    small images      hidden = trunk(image), convolutional, same size          [B, H, W, C] -> [B, H, W, width]
    frames of Atari   hidden = tower(downsample(frames))                       [B, 84, 84, 4] -> [B, 6, 6, width]

A trunk has `num_blocks` blocks; those of the down-sampling come on top, as in MuZero.
"""

import numpy as np

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.blocks import downsample, normal_initialiser, num_halvings, residual_tower, scale_to_unit, trunk
from mzu.silent_tensorflow import keras


def build_representation(config: NetworkConfig, spaces: Spaces, initialiser) -> keras.Model:
    """The sub-model "representation": observations [B, ...] -> hidden [B, width] or [B, h, w, width]."""
    observation = keras.Input(spaces.observation_shape, dtype=spaces.observation_dtype, name="observation")
    x = observation
    if spaces.observation_dtype == "uint8":
        x = keras.layers.Rescaling(1 / 255, name="to_unit_interval")(x)
    if spaces.is_image and num_halvings(spaces.observation_shape[:2]):
        x = downsample(x, config.width, config.num_blocks, initialiser)
        x = residual_tower(x, config.num_blocks, initialiser)
    else:
        # Critical: with biases of 0, the Layer Normalisation behind it makes an observation and its double much alike.
        biases = "zeros" if spaces.is_image else normal_initialiser(initialiser, 1.0)
        x = trunk(x, config.width, config.num_blocks, initialiser, biases)
    return keras.Model(observation, scale_to_unit(x) if config.scale_hidden else x, name="representation")


def stack_history(frames: np.ndarray, actions: np.ndarray, num_actions: int) -> np.ndarray:
    """MuZero's own input in Atari: the last T frames, and for each the action that led to it as one constant plane.

    frames [..., T, H, W, C] uint8 and actions [..., T] -> [..., H, W, T * C + T] uint8. Action a fills its plane with
    a / num_actions of 255, which the network's division by 255 undoes. With T = 32 frames of 96x96 RGB: 128 planes.
    """
    frames, actions = np.asarray(frames), np.asarray(actions)
    if frames.dtype != np.uint8 or frames.shape[:-3] != actions.shape:
        raise ValueError(
            f"frames are {frames.dtype} {frames.shape} and actions {actions.shape}, "
            "but must be uint8 [..., T, H, W, C] and [..., T]"
        )
    if actions.size and not 0 <= actions.min() <= actions.max() < num_actions:
        raise ValueError(f"actions hold {actions.min()}..{actions.max()}, but there are {num_actions} actions")
    *batch, steps, height, width, channels = frames.shape
    pictures = np.moveaxis(frames, -4, -2).reshape(*batch, height, width, steps * channels)
    levels = np.rint(255 * actions / num_actions).astype(np.uint8)
    planes = np.broadcast_to(levels[..., None, None, :], (*batch, height, width, steps))
    return np.concatenate([pictures, planes], axis=-1)


def fit_to_observations(network_representation: keras.Model, observations: np.ndarray) -> None:
    """Scales the first layer for states to observations [N, O]: as if each of the O numbers had mean 0 and variance 1.

    Angles of a hundredth and speeds of ten then start with an equal say. A constant number keeps its scale.
    """
    first = network_representation.get_layer("first")
    mean, deviation = observations.mean(axis=0), observations.std(axis=0)
    kernel = first.kernel.numpy() / np.where(deviation > 1e-6, deviation, 1.0)[:, None]
    first.kernel.assign(kernel)
    first.bias.assign(first.bias.numpy() - mean @ kernel)
