"""The convolutional network for small pictures inside compiled code (paper, appendix "Network Architecture").

It is the twin of the Keras network for pictures, as `state_pass.py` is that of the one for states. The parts are the
same, with 3x3 convolutions as layers, and norms over height, width and channels. A head looks at 16 planes:

    planes = relu(norm(convolution 1x1 (x)))        outputs = linear(all numbers of the planes)

Convolutions go through the pictures one by one: one picture and the weights of one layer fit a level-1 cache at 16
channels. The last layers of the heads, whose weights are many, take all pictures at once.
"""

from typing import NamedTuple

import numpy as np

from mzu.compilation import kernel_part, never_inline
from mzu.networks.compiled.convolution import add_convolution
from mzu.networks.compiled.picture_weights import HEADS, POLICY, REWARD, VALUE, PackedPictures
from mzu.networks.compiled.rows import norm_relu_picture
from mzu.networks.compiled.state_pass import DYNAMICS, INPUT, OUTPUT, PREDICTION, REPRESENTATION, read_heads
from mzu.networks.compiled.vector_code import add_product
from mzu.networks.constants import HEAD_PLANES, NORM_EPSILON

SCALE, OFFSET = 1, 2  # of `PackedPictures.plane_vectors`, after the bias


class PictureBuffers(NamedTuple):
    """Memory for up to R pictures on their way through the network; Q is P in whole tiles. Kernels allocate none."""

    layers: np.ndarray  # [2, R, P * C] float32: hidden states, INPUT and OUTPUT
    pictures: np.ndarray  # [2, R, P, C] the same numbers
    seen: np.ndarray  # [frame, O] float32: one observation in its frame of zeros
    framed: np.ndarray  # [frame, C] float32: what a convolution sees
    total: np.ndarray  # [Q, C] float32: the sum that blocks add to
    inner: np.ndarray  # [Q, C] float32
    plane_sums: np.ndarray  # [P, 16] float32
    planes: np.ndarray  # [3, R, P, 16] float32: what the heads look at
    plane_rows: np.ndarray  # [3, R, P * 16] the same numbers
    action_index: np.ndarray  # [R] int32, input
    action_vector: np.ndarray  # [R, D] float32, input
    reward_logits: np.ndarray  # [R, .] float32
    value_logits: np.ndarray  # [R, .] float32
    policy_logits: np.ndarray  # [R, .] float32
    reward: np.ndarray  # [R], output
    value: np.ndarray  # [R], output
    policy: np.ndarray  # [R, .], output: logits, or mean and scale


