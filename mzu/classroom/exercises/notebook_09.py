"""Exercises of notebook 09, real data."""

import math

import numpy as np

from mzu.classroom.question import exercise

# --- 1 ---


def varint(value):
    """A whole number as a varint of protocol buffers.

    value -> its bytes, as a list of numbers 0..255: seven bits each, the lowest first; all but
    the last have their highest bit (128) set. A negative number is written as its 64 bits, value
    + 2**64.

    >>> varint(300)
    [172, 2]
    """
    value %= 2**64
    data = []
    while value >= 128:
        data.append(value % 128 + 128)
        value //= 128
    return [*data, value]


def _groups(value):
    """Groups of seven bits, the lowest first."""
    groups = [value % 128]
    while value >= 128:
        value //= 128
        groups.append(value % 128)
    return groups


# --- 2 ---


def longest_run(values):
    """The most consecutive equal values in each column: a sensor that is stuck has a long one.

    values [T, O] -> [O], at least 1

    >>> longest_run(np.array([[1.0, 5.0], [1.0, 6.0], [2.0, 6.0], [1.0, 6.0]])).tolist()
    [2, 3]
    """
    longest = np.ones(values.shape[1], int)
    run = np.ones(values.shape[1], int)
    for same in values[1:] == values[:-1]:
        run = np.where(same, run + 1, 1)
        longest = np.maximum(longest, run)
    return longest


def _run_of_rows(values):
    same = (values[1:] == values[:-1]).all(axis=1)
    return np.full(values.shape[1], longest_run(np.cumsum(np.append(False, ~same))[:, None])[0])


def _last_run(column):
    other = np.flatnonzero(column != column[-1])
    return len(column) - (other[-1] + 1 if len(other) else 0)


SENSORS = np.array([[1, 5, 0], [1, 6, 0], [2, 6, 1], [1, 6, 0], [1, 7, 0], [1, 7, 1]], float)


# --- 3 ---


def steps_in_error(discount, limit, share):
    """A policy earns the same at every step for ever, but the data mark the time limit as
    terminal. At how many of the `limit` steps is the value by the data wrong by more than this
    share of the truth?

    >>> steps_in_error(0.5, 100, 0.2)
    2
    """
    left = np.arange(1, limit + 1)  # rewards that the data still have
    return int((discount**left > share).sum())


# --- 4 ---


def parameters(observation, actions, width, blocks, bins):
    """How many numbers the three parts of a fully-connected network have, biases and norms
    included.

    h: a layer from `observation` to `width`, then `blocks` blocks; g: a layer from `width` +
    `actions` to `width`, blocks, and a layer to `bins`; f: a layer from `width` to 2 * `actions`,
    one to `bins`. A block is two layers from `width` to `width`. h and g have 2 * blocks + 1
    norms each, with 2 * `width` numbers.

    >>> parameters(1, 1, 1, 0, 1)
    17
    """

    def layer(inputs, outputs):
        return (inputs + 1) * outputs

    tower = 2 * blocks * layer(width, width) + (2 * blocks + 1) * 2 * width
    h = layer(observation, width) + tower
    g = layer(width + actions, width) + tower + layer(width, bins)
    f = layer(width, 2 * actions) + layer(width, bins)
    return h + g + f


# --- 5 ---


def zeros_needed(scores, threshold):
    """How many of the best games must be replaced by 0 before the mean, and before the median,
    falls below the threshold?

    scores [G] -> (for the mean, for the median)

    >>> zeros_needed(np.array([9.0, 1.0, 1.0]), 1.0)
    (1, 2)
    """

    def needed(statistic):
        order = np.argsort(scores)[::-1]
        for count in range(len(scores) + 1):
            changed = scores.copy()
            changed[order[:count]] = 0
            if statistic(changed) < threshold:
                return count

    return needed(np.mean), needed(np.median)


def _zeros(scores, threshold, change):
    def needed(statistic):
        for count in range(len(scores)):
            if statistic(change(np.sort(scores)[::-1].copy(), count)) < threshold:
                return count
        return len(scores)

    return needed(np.mean), needed(np.median)


def _worst_first(scores, count):
    scores[len(scores) - count :] = 0
    return scores


# --- 6 ---


