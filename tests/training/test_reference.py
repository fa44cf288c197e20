"""A run is placed in the band of other seeds."""

import csv

import numpy as np
import pytest
from PIL import Image

import mzu
from mzu.training import progress, reference
from mzu.training.curves import Curve, draw_curves
from mzu.training.plan import plan_new
from mzu.training.reference import COLUMNS, Reference, curve_digest, find_reference, made_reference, standing

STEPS = np.array([100, 200, 300])
BAND = Reference("a", STEPS, np.array([[10.0, 50, 90], [20, 60, 100], [15, 40, 95]]))


def runs(*means, width=2.0):
    return [(step, mean, mean + width) for step, mean in zip(STEPS, means, strict=False)]


def test_a_run_within_the_band_is_said_to_be():
    assert standing(BAND, runs(12, 45, 92)).says == "within the band of 3 seeds of a (90.0 .. 100.0 at step 300)"
    assert standing(BAND, runs(12, 45, 120)).says.startswith("above the band")
    assert standing(BAND, runs(3, 20, 92)).below_from is None  # it has caught up
    assert standing(BAND, []) is None


def test_a_run_below_the_band_is_told_from_which_step_on():
    found = standing(BAND, runs(12, 20, 30))
    assert found.below_from == 200
    assert found.says == "below the band of 3 seeds of a (90.0 .. 100.0 at step 300), from step 200 on"
    assert standing(BAND, runs(12, 20, 30, width=15)).below_from == 200
    assert standing(BAND, runs(12, 20, 30, width=70)).below_from is None  # so few episodes say nothing


def test_between_two_evaluations_the_band_is_a_line():
    assert BAND.at(150) == (25.0, 40.0)


def test_other_seeds_share_their_settings_and_other_settings_do_not():
    config = mzu.preset("cartpole").config
    assert curve_digest(config.replace(seed=7, run={"keep_checkpoints": 9})) == curve_digest(config)
    assert curve_digest(config.replace(learning={"td_steps": 3})) != curve_digest(config)


def written(folder, config, seeds=3):
    with (folder / "cartpole.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for seed in range(seeds):
            for step in STEPS:
                row = ("cartpole", "", curve_digest(config), seed, step, seed + step)
                writer.writerow(dict(zip(COLUMNS, row, strict=True)))


def test_a_run_finds_its_reference_by_its_settings(tmp_path):
    config = mzu.preset("cartpole").config
    assert find_reference(config, tmp_path) is None
    written(tmp_path, config)
    found = find_reference(config.replace(seed=5), tmp_path)
    assert (found.name, found.seeds, found.low.tolist()) == ("cartpole", 3, [100, 200, 300])
    assert found.high.tolist() == [102, 202, 302] and found.middle.tolist() == [101, 201, 301]
    assert find_reference(config.replace(learning={"td_steps": 3}), tmp_path) is None
    written(tmp_path, config, seeds=2)
    assert find_reference(config, tmp_path) is None  # two seeds are no band


def test_only_steps_that_all_seeds_have_are_compared():
    rows = [{"preset": "a", "run": "crr", "seed": s, "step": t, "evaluation": t} for s, t in ((1, 5), (1, 10), (2, 10))]
    assert made_reference(rows).steps.tolist() == [10] and made_reference(rows).name == "a, crr"
    assert made_reference([]) is None and made_reference(rows[:1] + rows[2:]) is None


def test_the_band_is_drawn_behind_the_curve(tmp_path):
    rows = [{"step": 100 * n, "evaluation": 30.0 * n, "low": 20.0 * n, "high": 35.0 * n} for n in (1, 2, 3)]
    draw_curves([Curve("trained", rows)], "a", None, BAND).savefig(tmp_path / "with.png")
    draw_curves([Curve("trained", rows)], "a").savefig(tmp_path / "without.png")
    with_band, without = (np.asarray(Image.open(tmp_path / f"{name}.png")) for name in ("with", "without"))
    assert with_band.shape == without.shape and (with_band != without).any()


@pytest.mark.parametrize("folder", sorted(reference.FOLDER.glob("*.csv")), ids=lambda path: path.stem)
def test_committed_curves_are_those_of_their_presets(folder):
    with folder.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["preset"] for row in rows} == {folder.stem}
    assert len({row["seed"] for row in rows}) >= 5
    # Of the settings of today: otherwise no run would ever find them.
    planned = {(run.name, curve_digest(run.config)) for run in plan_new(folder.stem).runs}
    assert {(row["run"], row["settings"]) for row in rows} == planned


def test_the_progress_line_says_where_the_run_stands(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines = progress.Lines(seconds=10)
    lines.begin("run", total=100)
    for step, place in ((1, None), (2, "below the band"), (3, None)):
        now[0] += 11
        figures = {"step": step, "loss": 1.0, "value": 2.0, "evaluation": 3.0 if place else "", "fresh_return": ""}
        lines.show("run", figures | ({"standing": place} if place else {}))
    out = capsys.readouterr().out.splitlines()
    assert "return 3.00, below the band," in out[1] and "band" not in out[2]
