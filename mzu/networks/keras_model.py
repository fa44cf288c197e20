"""`KerasModel`: a Keras network as the search wants it (the contract of `networks/model.py`).

One TensorFlow call per simulation evaluates dynamics and prediction and turns logits into numbers, for the whole batch.
This is how networks for large pictures are searched; others have a compiled twin that is faster (`compile_model`),
against which this model is the plain one to compare with.
"""

import math

import numpy as np

from mzu.networks.model import GaussianPolicy, checked_observations
from mzu.networks.network import Network
from mzu.networks.policy_heads import gaussian_parameters
from mzu.networks.scalars import scalar_from_logits
from mzu.silent_tensorflow import tf


class KerasModel:
    """Answers `initial` and `recurrent` with arrays; always with the network's weights of the moment.

    `max_policy_scale` caps the Gaussian's scale (0.05 when evaluating). Every batch size is traced and compiled once,
    at its first call: search batches of one size.
    """

    def __init__(self, network: Network, max_policy_scale: float = math.inf, jit_compile: bool = True):
        self.network = network
        self.max_policy_scale = max_policy_scale
        self._initial = tf.function(self._initial_tensors, jit_compile=jit_compile)
        self._recurrent = tf.function(self._recurrent_tensors, jit_compile=jit_compile)

    def initial(self, observations):
        """Observations [B, ...] -> hidden [B, ...], policy, value [B]."""
        spaces = self.network.spaces
        observations = checked_observations(observations, spaces.observation_shape, spaces.observation_dtype)
        hidden, policy, value = self._initial(tf.constant(observations))
        return hidden.numpy(), _arrays(policy), value.numpy()

    def recurrent(self, hidden, actions):
        """Hidden [B, ...] and actions [B] or [B, D] -> hidden [B, ...], reward [B], policy, value [B]."""
        actions = np.asarray(actions, np.float32 if self.network.spaces.continuous else np.int32)
        hidden = np.asarray(hidden, np.float32)
        hidden, reward, policy, value = self._recurrent(tf.constant(hidden), tf.constant(actions))
        return hidden.numpy(), reward.numpy(), _arrays(policy), value.numpy()

    def _initial_tensors(self, observations):
        output = self.network.initial(observations)
        return output.hidden, self._policy(output.policy), self._scalar(output.value)

    def _recurrent_tensors(self, hidden, actions):
        output = self.network.recurrent(hidden, actions)
        return output.hidden, self._scalar(output.reward), self._policy(output.policy), self._scalar(output.value)

    def _scalar(self, logits):
        return scalar_from_logits(logits, self.network.config.bins_per_unit)

    def _policy(self, outputs):
        if self.network.spaces.continuous:
            return GaussianPolicy(*gaussian_parameters(outputs, self.max_policy_scale))
        return outputs


def _arrays(policy):
    return GaussianPolicy(*(part.numpy() for part in policy)) if isinstance(policy, tuple) else policy.numpy()
