"""One dictionary of arrays for a whole that has parts, as a checkpoint is one: names are paths such as "player/games".

whole = under("player", player.state()) | under("replay", replay.state())
player.restore(inside(whole, "player"))
"""

import numpy as np


def under(name: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of a part, ready for the whole: {"a": ...} -> {"name/a": ...}."""
    return {f"{name}/{key}": array for key, array in arrays.items()}


def inside(arrays: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """The arrays of a part, taken from the whole: {"name/a": ..., "other/b": ...} -> {"a": ...}."""
    return {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(name + "/")}
