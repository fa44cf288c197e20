"""A convolutional network whose every answer can be worked out on paper: a game on a picture, and its tables."""

import math

import numpy as np

from mzu.networks.compiled.weights import Dense, NetworkWeights, Norm, PictureHead, TrunkWeights
from mzu.networks.constants import NORM_EPSILON, SCALAR_EPSILON
from mzu.networks.model import TabularModel

PLANES = 16


def ball_game(height: int, width: int, move: tuple[int, int], actions: int = 3, seed: int = 0):
    """-> (weights, table, observations): a ball that flies by `move` in every step until it leaves the picture.

    Hidden channel 0 is the picture of the ball, channel 1 + a is lit everywhere where a was the last action. Rewards,
    values and logits are sums of what the ball's place and the last action are worth, times what the norms make of a
    lit number. States: the P places of the ball and "gone", times no action yet and the A last actions; observation s
    shows the ball at place s, before any action. The observations' second plane means nothing.
    """
    rng = np.random.default_rng(seed)
    places, channels = height * width, actions + 1
    gone = places
    numbers = places * channels
    representation, dynamics = (np.zeros((3, 3, 2, channels)), np.zeros((3, 3, channels + actions, channels)))
    representation[1, 1, 0, 0] = 1
    # What a position sees at (1, 1) - move was there a step ago. "Nothing changes" is taken back for all channels.
    dynamics[1 - move[0], 1 - move[1], 0, 0] = 1
    for a in range(actions):
        dynamics[1, 1, channels + a, 1 + a] = 1

    def threshold(lit):
        """The norm that makes 1.25 x - 0.25 of x where `lit` of the numbers are 1 and the others 0: noise vanishes."""
        mean, deviation = lit / numbers, _deviation(lit / numbers)
        slope = np.full(channels, 1.25 * deviation)
        return Norm(slope, np.full(channels, 1.25 * mean - 0.25))

    worth = {"reward": (0.1, 1), "value": (0.2, 1), "policy": (0.2, actions)}
    worth = {
        name: (rng.normal(0, size, (gone + 1, n)), rng.normal(0, size, (channels, n)))
        for name, (size, n) in worth.items()
    }

    def head(name):
        of_place, of_action = worth[name]
        planes = np.zeros((channels, PLANES))
        planes[:channels, :channels] = np.eye(channels)
        kernel = np.zeros((places, PLANES, of_place.shape[1]))
        kernel[:, 0] = of_place[:gone]
        kernel[:, 1:channels] = of_action[1:] / places
        flat = kernel.reshape(places * PLANES, -1)
        return PictureHead(_dense(planes), Norm(np.ones(PLANES), np.zeros(PLANES)), _dense(flat))

    weights = NetworkWeights(
        representation=TrunkWeights(_dense(representation), [], [threshold(1)]),
        dynamics=TrunkWeights(_dense(dynamics), [], [threshold(1 + places)]),
        prediction=None,
        reward=head("reward"),
        value=head("value"),
        policy=head("policy"),
        continuous=False,
        observation_shape=(height, width, 2),
    )

    # A lit number of a hidden state is 1, or what the norm makes of it once the ball is gone.
    share = places / numbers
    lit_when_gone = 1.25 * _deviation((1 + places) / numbers) / _deviation(share) * (1 - share)
    lit_when_gone += 1.25 * (1 + places) / numbers - 0.25

    def seen(name, place, last):
        """What a head says: 16 planes, of which the ball's has one lit number and that of the last action all."""
        lit = (place != gone) + (places if last else 0)
        if lit == 0:
            return np.zeros(worth[name][0].shape[1])
        number = lit_when_gone if place == gone else 1.0
        mean = number * lit / (PLANES * places)
        deviation = math.sqrt(number**2 * lit / (PLANES * places) - mean**2 + NORM_EPSILON)
        of_place, of_action = worth[name]
        total = (of_place[place] if place != gone else 0) + (of_action[last] if last else 0)
        return (number - mean) / deviation * total

    def next_place(place):
        row, column = place // width + move[0], place % width + move[1]
        return row * width + column if place != gone and 0 <= row < height and 0 <= column < width else gone

    states = [(place, last) for last in range(actions + 1) for place in range(gone + 1)]
    number = {state: n for n, state in enumerate(states)}
    following = [[(next_place(place), 1 + a) for a in range(actions)] for place, _ in states]
    table = TabularModel(
        next_state=[[number[state] for state in row] for row in following],
        reward=[[_unsquashed(seen("reward", *state)[0]) for state in row] for row in following],
        logits=[seen("policy", *state) for state in states],
        value=[_unsquashed(seen("value", *state)[0]) for state in states],
    )
    observations = np.zeros((places, height, width, 2), np.float32)
    observations[np.arange(places), np.arange(places) // width, np.arange(places) % width, 0] = 1
    observations[..., 1] = rng.random((places, height, width))
    return weights, table, observations


def _dense(kernel: np.ndarray) -> Dense:
    return Dense(np.asarray(kernel, np.float32), np.zeros(kernel.shape[-1], np.float32))


def _deviation(share: float) -> float:
    """Of zeros, and of ones that are `share` of the numbers, with the norm's epsilon."""
    return math.sqrt(share * (1 - share) + NORM_EPSILON)


def _unsquashed(y: float) -> float:
    """The number x with sign(x) (sqrt(|x| + 1) - 1) + 0.001 x = y, by halving."""
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if math.sqrt(middle + 1) - 1 + SCALAR_EPSILON * middle < abs(y) else (low, middle)
    return math.copysign(low, y)
