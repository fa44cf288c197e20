"""Progress: bars where they can be drawn, and lines that say the same elsewhere."""

import io
import sys

import pytest

from mzu.training import progress
from mzu.training.progress import Bars, Lines, Silence, open_display


def figures(step, evaluation="", fresh_return=""):
    return {"step": step, "loss": 1.5, "value": 2.25, "evaluation": evaluation, "fresh_return": fresh_return}


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_has_step_value_latest_return_and_time_left(clock, capsys):
    lines = Lines(seconds=10)
    lines.begin("CRR", total=100)
    clock[0] += 3
    lines.show("CRR", figures(1))  # compiled; from here the speed counts
    for step in range(2, 41):
        clock[0] += 1
        lines.show("CRR", figures(step, evaluation=12.5 if step == 15 else ""))
    out = capsys.readouterr().out.splitlines()
    assert out == [
        "CRR: step 8 of 100, value 2.25, 1 min 32 s left",
        "CRR: step 18 of 100, value 2.25, return 12.5, 1 min 22 s left",
        "CRR: step 28 of 100, value 2.25, return 12.5, 1 min 12 s left",
        "CRR: step 38 of 100, value 2.25, return 12.5, 1 min 2 s left",
    ]
    clock[0] += 10
    lines.show("CRR", {"evaluating": "search"})
    assert capsys.readouterr().out == "CRR: final evaluation by search\n"


def test_a_resumed_run_counts_its_speed_from_where_it_went_on(clock, capsys):
    lines = Lines(seconds=10)
    lines.begin("run", total=1000)
    lines.show("run", figures(901, fresh_return=3.0))
    clock[0] += 11
    lines.show("run", figures(912, fresh_return=4.0))
    assert capsys.readouterr().out == "run: step 912 of 1000, value 2.25, return 4.00, 1 min 28 s left\n"


def test_a_terminal_gets_a_bar_for_each_run(monkeypatch, capsys):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    display = open_display(10)
    assert isinstance(display, Bars)
    for label in ("CRR", "Unplugged"):
        display.begin(label, 20)
        display.show(label, figures(11, evaluation=12.5))
    display.show("CRR", {"evaluating": "policy"})
    display.say("CRR: 20 steps")
    display.close()
    drawn = terminal.getvalue()
    assert "CRR: 100%" in drawn and "final evaluation by policy" in drawn
    assert "Unplugged:  55%" in drawn and "11/20" in drawn and "loss=1.5, value=2.25, evaluation=12.5" in drawn
    assert capsys.readouterr().out == "CRR: 20 steps\n"


def test_without_a_terminal_there_are_lines_and_with_0_there_is_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(open_display(10), Lines) and isinstance(open_display(0), Silence)
