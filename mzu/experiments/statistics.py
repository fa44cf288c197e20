"""What the scores of several seeds and tasks say, and whether a claim holds.

Scores are [runs, strata]: a stratum is a task, or a task and a variant where a claim takes several together. Intervals
are stratified bootstraps: in every sample the runs of each stratum are drawn anew (Agarwal et al. 2021, "Deep RL at the
Edge of the Statistical Precipice"; `mzu/environments/scores.py`).
"""

from dataclasses import dataclass

import numpy as np

from mzu.environments.scores import interquartile_mean, mean, stratified_interval
from mzu.experiments.definition import STEPS, Claim, Experiment, Measure, Side, Task

HOLDS, REVERSED, OPEN = "holds", "does not hold", "not decided"


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval; `low` and `high` are NaN where there is one run only."""

    value: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Verdict:
    """A claim, both sides of it in numbers, and whether it holds."""

    claim: Claim
    better: Estimate
    worse: Estimate

    @property
    def outcome(self) -> str:
        """Intervals that do not overlap decide; one run on a side decides nothing."""
        if self.better.low > self.worse.high:
            return HOLDS
        if self.better.high < self.worse.low:
            return REVERSED
        return OPEN


def returns_of(rows: list[dict], task: str, variant: str, measure: Measure) -> np.ndarray:
    """The mean returns [runs] of a cell, by seed."""
    wanted = (task, variant, measure.name, measure.checkpoint)
    cells = [row for row in rows if (row["task"], row["variant"], row["select"], row["checkpoint"]) == wanted]
    return np.array([row["mean"] for row in sorted(cells, key=lambda row: row["seed"])])


def scores_of(rows: list[dict], tasks: list[Task], side: Side) -> np.ndarray:
    """Normalised scores [runs, tasks x variants]; as many runs as every one of them has. Fewer steps score higher."""
    strata = [
        -returns_of(rows, task.name, variant, side.measure)
        if side.measure == STEPS
        else task.normalised(returns_of(rows, task.name, variant, side.measure))
        for task in tasks
        for variant in side.variants
    ]
    runs = min(map(len, strata))
    return np.array([stratum[:runs] for stratum in strata]).reshape(len(strata), runs).T


def estimate(scores: np.ndarray, statistic=interquartile_mean) -> Estimate:
    """The statistic over all scores [runs, strata], with its interval."""
    runs = len(scores)
    if runs == 0:
        return Estimate(np.nan, np.nan, np.nan, 0)
    if np.isinf(scores).any():  # steps to a goal that a run never reached
        return Estimate(float(np.mean(scores)), np.nan, np.nan, runs)
    low, high = np.nan, np.nan
    if runs > 1:
        low, high = stratified_interval(scores, statistic, np.random.default_rng(0))
    return Estimate(statistic(scores), low, high, runs)


def verdict_on_claim(experiment: Experiment, tasks: dict[str, Task], claim: Claim, rows: list[dict]) -> Verdict:
    """The claim with both sides as the interquartile mean of normalised scores.

    In one stratum the interquartile mean of five runs is that of three of them, so there it is the plain mean.
    """
    named = [tasks[name] for name in claim.tasks or experiment.tasks]
    better = scores_of(rows, named, claim.better)
    worse = np.ones_like(better) if claim.worse is None else claim.share * scores_of(rows, named, claim.worse)
    statistic = mean if better.shape[1] == 1 else interquartile_mean
    return Verdict(claim, estimate(better, statistic), estimate(worse, statistic))


def performance_profile(scores: np.ndarray, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The share of runs above each threshold [H], with its 95 % interval: three arrays [H]."""

    def above(scores: np.ndarray) -> np.ndarray:
        return (scores > thresholds[:, None, None]).mean(axis=(1, 2))

    scores, unknown = np.atleast_2d(scores), np.full(len(thresholds), np.nan)
    if len(scores) < 2:
        return above(scores), unknown, unknown
    low, high = stratified_interval(scores, above, np.random.default_rng(0))
    return above(scores), np.array(low), np.array(high)
