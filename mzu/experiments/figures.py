"""The results as pictures: one PNG per experiment, drawn from the rows of a CSV.

A picture carries a digest of what it was drawn from in its metadata, so that a test can tell whether it is up to date
without comparing pixels, which differ between versions of the drawing library.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from mzu.environments.scores import mean
from mzu.experiments.definition import STEPS, Experiment, Side, Task
from mzu.experiments.report import columns
from mzu.experiments.statistics import estimate, performance_profile, returns_of, scores_of
from mzu.files import written_whole
from mzu.training.curves import STYLES

DIGEST = "mzu-data"  # the key of the PNG's metadata


def data_digest(experiment: Experiment, rows: list[dict]) -> str:
    """Changes when a number or a name that is drawn changes."""
    drawn = [{key: row[key] for key in ("task", "variant", "seed", "select", "checkpoint", "mean", "fresh_steps")}
             for row in rows]  # fmt: skip
    titles = [experiment.title, experiment.figure, *(title for title, _, _ in columns(experiment))]
    return hashlib.sha256(json.dumps([titles, drawn], sort_keys=True).encode()).hexdigest()


def read_digest(path: Path) -> str:
    """The digest that `draw` wrote into the picture."""
    from PIL import Image

    with Image.open(path) as picture:
        return picture.text[DIGEST]


def draw_experiment(experiment: Experiment, tasks: dict[str, Task], rows: list[dict], path: Path) -> None:
    """Writes the experiment's figure as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    FIGURES[experiment.figure](figure, experiment, tasks, rows)
    with written_whole(path) as temporary:
        figure.savefig(temporary, format="png", metadata={DIGEST: data_digest(experiment, rows)})


def points(figure, experiment, tasks, rows) -> None:
    """A panel per task: every run as a dot, the mean over runs with its interval beside it."""
    figure.set_size_inches(3 * len(experiment.tasks) + _label_inches(experiment), 1.5 + 0.4 * len(columns(experiment)))
    _panels(figure, experiment, tasks, rows)


def steps(figure, experiment, tasks, rows) -> None:
    """A panel per task: the steps in the world that each run took to the goal, if it did, and their mean."""
    kinds = [(title.removesuffix(", steps"), *rest) for title, *rest in columns(experiment) if rest[1] == STEPS]
    figure.set_size_inches(3 * len(experiment.tasks) + _label_inches(experiment), 1.5 + 0.4 * len(kinds))
    panels = figure.subplots(1, len(experiment.tasks), squeeze=False)[0]
    for panel, name in zip(panels, experiment.tasks, strict=True):
        for place, (_, variant, kind) in enumerate(kinds):
            _point(panel, len(kinds) - place, returns_of(rows, name, variant, kind), STYLES[place % len(STYLES)])
        panel.set_title(tasks[name].title, fontsize="medium")
        panel.set_xlabel(f"steps in the world until {tasks[name].goal:g}, of runs that got there")
        panel.set_yticks(range(len(kinds), 0, -1), [title for title, _, _ in kinds])
        panel.set(xlim=(0, None), ylim=(0.5, len(kinds) + 0.5))
        panel.tick_params(labelleft=panel is panels[0])
        _finish(panel)
    figure.suptitle(experiment.title)


def _panels(figure, experiment, tasks, rows) -> None:
    names, kinds = experiment.tasks, columns(experiment)
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        task = tasks[name]
        for place, (_, variant, kind) in enumerate(kinds):
            _point(panel, len(kinds) - place, returns_of(rows, name, variant, kind), STYLES[place % len(STYLES)])
        panel.axvline(task.behaviour, color="black", linestyle="--", linewidth=1)
        panel.set_title(task.title, fontsize="medium")
        panel.set_xlabel(f"mean return (dashed: {task.reference})")
        panel.set_yticks(range(len(kinds), 0, -1), [title for title, _, _ in kinds])
        panel.set_ylim(0.5, len(kinds) + 0.5)
        panel.tick_params(labelleft=panel is panels[0])
        _finish(panel)
    figure.suptitle(experiment.title)


def profiles(figure, experiment, tasks, rows) -> None:
    """Above the panels of `points`, below the performance profile: the share of runs above each normalised score."""
    figure.set_size_inches(3 * len(experiment.tasks) + _label_inches(experiment), 7)
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.15))
    _panels(above, experiment, tasks, rows)
    panel = below.subplots()
    named = [tasks[name] for name in experiment.tasks]
    scores = [scores_of(rows, named, Side((variant,), kind)) for _, variant, kind in columns(experiment)]
    highest = max((score.max() for score in scores if score.size), default=1)
    thresholds = np.linspace(-0.5, highest * 1.02, 200)
    for (title, _, _), score, (colour, _) in zip(columns(experiment), scores, STYLES, strict=False):
        if score.size:
            shares, low, high = performance_profile(score, thresholds)
            panel.plot(100 * thresholds, shares, color=colour, label=title)
            panel.fill_between(100 * thresholds, low, high, color=colour, alpha=0.18, linewidth=0)
    panel.axvline(100, color="black", linestyle="--", linewidth=1)
    panel.set_xlabel("normalised score, % (0: random play, 100, dashed: the data's mean return)")
    panel.set_ylabel("share of runs above it")
    panel.set_title("performance profiles over all tasks, with 95 % intervals", fontsize="medium")
    panel.legend(frameon=False)
    _finish(panel)


def bars(figure, experiment, tasks, rows) -> None:
    """The normalised score of every task as a bar from 100 %, the behaviour that played the data."""
    kinds = columns(experiment)
    names = [name for name in experiment.tasks if any(row["task"] == name for row in rows)]
    figure.set_size_inches(8, 1.6 + 0.3 * len(kinds) * max(1, len(names)))
    panel = figure.subplots()
    height = 0.8 / len(kinds)
    for place, (title, variant, kind) in enumerate(kinds):
        found = [estimate(scores_of(rows, [tasks[name]], Side((variant,), kind)), mean) for name in names]
        middle = -np.arange(len(names)) + (len(kinds) / 2 - place - 0.5) * height
        values = np.array([item.value for item in found])
        panel.barh(middle, 100 * (values - 1), height * 0.9, 100, color=STYLES[place % len(STYLES)][0], label=title)
        for at, item in zip(middle, found, strict=True):
            panel.plot([100 * item.low, 100 * item.high], [at, at], color="black", linewidth=1.5)
    panel.axvline(100, color="black", linewidth=1)
    panel.set_yticks(-np.arange(len(names)), [tasks[name].title for name in names])
    panel.set_xlabel("normalised score, % (0: random play, 100: the data's mean return)")
    panel.set_title(experiment.title)
    panel.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _finish(panel)


FIGURES = {drawing.__name__: drawing for drawing in (points, profiles, bars, steps)}


def _label_inches(experiment: Experiment) -> float:
    return 0.5 + 0.08 * max(len(title) for title, _, _ in columns(experiment))


def _point(panel, height: float, returns: np.ndarray, style: tuple[str, str]) -> None:
    colour, marker = style
    if not len(returns):
        return
    panel.plot(returns, np.full(len(returns), height - 0.18), ".", color=colour, alpha=0.7, markersize=5)
    item = estimate(returns[:, None], mean)
    panel.plot([item.low, item.high], [height, height], color=colour, linewidth=2)
    panel.plot(item.value, height, marker, color=colour, markersize=7, markeredgecolor="black")


def _finish(panel) -> None:
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
