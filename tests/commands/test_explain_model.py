"""`mzu explain RUN --model`: on the command line, of runs with networks, and at the end of `mzu train`."""

import contextlib

import numpy as np
import pytest
from made_models import Drifting, made_table, table_system

import mzu.explain
from mzu.acting.collect import collect
from mzu.commands.cli import main
from mzu.config import Config
from mzu.environments.make import make
from mzu.episodes.readers.npz import write_npz
from mzu.explain.model_report import ModelReport, report_model
from mzu.explain.model_returns import gaussian_selection, record_episodes
from mzu.explain.system import open_system
from mzu.training.trainer import Trainer

SMALL = (
    "network.width=16",
    "network.num_blocks=1",
    "search.num_simulations=4",
    "replay.start_size=30",
    "acting.games=4",
    "learning.batch_size=16",
    "learning.unroll_steps=2",
    "learning.training_steps=3",
    "learning.jit_compile=false",
)


def online_config():
    """Plays, without data."""
    return Config().override(*SMALL, "environment=identity", "reanalyse.fraction=0.5")


def offline_config(folder):
    """Continuous actions from five random episodes, which are written to `folder`."""
    with make("identity_continuous") as environment:
        write_npz(folder / "data.npz", collect(environment, "random", 5))
    settings = ("environment=identity_continuous", "search.num_sampled_actions=3", f"data={folder / 'data.npz'}")
    return Config().override(*SMALL, *settings)


@pytest.fixture
def asked(monkeypatch):
    """A run that needs no training: what is asked for, and its answer is always the same."""
    questions = []

    def answer(run, checkpoint):
        questions.append((str(run), checkpoint))
        return table_system(Drifting(made_table(), good=2), "learning.unroll_steps=1")[0]

    monkeypatch.setattr("mzu.explain.system.open_system", answer)
    return questions


def test_the_report_is_printed_or_written_and_read_again(asked, tmp_path, capsys):
    assert main(["explain", "runs/x", "--model", "--checkpoint", "20", "--episodes", "0"]) == 0
    assert asked == [("runs/x", "20")]
    printed = capsys.readouterr().out
    assert "searches go deeper than the model is good for" in printed and "By depth" in printed
    record, page = tmp_path / "model.json", tmp_path / "model.html"
    assert main(["explain", "runs/x", "--model", "--json", str(record), "--html", str(page)]) == 0
    assert capsys.readouterr().out == f"{record}: all numbers\n{page}: the page\n"
    assert "<svg" in page.read_text()
    assert main(["explain", str(record), "--model"]) == 0
    assert capsys.readouterr().out == printed


def test_what_does_not_go_together(asked, tmp_path, capsys):
    for words in (["--step", "1"], ["--episode", "0"], ["--simulations", "0:3"], ["--compare", "10"]):
        assert main(["explain", "runs/x", "--model", *words]) == 2
        assert f"{words[0]} is about one position, --model about the whole model" in capsys.readouterr().err
    assert main(["explain", "runs/x", "--model", "--serve"]) == 2
    assert "--serve shows positions" in capsys.readouterr().err
    record = tmp_path / "x.json"
    record.write_text('{"format": "mzu explanation 1"}')
    assert main(["explain", str(record), "--model"]) == 2
    assert "The record is 'mzu explanation 1', but --model reads 'mzu model report 1'" in capsys.readouterr().err
    assert main(["explain", str(record), "--model", "--checkpoint", "3"]) == 2
    assert "--checkpoint needs the folder of a run" in capsys.readouterr().err
    assert main(["explain", "runs/x", "--model", "--episodes", "-1"]) == 2
    assert capsys.readouterr().err == "mzu: episodes is -1, but must be 0 (no returns) or more\n"


def test_a_trainer_of_continuous_actions_is_reported_with_its_returns(tmp_path):
    with contextlib.closing(Trainer(offline_config(tmp_path))) as trainer:
        report = mzu.explain.model(trainer, episodes=2)
        system = open_system(trainer)
    names = [(row["name"], row["simulations"]) for row in report.returns]
    assert names == [
        ("policy", 0), ("policy with noise", None), ("value", 1), ("search", 16), ("search", 50), ("search", 200),
    ]  # fmt: skip
    assert all(row["low"] <= row["mean"] <= row["high"] for row in report.returns)
    assert report.about["recorded"] is False and report.ranking["evidence"] == "world"
    assert [group["candidates"] for group in report.ranking["groups"]] == ["uniform", "from the policy"]
    again = report_model(system, episodes=0)
    assert (again.depth, again.ranking) == (report.depth, report.ranking)  # the same numbers whenever it is made
    assert isinstance(ModelReport.from_json(report.to_json()), ModelReport)


def test_noise_of_the_policy_is_as_small_as_in_evaluation(tmp_path):
    with contextlib.closing(Trainer(offline_config(tmp_path))) as trainer:
        config = trainer.config
        observations = np.tile(trainer.inputs.episodes[0].observations[:1], (500, 1))
        drawn = gaussian_selection(trainer.network, config)(observations, np.random.default_rng(0))
    assert 0.8 * config.evaluation.max_policy_scale < drawn.std() <= 1.1 * config.evaluation.max_policy_scale


def test_a_run_without_data_is_compared_with_games_of_its_own():
    config = online_config()
    with contextlib.closing(Trainer(config)) as trainer:
        report = report_model(open_system(trainer), episodes=0)
        games = record_episodes(
            open_system(trainer).model, config, lambda: make("identity"), np.random.default_rng(0), count=3
        )
    assert report.about["recorded"] and report.about["episodes"] == 10
    assert report.ranking["evidence"] == "world" and "10 episodes recorded for this report" in report.text()
    assert [len(game) for game in games] == [10, 10, 10] and all(game.seed is not None for game in games)


def test_training_ends_with_the_short_form(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = offline_config(tmp_path).data
    settings = [word for one in (*SMALL, "search.num_sampled_actions=3") for word in ("--set", one)]
    assert main(["train", "--data", data, "--out", "run", *settings]) == 0
    out = capsys.readouterr().out
    assert "  Its model: the value's error stays below" in out
    assert "All of it: `mzu explain run --model`" in out
