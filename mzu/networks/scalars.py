"""Rewards and values as distributions over categories (MuZero; paper, appendix "Value Learning"; notebook 02_networks).

A scalar x is squashed by h, and h(x) is spread over categories, which lie at the multiples of 1 / b from -M to M (b is
`network.bins_per_unit`, 1 in MuZero: the integers). The network learns that distribution by cross-entropy. Its
prediction is h^-1 of the expected category.

    h(x)    = sign(x) (sqrt(|x| + 1) - 1) + e x,     e = 0.001
    h^-1(y) = sign(y) t (t + 2),                     t = 2 |y| / (1 + 2e + sqrt((1 + 2e)^2 + 4e |y|))

With t = sqrt(|x| + 1) - 1, h reads |y| = t + e t (t + 2); h^-1 solves this for t in the form that never subtracts
numbers of similar size.

    network.scalar_head  outputs    target                                loss
    categorical          2 M b + 1  two-hot: the two categories around    cross-entropy, of order 1 however large x is
                                    h(x), with mean h(x)
    hl_gauss             2 M b + 1  the mass of a normal distribution     cross-entropy, of order 1; never below the
                                    around h(x) in each category          target's own entropy
    regression           1          h(x) itself                           squared error of h(x), of order 1

All of them can be added to the policy's loss as they are. That is what h does for regression: around 50, an error of 5
is one of 0.35 after h and counts 0.12, where the squared error of x itself would count 25 and drown the policy's. A
head with one output is regression; whether the target of any other is two-hot or smooth is said by the config, since
their outputs look alike.
"""

import math

from mzu.config import NetworkConfig
from mzu.networks.constants import SCALAR_EPSILON
from mzu.silent_tensorflow import ops

PAPER = NetworkConfig()  # its heads: two-hot targets over the integers


def head_size(scalar_head: str, support: int, bins_per_unit: int = 1) -> int:
    """Outputs of a head: 2 M b + 1 categories, or 1 for regression."""
    return 1 if scalar_head == "regression" else 2 * support * bins_per_unit + 1


def transform(x):
    """h: squashes large numbers to about their square root. Any shape."""
    size = ops.abs(x)
    # |x| / (sqrt(|x| + 1) + 1) is sqrt(|x| + 1) - 1 without the cancellation for small x.
    return ops.sign(x) * (size / (ops.sqrt(size + 1.0) + 1.0) + SCALAR_EPSILON * size)


def inverse_transform(y):
    """h^-1, the exact inverse of `transform`. Any shape."""
    size = ops.abs(y)
    linear = 1.0 + 2.0 * SCALAR_EPSILON
    root = 2.0 * size / (linear + ops.sqrt(linear * linear + 4.0 * SCALAR_EPSILON * size))
    return ops.sign(y) * root * (root + 2.0)


def two_hot(y, bins: int):
    """y [...], in categories -> [..., bins]: probabilities over -N..N with mean y, on the two integers around it;
    N = (bins - 1) / 2.

    Numbers beyond the support go to its end. Each category gets max(0, 1 - its distance to y).
    """
    support = ops.arange(bins, dtype="float32") - (bins - 1) // 2
    y = ops.clip(ops.cast(y, "float32"), -((bins - 1) // 2), (bins - 1) // 2)
    return ops.relu(1.0 - ops.abs(ops.expand_dims(y, -1) - support))


def hl_gauss(y, bins: int, sigma: float):
    """y [...], in categories -> [..., bins]: the mass of a normal distribution around y in each category of -N..N.

    Category j owns j - 1/2 .. j + 1/2; what lies outside of them all is shared out in proportion. Numbers beyond the
    support go to its end. Away from the ends the mean is close to y; near an end it is drawn inwards. `sigma` is the
    normal distribution's deviation, in categories (HL-Gauss; Farebrother et al. 2024, "Stop Regressing": 0.75).
    """
    edges = ops.arange(bins + 1, dtype="float32") - bins / 2
    y = ops.clip(ops.cast(y, "float32"), -((bins - 1) // 2), (bins - 1) // 2)
    below = 0.5 * ops.erf((edges - ops.expand_dims(y, -1)) / (sigma * math.sqrt(2.0)))  # the normal's CDF, minus 1/2
    return (below[..., 1:] - below[..., :-1]) / (below[..., -1:] - below[..., :1])


def target_distribution(target, bins: int, config: NetworkConfig = PAPER):
    """Scalars [...] -> [..., bins]: what a head over categories is trained towards."""
    y = transform(target) * config.bins_per_unit
    return hl_gauss(y, bins, config.hl_gauss_sigma) if config.scalar_head == "hl_gauss" else two_hot(y, bins)


def scalar_from_logits(logits, bins_per_unit: int = 1):
    """The scalar that a head's outputs [..., bins] stand for: h^-1 of the expected category, or of the one output."""
    bins = logits.shape[-1]
    if bins == 1:
        return inverse_transform(logits[..., 0])
    support = ops.arange(bins, dtype="float32") - (bins - 1) // 2
    return inverse_transform(ops.sum(ops.softmax(logits) * support, axis=-1) / bins_per_unit)


def scalar_loss(logits, target, config: NetworkConfig = PAPER):
    """Loss [...] of a head's outputs [..., bins] against target scalars [...].

    Cross-entropy to the distribution of the target, or the squared error of a head with one output, after h. No
    gradient flows into the target.
    """
    bins = logits.shape[-1]
    target = ops.stop_gradient(ops.cast(target, "float32"))
    if bins == 1:
        return ops.square(logits[..., 0] - transform(target))
    return -ops.sum(target_distribution(target, bins, config) * ops.log_softmax(logits), axis=-1)
