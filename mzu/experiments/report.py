"""The results as text: tables in the paper's layout, verdicts, costs. Everything comes from the rows of a CSV.

Returns stand as mean over the runs with its 95 % interval where a cell is one task, and as normalised scores,
in per cent of the behaviour that played the data, where tasks are taken together.
"""

import json
from importlib import resources

import numpy as np

from mzu.environments.scores import interquartile_mean, mean, median
from mzu.experiments.definition import SEARCH, STEPS, Experiment, Measure, Side, Task
from mzu.experiments.statistics import Estimate, Verdict, estimate, returns_of, scores_of, verdict_on_claim

NOTHING = "-"


def paper_table(name: str) -> dict | None:
    """What the paper reports: {"caption", "header", "rows"}."""
    return json.loads(resources.files("mzu.experiments").joinpath("paper_numbers.json").read_text()).get(name)


def columns(experiment: Experiment) -> list[tuple[str, str, Measure]]:
    """(title, variant, measure) of every column of a table by task."""
    found = []
    for variant in experiment.variants:
        names = {measure.name for measure in variant.measures}
        checkpoints = {measure.checkpoint for measure in variant.measures}
        for measure in variant.measures:
            parts = [variant.title]
            parts += [measure.name] if len(names) > 1 else []
            parts += [measure.checkpoint] if len(checkpoints) > 1 else []
            found.append((", ".join(parts), variant.name, measure))
    return found


def by_task(experiment: Experiment, tasks: dict[str, Task], rows: list[dict]) -> list[list[str]]:
    """A line per task with mean returns, then all tasks together as normalised scores."""
    kinds = columns(experiment)
    lines = [["task", "action dimensions", "random", "data", *(title for title, _, _ in kinds)]]
    for name in experiment.tasks:
        task = tasks[name]
        cells = [
            shown_estimate(estimate(returns_of(rows, name, variant, kind)[:, None], mean)) for _, variant, kind in kinds
        ]
        dimensions = str(task.dimensions) if task.dimensions else "discrete"
        lines.append([task.title, dimensions, four_digits(task.random), four_digits(task.behaviour), *cells])
    if len(experiment.tasks) > 1:
        named = [tasks[name] for name in experiment.tasks]
        for title, statistic in (("median", median), ("mean", mean), ("IQM", interquartile_mean)):
            scores = [scores_of(rows, named, Side((variant,), kind)) for _, variant, kind in kinds]
            cells = [shown_estimate(estimate(score, statistic), per_cent=True) for score in scores]
            lines.append([f"{title}, normalised", "", "0 %", "100 %", *cells])
    return lines


def losses_by_selection(experiment: Experiment, tasks: dict[str, Task], rows: list[dict]) -> list[list[str]]:
    """The paper's grid: a line per action selection, a column per loss; interquartile mean of normalised scores."""
    named = [tasks[name] for name in experiment.tasks]
    lines = [["action selection", *(variant.title for variant in experiment.variants)]]
    for select in ("policy", "value", "search"):
        cells = []
        for variant in experiment.variants:
            kind = next((measure for measure in variant.measures if measure.select == select), None)
            scores = None if kind is None else scores_of(rows, named, Side((variant.name,), kind))
            cells.append(NOTHING if kind is None else shown_estimate(estimate(scores), per_cent=True))
        lines.append([select, *cells])
    return lines


def by_variant(experiment: Experiment, tasks: dict[str, Task], rows: list[dict]) -> list[list[str]]:
    """A line per variant: steps in the world, learner steps, and the mean return in each task."""
    titles = [tasks[name].title for name in experiment.tasks]
    lines = [["", "steps in the world", "learner steps", *titles]]
    for title, variant, kind in columns(experiment):
        own = [row for row in rows if row["variant"] == variant]
        steps = [
            four_digits(np.mean([row[column] for row in own])) if own else NOTHING for column in ("fresh_steps", "step")
        ]
        cells = [
            shown_estimate(estimate(returns_of(rows, name, variant, kind)[:, None], mean)) for name in experiment.tasks
        ]
        lines.append([title, *steps, *cells])
    return lines


