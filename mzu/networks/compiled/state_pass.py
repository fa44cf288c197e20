"""The fully-connected network inside compiled code (paper, appendix "Network Architecture").

It is the twin of the Keras network: the same weights give the same numbers. A compiled search can call it directly. To
leave compiled code for Keras in every simulation would take longer than the network itself. `picture_pass.py` is the
same for pictures. Its parts are

    trunk(x)             x = dense(x)
                         per residual block: x = x + dense(relu(norm(dense(relu(norm(x))))))
                         x = relu(norm(x))
    representation(o)    hidden = trunk(o)
    dynamics(hidden, a)  hidden = trunk([hidden, a]), reward = linear(hidden)
    prediction(hidden)   policy, value = linear(hidden), or of trunk(hidden)

The first layer of the Keras dynamics adds the hidden state to its result; here that is part of the layer's matrix.
Rewards and values are read from their heads by `scalar_from_logits`. The matrix product works on 16 columns at a time:
every buffer has a multiple of 16, and the columns that are too many hold zeros.
"""

import math
from typing import NamedTuple

import numpy as np

from mzu.compilation import kernel_part, never_inline
from mzu.networks.compiled.rows import expectation, norm_relu
from mzu.networks.compiled.vector_code import add_product
from mzu.networks.compiled.weights import PackedNetwork
from mzu.networks.constants import INITIAL_SCALE_LOGIT, MIN_POLICY_SCALE, NORM_EPSILON, SCALAR_EPSILON

REPRESENTATION, DYNAMICS, PREDICTION = 0, 1, 2  # the trunks
INPUT, OUTPUT, SUM, NORMED, INNER = range(5)  # the layers of `Buffers.layers`


class Buffers(NamedTuple):
    """Memory for up to R rows on their way through the network: inputs, outputs, all between. Kernels allocate none."""

    layers: np.ndarray  # [5, R, W] float32: INPUT and OUTPUT are hidden states, the others belong to the trunk
    action_index: np.ndarray  # [R] int32, input
    action_vector: np.ndarray  # [R, D] float32, input
    reward_logits: np.ndarray  # [R, .] float32
    output_logits: np.ndarray  # [R, .] float32
    reward: np.ndarray  # [R], output
    value: np.ndarray  # [R], output
    policy: np.ndarray  # [R, P], output: logits, or mean and scale


def new_state_buffers(network: PackedNetwork, rows: int) -> Buffers:
    """Buffers for `rows` rows."""
    return Buffers(
        layers=np.zeros((5, rows, network.vectors.shape[1]), np.float32),
        action_index=np.zeros(rows, np.int32),
        action_vector=np.zeros((rows, len(network.action) if network.continuous else 0), np.float32),
        reward_logits=np.empty((rows, len(network.reward_bias)), np.float32),
        output_logits=np.empty((rows, len(network.outputs_bias)), np.float32),
        reward=np.zeros(rows),
        value=np.zeros(rows),
        policy=np.empty((rows, network.policy_size)),
    )


@kernel_part
def evaluate_states(network, observations, buffers, rows, is_root):
    """The networks for the first `rows` rows of the buffers, R below.

    is_root    representation and prediction: observations [R, O] -> layers[OUTPUT], policy, value
    otherwise  dynamics and prediction: layers[INPUT] and the actions -> layers[OUTPUT], reward, policy, value
    """
    never_inline()
    total, hidden = buffers.layers[SUM, :rows], buffers.layers[OUTPUT, :rows]
    trunk = network.trunks[REPRESENTATION if is_root else DYNAMICS]
    _fill_rows(total, network.vectors[trunk[1]])
    if is_root:
        add_product(observations, network.observation, total)
    else:
        _add_actions(network, buffers, total)
        add_product(buffers.layers[INPUT, :rows], network.matrices[trunk[0]], total)
    _finish_trunk(network, trunk, buffers.layers, rows)
    _finish_hidden(network, total, hidden)

    if not is_root:
        reward_logits = buffers.reward_logits[:rows]
        _fill_rows(reward_logits, network.reward_bias)
        add_product(hidden, network.reward, reward_logits)
    source = hidden
    if network.has_prediction_trunk:
        trunk, source = network.trunks[PREDICTION], total
        _fill_rows(total, network.vectors[trunk[1]])
        add_product(hidden, network.matrices[trunk[0]], total)
        _finish_trunk(network, trunk, buffers.layers, rows)
    output_logits = buffers.output_logits[:rows]
    _fill_rows(output_logits, network.outputs_bias)
    add_product(source, network.outputs, output_logits)
    read_heads(network, buffers, output_logits, output_logits, network.value_bins, rows, is_root)


