"""How estimates and played returns are compared, and the committed judgements behind tutorials/offline_judgement.md."""

from pathlib import Path

import pytest

from mzu.experiments import offline_calibration
from mzu.experiments.offline_calibration import (
    COLUMNS,
    PICTURE,
    PROOF,
    TASKS,
    judge_policies,
    read_judgements,
    train_policies,
    write_judgements,
)
from mzu.experiments.offline_statistics import (
    calibration,
    calibration_tables,
    chosen_words,
    draw_calibration,
    judgements_digest,
    regrets,
)
from mzu.learning.fitted_q import FitSettings

PAGE = Path(__file__).parents[2] / "tutorials" / "offline_judgement.md"


def row(method, seed, step, estimate, played, likelihood=0.0, width=1.0):
    numbers = {"estimate": estimate, "low": estimate - width, "high": estimate + width, "likelihood": likelihood}
    numbers |= {"played": played, "undiscounted": 10 * played, "agrees": 0.5, "data": 2.0, "data_estimated": 2.0}
    return {"task": "a", "method": method, "seed": seed, "step": step, "episodes": 4} | numbers


# Of the first run the estimate prefers the best, of the second the worst; the last is best in none.
ROWS = [
    row("crr", 1.0, 10, 5.0, 4.0, likelihood=-3),
    row("crr", 1.0, 20, 3.0, 3.0, likelihood=-1),
    row("unplugged", 1.0, 10, 1.0, 6.0, likelihood=-2),
    row("unplugged", 1.0, 20, 2.0, 1.0, likelihood=-4),
]


def test_calibration_by_hand():
    found = calibration(ROWS)
    assert (found.policies, found.runs, found.best) == (4, 2, 6.0)
    assert found.bias[0] == pytest.approx((1 + 0 - 5 + 1) / 4) and found.error == pytest.approx(7 / 4)
    assert found.covered == 3 / 4
    # Ranks of the estimates 4 3 1 2, of the played returns 3 2 4 1: 1 - 6 * (1 + 1 + 9 + 1) / (4 * 15).
    assert found.rank_correlation[0] == pytest.approx(1 - 72 / 60)
    low, high = found.bias[1:]
    assert low == pytest.approx(-2) and high == pytest.approx(0.5)  # one run or the other, drawn twice


def test_a_perfect_estimate_has_no_error_and_loses_nothing():
    perfect = [one | {"estimate": one["played"]} for one in ROWS]
    found = calibration(perfect)
    assert found.rank_correlation == (1, 1, 1) and found.bias == (0, 0, 0) and found.error == 0
    assert regrets(perfect)["the highest estimate"] == (0, 0, 0)


def test_what_a_choice_loses_by_hand():
    lost = regrets(ROWS)
    assert lost["the last"][0] == pytest.approx((1 + 5) / 2)
    assert lost["the highest estimate"][0] == pytest.approx((0 + 5) / 2)
    assert lost["the highest likelihood"][0] == pytest.approx((1 + 0) / 2)
    assert lost["any one"][0] == pytest.approx((0.5 + 2.5) / 2)
    assert regrets(ROWS, "undiscounted")["the last"][0] == pytest.approx(30)
    words = "CRR after 10 steps has the highest estimate, plays 4.00; the best, Unplugged after 10 steps, plays 6.00"
    assert chosen_words(ROWS) == [f"a, seed 1: {words}"]


def test_policies_are_trained_judged_and_played(tmp_path, monkeypatch):
    small = offline_calibration.Judged((1, 2), (), episodes=2)
    monkeypatch.setattr(offline_calibration, "TASKS", {"cartpole_offline": small})
    quick = FitSettings(8, iterations=2, steps=2, batch_size=16, members=2, jit_compile=False)
    run = train_policies("cartpole_offline", "behaviour_cloning", 3, tmp_path, {"learning.jit_compile": False})
    assert run.checkpoints() == [1, 2] and run.config.reanalyse.held_out == 0.2
    rows = judge_policies("cartpole_offline", run, quick, say=lambda words: None)
    write_judgements(rows, tmp_path / "a.csv")
    assert [(one["method"], one["step"]) for one in read_judgements(tmp_path / "a.csv")] == [
        ("behaviour_cloning", 1),
        ("behaviour_cloning", 2),
    ]
    for one in read_judgements(tmp_path / "a.csv"):
        assert set(one) == set(COLUMNS) and one["low"] < one["estimate"] < one["high"] and 0 < one["played"] < 67


def test_the_committed_judgements_are_those_of_the_page_and_the_picture():
    rows = read_judgements(PROOF)
    for task in TASKS:
        own = [one for one in rows if one["task"] == task]
        asked = [(*run, step) for run in TASKS[task].runs for step in TASKS[task].checkpoints]
        assert [(one["method"], one["seed"], one["step"]) for one in own] == asked and len(own) >= 20
    text = PAGE.read_text()
    for table in calibration_tables(rows).split("\n\n"):
        assert table in text, "put the tables of `python -m mzu.experiments.offline_calibration` on the page"
    from PIL import Image

    with Image.open(PICTURE) as picture:
        assert picture.text["mzu-data"] == judgements_digest(rows), "draw it by the same command"


def test_the_picture_has_a_panel_for_each_task():
    figure = draw_calibration([*ROWS, *(one | {"task": "b"} for one in ROWS)])
    assert [panel.get_title()[:13] for panel in figure.axes] == ["a: 4 policies", "b: 4 policies"]
