"""Curves that grow in a notebook: one picture, replaced in its place, the last of which stays."""

import io
import sys

import nbformat
import numpy as np
from PIL import Image

from mzu.classroom.notebooks import execute
from mzu.training import live_curves, progress
from mzu.training.live_curves import LiveCurves, curves_while, draw_live, smooth


def figures(step, evaluation="", fresh_return=""):
    return {
        "step": step,
        "loss": 1 / step,
        "value": 2.0,
        "evaluation": evaluation,
        "fresh_return": fresh_return,
    }


def published(shown):
    def publish(picture, words, display_id):
        shown.append((Image.open(io.BytesIO(picture)).size, words, display_id))
        return display_id or "first"

    return publish


def test_one_picture_is_replaced_and_a_last_one_is_drawn(monkeypatch):
    now, shown = [100.0], []
    monkeypatch.setattr(live_curves.time, "monotonic", lambda: now[0])
    display = LiveCurves(published(shown))
    display.begin("CRR", 40)
    for step in range(1, 41):
        now[0] += 0.25
        display.show("CRR", figures(step))
    assert len(shown) == 10  # once a second, not once a step
    display.show("CRR", {"evaluating": "policy"})
    display.close()
    assert [place for _, _, place in shown] == [None] + ["first"] * 10
    assert {words for _, words, _ in shown} == {"learning curves of CRR"}


def test_drawing_takes_a_small_share_of_the_time(monkeypatch):
    now, shown = [100.0], []
    monkeypatch.setattr(live_curves.time, "monotonic", lambda: now[0])

    def slow(picture, words, display_id):
        now[0] += 2.0
        shown.append(now[0])

    display = LiveCurves(slow)
    display.begin("CRR", 1000)
    for step in range(1, 401):
        now[0] += 0.25
        display.show("CRR", figures(step))
    assert len(shown) == 3  # every 40 seconds, of 100


def test_nothing_is_drawn_of_a_run_that_took_no_step():
    shown = []
    display = LiveCurves(published(shown))
    display.begin("CRR", 40)
    display.close()
    assert shown == []


def test_there_is_a_panel_of_returns_only_where_there_are_returns():
    history = {
        "a": {
            "loss": ([1, 2], [3.0, 2.0]),
            "value": ([1, 2], [0.0, 1.0]),
            "return": ([], []),
            "playing": ([], []),
        }
    }
    titles = [panel.get_title() for panel in draw_live(history, {"a": 10}, "step 2 of 10").axes]
    assert titles == ["loss", "value"]
    history["a"]["playing"] = ([2], [9.0])
    figure = draw_live(history, {"a": 10}, "")
    assert [panel.get_title() for panel in figure.axes] == [
        "loss",
        "value",
        "return per episode",
    ]
    assert figure.axes[0].get_xlim() == (0, 10)
    assert figure.axes[2].lines[0].get_xydata().tolist() == [[2.0, 9.0]]


def test_a_long_curve_is_shown_by_means():
    steps, values = smooth(list(range(1, 8)), [0, 2, 4, 6, 8, 10, 12], points=3)
    assert steps.tolist() == [2, 5, 7] and values.tolist() == [2, 8, 12]
    assert smooth([1, 2], [5.0, 6.0])[1].tolist() == [5, 6]
    assert [len(numbers) for numbers in smooth([], [])] == [0, 0]
    assert len(smooth(np.arange(1001), np.arange(1001))[0]) <= 100


def test_outside_of_a_notebook_a_loop_of_ones_own_has_a_bar_or_lines(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    with curves_while("ours", 3) as show:
        for step in (1, 2, 3):
            show(figures(step))
    assert "ours: 100%" in terminal.getvalue()
    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    assert isinstance(progress.open_display(10), LiveCurves)


def test_a_notebook_keeps_one_final_picture_of_its_training():
    cell = nbformat.v4.new_code_cell(
        "from mzu.training import live_curves\n"
        "live_curves.BUSY = 1e9\n"
        "import time\n"
        "with live_curves.curves_while('ours', 30) as show:\n"
        "    for step in range(1, 31):\n"
        "        time.sleep(0.1)\n"
        "        show({'step': step, 'loss': 1 / step, 'value': 0.5, 'evaluation': '', 'fresh_return': ''})\n"
        "    print('trained')\n"
    )
    notebook = nbformat.v4.new_notebook(cells=[cell])
    execute(notebook, seconds=120)
    pictures = [output for output in cell.outputs if "data" in output]
    assert len(pictures) == 1 and pictures[0].data["text/plain"] == "learning curves of ours"
    assert "".join(output.text for output in cell.outputs if output.output_type == "stream") == "trained\n"
