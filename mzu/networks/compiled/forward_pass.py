"""`CompiledModel`: a network inside compiled code, and the forward pass that a compiled search calls.

What is called depends on the type of the packed weights: `state_pass.py` for fully-connected networks,
`picture_pass.py` for convolutional ones on small pictures. The tree's kernels are the same for both.
"""

import math

import numpy as np
from numba.extending import overload

from mzu.compilation import KERNEL_OPTIONS, kernel
from mzu.networks.compiled.picture_pass import PictureBuffers, evaluate_pictures, new_picture_buffers
from mzu.networks.compiled.picture_weights import PackedPictures, pack_pictures
from mzu.networks.compiled.state_pass import INPUT, OUTPUT, Buffers, evaluate_states, new_state_buffers
from mzu.networks.compiled.weights import NetworkWeights, PackedNetwork, pack_network, pad_columns
from mzu.networks.model import GaussianPolicy, checked_observations


class CompiledModel:
    """A network as plain arrays: `search` runs it inside compiled code.

    Outside, it has `initial` and `recurrent` like every other model. Hidden states are [B, S] float32: S is the width
    of a fully-connected network, rounded up to a multiple of 16; of a convolutional one, that for each position, row
    by row. `max_policy_scale` is the largest scale of a Gaussian policy (0.05 when evaluating).
    """

    def __init__(self, weights: NetworkWeights, max_policy_scale: float = math.inf):
        self.max_policy_scale = max_policy_scale
        self.refresh(weights)

    def refresh(self, weights: NetworkWeights) -> None:
        """Takes new weights, for instance after a training step."""
        self.observation_shape = weights.observation_shape
        self.observation_dtype = weights.observation_dtype
        pack = pack_network if len(self.observation_shape) == 1 else pack_pictures
        self.network = pack(weights, self.max_policy_scale)

    @property
    def continuous(self) -> bool:
        return self.network.continuous

    @property
    def num_actions(self) -> int:
        """A for discrete actions, D for continuous ones."""
        return self.network.action.shape[0]

    @property
    def hidden_size(self) -> int:
        """Numbers of one hidden state, padding included."""
        return self.network.hidden_size

    def padded_observations(self, observations) -> np.ndarray:
        """Observations as the kernels take them: [B, O] with columns of zeros up to a multiple of 16, or [B, P, O]."""
        observations = checked_observations(observations, self.observation_shape, self.observation_dtype)
        if observations.ndim == 2:
            return pad_columns(observations)
        if observations.dtype == np.uint8:
            observations = observations * np.float32(1 / 255)
        return observations.reshape(len(observations), -1, observations.shape[-1])

    def initial(self, observations):
        observations = self.padded_observations(observations)
        buffers = new_buffers(self.network, len(observations))
        _evaluate(self.network, observations, buffers, len(observations), True)
        return buffers.layers[OUTPUT], self._policy(buffers), buffers.value

    def recurrent(self, hidden, actions):
        buffers = new_buffers(self.network, len(hidden))
        buffers.layers[INPUT] = hidden
        if self.continuous:
            buffers.action_vector[:] = actions
        else:
            buffers.action_index[:] = actions
        _evaluate(self.network, self._nothing_seen, buffers, len(hidden), False)
        return (buffers.layers[OUTPUT], buffers.reward, self._policy(buffers), buffers.value)

    @property
    def _nothing_seen(self) -> np.ndarray:
        return np.zeros((0,) * (2 if len(self.observation_shape) == 1 else 3), np.float32)

    def _policy(self, buffers: Buffers):
        return GaussianPolicy(*np.split(buffers.policy, 2, axis=1)) if self.continuous else buffers.policy


def new_buffers(network: PackedNetwork | PackedPictures, rows: int) -> Buffers | PictureBuffers:
    """Memory for `rows` rows on their way through the network."""
    return (new_picture_buffers if isinstance(network, PackedPictures) else new_state_buffers)(network, rows)


def evaluate(network, observations, buffers, rows, is_root):
    """The networks for the first `rows` rows of the buffers; see `evaluate_states`."""
    _pass_of(type(network))(network, observations, buffers, rows, is_root)


@overload(evaluate, jit_options=KERNEL_OPTIONS)
def _evaluate_compiled(network, observations, buffers, rows, is_root):
    forward_pass = _pass_of(network.instance_class)

    def call(network, observations, buffers, rows, is_root):
        forward_pass(network, observations, buffers, rows, is_root)

    return call


def _pass_of(kind: type):
    return evaluate_pictures if kind is PackedPictures else evaluate_states


@kernel
def _evaluate(network, observations, buffers, rows, is_root):
    evaluate(network, observations, buffers, rows, is_root)
