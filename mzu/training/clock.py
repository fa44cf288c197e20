"""Two clocks: the time that passes, and the time that processors work for this process."""

import time
from typing import NamedTuple


class Time(NamedTuple):
    """Seconds that pass, and seconds of processors.

    >>> Time(2.0, 3.0).times(2)
    Time(wall=4.0, processor=6.0)
    """

    wall: float
    processor: float

    def times(self, number: float) -> "Time":
        return Time(self.wall * number, self.processor * number)


def now() -> Time:
    """What the clocks show; only differences mean something."""
    return Time(time.perf_counter(), time.process_time())


def passed(since: Time) -> Time:
    """The time since `now()` was asked."""
    return Time(time.perf_counter() - since.wall, time.process_time() - since.processor)
