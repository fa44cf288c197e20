"""AdamW with a learning rate that falls along a cosine (paper, appendix "Optimization"; notebook 07_training_system).

    rate    = learning_rate (1 + cos(pi t / training_steps)) / 2
    decay   = weight_decay (1 + cos(pi t / training_steps)) / 2          for kernels, 0 for biases, gains and offsets
    m       = m + (1 - b1) (g - m)                                       b1 = 0.9
    v       = v + (1 - b2) (g^2 - v)                                     b2 = 0.999
    w       = (1 - decay) w - rate sqrt(1 - b2^(t + 1)) / (1 - b1^(t + 1)) m / (sqrt(v) + e)

The same numbers as Keras' AdamW, but the weights of all layers are one long vector g, m, v and w: on a CPU a small
network has so many small arrays that going through them one by one takes as long as the matrix products.
"""

import math

from mzu.silent_tensorflow import tf

MEAN_DECAY = 0.9  # b1
SQUARE_DECAY = 0.999  # b2
EPSILON = 1e-7  # e


class AdamW:
    """Owns the two moments of the gradient, each one long vector, and the number of steps.

    `weight_decay` is the share of the weights that one step removes at the start. A gradient longer than
    `max_gradient_norm` is scaled down to this length; 0 leaves it as it is.
    """

    def __init__(
        self,
        weights: list,
        learning_rate: float,
        weight_decay: float,
        training_steps: int,
        max_gradient_norm: float = 0.0,
    ):
        self.weights = weights
        self.max_gradient_norm = max_gradient_norm
        self.learning_rate, self.weight_decay, self.training_steps = learning_rate, weight_decay, training_steps
        size = sum(math.prod(weight.shape) for weight in weights)
        self.steps = tf.Variable(0.0)
        self.mean = tf.Variable(tf.zeros(size))
        self.square = tf.Variable(tf.zeros(size))

    @property
    def variables(self) -> list[tf.Variable]:
        return [self.steps, self.mean, self.square]

    def apply(self, gradients: list):
        """One step down the gradients, one for each weight -> the length of the gradient, before it is scaled down."""
        cosine = self._cosine()
        following = self.steps + 1.0
        gradient = _join(gradients)
        length = tf.norm(gradient)
        if self.max_gradient_norm > 0:
            gradient *= tf.minimum(1.0, self.max_gradient_norm / length)
        mean = self.mean + (1.0 - MEAN_DECAY) * (gradient - self.mean)
        square = self.square + (1.0 - SQUARE_DECAY) * (gradient * gradient - self.square)
        corrected = tf.sqrt(1.0 - SQUARE_DECAY**following) / (1.0 - MEAN_DECAY**following)
        kept = _join([tf.fill(weight.shape, 1.0 - cosine * self._decay(weight)) for weight in self.weights])
        rate = self.learning_rate * cosine * corrected
        joined = kept * _join(self.weights) - rate * mean / (tf.sqrt(square) + EPSILON)
        for variable, number in zip(self.variables, (following, mean, square), strict=True):
            variable.assign(number)
        for weight, part in zip(
            self.weights, tf.split(joined, [math.prod(w.shape) for w in self.weights]), strict=True
        ):
            weight.assign(tf.reshape(part, weight.shape))
        return length

    def current_rate(self) -> float:
        """The learning rate of the step that comes next."""
        return float(self.learning_rate * self._cosine())

    def _cosine(self):
        return (1.0 + tf.cos(math.pi * tf.minimum(self.steps / self.training_steps, 1.0))) / 2.0

    def _decay(self, weight) -> float:
        return self.weight_decay if weight.name == "kernel" else 0.0


def _join(arrays: list) -> tf.Tensor:
    return tf.concat([tf.reshape(array, [-1]) for array in arrays], axis=0)