@kernel_part
def _add_actions(network, buffers, total):
    """Adds what the action gives to the first dynamics layer: its row of the matrix, or the sum of a row per dimension,
    each times the action's number there."""
    for i in range(total.shape[0]):
        for d in range(network.action.shape[0] if network.continuous else 1):
            row = d if network.continuous else buffers.action_index[i]
            strength = buffers.action_vector[i, d] if network.continuous else np.float32(1)
            for j in range(total.shape[1]):
                total[i, j] += strength * network.action[row, j]


@kernel_part
def _finish_trunk(network, trunk, layers, rows):
    """What follows a trunk's first layer, whose result layers[SUM] holds: the residual blocks, and the last norm."""
    total, normed, inner = layers[SUM, :rows], layers[NORMED, :rows], layers[INNER, :rows]
    matrices, vectors, width = network.matrices, network.vectors, network.width
    m, v = trunk[0] + 1, trunk[1] + 1
    for _ in range(trunk[2]):
        _norm_relu(total, vectors[v], vectors[v + 1], width, normed)
        _fill_rows(inner, vectors[v + 2])
        add_product(normed, matrices[m], inner)
        _norm_relu(inner, vectors[v + 3], vectors[v + 4], width, normed)
        _add_to_rows(total, vectors[v + 5])
        add_product(normed, matrices[m + 1], total)
        m, v = m + 2, v + 6
    _norm_relu(total, vectors[v], vectors[v + 1], width, total)


@kernel_part
def read_heads(network, buffers, value_logits, policy_logits, first, rows, is_root):
    """Logits become numbers: reward and value by expectation, the Gaussian's scale by softplus.

    The policy's begin in column `first` of their array.
    """
    bins, size = network.value_bins, network.policy_size
    for i in range(rows):
        if not is_root:
            reward_logits = buffers.reward_logits[i]
            buffers.reward[i] = scalar_from_logits(reward_logits, network.reward_bins, network.bins_per_unit)
        buffers.value[i] = scalar_from_logits(value_logits[i], bins, network.bins_per_unit)
        for j in range(size):
            output = np.float64(policy_logits[i, first + j])
            is_scale = network.continuous and j >= size // 2
            buffers.policy[i, j] = min(policy_scale(output), network.max_scale) if is_scale else output


@kernel_part
def _norm_relu(x, scale, offset, width, out):
    """Layer Normalisation over the features of each row, then ReLU."""
    for i in range(x.shape[0]):
        norm_relu(x[i], scale, offset, width, np.float32(NORM_EPSILON), out[i])


@kernel_part
def _finish_hidden(network, x, hidden):
    """Copies x [R, W] to `hidden`, each row scaled to [0, 1] (as MuZero does) where the network asks for it."""
    for i in range(x.shape[0]):
        low, inverse = np.float32(0), np.float32(1)
        if network.scale_hidden:
            low = high = x[i, 0]
            for j in range(1, network.width):
                low = x[i, j] if x[i, j] < low else low
                high = x[i, j] if x[i, j] > high else high
            span = high - low
            inverse = np.float32(1) / (span if span > np.float32(NORM_EPSILON) else np.float32(NORM_EPSILON))
        for j in range(network.width):
            hidden[i, j] = (x[i, j] - low) * inverse


@kernel_part
def _fill_rows(x, row):
    # A loop rather than a slice assignment, here and elsewhere: Numba takes seconds to compile the latter.
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = row[j]


@kernel_part
def _add_to_rows(x, row):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] += row[j]


@kernel_part
def policy_scale(raw):
    """Scale of the Gaussian from the network's output: softplus, shifted so that 0 gives 1, with a floor."""
    raw = raw + INITIAL_SCALE_LOGIT
    return max(raw, 0.0) + math.log1p(math.exp(-abs(raw))) + MIN_POLICY_SCALE


@kernel_part
def scalar_from_logits(logits, bins, bins_per_unit):
    """The scalar that a head over categories stands for; a head with one output says h of it."""
    if bins == 1:
        return inverse_transform(np.float64(logits[0]))
    return inverse_transform(np.float64(expectation(logits, bins)) / bins_per_unit)


@kernel_part
def inverse_transform(x):
    """h^-1, the exact inverse of h; the same formula as in `scalars.py`."""
    linear = 1.0 + 2.0 * SCALAR_EPSILON
    root = 2.0 * abs(x) / (linear + math.sqrt(linear * linear + 4.0 * SCALAR_EPSILON * abs(x)))
    return math.copysign(root * (root + 2.0), x)
