"""The three networks in one container, and what training needs of them (paper, appendix "Network Architecture").

    hidden, policy, value          = network.initial(observations)
    hidden, reward, policy, value  = network.recurrent(hidden, actions)

are tensors with the heads' raw outputs, which the losses take (`scalars.py`, `policy_heads.py`). A search takes numbers
instead: `model_for_search`. Notebook 02_networks builds them.
"""

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.blocks import new_initialiser
from mzu.networks.dynamics import build_dynamics
from mzu.networks.prediction import build_action_value, build_prediction
from mzu.networks.representation import build_representation
from mzu.networks.size import check_size
from mzu.silent_tensorflow import keras, ops, tf


class Initial(NamedTuple):
    """What the network says of observations: hidden [B, ...], policy outputs [B, A or 2 D], value logits [B, bins]."""

    hidden: object
    policy: object
    value: object


class Recurrent(NamedTuple):
    """What it says of the next position: hidden [B, ...], reward logits [B, bins], policy outputs, value logits."""

    hidden: object
    reward: object
    policy: object
    value: object


@dataclass(frozen=True, eq=False)
class Network:
    """Three named Keras models, the config they were built from (with its width as a number) and the spaces.

    `action_value` is None unless `config.action_value_head` asks for it.
    """

    config: NetworkConfig
    spaces: Spaces
    representation: keras.Model
    dynamics: keras.Model
    prediction: keras.Model
    action_value: keras.Model | None = None

    def initial(self, observations) -> Initial:
        """Observations [B, ...] -> hidden, policy, value."""
        hidden = self.representation(observations)
        return Initial(hidden, *self.prediction(hidden))

    def recurrent(self, hidden, actions, gradient_scale: float = 1.0) -> Recurrent:
        """Hidden [B, ...] and actions [B] or [B, D] -> hidden, reward, policy, value of the next position.

        `gradient_scale` scales the gradient that flows back into `hidden`; MuZero halves it at every dynamics step, so
        that the representation is not drowned by the many losses that follow it.
        """
        hidden = scale_gradient(ops.convert_to_tensor(hidden), gradient_scale)
        hidden, reward = self.dynamics([hidden, ops.convert_to_tensor(actions)])
        return Recurrent(hidden, reward, *self.prediction(hidden))

    @property
    def models(self) -> list[keras.Model]:
        """The sub-models, in a fixed order."""
        models = [self.representation, self.dynamics, self.prediction, self.action_value]
        return [model for model in models if model is not None]

    @property
    def trainable_variables(self) -> list:
        return [variable for model in self.models for variable in model.trainable_variables]

    @property
    def hidden_shape(self) -> tuple[int, ...]:
        """(width,), or (height, width, channels) of the hidden image."""
        return self.representation.output_shape[1:]

    def read_weights(self) -> dict[str, np.ndarray]:
        """The trainable weights as arrays, by names such as "dynamics/block_0_layer_1/kernel".

        They are parts of one long vector that a single TensorFlow call puts together: asking each variable for its
        numbers takes ten times as long.
        """
        join, places = self._weight_reader
        flat = np.frombuffer(memoryview(join()), np.float32)  # the tensor's own memory, not a copy
        return {name: flat[start:stop].reshape(shape) for name, start, stop, shape in places}

    @functools.cached_property
    def _weight_reader(self):
        places, start = [], 0
        for model in self.models:
            for variable in model.trainable_variables:
                shape = tuple(variable.shape)
                stop = start + math.prod(shape)
                places.append((f"{model.name}/{variable.path}", start, stop, shape))
                start = stop
        variables = [variable.value for variable in self.trainable_variables]
        join = tf.function(lambda: tf.concat([tf.reshape(variable, [-1]) for variable in variables], axis=0))
        return join.get_concrete_function(), places

    def copy_weights_from(self, other: "Network") -> None:
        """Takes over the weights of a network of the same config and spaces, as a target network does."""
        if (other.config, other.spaces) != (self.config, self.spaces):
            raise ValueError("Weights can only be copied between networks of the same config and spaces")
        for own, theirs in zip(self.trainable_variables, other.trainable_variables, strict=True):
            own.assign(theirs)


def build_network(config: NetworkConfig, spaces: Spaces, seed: int = 0, datapoints: int | None = None) -> Network:
    """A network with fresh weights; the same seed gives the same weights.

    `datapoints`, the number of stored steps, is what `width="auto"` needs.
    """
    config = dataclasses.replace(config, width=resolve_width(config, datapoints))
    check_size(config, spaces)
    initialiser = new_initialiser(seed)
    representation = build_representation(config, spaces, initialiser)
    hidden_shape = representation.output_shape[1:]
    return Network(
        config=config,
        spaces=spaces,
        representation=representation,
        dynamics=build_dynamics(config, spaces, hidden_shape, initialiser),
        prediction=build_prediction(config, spaces, hidden_shape, initialiser),
        action_value=build_action_value(config, spaces, hidden_shape, initialiser)
        if config.action_value_head
        else None,
    )


def resolve_width(config: NetworkConfig, datapoints: int | None = None) -> int:
    """The width as a number. "auto" is sqrt(datapoints / layers), the paper's rule for DM Control (its table).

    `layers` is the number of residual blocks in one trunk, 10 in the paper: its result for cartpole.swingup at the
    automatic width, 343.3, is that of width 64 in its table of widths, and 40 episodes of 1,000 steps give 63.
    """
    if config.width != "auto":
        return config.width
    if datapoints is None or datapoints < 1:
        raise ValueError('network.width is "auto", which needs the number of stored steps; give datapoints or a width')
    return max(1, round(math.sqrt(datapoints / max(config.num_blocks, 1))))


def scale_gradient(x, scale: float):
    """x itself, but the gradient that flows back through it is multiplied by `scale`."""
    return x if scale == 1.0 else x * scale + ops.stop_gradient(x) * (1.0 - scale)
