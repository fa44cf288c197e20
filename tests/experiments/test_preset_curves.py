"""Reference curves are made of the folders that a preset's check left."""

import csv
import json
import shutil

import pytest

import mzu
from mzu.commands.cli import main
from mzu.experiments.preset_curves import curve_rows, write_curves
from mzu.training.reference import find_reference
from mzu.training.run_folder import RunFolder


def finished(folder, config, offset):
    """A run as it stands in its folder, without having been trained."""
    run = RunFolder.create(folder, config)
    for step in (100, 200, 300):
        evaluation = step / 10 + offset if step != 200 else ""
        run.log({"step": step, "loss": 1.0, "evaluation": evaluation, "low": evaluation, "high": evaluation})
    (folder / "result.json").write_text(json.dumps({"steps": 300, "seconds": 1.0}))
    return run


@pytest.fixture
def checked(tmp_path):
    """Five seeds of an online preset, and something else beside them."""
    config = mzu.preset("cartpole").config
    for seed in range(100, 105):
        finished(tmp_path / f"cartpole-{seed}", config.replace(seed=seed), seed - 100)
    (tmp_path / "cartpole-notes").mkdir()
    return tmp_path, config


def test_the_curves_of_all_seeds_become_a_reference(checked, tmp_path):
    runs, config = checked
    target = tmp_path / "curves"
    path = write_curves("cartpole", runs, target)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5 * 2 and {row["step"] for row in rows} == {"100", "300"}  # no evaluation, no row
    found = find_reference(config, target)
    assert found.low.tolist() == [10, 30] and found.high.tolist() == [14, 34] and found.name == "cartpole"


def test_the_command_says_how_many_seeds_it_found(checked, tmp_path, monkeypatch, capsys):
    runs, _ = checked
    monkeypatch.setattr(write_curves, "__defaults__", (tmp_path / "curves",))
    assert main(["presets", "cartpole", "--curves", "--out", str(runs)]) == 0
    assert "cartpole.csv: 5 seeds, 100, 101, 102, 103, 104\n" in capsys.readouterr().out
    shutil.rmtree(runs / "cartpole-104")
    assert main(["presets", "cartpole", "--curves", "--out", str(runs)]) == 0
    assert "4 seeds" in (out := capsys.readouterr().out) and "at least 5 seeds: `--check --seeds 5`" in out


def test_each_run_of_a_comparison_has_its_own_curve(tmp_path):
    config = mzu.preset("cartpole_offline").config
    for seed in (1, 2):
        for method in ("behaviour_cloning", "crr", "unplugged"):
            finished(tmp_path / f"cartpole_offline-{seed}" / method, config.override(f"seed={seed}"), seed)
    assert {row["run"] for row in curve_rows("cartpole_offline", tmp_path)} == {"behaviour_cloning", "crr", "unplugged"}


def test_what_cannot_be_a_reference_is_refused(checked, capsys):
    runs, config = checked
    (runs / "cartpole-102" / "result.json").unlink()
    with pytest.raises(ValueError, match="cartpole-102 is not finished"):
        curve_rows("cartpole", runs)
    finished(runs / "cartpole-200", config.replace(learning={"td_steps": 3}), 0)
    (runs / "cartpole-102" / "result.json").write_text('{"steps": 300, "seconds": 1.0}')
    with pytest.raises(ValueError, match="different settings"):
        curve_rows("cartpole", runs)
    assert main(["presets", "acrobot", "--curves", "--out", str(runs)]) == 2
    assert "There are no runs acrobot-SEED" in capsys.readouterr().err
