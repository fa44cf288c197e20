"""`Forecast`: how long runs will take on this machine and how much memory, said before they begin (`mzu train`,
`--dry-run`); made of what `calibration.py` measured of each of them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mzu.available_memory import available_memory, shown_bytes
from mzu.files import written_whole
from mzu.installation import available_cores
from mzu.training.calibration import STEPS, Calibration
from mzu.training.clock import Time
from mzu.training.results import shown_time, spoken

FILE = "forecast.json"
NOTHING = Time(0.0, 0.0)


class Forecast(NamedTuple):
    """What `mzu train --dry-run` says.

    field              meaning
    seconds            until all runs are trained and evaluated
    processor_seconds  of all cores together
    memory             bytes at most, of all runs that are trained at once
    runs               {name: Calibration}, what was measured of each; outside a comparison the name is ""
    jobs               how many runs are trained at once

    >>> expected = mzu.train("cartpole_offline", only="unplugged", dry_run=True, **tiny)
    >>> expected.memory > 100_000_000, list(expected.runs)
    (True, ['unplugged'])
    """

    seconds: float
    processor_seconds: float
    memory: int
    runs: dict[str, Calibration]
    jobs: int

    @property
    def sentence(self) -> str:
        """About how long, and how much memory."""
        text = (
            f"about {shown_about(self.seconds)} ({shown_about(self.processor_seconds)} of processors), and at most "
            f"{shown_bytes(self.memory)} of memory"
        )
        if self.memory > available_memory():
            text += f", but there are {shown_bytes(available_memory())}"
            text += "; --jobs 1 needs less" if self.jobs > 1 and len(self.runs) > 1 else ""
        return text

    def save(self, folder: Path) -> None:
        """Keeps it in the folder of the run or the runs."""
        runs = {name: run.to_json() for name, run in self.runs.items()}
        with written_whole(folder / FILE) as temporary:
            temporary.write_text(json.dumps(self._asdict() | {"runs": runs}, indent=2) + "\n")

    def __str__(self) -> str:
        names = list(dict.fromkeys(part for run in self.runs.values() for part in run.parts))
        head = ["processor seconds", *(spoken(name) for name in self.runs)]
        cells = [[part, *(_shown(run.parts.get(part)) for run in self.runs.values())] for part in names]
        cells.append(["together", *(f"{processor_seconds(run):.1f}" for run in self.runs.values())])
        cells.append(["memory", *(shown_bytes(run.memory) for run in self.runs.values())])
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        lines = [
            "  ".join(
                [f"{row[0]:<{widths[0]}}", *(f"{text:>{w}}" for text, w in zip(row[1:], widths[1:], strict=True))]
            )
            for row in (head, *cells)
        ]
        together = f", {min(self.jobs, len(self.runs))} runs at once" if len(self.runs) > 1 else ""
        return "\n".join([*lines, "", f"On {available_cores()} cores{together}: {self.sentence}"])


def forecast(runs: dict[str, Calibration], jobs: int = 1, before: Time = NOTHING) -> Forecast:
    """Of runs {name: Calibration} in the order in which they begin, `jobs` of them at once.

    `before`: what has passed until their processes were started.
    """
    memory = sum(sorted((run.memory for run in runs.values()), reverse=True)[:jobs])
    seconds = _side_by_side(list(runs.values()), jobs) if len(runs) > 1 else sum(_walls(*runs.values()))
    processor = sum(map(processor_seconds, runs.values()))
    return Forecast(before.wall + seconds, before.processor + processor, memory, runs, jobs)


class Announcement:
    """Says the forecast once, and keeps it in `folder`: as soon as the runs that begin at once have been measured.

    A run that waits for another one's end counts as much as the longest of those that were measured.
    """

    def __init__(self, names: list[str], jobs: int, folder: Path, say: Callable[[str], None], before: Time = NOTHING):
        self._names, self._jobs, self._folder, self._say, self._before = names, jobs, folder, say, before
        self._measured: dict[str, Calibration] = {}

    def note(self, name: str, calibration: Calibration) -> None:
        if len(self._measured) == min(self._jobs, len(self._names)):
            return
        self._measured[name] = calibration
        if len(self._measured) == min(self._jobs, len(self._names)):
            longest = max(self._measured.values(), key=processor_seconds)
            found = forecast(
                {name: self._measured.get(name, longest) for name in self._names}, self._jobs, self._before
            )
            found.save(self._folder)
            self._say(f"this will take {found.sentence}")


def processor_seconds(run: Calibration) -> float:
    return sum(part.processor for part in run.parts.values())


def shown_about(seconds: float) -> str:
    """A duration with two digits or so: 4.2 s is 4 s, 83 s are 1 min 25 s, 754 s are 13 min.

    >>> shown_about(83), shown_about(754), shown_about(7300)
    ('1 min 25 s', '13 min', '2 h 0 min')
    """
    step = next(step for limit, step in ((20, 1), (120, 5), (600, 30), (float("inf"), 60)) if seconds < limit)
    rounded = max(1, round(seconds / step)) * step
    return shown_time(rounded).removesuffix(" 0 s")


def _walls(run: Calibration) -> list[float]:
    return [part.wall for part in run.parts.values()]


def _side_by_side(runs: list[Calibration], jobs: int) -> float:
    """Seconds until all are done, where those at work share the cores that were there while they were measured.

    Each run has parts one after the other; each part wants so many cores, and gets its share of them where all
    together want more than there are.
    """
    waiting = [[list(phase) for phase in _phases(run)] for run in runs]
    wanted = sum(run.cores for run in runs[:jobs])
    had = sum(run.measured for run in runs[:jobs])
    cores = available_cores()
    cores *= min(1.0, had / min(cores, wanted))  # other programs have the rest
    working, passed = [], 0.0
    while waiting or working:
        while waiting and len(working) < jobs:
            working.append(waiting.pop(0))
        share = min(1.0, cores / sum(phases[0][1] for phases in working))
        until = min(phases[0][0] / (share * phases[0][1]) for phases in working)
        passed += until
        for phases in working:
            phases[0][0] -= until * share * phases[0][1]
            if phases[0][0] <= 1e-9:
                phases.pop(0)
        working = [phases for phases in working if phases]
    return passed


def _phases(run: Calibration) -> list[tuple[float, float]]:
    """(processor seconds, cores that are wanted) of each part."""
    return [
        (part.processor, run.cores if name == STEPS else max(1.0, part.processor / part.wall))
        for name, part in run.parts.items()
        if part.processor > 0
    ]


def _shown(part) -> str:
    return "" if part is None else f"{part.processor:.1f}"
