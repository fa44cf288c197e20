"""Scores, intervals and verdicts, against numbers worked out by hand."""

import numpy as np
import pytest
from made_experiments import EXPERIMENT, TASK

from mzu.environments.scores import mean
from mzu.experiments.definition import POLICY, SEARCH, STEPS, Claim, Side, Task
from mzu.experiments.statistics import (
    HOLDS,
    OPEN,
    REVERSED,
    Estimate,
    Verdict,
    estimate,
    performance_profile,
    returns_of,
    scores_of,
    verdict_on_claim,
)

OTHER = Task("other", "Other", (), 3, random=0.0, behaviour=10.0)


def rows(variant, returns, task="tiny", select="policy"):
    names = {"task": task, "variant": variant, "select": select, "checkpoint": "final"}
    return [names | {"seed": seed, "mean": value} for seed, value in enumerate(returns)]


def test_returns_are_those_of_the_cell_by_seed():
    table = rows("fast", [3.0, 5.0]) + rows("fast", [9.0], select="search") + rows("slow", [1.0])
    assert returns_of(table[::-1], "tiny", "fast", POLICY).tolist() == [3.0, 5.0]
    assert returns_of(table, "tiny", "fast", SEARCH).tolist() == [9.0]
    assert returns_of(table, "other", "fast", POLICY).tolist() == []


def test_scores_have_a_column_for_every_task_and_variant_and_only_complete_runs():
    table = rows("fast", [2.0, 6.0, 10.0]) + rows("fast", [5.0, 10.0], "other") + rows("slow", [4.0, 4.0])
    table += rows("slow", [0.0, 20.0], "other")
    scores = scores_of(table, [TASK, OTHER], Side(("fast", "slow"), POLICY))
    assert scores.tolist() == [[0.0, 0.5, 0.5, 0.0], [1.0, 0.5, 1.0, 2.0]]


def test_an_estimate_of_equal_runs_has_no_width_and_one_run_has_no_interval():
    assert estimate(np.full((5, 2), 0.3), mean) == Estimate(
        pytest.approx(0.3), pytest.approx(0.3), pytest.approx(0.3), 5
    )
    single = estimate(np.array([[0.3]]))
    assert single.value == pytest.approx(0.3) and np.isnan([single.low, single.high]).all()
    assert estimate(np.zeros((0, 2))).runs == 0


def test_runs_are_drawn_within_their_stratum():
    """Two tasks of very different level, without spread within: no drawing of runs can change the mean."""
    item = estimate(np.array([[0.0, 10.0]] * 5), mean)
    assert (item.value, item.low, item.high) == (5.0, 5.0, 5.0)


def test_the_interval_of_two_runs_reaches_from_one_to_the_other():
    """Of two runs 0 and 1, a quarter of all samples is (0, 0) and a quarter (1, 1)."""
    item = estimate(np.array([[0.0], [1.0]]), mean)
    assert (item.low, item.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    "better, worse, outcome",
    [
        ((0.8, 1.0), (0.5, 0.7), HOLDS),
        ((0.5, 0.7), (0.8, 1.0), REVERSED),
        ((0.6, 0.9), (0.5, 0.7), OPEN),
        ((0.7, 0.9), (0.5, 0.7), OPEN),
        ((np.nan, np.nan), (0.5, 0.7), OPEN),
    ],
)
def test_only_intervals_that_do_not_overlap_decide(better, worse, outcome):
    sides = (Estimate(0.0, *bounds, 5) for bounds in (better, worse))
    assert Verdict(EXPERIMENT.claims[0], *sides).outcome == outcome


def test_a_claim_is_decided_by_the_runs_of_its_tasks():
    table = rows("fast", [10.0, 10.4, 9.6]) + rows("slow", [2.0, 2.4, 1.6])
    item = verdict_on_claim(EXPERIMENT, {"tiny": TASK}, EXPERIMENT.claims[0], table)
    assert item.outcome == HOLDS
    assert (item.better.value, item.worse.value) == (pytest.approx(2.0), pytest.approx(0.0))


def test_a_claim_without_a_worse_side_is_about_the_data():
    claim = Claim("Fast is above the data", Side(("fast",), POLICY), None)
    above = verdict_on_claim(EXPERIMENT, {"tiny": TASK}, claim, rows("fast", [7.0, 8.0, 9.0]))
    assert above.outcome == HOLDS and (above.worse.low, above.worse.high) == (1.0, 1.0)
    assert verdict_on_claim(EXPERIMENT, {"tiny": TASK}, claim, rows("fast", [5.0, 8.0, 4.0])).outcome == OPEN


def test_one_stratum_is_averaged_and_several_are_trimmed():
    """One run far off: the mean of one task follows it, the interquartile mean of two tasks does not."""
    table = rows("fast", [6.0, 6.0, 6.0, 402.0])
    alone = verdict_on_claim(EXPERIMENT, {"tiny": TASK}, Claim("", Side(("fast",), POLICY), None), table)
    assert alone.better.value == pytest.approx((3 * 1 + 100) / 4)
    table += rows("fast", [10.0] * 4, "other")
    claim = Claim("", Side(("fast",), POLICY), None, ("tiny", "other"))
    together = verdict_on_claim(EXPERIMENT, {"tiny": TASK, "other": OTHER}, claim, table)
    assert together.better.value == pytest.approx(1.0)


def test_a_performance_profile_is_the_share_of_runs_above_each_threshold():
    scores = np.array([[0.0, 1.0], [0.5, 2.0]])
    shares, low, high = performance_profile(scores, np.array([-1.0, 0.0, 0.7, 1.0, 3.0]))
    assert shares.tolist() == [1.0, 0.75, 0.5, 0.25, 0.0]
    assert (low <= shares).all() and (shares <= high).all()
    # Above 0.7 lies the whole second task and nothing of the first: no drawing within the tasks changes that.
    assert (low[2], high[2]) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("fast", "outcome"),
    [([40.0, 45.0], HOLDS), ([60.0, 70.0], REVERSED), ([45.0, 55.0], OPEN), ([40.0, np.inf], OPEN)],
)
def test_a_claim_on_steps_holds_where_at_most_that_share_of_them_is_needed(fast, outcome):
    claim = Claim("Fast needs at most half", Side(("fast",), STEPS), Side(("slow",), STEPS), share=0.5)
    table = rows("slow", [100.0, 100.0], select="steps") + rows("fast", fast, select="steps")
    assert verdict_on_claim(EXPERIMENT, {"tiny": TASK}, claim, table).outcome == outcome
