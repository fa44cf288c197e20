"""What a run of these settings should look like: learning curves of several seeds, which come with the package.

`mzu presets NAME --curves` makes them of the runs that `--check` left (experiments/preset_curves.py). A run finds its
reference by its settings, whatever its seed; with other settings there is none, and nothing is said.
"""

import csv
import dataclasses
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mzu.config import ActingConfig, Config
from mzu.training.results import shown_return

FOLDER = Path(__file__).parents[1] / "experiments" / "presets" / "curves"
COLUMNS = ("preset", "run", "settings", "seed", "step", "evaluation")
LEAST_SEEDS = 3  # of one made by the user


class Reference(NamedTuple):
    """Evaluations of S seeds at the same learner steps; `returns` [S, steps].

    >>> band = Reference("cartpole", np.array([100, 200]), np.array([[9.0, 40.0], [11.0, 60.0], [10.0, 55.0]]))
    >>> band.low.tolist(), band.high.tolist(), band.middle.tolist()
    ([9.0, 40.0], [11.0, 60.0], [10.0, 55.0])
    """

    name: str
    steps: np.ndarray
    returns: np.ndarray

    @property
    def low(self) -> np.ndarray:
        return self.returns.min(axis=0)

    @property
    def high(self) -> np.ndarray:
        return self.returns.max(axis=0)

    @property
    def middle(self) -> np.ndarray:
        return np.median(self.returns, axis=0)

    @property
    def seeds(self) -> int:
        return len(self.returns)

    def at(self, step: float) -> tuple[float, float]:
        """The band at a step, between the evaluations to either side."""
        return float(np.interp(step, self.steps, self.low)), float(np.interp(step, self.steps, self.high))


class Standing(NamedTuple):
    """Where a run stands in its band: `below_from` is the first step from which on it was always below, or None."""

    says: str
    below_from: int | None


def curve_digest(config: Config) -> str:
    """Tells whether a curve was made with these settings: all but the seed and what changes nothing that is learned."""
    settings = dataclasses.asdict(config)
    for name in ("seed", "run", "data_root"):
        del settings[name]
    del settings["evaluation"]["episodes"]  # of the final evaluation
    if config.acting.max_episode_steps == ActingConfig().max_episode_steps:
        del settings["acting"]["max_episode_steps"]
    if config.reanalyse.held_out == 0:
        del settings["reanalyse"]["held_out"]  # it came after the curves that are kept here
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def find_reference(config: Config, folder: Path = FOLDER) -> Reference | None:
    """The reference of these settings, where there is one of at least `LEAST_SEEDS` seeds."""
    digest = curve_digest(config)
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["settings"] == digest]
        reference = made_reference(rows)
        if reference is not None and reference.seeds >= LEAST_SEEDS:
            return reference
    return None


def made_reference(rows: Iterable[dict]) -> Reference | None:
    """The rows of one run of a preset, all seeds, as curves over the steps that all of them have."""
    curves: dict[int, dict[int, float]] = {}
    name = ""
    for row in rows:
        curves.setdefault(int(row["seed"]), {})[int(float(row["step"]))] = float(row["evaluation"])
        name = f"{row['preset']}, {row['run']}" if row["run"] else row["preset"]
    if not curves:
        return None
    steps = sorted(set.intersection(*(set(curve) for curve in curves.values())))
    if not steps:
        return None
    returns = np.array([[curve[step] for step in steps] for curve in curves.values()])
    return Reference(name, np.array(steps), returns)


def standing(reference: Reference, evaluations: Iterable[tuple[float, float, float]]) -> Standing | None:
    """`evaluations`: (step, mean, upper end of its interval) in the order of the run. None where there are none.

    An evaluation lies below the band where even its upper end does: few episodes say little.
    """
    found = [
        (step, mean, mean < reference.at(step)[0] and high < reference.at(step)[0]) for step, mean, high in evaluations
    ]
    if not found:
        return None
    below_from = None
    for step, _, is_below in reversed(found):
        if not is_below:
            break
        below_from = int(step)
    step, mean, _ = found[-1]
    low, high = (shown_return(end) for end in reference.at(step))
    band = f"the band of {reference.seeds} seeds of {reference.name} ({low} .. {high} at step {int(step)})"
    if below_from is None:
        where = "above" if mean > reference.at(step)[1] else "within"
        return Standing(f"{where} {band}", None)
    return Standing(f"below {band}, from step {below_from} on", below_from)


def standing_of_log(config: Config, rows: list[dict[str, float]]) -> Standing | None:
    """The standing of a run by its log; None where it has no reference or no evaluation."""
    reference = find_reference(config)
    if reference is None:
        return None
    return standing(reference, [(row["step"], row["evaluation"], row["high"]) for row in evaluated(rows)])


def evaluated(rows: list[dict[str, float]]) -> list[dict[str, float]]:
    """The rows of a log that have an evaluation."""
    return [row for row in rows if not np.isnan(row.get("evaluation", np.nan))]
