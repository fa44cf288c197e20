"""States of parts in the state of a whole: dictionaries of arrays whose names are put under, or taken from, a name."""

import numpy as np


def under(name: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """{"a": ...} -> {"name/a": ...}."""
    return {f"{name}/{key}": array for key, array in arrays.items()}


def inside(arrays: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """The entries "name/...", without the name."""
    return {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(name + "/")}
