"""Numbers that were rounded on their way: whether two are the same, and how they are shown."""

import numpy as np

TOLERANCE = 1e-4  # numbers go through float32


def furthest(one, other) -> float:
    """The largest difference between two arrays; 0 where it is no more than rounding."""
    far = float(np.abs(np.asarray(one, float) - np.asarray(other, float)).max())
    return far if far > TOLERANCE * max(1.0, float(np.abs(other).max())) else 0.0


def short(array) -> list:
    """An array as a list, its numbers with four digits behind the point."""
    return np.round(np.asarray(array, float), 4).tolist() if np.asarray(array).dtype.kind == "f" else array.tolist()
