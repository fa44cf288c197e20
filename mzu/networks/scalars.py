"""Rewards and values as distributions over categories (MuZero; paper, appendix "Value Learning"; notebook 02_networks).

A scalar x is squashed by h, and h(x) is spread over the integers -M..M by the two-hot projection; the network learns
that distribution by cross-entropy. Its prediction is h^-1 of the expected category.

    h(x)    = sign(x) (sqrt(|x| + 1) - 1) + e x,     e = 0.001
    h^-1(y) = sign(y) t (t + 2),                     t = 2 |y| / (1 + 2e + sqrt((1 + 2e)^2 + 4e |y|))

With t = sqrt(|x| + 1) - 1, h reads |y| = t + e t (t + 2); h^-1 solves this for t in the form that never subtracts
numbers of similar size. A head with one output is plain regression, without h.
"""

from keras import ops

from mzu.networks.constants import SCALAR_EPSILON


def head_size(scalar_head: str, support: int) -> int:
    """Outputs of a head: 2 M + 1 categories, or 1 for regression."""
    return 1 if scalar_head == "regression" else 2 * support + 1


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
    """y [...] -> [..., bins]: probabilities over -M..M with mean y, on the two integers around it; M = (bins - 1) / 2.

    Numbers beyond the support go to its end. Each category gets max(0, 1 - its distance to y).
    """
    support = ops.arange(bins, dtype="float32") - (bins - 1) // 2
    y = ops.clip(ops.cast(y, "float32"), -((bins - 1) // 2), (bins - 1) // 2)
    return ops.relu(1.0 - ops.abs(ops.expand_dims(y, -1) - support))


def scalar_from_logits(logits):
    """The scalar that a head's outputs [..., bins] stand for: h^-1 of the expected category, or the one output."""
    bins = logits.shape[-1]
    if bins == 1:
        return logits[..., 0]
    support = ops.arange(bins, dtype="float32") - (bins - 1) // 2
    return inverse_transform(ops.sum(ops.softmax(logits) * support, axis=-1))


def scalar_loss(logits, target):
    """Loss [...] of a head's outputs [..., bins] against target scalars [...].

    Cross-entropy to the two-hot distribution of h(target), or the squared error of a head with one output. No gradient
    flows into the target.
    """
    bins = logits.shape[-1]
    target = ops.stop_gradient(ops.cast(target, "float32"))
    if bins == 1:
        return ops.square(logits[..., 0] - target)
    return -ops.sum(two_hot(transform(target), bins) * ops.log_softmax(logits), axis=-1)