def rewards_of(stored):
    """The rewards of an episode, from RL Unplugged's rows.

    stored [T + 1]: stored[t] came with observation t, so that the first one, before any action,
    is nan -> [T]: rewards[t] follows actions[t]

    >>> rewards_of(np.array([np.nan, 1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return stored[1:]


EXERCISES = (
    exercise(
        "09.1",
        "Write it",
        varint,
        examples=((0,), (127,), (128,), (300,), (2**31,), (-7,)),
        mistakes={
            "the lowest seven bits come first": lambda value: [
                *(one + 128 for one in _groups(value % 2**64)[:0:-1]),
                _groups(value % 2**64)[0],
            ],
            "all bytes but the last have their highest bit set: more follows": lambda value: _groups(value % 2**64),
            "the last byte has no highest bit: nothing follows": lambda value: [
                one + 128 for one in _groups(value % 2**64)
            ],
            "a negative number is written as its 64 bits, ten bytes": lambda value: varint(abs(value)),
        },
        hints=(
            "value % 128 is the next group of seven bits, value // 128 what is left.",
            "While something is left behind a group, add 128 to it. Before all that: value % 2**64.",
        ),
        because="Protocol buffers were made for small positive numbers: those below 128 take one byte, negative ones "
        "ten. The solutions' page goes on from here to tf.Example and TFRecord.",
    ),
    exercise(
        "09.2",
        "A stuck sensor",
        longest_run,
        examples=((SENSORS,), (SENSORS[::-1],), (SENSORS[:1],)),
        mistakes={
            "a run of two equal values has the length 2: count values, not equal pairs": (
                lambda values: longest_run(values) - 1
            ),
            "consecutive: a value that comes back later begins a new run": (
                lambda values: np.array([np.unique(column, return_counts=True)[1].max() for column in values.T])
            ),
            "each column by itself; a sensor may be stuck while the others move": _run_of_rows,
            "the longest run, not the last one": lambda values: np.array([_last_run(column) for column in values.T]),
        },
        hints=(
            "values[1:] == values[:-1] says where a value is that of the row before.",
            "Keep a running count per column: one more where it is the same, 1 where it is not; remember the largest.",
        ),
        because="A physical quantity that is computed as a float hardly ever has the same value twice in a row. False "
        "alarms come from whatever may truly rest: a goal, a touch sensor that touches nothing, whole numbers.",
    ),
    exercise(
        "09.3",
        "A limit that is no end",
        steps_in_error,
        examples=((0.99, 1000, 0.1), (0.5, 100, 0.2), (0.99, 100, 0.1)),
        mistakes={
            "the error is discount**k of the truth, where k rewards are left": (
                lambda discount, limit, share: int((1 - discount ** np.arange(1, limit + 1) > share).sum())
            ),
            "at the last step one reward is left, not none": (
                lambda discount, limit, share: int((discount ** np.arange(limit) > share).sum())
            ),
            "there are no more steps than the limit": (
                lambda discount, limit, share: math.floor(math.log(share) / math.log(discount))
            ),
        },
        hints=(
            "With k rewards left the data say (1 - g**k) / (1 - g), and the truth is 1 / (1 - g).",
            "The relative error is g**k. For how many k = 1..limit is it above the share?",
        ),
        because="229 of 1,000 steps at a discount of 0.99. And nothing that the network sees explains it: the same "
        "state is worth 80 in the middle of an episode and 0.8 at its end.",
    ),
    exercise(
        "09.4",
        "Width and work",
        parameters,
        examples=((5, 1, 63, 10, 601), (67, 21, 548, 10, 601), (4, 2, 32, 2, 21)),
        mistakes={
            "a layer has a bias for each output": lambda observation, actions, width, blocks, bins: (
                parameters(observation, actions, width, blocks, bins)
                - (2 * (2 * blocks + 1) * width + 2 * bins + 2 * actions)
            ),
            "the norms have numbers, too: a scale and an offset per feature": (
                lambda observation, actions, width, blocks, bins: (
                    parameters(observation, actions, width, blocks, bins) - 2 * (2 * blocks + 1) * 2 * width
                )
            ),
            "the dynamics takes the action beside the hidden state": (
                lambda observation, actions, width, blocks, bins: (
                    parameters(observation, actions, width, blocks, bins) - actions * width
                )
            ),
            "a block is two layers": lambda observation, actions, width, blocks, bins: (
                parameters(observation, actions, width, blocks, bins) - 2 * blocks * (width + 1) * width
            ),
        },
        hints=(
            "A layer from i to o has (i + 1) * o numbers.",
            "The tower of h and that of g are alike: 2 * blocks layers and 2 * blocks + 1 norms.",
        ),
        because="The 40 w^2 weights of the towers make 4 per stored step by construction of the automatic width. What "
        "is added grows only as w: half as much again for the smallest network, little for the largest.",
    ),
    exercise(
        "09.5",
        "Whose mean is it?",
        zeros_needed,
        examples=(
            (np.array([9.0, 1.0, 1.0]), 1.0),
            (np.array([0.2, 3.0, 1.1, 0.9, 7.0, 1.3, 1.2]), 1.0),
            (np.array([2.0, 0.5, 1.6, 4.0]), 0.5),
        ),
        mistakes={
            "the games are replaced by 0, they stay in the count": lambda scores, threshold: _zeros(
                scores, threshold, lambda ordered, count: ordered[count:]
            ),
            "you may choose the games: the best ones do most": lambda scores, threshold: _zeros(
                scores, threshold, _worst_first
            ),
            "the mean comes first": lambda scores, threshold: zeros_needed(scores, threshold)[::-1],
            "below the threshold, not at it": lambda scores, threshold: zeros_needed(scores, threshold + 1e-9),
        },
        hints=(
            "Sort by score, the best first; replace one more at a time and look.",
            "count = 0, 1, 2, ...: the first for which the statistic is below the threshold.",
        ),
        because="For MuZero Unplugged's 46 games it is 19 for the mean and 21 for the median: the claim does not hang "
        "on a few games, the size of the mean does.",
    ),
    exercise(
        "09.6",
        "Find the bug",
        rewards_of,
        examples=(
            (np.array([np.nan, 0.0, 0.0, 1.0]),),
            (np.array([np.nan, 2.0]),),
            (np.array([np.nan, 1.0, np.nan, 3.0]),),
        ),
        mistakes={
            "the first reward comes before any action; keeping it as 0 moves every reward one step late, and the last "
            "one is lost": lambda stored: np.nan_to_num(stored)[:-1],
            "a nan behind the first is a fault in the data, and must be seen; do not make it a 0": (
                lambda stored: np.nan_to_num(stored)[1:]
            ),
            "leaving out every nan moves the rewards behind it": lambda stored: stored[~np.isnan(stored)],
        },
        hints=(
            "T + 1 observations have T actions between them. Which of the T + 1 rewards belongs to none?",
            "stored[1:], and nothing else: whatever is wrong in it, the doctor has to see.",
        ),
        because="Compare with a known reward, or with the environment; a test that compares only shapes never finds "
        "it. An episode that ends with its only reward has none at all with the bug.",
    ),
)
