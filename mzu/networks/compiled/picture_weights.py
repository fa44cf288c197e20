"""The weights of a convolutional network packed for compiled code (`picture_pass.py` reads them).

`NetworkWeights` holds them as for states, with these differences: `observation_shape` is that of a picture, kernels of
the trunks are [3, 3, inputs, outputs], and each head is a `PictureHead`.
"""

import math
from typing import NamedTuple

import numpy as np

from mzu.networks.compiled.convolution import frame_positions
from mzu.networks.compiled.vector_code import PANEL, pack, pack_into, padded
from mzu.networks.compiled.weights import (
    Dense,
    NetworkWeights,
    Norm,
    PictureHead,
    TrunkWeights,
    all_finite,
    pad_columns,
    trunk_vectors,
)
from mzu.networks.constants import HEAD_PLANES

HEADS = REWARD, VALUE, POLICY = 0, 1, 2


class PackedPictures(NamedTuple):
    """Packed `NetworkWeights` of a network for pictures. P positions, C channels, padded to whole panels of 16.

    Trunks lie in `matrices` and `vectors` as those of `PackedNetwork` do, with 9 C inputs to a matrix. What an action
    adds to the first layer of the dynamics, constant planes seen by a convolution, is the same in every hidden state:
    `action` holds it for each position.
    """

    observation: np.ndarray  # [C / 16, 9 O, 16]
    matrices: np.ndarray  # [., C / 16, 9 C, 16]
    vectors: np.ndarray  # [., C]
    action: np.ndarray  # [A or D, P, C]
    planes: np.ndarray  # [3, 1, C, 16] of the heads: reward, value, policy
    plane_vectors: np.ndarray  # [3, 3, 16] bias, and scale and offset of the norm
    reward: np.ndarray  # [., 16 P, 16]
    reward_bias: np.ndarray
    value: np.ndarray  # [., 16 P, 16]
    value_bias: np.ndarray
    policy: np.ndarray  # [., 16 P, 16]
    policy_bias: np.ndarray
    starts: np.ndarray  # [Q] int64, see `frame_positions`
    inside: np.ndarray  # [P] int64: the place of each position in the frame
    in_order: np.ndarray  # [P] int64: 0..P - 1
    trunks: np.ndarray  # [3, 3] as in `PackedNetwork`
    frame: tuple[int, int]  # height and width of the picture with its frame
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
        """P * C, the numbers of one hidden state, padding included."""
        return math.prod(self.action.shape[1:])


