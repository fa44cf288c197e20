"""`mzu train` and `mzu evaluate`: what they leave behind, what they say, and how they go on after Ctrl-C."""

import argparse
import csv
import json
import os
import signal

import numpy as np
import pytest
from made_runs import TINY, write_data
from PIL import Image

from mzu.commands import train as train_command
from mzu.commands.cli import main
from mzu.training import side_by_side, single_run
from mzu.training.progress import Lines
from mzu.training.results import results_table
from mzu.training.run_folder import RunFolder

SET = [word for setting in TINY for word in ("--set", setting)]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """The folder of `mzu train` on the embedded cartpole dataset, with tiny settings, and what it printed."""
    folder = tmp_path_factory.mktemp("comparison") / "runs"
    with pytest.MonkeyPatch.context() as patch, open(folder.parent / "out", "w+") as out:
        patch.setattr("sys.stdout", out)
        assert main(["train", *SET, "--set", "learning.training_steps=6", "--out", str(folder)]) == 0
        out.seek(0)
        return folder, out.read()


@pytest.fixture
def no_training(monkeypatch):
    def refuse(*_):
        raise AssertionError("a trainer was made")

    monkeypatch.setattr(single_run, "Trainer", refuse)
    monkeypatch.setattr(side_by_side, "RunProcess", refuse)


def test_nothing_said_compares_three_ways_of_learning_on_the_embedded_dataset(comparison):
    folder, out = comparison
    assert out.startswith("CartPole-v1?repeat=2, 1000 episodes of embedded:held_cartpole, 6 learner steps, seed 0")
    with (folder / "result.csv").open() as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    ways = ["Unplugged, by policy", "Unplugged, by value", "Unplugged, by search"]
    assert list(rows) == ["dataset", "behaviour cloning, by policy", "CRR, by policy", *ways]
    assert all(float(row["low"]) <= float(row["mean"]) <= float(row["high"]) for row in rows.values())
    assert rows["dataset"]["episodes"] == "1000" and rows["CRR, by policy"]["episodes"] == "3"
    assert all(name in out for name in rows) and "95 % interval" in out
    assert f"`mzu evaluate {folder}/unplugged`" in out
    assert Image.open(folder / "curve.png").size == (1080, 780)
    settings = {name: RunFolder(folder / name).config for name in ("behaviour_cloning", "crr", "unplugged")}
    assert [config.learning.policy_loss for config in settings.values()] == ["behaviour_cloning", "crr", "reanalyse"]
    assert [config.evaluation.select for config in settings.values()] == ["policy", "policy", "search"]
    for name in settings:
        result = json.loads((folder / name / "result.json").read_text())
        assert result["steps"] == 6 and len(result["returns"]) == 3 and result["mean"] == np.mean(result["returns"])
        assert list(result["selections"]) == (["policy", "value", "search"] if name == "unplugged" else ["policy"])
        assert result["selections"][result["select"]]["returns"] == result["returns"]


def test_a_finished_comparison_is_not_trained_again(comparison, no_training, capsys):
    folder, out = comparison
    (folder / "curve.png").unlink()
    assert main(["train", "--resume", "--out", str(folder)]) == 0
    again = capsys.readouterr().out
    assert again.count("finished before") == 3
    tables = [text.split("\n\n")[1].splitlines()[:-1] for text in (again, out)]
    assert tables[0] == tables[1] and len(tables[0]) == 7  # all but the time
    assert (folder / "curve.png").exists()


def test_a_run_of_another_version_is_resumed_and_evaluated_with_a_notice(comparison, no_training, capsys):
    folder, _ = comparison
    run = RunFolder(folder / "behaviour_cloning")
    versions = (run.path / "versions.json").read_text()
    run.save_text("versions.json", json.dumps(json.loads(versions) | {"keras": "3.0.0"}))
    try:
        for command in (["train", "--resume", "--out", str(folder)], ["evaluate", str(run.path), "--episodes", "1"]):
            assert main(command) == 0
            assert capsys.readouterr().out.startswith("This run was trained with keras 3.0.0; here it is keras ")
    finally:
        run.save_text("versions.json", versions)


