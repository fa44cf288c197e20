"""Fair timing on a shared machine: contestants take turns, and the best time of each counts."""

import time
from collections.abc import Callable


def best_times(
    contestants: dict[str, Callable[[], object]], repetitions: int, seconds: float = 0.02
) -> dict[str, float]:
    """Milliseconds per call of each contestant: the best of `repetitions` rounds in which each has its turn.

    A turn lasts about `seconds` and at least one call. One call of each beforehand compiles and warms up.
    """
    calls = {}
    for name, call in contestants.items():
        call()
        calls[name] = max(1, int(seconds / max(_time(call, 1), 1e-9)))
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(repetitions):
        for name, call in contestants.items():
            best[name] = min(best[name], 1000 * _time(call, calls[name]))
    return best


def _time(call, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
