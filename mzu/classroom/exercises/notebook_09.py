"""Exercises of notebook 09, real data."""

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


def rewards_of(stored):
    """The rewards of an episode, from RL Unplugged's rows.

    stored [T + 1]: stored[t] came with observation t, so that the first one, before any action,
    is nan -> [T]: rewards[t] follows actions[t]

    >>> rewards_of(np.array([np.nan, 1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return stored[1:]


# --- 3 ---


def spans(terminal, padding):
    """Where the episodes of a log are.

    terminal [N], 0 or 1: of all rows; `padding` rows stand before each episode, and the last row of
    the log is stale -> [(start, stop), ...]: the rows of each episode; the last one may not have
    ended. What has no row of its own is no episode.

    >>> spans([0, 0, 0, 1, 0, 0, 0, 1, 0], 2)
    [(2, 4), (6, 8)]
    """
    return _spans(terminal, padding, 1)


def _spans(terminal, padding, stale, keeps_open=True, pads_all=True, keeps_empty=False):
    found, start, rows = [], padding, len(terminal) - stale
    for row in range(rows):
        if terminal[row]:
            found.append((start, row + 1))
            start = row + 1 + (padding if pads_all else 0)
    if keeps_open and (start < rows or keeps_empty):
        found.append((start, rows))
    return found


def _ends_without_their_row(terminal, padding):
    return [(start, stop - bool(terminal[stop - 1])) for start, stop in spans(terminal, padding)]


LOG = [0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]


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
            "seven bits hold 0 to 127; 128 takes two bytes": lambda value: [128] if value == 128 else varint(value),
            "a negative number has 64 bits: value + 2**64": lambda value: varint(
                value if value >= 0 else value + 2**63
            ),
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
            "the reward that belongs to no action is the first one, not the last": lambda stored: stored[:-1],
            "T + 1 rows hold T rewards; nothing has to be filled up": lambda stored: np.append(stored[1:], 0.0),
        },
        hints=(
            "T + 1 observations have T actions between them. Which of the T + 1 rewards belongs to none?",
            "stored[1:], and nothing else: whatever is wrong in it, the doctor has to see.",
        ),
        because="Compare with a known reward, or with the environment; a test that compares only shapes never finds "
        "it. An episode that ends with its only reward has none at all with the bug.",
    ),
    exercise(
        "09.3",
        "Episodes in a stream",
        spans,
        examples=((LOG, 2), (LOG, 1), ([*LOG[:9], 0], 2), ([0, 0, 0, 1, 0], 3)),
        mistakes={
            "the padding stands before each episode, not only before the first": lambda terminal, padding: _spans(
                terminal, padding, 1, pads_all=False
            ),
            "the last row of the log is stale and belongs to nobody": lambda terminal, padding: _spans(
                terminal, padding, 0
            ),
            "what has no end yet is an episode all the same: it was cut off": lambda terminal, padding: _spans(
                terminal, padding, 1, keeps_open=False
            ),
            "the row that is marked terminal is the episode's last one, and belongs to it": _ends_without_their_row,
            "what has no row of its own is no episode": lambda terminal, padding: _spans(
                terminal, padding, 1, keeps_empty=True
            ),
        },
        hints=(
            "Keep the row where the present episode starts; at first that is `padding`.",
            "Behind a terminal row: (start, row + 1) is an episode, and the next starts at row + 1 + padding.",
            "In the end len(terminal) - 1 rows are valid: if the start is before that, one more episode is left.",
        ),
        because="The library's reader does the same with millions of rows. An episode that is cut off is truncated: "
        "values are bootstrapped from its last observation.",
    ),
)
