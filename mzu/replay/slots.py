"""Flat storage of the replay: every segment has a slot of fixed size in one long array, which is read without loops."""

import numpy as np


class Slots:
    """One array of all segments: `capacity` slots of `rows` rows each, one behind the other."""

    def __init__(self, capacity: int, rows: int, shape: tuple[int, ...], dtype):
        self.rows, self.shape, self.dtype = rows, shape, np.dtype(dtype)
        try:
            self._array = np.zeros((capacity * rows, *shape), self.dtype)  # takes memory only when it is written to
        except MemoryError:
            size = capacity * rows * int(np.prod(shape)) * self.dtype.itemsize / 1e9
            raise MemoryError(
                f"A replay of {capacity} segments may need {size:.0f} GB; lower replay.capacity"
            ) from None

    def write(self, slot: int, array: np.ndarray) -> None:
        """Writes the first rows of a slot; the rest keeps what an older, longer segment left there."""
        self._array[slot * self.rows : slot * self.rows + len(array)] = array

    def read(self, slots: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """slots [B], rows [B, ...] -> [B, ..., *shape]."""
        slots = slots.reshape(-1, *[1] * (rows.ndim - 1))
        return np.take(self._array, slots * self.rows + rows, axis=0)

    def of_rows(self, counts: np.ndarray) -> np.ndarray:
        """A copy of the first counts[i] rows of slot i, for all i, one behind the other."""
        return self._array[self._first_rows(counts)]

    def set_rows(self, counts: np.ndarray, array: np.ndarray) -> None:
        """Writes what `of_rows` returned."""
        self._array[self._first_rows(counts)] = array

    def _first_rows(self, counts: np.ndarray) -> np.ndarray:
        return np.flatnonzero(np.arange(self.rows) < counts[:, None])