def new_picture_buffers(network: PackedPictures, rows: int) -> PictureBuffers:
    """Buffers for `rows` pictures."""
    actions, positions, channels = network.action.shape
    frame, tiles = network.frame[0] * network.frame[1], len(network.starts)
    pictures = np.zeros((2, rows, positions, channels), np.float32)
    planes = np.zeros((len(HEADS), rows, positions, HEAD_PLANES), np.float32)
    return PictureBuffers(
        layers=pictures.reshape(2, rows, -1),
        pictures=pictures,
        # Kernels write inside of the frames only, which stay zero.
        seen=np.zeros((frame, network.observation.shape[1] // 9), np.float32),
        framed=np.zeros((frame, channels), np.float32),
        total=np.zeros((tiles, channels), np.float32),
        inner=np.zeros((tiles, channels), np.float32),
        plane_sums=np.zeros((positions, HEAD_PLANES), np.float32),
        planes=planes,
        plane_rows=planes.reshape(len(HEADS), rows, -1),
        action_index=np.zeros(rows, np.int32),
        action_vector=np.zeros((rows, actions if network.continuous else 0), np.float32),
        reward_logits=np.empty((rows, len(network.reward_bias)), np.float32),
        value_logits=np.empty((rows, len(network.value_bias)), np.float32),
        policy_logits=np.empty((rows, len(network.policy_bias)), np.float32),
        reward=np.zeros(rows),
        value=np.zeros(rows),
        policy=np.empty((rows, network.policy_size)),
    )


@kernel_part
def evaluate_pictures(network, observations, buffers, rows, is_root):
    """As `evaluate_states`, for pictures: observations [R, P, O]."""
    never_inline()
    for i in range(rows):
        hidden = buffers.pictures[OUTPUT, i]
        if is_root:
            _first_of_observation(network, observations[i], buffers)
            _finish_tower(network, network.trunks[REPRESENTATION], buffers, hidden)
        else:
            _first_of_dynamics(network, buffers, i)
            _finish_tower(network, network.trunks[DYNAMICS], buffers, hidden)
        if network.scale_hidden:
            _scale_to_unit(network, hidden)
        if not is_root:
            _look_at_planes(network, REWARD, hidden, buffers, i)
        if network.has_prediction_trunk:
            trunk = network.trunks[PREDICTION]
            _frame(network, hidden, buffers.framed)
            _fill(buffers.total, network.vectors[trunk[1]])
            _convolve(network, buffers.framed, network.matrices[trunk[0]], buffers.total)
            _finish_tower(network, trunk, buffers, buffers.inner)
            _look_at_planes(network, VALUE, buffers.inner, buffers, i)
            _look_at_planes(network, POLICY, buffers.inner, buffers, i)
        else:
            _look_at_planes(network, VALUE, hidden, buffers, i)
            _look_at_planes(network, POLICY, hidden, buffers, i)

    if not is_root:
        _fill(buffers.reward_logits[:rows], network.reward_bias)
        add_product(buffers.plane_rows[REWARD, :rows], network.reward, buffers.reward_logits[:rows])
    _fill(buffers.value_logits[:rows], network.value_bias)
    add_product(buffers.plane_rows[VALUE, :rows], network.value, buffers.value_logits[:rows])
    _fill(buffers.policy_logits[:rows], network.policy_bias)
    add_product(buffers.plane_rows[POLICY, :rows], network.policy, buffers.policy_logits[:rows])
    read_heads(network, buffers, buffers.value_logits, buffers.policy_logits, 0, rows, is_root)


@kernel_part
def _first_of_observation(network, observation, buffers):
    """The first layer of the representation, into `total`."""
    _frame(network, observation, buffers.seen)
    _fill(buffers.total, network.vectors[network.trunks[REPRESENTATION, 1]])
    _convolve(network, buffers.seen, network.observation, buffers.total)


@kernel_part
def _first_of_dynamics(network, buffers, i):
    """The first layer of the dynamics, into `total`: what the action gives there, and the hidden state."""
    total, trunk = buffers.total, network.trunks[DYNAMICS]
    _fill(total, network.vectors[trunk[1]])
    for d in range(network.action.shape[0] if network.continuous else 1):
        row = d if network.continuous else buffers.action_index[i]
        strength = buffers.action_vector[i, d] if network.continuous else np.float32(1)
        for p in range(network.action.shape[1]):
            for j in range(network.action.shape[2]):
                total[p, j] += strength * network.action[row, p, j]
    _frame(network, buffers.pictures[INPUT, i], buffers.framed)
    _convolve(network, buffers.framed, network.matrices[trunk[0]], total)


@kernel_part
def _finish_tower(network, trunk, buffers, out):
    """What follows a trunk's first layer, whose result `total` holds: the residual blocks, and the last norm."""
    never_inline()
    total, inner, framed = buffers.total, buffers.inner, buffers.framed
    matrices, vectors = network.matrices, network.vectors
    m, v = trunk[0] + 1, trunk[1] + 1
    for _ in range(trunk[2]):
        _norm_relu(network, total, vectors[v], vectors[v + 1], network.inside, framed)
        _fill(inner, vectors[v + 2])
        _convolve(network, framed, matrices[m], inner)
        _norm_relu(network, inner, vectors[v + 3], vectors[v + 4], network.inside, framed)
        for p in range(total.shape[0]):
            for j in range(total.shape[1]):
                total[p, j] += vectors[v + 5, j]
        _convolve(network, framed, matrices[m + 1], total)
        m, v = m + 2, v + 6
    _norm_relu(network, total, vectors[v], vectors[v + 1], network.in_order, out)


@kernel_part
def _look_at_planes(network, head, picture, buffers, i):
    """The 16 planes of a head, into `planes`."""
    never_inline()
    positions, vectors = network.inside.shape[0], network.plane_vectors[head]
    _fill(buffers.plane_sums, vectors[0])
    add_product(picture[:positions], network.planes[head], buffers.plane_sums)
    norm_relu_picture(
        buffers.plane_sums,
        positions,
        HEAD_PLANES,
        vectors[SCALE],
        vectors[OFFSET],
        np.float32(NORM_EPSILON),
        network.in_order,
        buffers.planes[head, i],
    )


@kernel_part
def _norm_relu(network, x, scale, offset, places, out):
    """Layer Normalisation over all numbers of the picture, then ReLU; position p goes to row places[p] of `out`."""
    never_inline()
    norm_relu_picture(x, network.inside.shape[0], network.width, scale, offset, np.float32(NORM_EPSILON), places, out)


@kernel_part
def _convolve(network, framed, weights, out):
    add_convolution(framed, network.starts, network.frame[1], weights, out)


@kernel_part
def _frame(network, picture, framed):
    """Copies a picture into its frame."""
    for p in range(network.inside.shape[0]):
        for j in range(framed.shape[1]):
            framed[network.inside[p], j] = picture[p, j]


@kernel_part
def _scale_to_unit(network, hidden):
    """A hidden state min-max scaled to [0, 1] (as MuZero does), over all its numbers."""
    low = high = hidden[0, 0]
    for p in range(hidden.shape[0]):
        for j in range(network.width):
            low, high = min(low, hidden[p, j]), max(high, hidden[p, j])
    inverse = np.float32(1) / max(high - low, np.float32(NORM_EPSILON))
    for p in range(hidden.shape[0]):
        for j in range(network.width):
            hidden[p, j] = (hidden[p, j] - low) * inverse


@kernel_part
def _fill(x, row):
    # A loop rather than a slice assignment: Numba takes seconds to compile the latter.
    for p in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[p, j] = row[j]
