"""What is said of a policy by its data alone, on runs of which the answer is known."""

import dataclasses
import json

import numpy as np
import pytest
from made_runs import CONTINUOUS, ONLINE, TINY, write_data

import mzu
from mzu.commands.cli import main
from mzu.config import Config
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.explain.model_depth import Positions
from mzu.explain.offline_report import (
    evaluate_offline,
    some_episodes,
    value_and_model_errors,
)
from mzu.explain.offline_text import about_words, conclusions
from mzu.learning.fitted_q import FitSettings
from mzu.networks.network import build_network
from mzu.training.held_out import record_held_out
from mzu.training.inputs import load_inputs
from mzu.training.run_folder import RunFolder

QUICK = FitSettings(8, iterations=2, steps=2, batch_size=16, members=2, jit_compile=False)
SMALL = mzu.NetworkConfig(width=8, num_blocks=0, value_support=5, reward_support=5, scalar_head="regression")


def untrained(path, *settings):
    """The folder of a run that has learned nothing yet: what is judged does not matter here."""
    config = Config().override(*settings, "search.num_simulations=2")
    inputs = load_inputs(config)
    folder = RunFolder.create(path, config)
    record_held_out(folder, inputs.held_out)
    folder.save_checkpoint(1, {}, build_network(config.network, inputs.spaces), keep=1)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of runs: continuous actions with episodes held out, discrete without, pictures, an online one."""
    home = tmp_path_factory.mktemp("runs")
    data, offline = write_data(home / "b.npz", "identity"), (*TINY, "reanalyse.fraction=1")
    untrained(home / "continuous", *CONTINUOUS, "reanalyse.held_out=0.4", f"data={write_data(home / 'a.npz')}")
    untrained(home / "discrete", *offline, "environment=identity", f"data={data}")
    untrained(home / "pictures", *offline, "environment=catch", "data=embedded:catch", "reanalyse.held_out=0.02")
    untrained(home / "online", *ONLINE)
    return home


@pytest.mark.parametrize("name, held_out", [("continuous", True), ("discrete", False), ("pictures", True)])
def test_a_run_is_judged_without_its_environment(runs, name, held_out, monkeypatch):
    monkeypatch.setattr("mzu.training.inputs.make", None)  # nothing may be played
    report = evaluate_offline(runs / name, select="all", settings=QUICK)
    names = ["the data", "the data, estimated", *(f"by {way}, estimated" for way in ("policy", "value", "search"))]
    assert [row["name"] for row in report.values] == names
    assert report.about["held_out"] is held_out and list(report.actions) == ["held_out", "learned"][not held_out :]
    assert report.estimate == report.values[-1]["mean"]
    assert all(row["low"] <= row["mean"] <= row["high"] for row in report.values)
    assert [row["depth"] for row in report.errors["learned"]["model"]] == [1, 2]
    assert json.loads(report.to_json())["about"]["discount"] == 0.997
    text = str(report)
    assert ("nothing was held out" in text) is not held_out
    assert (
        "log-likelihood of actions" in text
        and "by search, estimated" in text
        and max(map(len, text.split("\n"))) <= 100
    )
    assert "<table" in report._repr_html_() and name in repr(report)


def test_the_command_says_the_same_and_refuses_what_is_about_playing(runs, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("mzu.explain.offline_report.fit_settings", lambda spaces: QUICK)
    run = str(runs / "continuous")
    assert main(["evaluate", run, "--offline", "--select", "policy"]) == 0
    assert capsys.readouterr().out.strip() == str(evaluate_offline(run, "policy"))  # the same seed, the same numbers
    assert main(["evaluate", run, "--offline", "--select", "policy", "--json", str(tmp_path / "a.json")]) == 0
    assert json.loads((tmp_path / "a.json").read_text())["about"]["episodes"] == 2
    for arguments, sentence in (
        (["--offline", "--episodes", "3"], "--episodes is about playing, and --offline plays nothing"),
        (["--offline", "--video", "a.gif"], "--video is about playing, and --offline plays nothing"),
        (["--json", "a.json"], "--json writes the numbers of --offline"),
        (["--offline", "--seed", "-1"], "seed is -1, but must be at least 0"),
        (["--offline", "--checkpoint", "77"], "has no checkpoint 77"),
    ):
        capsys.readouterr()
        assert main(["evaluate", run, *arguments]) == 2
        assert sentence in capsys.readouterr().err
    assert main(["evaluate", str(runs / "online"), "--offline"]) == 2
    assert "has learned from no data, so there are no episodes to judge it by" in capsys.readouterr().err
    with pytest.raises(ValueError, match="select is 'best', but must be one of policy, value, search, all"):
        evaluate_offline(run, "best")


def fixed(spaces, policy):
    """A network that says `policy` of every observation."""
    network = build_network(SMALL, spaces)
    head = network.prediction.get_layer("policy")
    head.bias.assign(np.float32(policy))
    return network


def positions_of(*episodes):
    pairs = [(episode, step) for episode in episodes for step in range(len(episode))]
    return Positions(*map(list, zip(*pairs, strict=True)))


def test_the_value_error_has_no_value_behind_a_terminal_end_and_one_behind_a_truncated():
    network = fixed(Spaces((1,), 2), [0, 0])
    network.prediction.get_layer("value").bias.assign([1.0])  # V is about 3.0 of everything
    value = float(network.initial(np.zeros((1, 1), np.float32)).value[0, 0])
    value = float(mzu.networks.scalars.inverse_transform(value))
    config = Config().override("search.discount=0.5", "learning.unroll_steps=0")
    for terminated, following in ((True, 0.0), (False, 0.5 * value)):
        episode = Episode(np.zeros((2, 1)), [0], [1.0], terminated, not terminated)
        found = value_and_model_errors(network, positions_of(episode), config)
        assert found["values"]["bias"] == pytest.approx(value - (1 + following), abs=1e-4)
        assert found["model"] == []


def test_of_large_data_whole_episodes_are_drawn():
    episodes = [Episode(np.full((11, 1), i), np.zeros(10, int), np.zeros(10)) for i in range(20)]
    some = some_episodes(episodes, 55, np.random.default_rng(0))
    assert len(some) == 5 and all(len(episode) == 10 for episode in some)
    assert some_episodes(episodes, 200, np.random.default_rng(0)) == episodes
    assert len(some_episodes(episodes, 1, np.random.default_rng(0))) == 1


@pytest.fixture(scope="module")
def report(runs):
    made = evaluate_offline(runs / "continuous", "policy", settings=QUICK)
    return dataclasses.replace(made, about=made.about | {"episodes": 40, "of": 40})


def changed(report, data=(10, 9, 11), again=(10, 9, 11), policy=(10, 9, 11), agrees=0.8, likelihoods=(-1.0, -1.0)):
    numbers = [dict(zip(("mean", "low", "high"), row, strict=True)) for row in (data, again, policy)]
    values = [row | own for row, own in zip(report.values, numbers, strict=True)]
    values[2]["agrees"] = agrees
    actions = {name: {"likelihood": one} for name, one in zip(("held_out", "learned"), likelihoods, strict=True)}
    return dataclasses.replace(report, values=values, actions=actions)


@pytest.mark.parametrize(
    "numbers, sentences",
    [
        ({}, ["acting by policy, cannot be told from the data: 10 (9 .. 11) against 10 (9 .. 11)"]),
        ({"policy": (15, 12, 18)}, ["is estimated to earn more than the data: 15 (12 .. 18)"]),
        ({"policy": (5, 4, 6)}, ["is estimated to earn less than the data: 5 (4 .. 6)"]),
        (
            {"again": (14, 13, 15)},
            ["cannot be told", "do not trust the estimates: that of the data's own actions is 14"],
        ),
        ({"agrees": 0.1}, ["cannot be told", "by policy the run does what was done at 10% of the steps only"]),
        ({"likelihoods": (-3.0, -1.0)}, ["cannot be told", "has learned episodes by heart: their actions have"]),
    ],
)
def test_conclusions(report, numbers, sentences):
    found = conclusions(changed(report, **numbers))
    assert len(found) == len(sentences)
    for sentence, start in zip(found, sentences, strict=True):
        assert start in sentence


def test_few_episodes_and_drawn_ones_are_said(report):
    few = dataclasses.replace(changed(report), about=report.about | {"episodes": 2, "of": 90})
    assert "2 episodes say little; hold out 10 or more" in conclusions(few)
    assert "judged by 2 episodes, drawn from 90, (" in about_words(few)
