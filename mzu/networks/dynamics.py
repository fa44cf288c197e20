"""The dynamics: hidden state and action -> next hidden state and reward (paper, appendix "Network Architecture").

    states    hidden' = trunk([hidden, action])     the action as a one-hot vector [A], or as the vector [D] that it is
    images    hidden' = trunk([hidden, planes])     the same numbers, each as a constant plane [h, w]

and reward = head(hidden'), so that reward and hidden state are learned from one place. Notebook 02_networks builds it.
"""

import keras
from keras import layers, ops

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.blocks import head, scale_to_unit, trunk
from mzu.networks.scalars import head_size


def build_dynamics(config: NetworkConfig, spaces: Spaces, hidden_shape: tuple[int, ...], initialiser) -> keras.Model:
    """The sub-model "dynamics": hidden [B, ...], actions [B] or [B, D] -> hidden [B, ...], reward logits [B, bins]."""
    hidden = keras.Input(hidden_shape, name="hidden")
    if spaces.continuous:
        action = keras.Input((spaces.num_actions,), name="action")
        encoded = action
    else:
        action = keras.Input((), dtype="int32", name="action")
        encoded = ops.one_hot(action, spaces.num_actions)
    if spaces.is_image:
        height, width, _ = hidden_shape
        encoded = ops.tile(ops.expand_dims(encoded, (1, 2)), (1, height, width, 1))
    x = layers.Concatenate(name="hidden_and_action")([hidden, encoded])
    x = trunk(x, config.width, config.num_blocks, initialiser)
    if config.scale_hidden:
        x = scale_to_unit(x)
    reward = head(x, head_size(config.scalar_head, config.reward_support), initialiser, "reward")
    return keras.Model([hidden, action], [x, reward], name="dynamics")
