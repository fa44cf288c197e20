"""Tables, figures and the page say what the rows say."""

import dataclasses

import pytest
from made_experiments import EXPERIMENT, ROWS, TASK, row

from mzu.experiments import report
from mzu.experiments.catalogue import EXPERIMENTS
from mzu.experiments.definition import SEARCH, STEPS, Claim, Side, Variant
from mzu.experiments.figures import data_digest, draw_experiment, read_digest
from mzu.experiments.page import experiment_section
from mzu.experiments.paper_scale import OWN
from mzu.experiments.statistics import Estimate
from mzu.experiments.tasks import TASKS


def every_row(experiment):
    """Made-up returns for every cell of an experiment, two seeds."""
    return [
        row(variant.name, seed, place + seed / 10, name, kind.select, kind.checkpoint)
        for name in experiment.tasks
        for place, variant in enumerate(experiment.variants)
        for kind in variant.measures
        for seed in (0, 1)
    ]


def test_a_table_by_task_has_means_intervals_and_a_dash_where_nothing_is_known():
    header, line = report.by_task(EXPERIMENT, {"tiny": TASK}, ROWS)
    assert header[4:] == ["slow", "fast, policy, final", "fast, search, final", "fast, search, best"]
    assert line == ["Tiny", "discrete", "2.00", "6.00", "3.00 (2.00 .. 4.00)", "10.0 (10.0 .. 10.0)", "-", "-"]


def test_several_tasks_are_summed_up_as_normalised_scores():
    other = dataclasses.replace(TASK, name="other", title="Other")
    both = dataclasses.replace(EXPERIMENT, tasks=("tiny", "other"))
    table = ROWS + [row("fast", seed, 6.0, "other") for seed in (0, 1)]
    lines = report.by_task(both, {"tiny": TASK, "other": other}, table)
    assert [line[0] for line in lines[3:]] == ["median, normalised", "mean, normalised", "IQM, normalised"]
    assert [line[5] for line in lines[3:]] == ["150 % (150 .. 150 %)"] * 3


def test_the_grid_has_a_line_for_each_selection():
    experiment = EXPERIMENTS["ablations"]
    lines = report.losses_by_selection(experiment, TASKS, every_row(experiment))
    assert [line[0] for line in lines] == ["action selection", "policy", "value", "search"]
    assert lines[3][1] == "-" and "%" in lines[3][2]


def test_a_number_is_shown_with_its_interval():
    item = Estimate(0.512, 0.4, 0.6, 5)
    assert report.shown_estimate(item, per_cent=True) == "51 % (40 .. 60 %)"
    assert report.shown_estimate(item) == "0.51 (0.40 .. 0.60)"
    assert report.shown_estimate(dataclasses.replace(item, runs=1)) == "0.51 (one run)"
    assert report.shown_estimate(dataclasses.replace(item, runs=0)) == "-"
    assert [report.four_digits(value) for value in (1234.5, -12.34, 0.0)] == ["1,234", "-12.3", "0.0"]


def test_a_run_that_several_cells_share_costs_once():
    shared = [row("fast", 0, 1.0), row("fast", 0, 1.0, select="search"), row("fast", 1, 1.0)]
    assert report.cost(shared) == (2, 1.0, 1.5)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda item: item.name)
def test_every_experiment_can_be_shown(experiment, tmp_path):
    table = every_row(experiment)
    text = experiment_section(experiment, TASKS, table, "a.png")
    assert all(claim.sentence in text for claim in experiment.claims) and experiment.claims
    assert ("The paper, on other data and at another scale" in text) == (experiment.name not in OWN)
    assert f"mzu reproduce {experiment.name}" in text
    draw_experiment(experiment, TASKS, table, tmp_path / "a.png")
    assert read_digest(tmp_path / "a.png") == data_digest(experiment, table)


def test_steps_until_a_goal_are_shown_with_what_the_runs_took_in_all():
    both = [Variant(name, name, (), (STEPS, SEARCH)) for name in ("slow", "fast")]
    claim = Claim("Fast needs at most half", Side(("fast",), STEPS), Side(("slow",), STEPS), share=0.5)
    experiment = dataclasses.replace(EXPERIMENT, variants=tuple(both), claims=(claim,))
    tasks = {"tiny": dataclasses.replace(TASK, goal=5.0)}
    table = [row("slow", seed, 100.0, select="steps") for seed in (0, 1)]
    table += [row("fast", 0, 40.0, select="steps"), row("fast", 1, 44.0, select="steps")]
    table += [row(name, seed, 7.0, select="search") for name in ("slow", "fast") for seed in (0, 1)]
    lines = report.by_steps(experiment, tasks, table)
    assert lines[1] == ["Tiny, 5", "slow", "100.0 (100.0 .. 100.0)", "24.0", "6.00", "7.00 (7.00 .. 7.00)"]
    assert lines[2][2] == "42.0 (40.0 .. 44.0)"
    (verdict,) = report.verdicts(experiment, tasks, table)
    assert report.verdict_sentence(verdict) == (
        "**Fast needs at most half: holds.** Steps: 42.0 (40.0 .. 44.0), against 50 % of the other side's steps, "
        "50.0 (50.0 .. 50.0) (2 runs)."
    )
    table[3] = row("fast", 1, float("inf"), select="steps")
    assert report.by_steps(experiment, tasks, table)[2][2] == "not reached in every run"
