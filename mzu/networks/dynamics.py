"""The dynamics: hidden state and action -> next hidden state and reward (paper, appendix "Network Architecture").

    x = hidden + first(hidden) + first_of_action(action)     hidden' = tower(x)     reward = head(hidden')

The action is a one-hot vector [A] or the vector [D] that it is; for images each of its numbers is a constant plane
[h, w]. Reward and hidden state are learned from one place. Notebook 02_networks builds it.

Two things let the model hear what an action does. It starts from "nothing changes" (hidden itself, and a first layer
that is 0), since one step seldom changes much; and the layer of the action starts with weights of its own size. As a
few among 64 or more inputs of one layer the action would hardly count at first, and the model would learn for a long
time what happens on average instead of what each action does.
"""

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.blocks import head, layer, normal_initialiser, residual_tower, scale_to_unit
from mzu.networks.scalars import head_size
from mzu.silent_tensorflow import keras, layers, ops


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
    # One number of a one-hot vector is not 0, all D of a vector may be; a convolution sees each of them nine times.
    active = (spaces.num_actions if spaces.continuous else 1) * (9 if spaces.is_image else 1)
    own_size = normal_initialiser(initialiser, 1 / active)
    of_action = layer(encoded, config.width, own_size, "first_of_action", use_bias=False)
    of_hidden = layer(hidden, config.width, "zeros", "first")
    x = layers.Add(name="hidden_and_action")([hidden, of_hidden, of_action])
    x = residual_tower(x, config.num_blocks, initialiser)
    if config.scale_hidden:
        x = scale_to_unit(x)
    bins = head_size(config.scalar_head, config.reward_support, config.bins_per_unit)
    reward = head(x, bins, initialiser, "reward")
    return keras.Model([hidden, action], [x, reward], name="dynamics")
