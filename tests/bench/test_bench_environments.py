"""`mzu bench environments` measures the Atari wrapper and Gymnasium's on the same game."""

import json

import pytest

from mzu.bench import environments as bench
from mzu.commands import cli
from mzu.environments.atari import AtariEnvironment

pytest.importorskip("ale_py")


def test_a_record_holds_rates_and_their_ratio(monkeypatch, capsys):
    monkeypatch.setattr(bench, "GAMES", ("Pong",))
    monkeypatch.setattr(bench, "STEPS", 3)
    assert cli.main(["bench", "environments", "--json", "--repetitions", "1"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["ratio"] == pytest.approx(record["mzu_steps_per_second"] / record["gymnasium_steps_per_second"])
    assert record["emulator_steps_per_second"] > 0


def test_both_wrappers_show_four_grey_frames():
    ours, theirs = AtariEnvironment("Pong"), bench.gymnasium_atari("Pong")
    assert ours.reset(seed=0).shape == (84, 84, 4)
    assert theirs.reset(seed=0)[0].shape == (4, 84, 84)
    ours.close()
    theirs.close()


def test_fewer_than_one_repetition_is_refused(capsys):
    assert cli.main(["bench", "environments", "--repetitions", "0"]) == 2
    assert "--repetitions is 0" in capsys.readouterr().err
