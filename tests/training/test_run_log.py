"""The logs of a run grow by whole rows, are read as numbers, and are not taken for others' numbers."""

import math
from pathlib import Path

import pytest

from mzu.training.run_log import append_row, keep_rows, logged_rows
from mzu.training.seals import seal_here


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    for step in (5, 10, 15):
        append_row(path, {"step": step, "loss": step / 10, "evaluation": ""})
    seal_here(path)
    return path


def test_rows_are_numbers_and_empty_cells_are_nan(log):
    assert [(row["step"], row["loss"]) for row in logged_rows(log)] == [(5, 0.5), (10, 1), (15, 1.5)]
    assert math.isnan(logged_rows(log)[0]["evaluation"])
    assert logged_rows(log.with_name("none.csv")) == []


def test_the_first_row_decides_the_columns(log):
    append_row(log, {"step": 20, "new": 3, "loss": 2})
    assert list(logged_rows(log)[-1]) == ["step", "loss", "evaluation"] and logged_rows(log)[-1]["loss"] == 2


def test_a_changed_digit_is_noticed_up_to_the_seal(log):
    append_row(log, {"step": 20, "loss": 2, "evaluation": ""})
    log.write_text(log.read_text().replace("1.5", "1.6"))
    for use in (logged_rows, lambda path: keep_rows(path, 10)):
        with pytest.raises(ValueError, match=r"log.csv is not as mzu wrote it"):
            use(log)
    assert "20,2" in log.read_text()  # nothing was taken out of it


@pytest.mark.parametrize("step, kept", [(100, [5, 10, 15]), (12, [5, 10]), (0, [])])
def test_rows_behind_a_step_are_taken_out_and_the_log_goes_on(log, step, kept):
    keep_rows(log, step)
    assert [row["step"] for row in logged_rows(log)] == kept
    append_row(log, {"step": 99, "loss": 2, "evaluation": ""})
    assert [row["step"] for row in logged_rows(log)] == [*kept, 99]


def test_a_log_that_was_moved_away_begins_anew(log):
    log.rename(log.with_name("moved.csv"))
    append_row(log, {"step": 20, "loss": 2, "evaluation": ""})
    assert [row["step"] for row in logged_rows(log)] == [20]


def test_a_log_that_is_taken_away_while_somebody_looks_has_no_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda path: True)  # it was there a moment ago
    assert logged_rows(tmp_path / "log.csv") == []
