"""The parts of the networks: residual blocks, down-sampling, heads (paper, appendix "Network Architecture").

ResNet v2 blocks with Layer Normalisation: normalise, ReLU, layer, twice, and add the result to the input. The same
functions serve states [B, F] (fully-connected layers) and images [B, H, W, C] (3x3 convolutions); the rank of the input
decides. Notebook 02_networks builds them.

Initialisation, on which the paper is silent: kernels from a truncated normal of variance 1 / inputs, biases 0, gains 1,
offsets 0 (the defaults of Haiku, the paper's library), and heads 0: an untrained network predicts value 0, reward 0 and
a uniform policy. Random categories -300..300 would stand for values of about +-20 instead. The first layers of states
and of actions are exceptions (`representation.py`, `dynamics.py`).
"""

import math

from mzu.networks.constants import HEAD_PLANES, NORM_EPSILON
from mzu.silent_tensorflow import initializers, layers, ops, random

SMALL_IMAGE = 16  # images with no side longer than this keep their size
SMALLEST_SIDE = 8  # larger ones are halved until no side is longer than this: 96 -> 6, 84 -> 6, 64 -> 8
STAGE_BLOCKS = (2, 3, 3)  # MuZero: residual blocks after the first, second and third halving


def new_initialiser(seed: int):
    """The initialiser of all kernels of a network: each kernel takes the next numbers of one sequence."""
    return initializers.LecunNormal(seed=random.SeedGenerator(seed))


def normal_initialiser(initialiser, variance: float):
    """An initialiser of another variance, which goes on in the same sequence of random numbers."""
    return initializers.RandomNormal(stddev=math.sqrt(variance), seed=initialiser.seed)


def trunk(x, width: int, num_blocks: int, initialiser, bias_initialiser="zeros"):
    """First layer, residual blocks, then relu(norm(x)): [B, F] -> [B, width], or [B, H, W, C] -> [B, H, W, width]."""
    first = layer(x, width, initialiser, "first", bias_initialiser=bias_initialiser)
    return residual_tower(first, num_blocks, initialiser)


def residual_tower(x, num_blocks: int, initialiser):
    """`num_blocks` residual blocks, then the norm and ReLU without which the sum would never be normalised."""
    for block in range(num_blocks):
        x = residual_block(x, initialiser, f"block_{block}")
    return norm_relu(x, "last")


def residual_block(x, initialiser, name: str):
    """x + layer(relu(norm(layer(relu(norm(x)))))), as wide as x."""
    width = x.shape[-1]
    inner = layer(norm_relu(x, f"{name}_0"), width, initialiser, f"{name}_layer_0")
    inner = layer(norm_relu(inner, f"{name}_1"), width, initialiser, f"{name}_layer_1")
    return layers.Add(name=f"{name}_add")([x, inner])


def downsample(x, width: int, num_blocks: int, initialiser):
    """Halves large images until no side is longer than 8, as MuZero does: 96x96 and 84x84 become 6x6.

    The first halving is a 3x3 convolution of stride 2 with width / 2 planes, the second one with `width` planes, all
    further ones are averages over 3x3 pixels. 2, 3 and 3 residual blocks follow the first three, at most `num_blocks`
    (so that small networks are small), none the last: what comes after is the tower itself.
    """
    halvings = num_halvings(x.shape[1:3])
    for number in range(halvings):
        if number < 2:
            planes = max(width // 2, 1) if number == 0 else width
            x = layer(x, planes, initialiser, f"halving_{number}", stride=2)
        else:
            x = layers.AveragePooling2D(3, strides=2, padding="same", name=f"halving_{number}")(x)
        if number < halvings - 1:
            for block in range(min(STAGE_BLOCKS[min(number, 2)], num_blocks)):
                x = residual_block(x, initialiser, f"stage_{number}_block_{block}")
    return x if x.shape[-1] == width else layer(x, width, initialiser, "widen")


def num_halvings(sides: tuple[int, int]) -> int:
    """How often `downsample` halves an image with these sides: 0 for small ones."""
    longest, halvings = max(sides), 0
    if longest <= SMALL_IMAGE:
        return 0
    while longest > SMALLEST_SIDE:
        longest, halvings = -(-longest // 2), halvings + 1
    return halvings


def layer(x, width: int, initialiser, name: str, stride: int = 1, use_bias: bool = True, bias_initialiser="zeros"):
    """A fully-connected layer for [B, F], a 3x3 convolution for [B, H, W, C]."""
    settings = {"use_bias": use_bias, "kernel_initializer": initialiser, "bias_initializer": bias_initialiser}
    if len(x.shape) == 2:
        return layers.Dense(width, name=name, **settings)(x)
    return layers.Conv2D(width, 3, stride, padding="same", name=name, **settings)(x)


def norm_relu(x, name: str):
    """Layer Normalisation and ReLU.

    The mean and variance are those of one position: over the features of a state, over height, width and channels of an
    image, so that how bright the whole picture is does not matter but where it is brighter does. Gain and offset are
    per feature or channel, as in Haiku's LayerNorm: a convolution treats all places alike, and so does its norm. (One
    group of all channels is how Keras spells this; its LayerNormalization would learn a gain for every pixel.)
    """
    if len(x.shape) == 2:
        x = layers.LayerNormalization(epsilon=NORM_EPSILON, name=f"{name}_norm")(x)
    else:
        x = layers.GroupNormalization(groups=1, epsilon=NORM_EPSILON, name=f"{name}_norm")(x)
    return layers.ReLU(name=f"{name}_relu")(x)


def head(x, outputs: int, initialiser, name: str):
    """hidden -> [B, outputs], linear. Of an image, 16 planes (1x1 convolution, norm, ReLU) are looked at as a whole."""
    if len(x.shape) == 4:
        x = layers.Conv2D(HEAD_PLANES, 1, kernel_initializer=initialiser, name=f"{name}_planes")(x)
        x = layers.Flatten(name=f"{name}_flat")(norm_relu(x, name))
    return layers.Dense(outputs, kernel_initializer="zeros", name=name)(x)


def scale_to_unit(x):
    """Hidden states min-max scaled to [0, 1], each over all its numbers (MuZero; `network.scale_hidden`)."""
    axes = tuple(range(1, len(x.shape)))
    low = ops.min(x, axes, keepdims=True)
    span = ops.max(x, axes, keepdims=True) - low
    return (x - low) / ops.maximum(span, NORM_EPSILON)
