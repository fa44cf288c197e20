"""The prediction: hidden state -> policy and value (paper, appendices "Network Architecture", "Policy Representation").

Heads sit straight on the hidden state, or on a trunk of their own where `network.prediction_blocks` asks for one. The
action-value head serves the paper's ablation without a model ("0-step"): it sits on the representation's hidden state,
and its values are never unrolled. Notebook 02_networks builds it.
"""

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.blocks import head, trunk
from mzu.networks.scalars import head_size
from mzu.silent_tensorflow import keras, ops


def build_prediction(config: NetworkConfig, spaces: Spaces, hidden_shape: tuple[int, ...], initialiser) -> keras.Model:
    """The sub-model "prediction": hidden [B, ...] -> policy outputs [B, A] or [B, 2 D], value logits [B, bins]."""
    hidden = keras.Input(hidden_shape, name="hidden")
    x = hidden
    if config.prediction_blocks:
        x = trunk(x, config.width, config.prediction_blocks, initialiser)
    policy = head(x, spaces.policy_size, initialiser, "policy")
    bins = head_size(config.scalar_head, config.value_support, config.bins_per_unit)
    value = head(x, bins, initialiser, "value")
    return keras.Model(hidden, [policy, value], name="prediction")


def build_action_value(
    config: NetworkConfig, spaces: Spaces, hidden_shape: tuple[int, ...], initialiser
) -> keras.Model:
    """The sub-model "action_value": hidden [B, ...] of the representation -> logits [B, A, bins]."""
    if spaces.continuous:
        raise ValueError("network.action_value_head needs discrete actions; a continuous space has no list of them")
    bins = head_size(config.scalar_head, config.value_support, config.bins_per_unit)
    hidden = keras.Input(hidden_shape, name="hidden")
    values = head(hidden, spaces.num_actions * bins, initialiser, "action_value")
    return keras.Model(hidden, ops.reshape(values, (-1, spaces.num_actions, bins)), name="action_value")
