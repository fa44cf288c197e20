"""The weights of a network as plain arrays, and those of a fully-connected one packed for compiled code.

`NetworkWeights` is how any library can hand its weights over (`compile_model` does it for Keras); `PackedNetwork` is
what the kernels of `state_pass.py` read: everything padded to whole panels of 16 columns. `picture_weights.py` packs
those of a convolutional network.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mzu.networks.compiled.vector_code import PANEL, pack, pack_into, padded


@dataclass
class Dense:
    """kernel [inputs, outputs], of a convolution [3, 3, inputs, outputs]; bias [outputs]."""

    kernel: np.ndarray
    bias: np.ndarray


@dataclass
class Norm:
    """Layer Normalisation: scale [width], offset [width]."""

    scale: np.ndarray
    offset: np.ndarray


@dataclass
class TrunkWeights:
    """One residual network: the first layer, two layers per block, a norm before each of those and one at the end."""

    first: Dense
    layers: list[Dense]
    norms: list[Norm]


@dataclass
class PictureHead:
    """A head that looks at pictures: planes by a 1x1 convolution, their norm, and a layer of all their numbers."""

    planes: Dense
    norm: Norm
    output: Dense


@dataclass
class NetworkWeights:
    """Everything `CompiledModel` needs, in plain arrays.

    field              meaning
    representation     observation -> hidden state
    dynamics           [hidden state, action] -> hidden state: its first kernel has a row for each hidden unit (for each
                       channel of a picture), then one for each action (one-hot) or for each dimension of an action
    prediction         hidden state -> input of the heads; None where they sit straight on the hidden state
    reward, value      heads: 2 * support * bins_per_unit + 1 outputs, or 1 for regression
    policy             head: A logits, or 2 D outputs: the means, then the scales before softplus
    continuous         whether actions are vectors
    observation_shape  (O,), or (height, width, channels) of pictures
    observation_dtype  "uint8" for pictures of 0..255, which are divided by 255
    scale_hidden       whether hidden states are scaled to [0, 1], as MuZero did
    bins_per_unit      categories of reward and value in each unit
    """

    representation: TrunkWeights
    dynamics: TrunkWeights
    prediction: TrunkWeights | None
    reward: Dense | PictureHead
    value: Dense | PictureHead
    policy: Dense | PictureHead
    continuous: bool
    observation_shape: tuple[int, ...]
    observation_dtype: str = "float32"
    scale_hidden: bool = False
    bins_per_unit: int = 1


class PackedNetwork(NamedTuple):
    """Packed `NetworkWeights`. Few arrays rather than many: Numba's time to compile grows with their number.

    All layers of the three trunks (representation, dynamics, prediction) lie in `matrices` and `vectors`, one trunk
    after the other, each in the order in which it is computed; `trunks` says where each begins. A trunk with n layers
    behind its first one has

    matrices  1 + n      the first layer, then the others (of the representation the first one is left empty: it has
                         another size, and stands in `observation`)
    vectors   1 + 3 n    the first bias, then for each layer the scale and offset of its norm, and its bias
              + 2        scale and offset of the last norm

    P is the number of panels of 16 columns, W = 16 P the padded width.
    """

    observation: np.ndarray  # [P, O, 16]
    matrices: np.ndarray  # [., P, W, 16]
    vectors: np.ndarray  # [., W]
    action: np.ndarray  # [A or D, W] rows of the first dynamics layer that belong to the action
    reward: np.ndarray  # [., W, 16]
    reward_bias: np.ndarray
    outputs: np.ndarray  # [., W, 16] value and policy heads side by side
    outputs_bias: np.ndarray
    trunks: np.ndarray  # [3, 3] first_matrix, first_vector and number of blocks of each trunk
    width: int
    reward_bins: int
    value_bins: int
    bins_per_unit: int
    policy_size: int
    continuous: bool
    scale_hidden: bool
    has_prediction_trunk: bool
    max_scale: float

    @property
    def hidden_size(self) -> int:
        """W, the numbers of one hidden state, padding included."""
        return self.vectors.shape[1]


def pack_network(weights: NetworkWeights, max_scale: float) -> PackedNetwork:
    """The weights in the kernels' layout, checked to be finite; `max_scale` caps the Gaussian policy's scale."""
    # New arrays every time: a search in another thread may still be reading the old ones.
    width = weights.dynamics.first.kernel.shape[1]
    depth = padded(width)
    trunks = [trunk for trunk in (weights.representation, weights.dynamics, weights.prediction) if trunk]
    kernels, vectors, starts = [], [], np.zeros((3, 3), np.int64)
    for number, trunk in enumerate(trunks):
        starts[number] = len(kernels), len(vectors), len(trunk.layers) // 2
        first = trunk.first.kernel[:width] if trunk is not weights.representation else np.zeros((0, width))
        kernels += [first, *(layer.kernel for layer in trunk.layers)]
        vectors += trunk_vectors(trunk)
    matrices = np.zeros((len(kernels), depth // PANEL, depth, PANEL), np.float32)
    for panels, matrix in zip(matrices, kernels, strict=True):
        pack_into(panels, matrix)
    network = PackedNetwork(
        observation=pack(weights.representation.first.kernel, padded(len(weights.representation.first.kernel))),
        matrices=matrices,
        vectors=pad_columns(np.array(vectors)),
        action=pad_columns(weights.dynamics.first.kernel[width:]),
        reward=pack(weights.reward.kernel, depth),
        reward_bias=pad_columns(weights.reward.bias),
        outputs=pack(np.hstack([weights.value.kernel, weights.policy.kernel]), depth),
        outputs_bias=pad_columns(np.hstack([weights.value.bias, weights.policy.bias])),
        trunks=starts,
        width=width,
        reward_bins=len(weights.reward.bias),
        value_bins=len(weights.value.bias),
        bins_per_unit=weights.bins_per_unit,
        policy_size=len(weights.policy.bias),
        continuous=weights.continuous,
        scale_hidden=weights.scale_hidden,
        has_prediction_trunk=weights.prediction is not None,
        max_scale=float(max_scale),
    )
    return all_finite(network)


def trunk_vectors(trunk: TrunkWeights) -> list[np.ndarray]:
    """Biases, scales and offsets of a trunk in the order of `PackedNetwork.vectors`."""
    vectors = [trunk.first.bias]
    for norm, layer in zip(trunk.norms, trunk.layers, strict=False):
        vectors += [norm.scale, norm.offset, layer.bias]
    return [*vectors, trunk.norms[-1].scale, trunk.norms[-1].offset]


def all_finite(network):
    """The packed network itself, or a sentence where one of its arrays holds NaN or infinity."""
    # A sum shows them as well as looking at every number, and is faster.
    if not all(math.isfinite(array.sum()) for array in network if isinstance(array, np.ndarray)):
        raise ValueError("The network's weights hold NaN or infinity; go back to a checkpoint from before it diverged")
    return network


def pad_columns(array: np.ndarray, columns: int | None = None) -> np.ndarray:
    out = np.zeros((*array.shape[:-1], columns or padded(array.shape[-1])), np.float32)
    out[..., : array.shape[-1]] = array
    return out


def random_weights(
    rng: np.random.Generator,
    observation_size: int,
    actions: int,
    width: int = 64,
    num_blocks: int = 2,
    support: int = 10,
    continuous: bool = False,
    prediction_blocks: int = 0,
    scale_hidden: bool = False,
) -> NetworkWeights:
    """A network with random weights, for benchmarks and tests. `support` 0 gives regression heads."""

    def dense(inputs, outputs):
        scale = math.sqrt(2 / inputs)
        return Dense(
            rng.normal(0, scale, (inputs, outputs)).astype(np.float32),
            rng.normal(0, 0.1, outputs).astype(np.float32),
        )

    def trunk(inputs, blocks):
        norms = [
            Norm(rng.normal(1, 0.1, width).astype(np.float32), rng.normal(0, 0.1, width).astype(np.float32))
            for _ in range(2 * blocks + 1)
        ]
        return TrunkWeights(dense(inputs, width), [dense(width, width) for _ in range(2 * blocks)], norms)

    return NetworkWeights(
        representation=trunk(observation_size, num_blocks),
        dynamics=trunk(width + actions, num_blocks),
        prediction=trunk(width, prediction_blocks) if prediction_blocks else None,
        reward=dense(width, 2 * support + 1),
        value=dense(width, 2 * support + 1),
        policy=dense(width, 2 * actions if continuous else actions),
        continuous=continuous,
        observation_shape=(observation_size,),
        scale_hidden=scale_hidden,
    )
