"""How estimates of policies and what they really earn go together: rank correlation, bias, what a choice loses, and the
picture. The rows are those of `offline_calibration.py`.
"""

import hashlib
import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from mzu.environments.scores import stratified_interval
from mzu.training.results import spoken

SAMPLES = 1000  # of runs, for intervals
COLOURS = {"behaviour_cloning": "#999999", "crr": "#D55E00", "unplugged": "#0072B2"}


class EstimateAccuracy(NamedTuple):
    """A task's numbers, each (value, low, high): intervals of 95 % by drawing whole runs anew, since the checkpoints of
    a run resemble each other."""

    policies: int
    runs: int
    rank_correlation: tuple[float, float, float]  # Spearman's, of estimates and played returns
    likelihood_correlation: tuple[float, float, float]  # the same of the likelihood of held-out actions
    bias: tuple[float, float, float]  # mean of estimate - played
    error: float  # mean of |estimate - played|
    covered: float  # share of policies whose played return lies in the estimate's interval
    best: float  # played


def calibration(rows: list[dict]) -> EstimateAccuracy:
    """How estimates and truth of one task's policies go together."""
    runs = _by_run(rows)

    def interval(statistic: Callable[[list[dict]], float]) -> tuple[float, float, float]:
        rng = np.random.default_rng(0)
        drawn = [rng.integers(len(runs), size=len(runs)) for _ in range(SAMPLES)]
        samples = [statistic([row for number in numbers for row in runs[number]]) for numbers in drawn]
        return (statistic(rows), *np.nanquantile(samples, [0.025, 0.975]).tolist())

    return EstimateAccuracy(
        policies=len(rows),
        runs=len(runs),
        rank_correlation=interval(lambda rows: rank_correlation(rows, "estimate")),
        likelihood_correlation=interval(lambda rows: rank_correlation(rows, "likelihood")),
        bias=interval(lambda rows: float(np.mean(_column(rows, "estimate") - _column(rows, "played")))),
        error=float(np.mean(np.abs(_column(rows, "estimate") - _column(rows, "played")))),
        covered=float(np.mean([row["low"] <= row["played"] <= row["high"] for row in rows])),
        best=float(_column(rows, "played").max()),
    )


def rank_correlation(rows: list[dict], column: str) -> float:
    """Spearman's, with what was played; equal numbers share their ranks."""
    return float(np.corrcoef(*(stats.rankdata(_column(rows, name)) for name in (column, "played")))[0, 1])


def _column(rows: list[dict], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows])


CHOICES: dict[str, Callable[[list[dict]], dict]] = {
    "the last": lambda run: run[-1],
    "the highest estimate": lambda run: max(run, key=lambda row: row["estimate"]),
    "the highest likelihood": lambda run: max(run, key=lambda row: row["likelihood"]),
}


def regrets(rows: list[dict], column: str = "played") -> dict[str, tuple[float, float, float]]:
    """What choosing one checkpoint of each run loses against the best one of that run: mean over runs, low, high."""
    runs, found = _by_run(rows), {}
    for name, choose in CHOICES.items():
        lost = np.array([max(row[column] for row in run) - choose(run)[column] for run in runs])
        low, high = stratified_interval(lost[:, None], np.mean, np.random.default_rng(0))
        found[name] = (float(lost.mean()), low, high)
    lost = [np.mean([max(row[column] for row in run) - row[column] for row in run]) for run in runs]
    low, high = stratified_interval(np.array(lost)[:, None], np.mean, np.random.default_rng(0))
    return found | {"any one": (float(np.mean(lost)), low, high)}


def chosen_words(rows: list[dict]) -> list[str]:
    """For each task and seed: the policy with the highest estimate among all methods and checkpoints, and the best."""
    lines = []
    for task, seed in dict.fromkeys((row["task"], row["seed"]) for row in rows):
        own = [row for row in rows if (row["task"], row["seed"]) == (task, seed)]
        chosen, best = (max(own, key=lambda row, key=key: row[key]) for key in ("estimate", "played"))
        lines.append(
            f"{task}, seed {seed:.0f}: {_policy(chosen)} has the highest estimate, plays {chosen['played']:.2f}; the "
            f"best, {_policy(best)}, plays {best['played']:.2f}"
        )
    return lines


