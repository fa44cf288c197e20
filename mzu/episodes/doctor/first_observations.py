"""Do episodes begin where the environment's do? Their first observations against those of resets, number by number.

Part of the dataset doctor. It finds columns in another order and other units without knowing how the world moves;
`layout.py` takes recorded steps again where it can.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mzu.environments.environment import Environment

RESETS = 64
UNITS = {
    180 / np.pi: "degrees instead of radians",
    np.pi / 180: "radians instead of degrees",
    10: "ten times as large",
    0.1: "a tenth as large",
    100: "a hundred times as large",
    0.01: "a hundredth as large",
    1000: "a thousand times as large",
    0.001: "a thousandth as large",
}
_MOST_KEYS = 5  # whose orders are all tried


class Reading(NamedTuple):
    """One way to read the data's columns: observed number j of the environment is `factors[j] * column order[j]`."""

    words: str
    order: np.ndarray
    factors: np.ndarray

    def read(self, observations: np.ndarray) -> np.ndarray:
        """Observations of the data [..., O], as the environment would show them."""
        return (observations[..., self.order] * self.factors).astype(np.float32)


def resets(environment: Environment, count: int = RESETS) -> np.ndarray:
    """First observations [count, O] of the environment."""
    return np.stack([environment.reset(seed=seed) for seed in range(count)])


def begins_elsewhere(starts: np.ndarray, resets: np.ndarray) -> np.ndarray:
    """Which numbers [O] begin in the data [E, O] where the environment [R, O] never does."""
    return np.array([_differs(one, other) for one, other in zip(starts.T, resets.T, strict=True)])


def readings(environment: Environment, starts: np.ndarray, resets: np.ndarray) -> Iterator[Reading]:
    """Other orders and units of columns under which the episodes begin as the environment's; most likely first.

    A task of DM Control has its parts in an order, so all orders of its parts are tried; otherwise only columns that
    begin elsewhere can have changed places, or units.
    """
    size, ones = starts.shape[1], np.ones(starts.shape[1])
    names = number_names(environment)
    for keys, order in _orders_of_parts(environment):
        if not begins_elsewhere(starts[:, order], resets).any():
            yield Reading(f"the data have the parts in the order {', '.join(keys)}", order, ones)
    wrong = np.flatnonzero(begins_elsewhere(starts, resets))
    if 2 <= len(wrong) <= 30:
        from scipy.optimize import linear_sum_assignment

        cost = np.array([[_differs(starts[:, column], resets[:, j]) for column in wrong] for j in wrong])
        rows, columns = linear_sum_assignment(cost)
        if not cost[rows, columns].any():
            order = np.arange(size)
            order[wrong[rows]] = wrong[columns]
            pairs = [f"{names[order[j]]} holds {names[j]}" for j in wrong]
            yield Reading(f"columns stand in another order: {', '.join(pairs[:4])}", order, ones)
    factors, words = np.ones(size), []
    for j in wrong:
        fitting = [unit for unit in UNITS if not _differs(starts[:, j] / unit, resets[:, j])]
        if not fitting:
            return
        factors[j] = 1 / fitting[0]
        words.append(f"{names[j]} is {UNITS[fitting[0]]}")
    if words:
        yield Reading(f"another unit: {', '.join(words[:4])}", np.arange(size), factors)


def number_names(environment: Environment) -> list[str]:
    """What messages call the observed numbers: "number 3", or "velocity[0] (number 3)"."""
    sizes = getattr(environment.unheld, "sizes", None)
    if not sizes:
        return [f"number {j}" for j in range(environment.spaces.observation_shape[0])]
    parts = [f"{key}[{j}]" if size > 1 else key for key, size in sizes.items() for j in range(size)]
    return [f"{part} (number {number})" for number, part in enumerate(parts)]


def _orders_of_parts(environment: Environment) -> Iterator[tuple[tuple[str, ...], np.ndarray]]:
    """(parts in the data's order, where each number of the environment is found there), for all other orders."""
    sizes = getattr(environment.unheld, "sizes", None) or {}
    if not 2 <= len(sizes) <= _MOST_KEYS:
        return
    for keys in itertools.permutations(sizes):
        begin = dict(zip(keys, np.cumsum([0, *(sizes[key] for key in keys[:-1])]), strict=True))
        order = np.concatenate([begin[key] + np.arange(size) for key, size in sizes.items()])
        if (order != np.arange(len(order))).any():
            yield keys, order


def _differs(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether numbers of the data are surely not drawn like those of the environment."""
    low, high = float(other.min()), float(other.max())
    room = high - low
    middle = float(np.median(one))
    if room <= 1e-6 * (1 + abs(high)):
        return abs(middle - high) > 1e-3 * (1 + abs(high))
    if not low - room <= middle <= high + room:
        return True
    from scipy.stats import ks_2samp  # which takes half a second to import

    found = ks_2samp(one, other)
    return bool(found.pvalue < 1e-5 and found.statistic > 0.35)