def pack_pictures(weights: NetworkWeights, max_scale: float) -> PackedPictures:
    """The weights in the kernels' layout, checked to be finite; `max_scale` caps the Gaussian policy's scale."""
    height, width, planes = weights.observation_shape
    channels = weights.dynamics.first.kernel.shape[-1]
    depth = padded(channels)
    trunks = [trunk for trunk in (weights.representation, weights.dynamics, weights.prediction) if trunk]
    kernels, vectors, begins = [], [], np.zeros((3, 3), np.int64)
    for number, trunk in enumerate(trunks):
        begins[number] = len(kernels), len(vectors), len(trunk.layers) // 2
        is_first = trunk is weights.representation  # its first layer has another size and stands in `observation`
        first = np.zeros((3, 3, 0, channels)) if is_first else trunk.first.kernel[:, :, :channels]
        kernels += [first, *(layer.kernel for layer in trunk.layers)]
        vectors += trunk_vectors(trunk)
    matrices = np.zeros((len(kernels), depth // PANEL, 9 * depth, PANEL), np.float32)
    for panels, kernel in zip(matrices, kernels, strict=True):
        pack_into(panels, _as_matrix(kernel, depth))
    heads = [weights.reward, weights.value, weights.policy]
    starts, inside = frame_positions(height, width)
    network = PackedPictures(
        observation=pack(_as_matrix(weights.representation.first.kernel, planes), 9 * planes),
        matrices=matrices,
        vectors=pad_columns(np.array(vectors)),
        action=pad_columns(_constant_planes(weights.dynamics.first.kernel[:, :, channels:], height, width)),
        planes=np.stack([pack(head.planes.kernel, depth) for head in heads]),
        plane_vectors=np.float32([[head.planes.bias, head.norm.scale, head.norm.offset] for head in heads]),
        **_packed_outputs("reward", weights.reward),
        **_packed_outputs("value", weights.value),
        **_packed_outputs("policy", weights.policy),
        starts=starts,
        inside=inside,
        in_order=np.arange(height * width),
        trunks=begins,
        frame=(height + 2, width + 2),
        width=channels,
        reward_bins=len(weights.reward.output.bias),
        value_bins=len(weights.value.output.bias),
        bins_per_unit=weights.bins_per_unit,
        policy_size=len(weights.policy.output.bias),
        continuous=weights.continuous,
        scale_hidden=weights.scale_hidden,
        has_prediction_trunk=weights.prediction is not None,
        max_scale=float(max_scale),
    )
    return all_finite(network)


def _packed_outputs(name: str, head: PictureHead) -> dict[str, np.ndarray]:
    return {name: pack(head.output.kernel, len(head.output.kernel)), f"{name}_bias": pad_columns(head.output.bias)}


def _as_matrix(kernel: np.ndarray, depth: int) -> np.ndarray:
    """[3, 3, inputs, outputs] -> [9 * depth, outputs], with rows of zeros for the inputs that are too many."""
    matrix = np.zeros((9, depth, kernel.shape[-1]), np.float32)
    matrix[:, : kernel.shape[2]] = kernel.reshape(9, *kernel.shape[2:])
    return matrix.reshape(9 * depth, -1)


def _constant_planes(kernel: np.ndarray, height: int, width: int) -> np.ndarray:
    """[3, 3, A, C] -> [A, P, C]: the convolution of a plane of ones for each action; at the edge it sees padding."""
    planes = np.zeros((kernel.shape[2], height, width, kernel.shape[3]), np.float32)
    for i in range(3):
        rows = slice(max(0, 1 - i), max(0, min(height, height + 1 - i)))
        for j in range(3):
            columns = slice(max(0, 1 - j), max(0, min(width, width + 1 - j)))
            planes[:, rows, columns] += kernel[i, j][:, None, None]
    return planes.reshape(len(planes), height * width, -1)


def random_picture_weights(
    rng: np.random.Generator,
    observation_shape: tuple[int, int, int],
    actions: int,
    width: int = 16,
    num_blocks: int = 1,
    support: int = 10,
    observation_dtype: str = "float32",
    continuous: bool = False,
) -> NetworkWeights:
    """A network for pictures with random weights, for benchmarks and tests."""
    height, columns, planes = observation_shape

    def layer(*shape):
        scale = math.sqrt(2 / math.prod(shape[:-1]))
        return Dense(rng.normal(0, scale, shape).astype(np.float32), rng.normal(0, 0.1, shape[-1]).astype(np.float32))

    def norm(channels):
        return Norm(rng.normal(1, 0.1, channels).astype(np.float32), rng.normal(0, 0.1, channels).astype(np.float32))

    def trunk(inputs):
        layers = [layer(3, 3, width, width) for _ in range(2 * num_blocks)]
        return TrunkWeights(layer(3, 3, inputs, width), layers, [norm(width) for _ in range(2 * num_blocks + 1)])

    def head(outputs):
        planes, numbers = layer(width, HEAD_PLANES), HEAD_PLANES * height * columns
        return PictureHead(planes, norm(HEAD_PLANES), layer(numbers, outputs))

    return NetworkWeights(
        representation=trunk(planes),
        dynamics=trunk(width + actions),
        prediction=None,
        reward=head(2 * support + 1),
        value=head(2 * support + 1),
        policy=head(2 * actions if continuous else actions),
        continuous=continuous,
        observation_shape=observation_shape,
        observation_dtype=observation_dtype,
    )