def by_setting(experiment: Experiment, tasks: dict[str, Task], rows: list[dict]) -> list[list[str]]:
    """A line per variant, a column per task and way to act, mean returns in each."""
    kinds = [(name, measure) for name in experiment.tasks for measure in experiment.variants[0].measures]
    lines = [["", *(f"{tasks[name].title}: {measure.name}" for name, measure in kinds)]]
    for variant in experiment.variants:
        returns = [returns_of(rows, name, variant.name, measure) for name, measure in kinds]
        lines.append([variant.title, *(shown_estimate(estimate(one[:, None], mean)) for one in returns)])
    return lines


def by_steps(experiment: Experiment, tasks: dict[str, Task], rows: list[dict]) -> list[list[str]]:
    """A line per task and variant: steps in the world until the goal and in all, learner steps, return in the end."""
    lines = [["", "", "steps in the world until the goal", "in all", "learner steps", "return in the end"]]
    for name in experiment.tasks:
        for variant in experiment.variants:
            until, returns = (returns_of(rows, name, variant.name, kind) for kind in (STEPS, SEARCH))
            own = [row for row in rows if (row["task"], row["variant"]) == (name, variant.name)]
            own = [row for row in own if row["select"] == SEARCH.name]
            totals = [
                four_digits(np.mean([row[column] for row in own])) if own else NOTHING
                for column in ("fresh_steps", "step")
            ]
            cells = [shown_estimate(estimate(cell[:, None], mean)) for cell in (until, returns)]
            lines.append([f"{tasks[name].title}, {tasks[name].goal:g}", variant.title, cells[0], *totals, cells[1]])
    return lines


LAYOUTS = {layout.__name__: layout for layout in (by_task, losses_by_selection, by_variant, by_setting, by_steps)}


def verdicts(experiment: Experiment, tasks: dict[str, Task], rows: list[dict]) -> list[Verdict]:
    return [verdict_on_claim(experiment, tasks, claim, rows) for claim in experiment.claims]


def verdict_sentence(item: Verdict) -> str:
    """A claim and what came of it, as a line of a list."""
    runs = f"{item.better.runs} runs" if item.better.runs != 1 else "1 run"
    if item.claim.counts_steps:
        better, worse = (shown_estimate(_counted(side)) for side in (item.better, item.worse))
        of = f"{100 * item.claim.share:.0f} % of the other side's steps, "
        return f"**{item.claim.sentence}: {item.outcome}.** Steps: {better}, against {of}{worse} ({runs})."
    better, worse = (shown_estimate(side, per_cent=True) for side in (item.better, item.worse))
    return f"**{item.claim.sentence}: {item.outcome}.** {better} against {worse} ({runs})."


def _counted(side: Estimate) -> Estimate:
    """Steps, of which fewer score higher."""
    return Estimate(-side.value, -side.high, -side.low, side.runs)


def cost(rows: list[dict]) -> tuple[int, float, float]:
    """(runs, minutes, processor minutes) of training what the rows were measured of."""
    runs = {row["run"]: row for row in rows}.values()
    return len(runs), sum(row["minutes"] for row in runs), sum(row["processor_minutes"] for row in runs)


def markdown(lines: list[list]) -> str:
    """Lines of cells, the first one the header, as a table of Markdown."""
    texts = [[str(cell) for cell in line] for line in lines]
    texts.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in texts)


def four_digits(value: float) -> str:
    """About four digits, thousands with commas."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 or value == 0 else f"{value:.2f}"


def shown_estimate(item: Estimate, per_cent: bool = False) -> str:
    """A number with its interval, such as "412.0 (390.1 .. 431.7)"."""
    if item.runs == 0:
        return NOTHING
    if np.isinf(item.value):
        return "not reached in every run"
    write = (lambda value: f"{100 * value:.0f} %") if per_cent else four_digits
    if item.runs == 1:
        return f"{write(item.value)} (one run)"
    low = write(item.low).removesuffix(" %") if per_cent else write(item.low)
    return f"{write(item.value)} ({low} .. {write(item.high)})"