def calibration_tables(rows: list[dict]) -> str:
    """Both tables of the page, in Markdown."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    of = {task: [row for row in rows if row["task"] == task] for task in tasks}
    found = {task: calibration(of[task]) for task in tasks}
    head = [f"| | {' | '.join(f'`{task}`' for task in tasks)} |", "|---" * (len(tasks) + 1) + "|"]
    lines = [*head, _line("policies, of runs", [f"{one.policies}, {one.runs}" for one in found.values()])]
    for name, field in (
        ("rank correlation of estimate and played return", "rank_correlation"),
        ("the same of the held-out actions' likelihood", "likelihood_correlation"),
        ("bias: estimate - played", "bias"),
    ):
        lines.append(_line(name, [_spoken(getattr(one, field)) for one in found.values()]))
    lines.append(_line("mean error", [f"{one.error:.2f}" for one in found.values()]))
    lines.append(_line("played return within the interval", [f"{one.covered:.0%}" for one in found.values()]))
    lines.append(_line("best policy, played", [f"{one.best:.2f}" for one in found.values()]))
    lost = {task: (regrets(of[task]), regrets(of[task], "undiscounted")) for task in tasks}
    lines += ["", *head]
    for name in next(iter(lost.values()))[0]:
        cells = [f"{_spoken(kinds[0][name])}; undiscounted {_spoken(kinds[1][name], 0)}" for kinds in lost.values()]
        lines.append(_line(name, cells))
    return "\n".join(lines)


def judgements_digest(rows: list[dict]) -> str:
    """Changes when a number that is drawn changes; the picture carries it."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


def draw_calibration(rows: list[dict]):
    """Estimate against played return, a panel for each task."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(row["task"] for row in rows))
    figure = Figure(figsize=(5.2 * len(tasks), 5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for panel, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        own = [row for row in rows if row["task"] == task]
        for method, colour in COLOURS.items():
            some = [row for row in own if row["method"] == method]
            if not some:
                continue
            x, y, low, high = (np.array([row[key] for row in some]) for key in ("played", "estimate", "low", "high"))
            bars = np.abs(np.stack([y - low, high - y]))
            panel.errorbar(x, y, bars, fmt="o", color=colour, markersize=4, elinewidth=0.7, label=spoken(method))
        ends = [min(0, *(row["played"] for row in own)), max(row["played"] for row in own)]
        panel.plot(ends, ends, color="black", linewidth=1, linestyle=":", label="estimate = truth")
        data = np.mean([row["data"] for row in own])
        panel.axvline(data, color="#009E73", linewidth=1, linestyle="--", label="the data")
        room = 0.35 * (ends[1] - ends[0])
        panel.set_ylim(ends[0] - room, ends[1] + room)
        rank = rank_correlation(own, "estimate")
        panel.set_title(f"{task}: {len(own)} policies, rank correlation {rank:.2f}", fontsize="medium")
        panel.set_xlabel("discounted return, played")
        panel.set_ylabel("discounted return, estimated from held-out episodes")
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    shown = {}
    for panel in figure.axes:
        lines, names = panel.get_legend_handles_labels()
        shown |= dict(zip(names, lines, strict=True))
    figure.legend(shown.values(), shown, loc="outside lower center", ncols=5, fontsize="small", frameon=False)
    return figure


def _by_run(rows: list[dict]) -> list[list[dict]]:
    runs: dict[tuple, list[dict]] = {}
    for row in rows:
        runs.setdefault((row["task"], row["method"], row["seed"]), []).append(row)
    return list(runs.values())


def _policy(row: dict) -> str:
    return f"{spoken(row['method'])} after {row['step']:.0f} steps"


def _line(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _spoken(estimate: tuple[float, float, float], digits: int = 2) -> str:
    value, low, high = (f"{number:.{digits}f}" for number in estimate)
    return f"{value} ({low} .. {high})"
