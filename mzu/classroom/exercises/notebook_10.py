"""Exercises of notebook 10, the dataset doctor."""

import math

import numpy as np

from mzu.classroom.question import exercise

# --- 1 ---


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


# --- 2 ---


def steps_in_error(discount, limit, share):
    """A policy earns the same at every step for ever, but the data mark the time limit as
    terminal. At how many of the `limit` steps is the value by the data wrong by more than this
    share of the truth?

    >>> steps_in_error(0.5, 100, 0.2)
    2
    """
    left = np.arange(1, limit + 1)  # rewards that the data still have
    return int((discount**left > share).sum())


# --- 3 ---


def steps_late(stored, right, largest):
    """By how many steps the stored rewards come too late: stored[t] is nearest to right[t - k].

    stored, right [T]; -largest <= k <= largest. Nearest by the mean of the absolute difference,
    over those t for which right[t - k] exists -> k

    >>> steps_late(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0]), 1)
    1
    """
    return _nearest(stored, right, range(-largest, largest + 1), np.mean)


def _nearest(stored, right, shifts, summary):
    steps = np.arange(len(stored))

    def distance(shift):
        known = (steps - shift >= 0) & (steps - shift < len(right))
        return summary(np.abs(stored[known] - right[steps[known] - shift]))

    return min(shifts, key=distance)


def _by_product(stored, right, largest):
    steps = np.arange(len(stored))

    def product(shift):
        known = (steps - shift >= 0) & (steps - shift < len(right))
        return (stored[known] * right[steps[known] - shift]).sum()

    return max(range(-largest, largest + 1), key=product)


def _round_the_end(stored, right, largest):
    return min(range(-largest, largest + 1), key=lambda shift: np.abs(stored - np.roll(right, shift)).mean())


RIGHT = np.array([5.0, 0.0, 3.0, 1.0, 4.0, 1.0, 2.0, 6.5])
EARLY = np.append(RIGHT[2:], [0.0, 0.0]) + 0.1
LATE = np.append([0.0], RIGHT[:-1])
SELDOM = np.array([0.0, 0.0, 9.0, 0.0, 0.0, 0.0])
LAST, LAST_LATE = np.array([1.0, 1.0, 1.0, 9.0]), np.array([0.0, 1.0, 1.0, 1.0])


EXERCISES = (
    exercise(
        "10.1",
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
            "consecutive: where a value changes, the count begins again at 1": lambda values: (
                1 + (values[1:] == values[:-1]).sum(axis=0)
            ),
        },
        hints=(
            "values[1:] == values[:-1] says where a value is that of the row before.",
            "Keep a running count per column: one more where it is the same, 1 where it is not; remember the largest.",
        ),
        because="A physical quantity that is computed as a float hardly ever has the same value twice in a row. False "
        "alarms come from whatever may truly rest: a goal, a touch sensor that touches nothing, whole numbers.",
    ),
    exercise(
        "10.2",
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
            "the share is one of the truth, "
            "1 / (1 - discount): the error in units of the reward is another number": lambda discount, limit, share: (
                int((discount ** np.arange(1, limit + 1) / (1 - discount) > share).sum())
            ),
            "more than this share is wrong, not more than this share is right": lambda discount, limit, share: int(
                (discount ** np.arange(1, limit + 1) > 1 - share).sum()
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
        "10.3",
        "How many steps?",
        steps_late,
        examples=(
            (LATE, RIGHT, 2),
            (EARLY, RIGHT, 2),
            (RIGHT, RIGHT, 3),
            (RIGHT + 0.5, RIGHT, 7),
            (LAST_LATE, LAST, 1),
            (np.append([0.0], SELDOM[:-1]), SELDOM, 1),
        ),
        mistakes={
            "the sign: late rewards have a positive k": lambda stored, right, largest: (
                -steps_late(stored, right, largest)
            ),
            "rewards may come too early as well: negative k": lambda stored, right, largest: _nearest(
                stored, right, range(largest + 1), np.mean
            ),
            "the mean, not the sum: with a large shift fewer steps are compared": lambda stored, right, largest: (
                _nearest(stored, right, range(-largest, largest + 1), np.sum)
            ),
            "what leaves at one end does not come in at the other": _round_the_end,
            "nearest by "
            "the mean of the differences; their median does not see a few large ones": lambda stored, right, largest: (
                _nearest(stored, right, range(-largest, largest + 1), np.median)
            ),
            "nearest by the differences; a large product says that large numbers meet": _by_product,
        },
        hints=(
            "For k = 1 compare stored[1:] with right[:-1], for k = -1 stored[:-1] with right[1:].",
            "For each k from -largest to largest take the mean of the absolute differences; the least one wins.",
        ),
        because="Where no right rewards are known, the doctor puts what a fit predicts from the transition in their "
        "place, and compares changes instead of rewards.",
    ),
)
