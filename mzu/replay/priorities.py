"""What the priority of a position is, and a sum tree that draws a leaf in proportion to its priority in O(log n).

Node 1 is the root, the children of node i are 2 i and 2 i + 1, and each node holds the sum of its two children. The
leaves, all in the last row, are the priorities. Changing a leaf recomputes its ancestors from their children rather
than adding the difference: the tree depends on its leaves alone, so nothing drifts over millions of updates.
"""

import numpy as np

from mzu.compilation import kernel

LARGEST = 1e280  # keeps the sum of any number of priorities finite


def position_priority(search_value, value_target, network_value, td_steps: int):
    """p = |nu - z| of positions (paper, appendix "Other Hyperparameters"); arrays or tensors [n], or numbers.

    With TD-0 the value target z is the search value nu itself. There the network's own value takes its place.
    """
    return abs(search_value - (value_target if td_steps > 0 else network_value))


class Priorities:
    """`leaves` numbers, at least 0 and 0 at first, which can be changed and drawn in proportion to their size."""

    def __init__(self, leaves: int):
        if leaves < 1:
            raise ValueError(f"A sum tree of {leaves} leaves was asked for, but must have at least one")
        self._leaves = leaves
        # Rounded up to a power of two: all leaves stand in one row, in their order. np.zeros takes memory when written.
        self._sums = np.zeros(2 << (leaves - 1).bit_length())

    def __len__(self) -> int:
        return self._leaves

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        return float(self._sums[1])

    def set(self, indices: np.ndarray, values: np.ndarray) -> None:
        """Writes values [n] to the leaves at indices [n]; where an index appears twice, the last one wins."""
        # Copies, so that the kernel is compiled once: read-only arrays are another type to Numba.
        indices, values = self._checked(indices).copy(), np.array(values, np.float64)
        if indices.shape != values.shape or indices.ndim != 1:
            raise ValueError(
                f"indices of shape {indices.shape} and priorities of shape {values.shape} do not fit together"
            )
        check_priorities(values)
        _set(self._sums, indices, values)

    def get(self, indices: np.ndarray) -> np.ndarray:
        """The priorities of the leaves at `indices`, in the same shape."""
        return self._sums[len(self._sums) // 2 + self._checked(indices)]

    def find(self, masses: np.ndarray) -> np.ndarray:
        """masses [n] -> leaves [n] int64: the sum of the leaves before is <= mass < the sum with the leaf itself.

        A leaf of priority 0 is never found; masses at or over the end go to the last leaf that has a priority.
        """
        if self.total == 0:
            raise ValueError("All priorities are 0, so none can be found in proportion to its size")
        masses = np.array(masses, np.float64)
        if masses.ndim != 1:
            raise ValueError(f"masses have the shape {masses.shape}, but must be [n]")
        found = np.empty(len(masses), np.int64)
        _find(self._sums, masses, found)
        return found

    def _checked(self, indices: np.ndarray) -> np.ndarray:
        # Compiled code would read and write outside of the tree without a word.
        indices = np.asarray(indices, np.int64)
        if indices.size and not 0 <= indices.min() <= indices.max() < self._leaves:
            raise IndexError(
                f"There are leaves 0..{self._leaves - 1}, but {indices.min()}..{indices.max()} are asked for"
            )
        return indices


def check_priorities(priorities: np.ndarray) -> None:
    """A ValueError that names the first priority that is negative or not finite."""
    priorities = np.asarray(priorities, np.float64)  # the bound itself is infinite as a float32
    wrong = ~((priorities >= 0) & (priorities <= LARGEST))  # written so that NaN is wrong too
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"priorities[{i}] is {priorities[i]}, but must be a number between 0 and {LARGEST:g}")


def find_by_definition(priorities: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """The plain twin of `Priorities.find`: priorities [leaves], masses [n] -> leaves [n]."""
    # side="right" finds the first sum that is larger than the mass, so the leaf that made it so is not 0.
    found = np.searchsorted(np.cumsum(priorities), masses, side="right")
    return np.minimum(found, np.flatnonzero(priorities)[-1])


@kernel
def _set(sums, indices, values):
    for i in range(indices.shape[0]):
        node = sums.shape[0] // 2 + indices[i]
        sums[node] = values[i]
        while node > 1:
            node //= 2
            sums[node] = sums[2 * node] + sums[2 * node + 1]


@kernel
def _find(sums, masses, found):
    """Goes down from the root; every node on the way has a sum above 0, whatever the rounding does to the mass."""
    first_leaf = sums.shape[0] // 2
    for i in range(masses.shape[0]):
        mass = masses[i]
        node = 1
        while node < first_leaf:
            left = sums[2 * node]
            right = sums[2 * node + 1]
            if left > 0.0 and (mass < left or right == 0.0):
                node = 2 * node
            else:
                mass -= left
                node = 2 * node + 1
        found[i] = node - first_leaf
