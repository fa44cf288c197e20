"""Results as rows of a table and as sentences."""

from pathlib import Path

import pytest

from mzu.training.results import evaluated_rows, fallen_words, finished_words, result_row, results_table, shown_time


def test_results_of_older_versions_are_still_read():
    old = {"steps": 5, "select": "policy", "name": "CRR", "mean": 3.0, "low": 2.0, "high": 4.0}
    assert [row["name"] for row in evaluated_rows("crr", old)] == ["CRR, by policy"]
    assert evaluated_rows("crr", {"steps": 5, "fresh_steps": 0, "minutes": 1.0}) == []
    assert finished_words("CRR", old | {"seconds": 100}) == "CRR: 5 steps in 1 min 40 s, 3.00 by policy (2.00 .. 4.00)"


@pytest.mark.parametrize(
    "final, best, is_said", [(91, 100, False), (89, 100, True), (-108, -100, False), (-112, -100, True)]
)
def test_a_final_network_that_has_fallen_behind_the_best_one_is_said(final, best, is_said):
    result = {"mean": float(final), "select": "search"}
    words = fallen_words("unplugged", Path("runs/a b"), result, {"step": 20, "mean": float(best)})
    assert (words is not None) == is_said
    if is_said:
        assert words.endswith("(step 20): `mzu evaluate 'runs/a b' --checkpoint best`")
    assert fallen_words("", Path("runs/a"), result, {}) is None


def test_times_are_said_as_people_say_them():
    assert [shown_time(seconds) for seconds in (4.4, 60, 200, 7500)] == ["4 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]


def test_a_table_has_the_mean_its_interval_and_the_extremes():
    row = result_row("ten", [0.0, 10.0] * 50, [3, 5] * 50)
    assert (row["mean"], row["min"], row["max"], row["length"], row["episodes"]) == (5, 0, 10, 4, 100)
    # The mean of 100 such returns has a standard error of 0.5.
    assert 3.8 < row["low"] < 4.2 and 5.8 < row["high"] < 6.2
    title, line = results_table([row], "world").splitlines()
    assert title.startswith("world") and line.startswith("ten") and len(title) == len(line)
