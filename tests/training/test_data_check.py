"""Data are checked before a run believes them."""

import dataclasses
import json

import numpy as np
import pytest
from made_runs import TINY

import mzu
from mzu.acting.collect import collect
from mzu.commands.cli import main
from mzu.episodes.readers.npz import write_npz
from mzu.training import data_check
from mzu.training.data_check import checked_data

SET = [word for setting in (*TINY, "learning.training_steps=2") for word in ("--set", setting)]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def recorded(actions=lambda array: array, terminated=None):
    """Random play in CartPole that does not say its seed."""
    episodes = [
        dataclasses.replace(episode, seed=None, repeat=None, actions=actions(episode.actions))
        for episode in collect("CartPole-v1", "random", 8, seed=400)
    ]
    write_npz("data.npz", episodes)


def train(*further):
    return main(["train", "--env", "CartPole-v1", "--data", "data.npz", "--out", "run", *SET, *further])


def test_wrong_data_stop_a_run_before_anything_is_made(tmp_path, capsys):
    recorded(actions=lambda array: 1 - array)
    assert train() == 2
    error = capsys.readouterr().err
    assert "The data are wrong: actions are numbered otherwise (0 is 1, 1 is 0 here)" in error
    assert "mzu data check" in error and "--env 'CartPole-v1'`; train anyway with --anyway" in error
    assert not (tmp_path / "run").exists()


def test_one_can_train_anyway_and_the_report_says_so_first(capsys):
    recorded(actions=lambda array: 1 - array)
    assert train("--anyway") == 0
    out = capsys.readouterr().out
    assert "data wrong: actions are numbered otherwise" in out
    table = out.index("mean return")
    assert out.index("The data are wrong: actions are numbered otherwise") < table
    assert checked_data("run")[0]["severity"] == "wrong"


def test_what_is_doubtful_stands_above_the_table(capsys):
    recorded(actions=np.zeros_like)  # of the two actions only one was taken: its number is the only thing to learn
    assert train() == 2  # "only one action was ever taken" is wrong
    capsys.readouterr()
    episodes = list(collect("CartPole-v1", "random", 4, seed=400))
    write_npz("twice.npz", [*episodes, *episodes])
    result = mzu.train(
        environment="CartPole-v1", data="twice.npz", out="other", progress=0,
        **{name: json.loads(value) for name, value in (setting.split("=") for setting in TINY)},
    )  # fmt: skip
    assert str(result).startswith("The data are doubtful: 4 of 8 episodes are exact copies")
    assert result._repr_html_().startswith("<p>The data are doubtful")


def test_healthy_data_are_said_to_be_checked(tmp_path, capsys):
    recorded()
    assert train() == 0
    out = capsys.readouterr().out
    assert "data checked: Nothing" in out
    assert json.loads((tmp_path / "run" / "data_check.json").read_text())["findings"] == []


def test_embedded_sets_are_not_checked_again_in_their_own_environment():
    config = mzu.preset("cartpole_offline").config
    assert data_check.comes_along(config)
    assert not data_check.comes_along(config.replace(environment="CartPole-v1"))


def test_large_sets_are_sampled():
    episodes = list(collect("identity", "random", 30)) * 100
    sample = data_check._sample(episodes)
    assert abs(sum(map(len, sample)) - data_check.SAMPLED_STEPS) <= 5_000
