"""What is finished is not done again, and what was interrupted goes on."""

import dataclasses
import json
import os
import signal

import numpy as np
import pytest
from made_experiments import EXPERIMENT, TASK

from mzu.commands.cli import main
from mzu.experiments import catalogue, running, tasks
from mzu.experiments.definition import POLICY, SEARCH, STEPS, Measure
from mzu.experiments.running import FIRST_SEED, planned_runs, read_rows, rows, run_all, write_rows
from mzu.training.run_folder import RunFolder
from mzu.training.run_lock import locked
from mzu.training.trainer import Trainer


@pytest.fixture(autouse=True)
def made(monkeypatch):
    monkeypatch.setitem(tasks.TASKS, "tiny", TASK)
    monkeypatch.setitem(catalogue.EXPERIMENTS, "made", EXPERIMENT)


@pytest.fixture
def trained(monkeypatch):
    """The names of the run folders in the order in which the trainer went to work in them, and at which step."""
    seen, original = [], Trainer.run

    def spy(trainer, folder=None, on_step=None):
        finished = original(trainer, folder, on_step)
        seen.append((folder.path.name, trainer.steps))
        return finished

    monkeypatch.setattr(Trainer, "run", spy)
    return seen


def reproduce(out, *arguments):
    return main(["reproduce", "made", "--out", str(out), *arguments])


def test_every_cell_is_measured_once_and_more_seeds_train_only_the_new_ones(tmp_path, trained, capsys):
    assert reproduce(tmp_path, "--seeds", "1") == 0
    assert len(trained) == 2
    assert reproduce(tmp_path, "--seeds", "2", "--resume") == 0
    assert [name.split("-")[1] for name, _ in trained] == ["100", "100", "101", "101"]
    table = read_rows(tmp_path / "made.csv")
    cells = {(row["variant"], row["seed"], row["select"], row["checkpoint"]) for row in table}
    fast = {("fast", seed, *kind) for seed in (100, 101) for kind in (("policy", "final"), ("search", "final"))}
    assert cells == fast | {("fast", seed, "search", "best") for seed in (100, 101)} | {
        ("slow", seed, "policy", "final") for seed in (100, 101)
    }
    assert len(table) == 8
    assert all(row["episodes"] == 3 and row["fresh_steps"] > 0 and row["processor_minutes"] > 0 for row in table)
    assert {row["step"] for row in table if row["checkpoint"] == "final"} == {6}
    assert {row["step"] for row in table if row["checkpoint"] == "best"} <= {3, 6}
    assert "[2/2] tiny/fast/101: policy" in capsys.readouterr().out

    before = (tmp_path / "made.csv").read_bytes()
    assert reproduce(tmp_path, "--seeds", "2") == 0
    assert len(trained) == 4 and (tmp_path / "made.csv").read_bytes() == before


def test_a_cell_holds_the_mean_of_its_returns(tmp_path):
    assert reproduce(tmp_path, "--cell", "tiny/slow/100") == 0
    [row] = read_rows(tmp_path / "made.csv")
    cell = json.loads((tmp_path / "runs" / row["run"] / "cells" / "policy-final.json").read_text())
    assert len(cell["returns"]) == 3
    assert row["mean"] == pytest.approx(np.mean(cell["returns"]), abs=1e-4)
    assert (row["lowest"], row["highest"]) == (min(cell["returns"]), max(cell["returns"]))


def interrupted_at(step, monkeypatch):
    """Ctrl-C at this learner step of the first run."""
    original = Trainer.step

    def pressing(trainer):
        if trainer.steps == step:
            monkeypatch.setattr(Trainer, "step", original)
            os.kill(os.getpid(), signal.SIGINT)
        return original(trainer)

    monkeypatch.setattr(Trainer, "step", pressing)


def test_ctrl_c_leaves_a_run_that_goes_on_where_it_stopped(tmp_path, monkeypatch, trained, capsys):
    interrupted_at(2, monkeypatch)
    assert reproduce(tmp_path, "--cell", "tiny/slow/100") == 130
    assert [step for _, step in trained] == [3] and read_rows(tmp_path / "made.csv") == []
    assert reproduce(tmp_path, "--cell", "tiny/slow/100") == 2
    assert "was begun before; go on with it by --resume" in capsys.readouterr().err
    steps = []
    original = Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda trainer: steps.append(trainer.steps) or original(trainer))
    assert reproduce(tmp_path, "--cell", "tiny/slow/100", "--resume") == 0
    assert steps == [3, 4, 5]

    assert reproduce(tmp_path / "straight", "--cell", "tiny/slow/100") == 0
    here, there = (read_rows(path / "made.csv")[0] for path in (tmp_path, tmp_path / "straight"))
    assert (here["mean"], here["run"]) == (there["mean"], there["run"])