def test_evaluate_shows_every_way_of_selecting_and_repeats_the_final_evaluation(comparison, capsys):
    folder, _ = comparison
    assert main(["evaluate", str(folder / "unplugged"), "--select", "all"]) == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("CartPole-v1?repeat=2, checkpoint latest")
    assert [line.split()[1] for line in lines] == ["policy", "value", "search"]
    result = RunFolder(folder / "unplugged").result()
    for line, row in zip(lines, result["selections"].values(), strict=True):
        assert line.split()[2:] == results_table([row]).splitlines()[1].split()[1:]


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ([], "holds the runs behaviour_cloning, crr, unplugged; choose one of them, as "),
        (["--episodes", "0"], "--episodes is 0"),
        (["--video", "film.avi"], "A film is written as .gif or .mp4, but the file is called film.avi"),
        (["--checkpoint", "4"], "has no checkpoint 4; there are latest, best, 5, 6"),
        (["--env", "catch"], "but catch has Spaces(observation_shape=(10, 5, 1)"),
    ],
)
def test_evaluate_says_what_is_wrong(comparison, capsys, arguments, sentence):
    folder, _ = comparison
    path = folder / "crr" if "--env" in arguments or "--checkpoint" in arguments else folder
    assert main(["evaluate", str(path), *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_run_can_be_collected_from(comparison, capsys):
    folder, _ = comparison
    assert main(["collect", "--run", str(folder / "unplugged"), "--episodes", "1", "--out", "a.npz"]) == 0
    assert "1 episodes of CartPole-v1" in capsys.readouterr().out
    assert main(["collect", "--run", str(folder / "crr"), "--network", "x.keras", "--out", "b.npz"]) == 2
    assert "say the same thing twice" in capsys.readouterr().err
    assert main(["collect", "--run", str(folder), "--out", "b.npz"]) == 2
    assert "holds the runs behaviour_cloning, crr, unplugged" in capsys.readouterr().err


def test_control_c_says_how_to_go_on_and_resume_does(monkeypatch, capsys):
    def press_control_c(lines, label, figures):
        if figures.get("step") == 4:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Lines, "show", press_control_c)
    settings = [*SET, "--set", "learning.training_steps=6", "--set", "evaluation.period=0"]
    assert main(["train", "--env", "identity", *settings, "--seed", "7"]) == 130
    assert capsys.readouterr().out.endswith("Interrupted; go on with `mzu train --resume --out runs/identity`\n")
    assert RunFolder("runs/identity").checkpoints() == [4] and not RunFolder("runs/identity").result()
    assert main(["train", "--resume", "--out", "runs/identity"]) == 0
    out = capsys.readouterr().out
    assert "identity" in out and "trained" in out and "`mzu evaluate runs/identity`" in out
    folder = RunFolder.open("runs/identity")
    assert folder.config.seed == 7 and folder.result()["steps"] == 6
    assert main(["evaluate", "runs/identity", "--video", "a.gif"]) == 2
    assert capsys.readouterr().err == "mzu: identity has no picture to show\n"
    assert not os.path.exists("a.gif")


class TwoSteps:
    """Stands in for a trainer whose two steps take no time."""

    steps, cut_off, fresh_steps = 2, 0, 0

    def __init__(self, config, inputs):
        assert len(inputs.episodes) == 5
        self.config = config

    def run(self, folder, on_step, say):
        folder.log({"step": 2, "seconds": 1.5, "processor": 2.5}, "timing.csv")
        folder.log({"step": 2, "policy_loss": 1.0, "value_loss": 1.0, "reward_loss": 1.0})
        return True

    def close(self):
        pass


def test_data_without_an_environment_are_learned_from_but_nothing_is_evaluated(capsys, monkeypatch):
    monkeypatch.setattr(single_run, "Trainer", TwoSteps)
    monkeypatch.setattr(train_command, "_report_model", lambda result: None)  # it has no model
    write_data("data.npz", "identity")
    assert main(["train", "--data", "data.npz", "--out", "run"]) == 0
    out = capsys.readouterr().out
    assert "Nothing was evaluated" in out and "dataset" in out
    expected = {"steps": 2, "seconds": 1.5, "processor_seconds": 2.5, "world_steps": 0}
    found = RunFolder("run").result()
    assert found.pop("memory", 1) > 0  # where the system says it
    assert found == expected
    assert RunFolder("run").config.data == os.path.abspath("data.npz")  # so that it can be resumed from elsewhere


def test_a_loss_that_is_not_finite_stops_the_run_before_a_checkpoint_and_keeps_the_batch(capsys):
    settings = ["learning.learning_rate=1e30", "run.checkpoint_period=1", "evaluation.period=0"]
    words = [word for setting in settings for word in ("--set", setting)]
    assert main(["train", "--env", "identity", *SET, *words, "--out", "run"]) == 2
    error = capsys.readouterr().err
    assert "mzu: The loss of learner step 2 is not finite" in error and "run/diverged_batch.npz" in error
    assert RunFolder("run").checkpoints() == [1]
    with np.load("run/diverged_batch.npz") as batch:
        assert batch["batch/observations"].shape == (16, 4) and "targets/values" in batch.files


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["cartpol"], "There is no preset 'cartpol'; did you mean 'cartpole'?"),
        (["--set", "serch.discount=1"], "'serch' is not a setting; did you mean 'search'?"),
        (["--env", "CartPol-v1"], "There is no environment 'CartPol-v1'; did you mean 'CartPole-v1'?"),
        (["--data", "nothing.npz"], "nothing.npz does not exist"),
        (["--data", "embedded:cheetah"], "`mzu collect --recipe cheetah --out cheetah.npz`"),
        (["paper_control"], "neither an environment nor data"),
        (["--env", "identity", "--data", "embedded:catch"], "is this the dataset of another environment?"),
        (
            ["swingup_offline", "--env", "dm_control:cartpole-swingup"],
            "held for 4 steps, but in dm_control:cart",
        ),
        (["--env", "catch?repeats=2"], "the one option of an id is repeat, as in catch?repeat=4"),
        (["cartpole", "--only", "crr"], "--only chooses among the three runs of an offline preset"),
        (["--set", "learning.policy_loss=crr"], "choose one of them with --only"),
        (["--set", "learning.unroll_steps=0"], "learning.unroll_steps=0 trains no model that could be searched"),
        (["--set", "reanalyse.fraction=0.5"], "learns from stored actions only; set reanalyse.fraction=1"),
        (["--resume"], "add --out DIR"),
        (["--resume", "--out", "nothing"], "nothing is no run of mzu"),
        (["--resume", "--out", "x", "--seed", "0"], "A resumed run keeps its settings; leave --seed out"),
        (["catch", "--resume", "--out", "x"], "leave the preset catch out"),
    ],
)
def test_a_mistake_is_said_in_a_sentence_and_leaves_nothing_behind(no_training, capsys, tmp_path, arguments, sentence):
    assert main(["train", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_a_run_is_not_overwritten(comparison, no_training, capsys):
    folder, _ = comparison
    for out in (folder, folder / "crr"):
        before = (folder / "crr" / "config.json").read_text()
        assert main(["train", "--out", str(out)]) == 2
        assert "go on with it by --resume" in capsys.readouterr().err
        assert (folder / "crr" / "config.json").read_text() == before


def plan(*words):
    parser = argparse.ArgumentParser()
    train_command.add_arguments(parser)
    return train_command.plan(parser.parse_args(words))


def test_the_next_free_folder_is_taken(tmp_path):
    for taken in ("cartpole_offline", "cartpole_offline-2"):
        (tmp_path / "runs" / taken).mkdir(parents=True)
    assert str(plan()[0]) == "runs/cartpole_offline-3"
    assert str(plan("catch")[0]) == "runs/catch"
    assert str(plan("--env", "mzu/Catch-v0")[0]) == "runs/mzu-Catch-v0"


def test_crr_keeps_an_n_step_target_where_the_others_learn_from_the_search():
    _, planned = plan("swingup_offline", "--set", "learning.td_steps=0")
    assert [run.config.learning.td_steps for run in planned] == [0, 5, 0]
    _, planned = plan("swingup_offline", "--only", "unplugged", "--seed", "3")
    assert [(str(run.path), run.config.seed) for run in planned] == [("runs/swingup_offline/unplugged", 3)]


@pytest.mark.slow
def test_a_video_of_catch(capsys):
    settings = [*SET, "--set", "learning.training_steps=2", "--set", "evaluation.period=0"]
    assert main(["train", "catch", *settings, "--out", "run"]) == 0
    assert main(["evaluate", "run", "--episodes", "1", "--video", "a.gif"]) == 0
    picture = Image.open("a.gif")
    assert picture.size == (80, 160) and picture.n_frames == 10