def test_a_run_that_was_killed_before_its_first_file_begins_again(tmp_path, trained):
    [a_run] = planned_runs(EXPERIMENT, [TASK], [FIRST_SEED], tmp_path)[:1]
    (a_run.path / ".config.json.abc.tmp").mkdir(parents=True)
    assert reproduce(tmp_path, "--cell", "tiny/slow/100") == 0
    assert len(trained) == 1


def test_a_measure_that_is_asked_for_later_needs_no_training(tmp_path, trained):
    runs = planned_runs(EXPERIMENT, [TASK], [FIRST_SEED], tmp_path)
    fast = runs[1]
    assert run_all([fast], tmp_path, lambda: None)
    fast.cell_file(SEARCH).unlink()
    assert fast.missing == [SEARCH]
    assert run_all(planned_runs(EXPERIMENT, [TASK], [FIRST_SEED], tmp_path)[1:], tmp_path, lambda: None)
    assert len(trained) == 1 and fast.is_finished


def test_cells_are_played_from_other_beginnings_than_the_evaluations_on_the_way(tmp_path, monkeypatch):
    seeds = []
    import mzu.acting.evaluation as evaluation

    original = evaluation.evaluate_selection
    monkeypatch.setattr(
        evaluation, "evaluate_selection", lambda *given, **named: seeds.append(given[5]) or original(*given, **named)
    )
    assert reproduce(tmp_path, "--cell", "tiny/slow/100") == 0
    assert seeds == [running.EVALUATION_SEED + FIRST_SEED]


def test_a_run_of_other_settings_is_refused(tmp_path, capsys):
    assert reproduce(tmp_path, "--cell", "tiny/slow/100") == 0
    [a_run] = planned_runs(EXPERIMENT, [TASK], [FIRST_SEED], tmp_path)[:1]
    a_run.cell_file(POLICY).unlink()
    other = RunFolder(a_run.path).config.override("learning.batch_size=9")
    RunFolder(a_run.path).save_text("config.json", other.to_json())
    assert reproduce(tmp_path, "--cell", "tiny/slow/100", "--resume") == 2
    assert "was trained with other settings by another version of mzu" in capsys.readouterr().err


def test_two_processes_cannot_train_in_one_folder(tmp_path):
    with locked(tmp_path), pytest.raises(ValueError, match=f"{tmp_path} is in use by process"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_rows_come_back_from_the_file_as_they_were(tmp_path):
    runs = planned_runs(EXPERIMENT, [TASK], [FIRST_SEED], tmp_path)
    assert rows(runs) == []
    row = dict.fromkeys(running.COLUMNS, 1.5) | dict.fromkeys(("seed", "episodes", "step", "fresh_steps"), 2)
    row |= dict.fromkeys(("task", "variant", "select", "checkpoint", "run"), "a, b")
    write_rows(tmp_path / "a.csv", [row, row])
    assert read_rows(tmp_path / "a.csv") == [row, row]


def test_measure_names_the_file():
    [a_run] = planned_runs(EXPERIMENT, [TASK], [FIRST_SEED], running.Path("out"))[:1]
    assert a_run.cell_file(Measure("search", "best")).name == "search-best.json"


@pytest.mark.parametrize(("goal", "steps"), [(4.0, 200), (8.0, 300), (9.0, np.inf)])
def test_steps_are_counted_until_an_evaluation_on_the_way_earned_the_goal(goal, steps, tmp_path):
    task = dataclasses.replace(TASK, goal=goal)
    [a_run] = planned_runs(dataclasses.replace(EXPERIMENT, variants=EXPERIMENT.variants[:1]), [task], [0], tmp_path)
    folder = RunFolder.create(a_run.path, a_run.config)
    for step, evaluation in ((3, 3.0), (6, 5.0), (9, 8.0), (12, 2.0)):
        folder.log({"step": step, "fresh_steps": 100 * step // 3, "evaluation": evaluation})
    folder.save_result({"steps": 12, "fresh_steps": 400, "minutes": 1.0, "processor_minutes": 1.0})
    running._measure(a_run, STEPS)
    cell = a_run.cell(STEPS)
    assert (cell["mean"], cell["fresh_steps"], cell["episodes"]) == (steps, 400, 2)
