"""`mzu collect` records what happened, the same for the same seed, and writes it whole or not at all."""

import dataclasses

import numpy as np
import pytest
from made_worlds import saved_network

import mzu.acting.collect
from mzu.acting.collect import collect, record
from mzu.commands.cli import main
from mzu.environments.make import make
from mzu.episodes.readers.npz import read_npz, write_npz


def same(first, second):
    return all(np.array_equal(getattr(first, n), getattr(second, n)) for n in ("observations", "actions", "rewards"))


def test_the_command_writes_a_file_that_is_read_back_the_same(tmp_path, capsys):
    file = tmp_path / "data" / "catch.npz"
    arguments = ["collect", "catch", "--policy", "mixture", "--episodes", "6", "--seed", "2", "--out", str(file)]
    assert main(arguments) == 0
    assert "6 episodes of catch, 54 steps, return" in capsys.readouterr().out
    written = list(read_npz(file))
    assert len(written) == 6
    assert all(same(a, b) for a, b in zip(written, collect(make("catch"), "mixture", 6, seed=2), strict=True))
    assert main(arguments) == 2
    assert "exists; choose another name, or add --overwrite" in capsys.readouterr().err
    assert main([*arguments, "--overwrite"]) == 0


def test_options_of_the_environment_are_passed_on(tmp_path):
    file = tmp_path / "point.npz"
    assert main(["collect", "point", "--episodes", "1", "--option", "dimensions=5", "--out", str(file)]) == 0
    assert next(read_npz(file)).actions.shape == (25, 5)


def test_for_how_many_steps_actions_were_held_is_recorded(tmp_path, capsys):
    held, plain = tmp_path / "held.npz", tmp_path / "plain.npz"
    command = ["collect", "point?repeat=4", "--episodes", "3", "--option", "dimensions=5", "--out", str(held)]
    assert main([*command, "--policy", "heuristic"]) == 0
    assert "3 episodes of point?repeat=4, 21 steps" in capsys.readouterr().out
    assert main(["collect", "point", "--episodes", "1", "--out", str(plain)]) == 0
    assert [(episode.repeat, episode.actions.shape) for episode in read_npz(held)] == [(4, (7, 5))] * 3
    assert next(read_npz(plain)).repeat == 1
    assert (
        next(collect(make("point?repeat=4"), seed=2)).source == "point?repeat=4, random, noise 0.00, seed 2, episode 0"
    )


def test_atari_is_recorded_in_single_frames(tmp_path):
    file = tmp_path / "pong.npz"
    assert main(["collect", "atari:Pong", "--episodes", "1", "--option", "frame_limit=80", "--out", str(file)]) == 0
    episode = next(read_npz(file))
    assert episode.observations.shape == (21, 84, 84, 1) and episode.truncated
    held = ["collect", "atari:Pong?repeat=2", "--episodes", "1", "--option", "frame_limit=80", "--out", str(file)]
    assert main([*held, "--overwrite"]) == 0
    episode = next(read_npz(file))
    assert episode.observations.shape == (11, 84, 84, 1) and episode.repeat == 2


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["catch", "--episodes", "0"], "--episodes is 0"),
        (["catch", "--noise", "1.5"], "noise is 1.5, but must lie between 0 and 1"),
        (["MountainCar-v0", "--policy", "heuristic"], "no heuristic for MountainCar-v0; there are for CartPole"),
        (["catch", "--option", "rows"], "'rows' is not an option"),
        (["cetch"], "did you mean 'catch'"),
    ],
)
def test_a_mistake_is_said_in_a_sentence_and_leaves_no_file(tmp_path, capsys, arguments, sentence):
    assert main(["collect", *arguments, "--out", str(tmp_path / "a.npz")]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_another_file_format_is_pointed_to_conversion(tmp_path, capsys):
    assert main(["collect", "catch", "--out", str(tmp_path / "a.hdf5")]) == 2
    assert "must end in .npz" in capsys.readouterr().err


@pytest.mark.parametrize("complete", [0, 3])
def test_an_interruption_keeps_the_complete_episodes(tmp_path, capsys, monkeypatch, complete):
    plain, calls = record, []

    def interrupted(*arguments):
        if len(calls) == complete:
            raise KeyboardInterrupt
        calls.append(1)
        return plain(*arguments)

    monkeypatch.setattr(mzu.acting.collect, "record", interrupted)
    file = tmp_path / "a.npz"
    assert main(["collect", "catch", "--episodes", "8", "--out", str(file)]) == 130
    if complete:
        assert len(list(read_npz(file))) == 3 and "complete, of 8" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == (["a.npz"] if complete else [])


def test_a_crash_leaves_no_file(tmp_path, monkeypatch):
    def crashing(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(mzu.acting.collect, "record", crashing)
    with pytest.raises(ZeroDivisionError):
        main(["collect", "catch", "--out", str(tmp_path / "a.npz")])
    assert list(tmp_path.iterdir()) == []


def test_the_command_plays_a_saved_network_and_refuses_one_of_another_world(tmp_path, capsys):
    _, path = saved_network(tmp_path)
    out = tmp_path / "data.npz"
    command = ["collect", "identity", "--policy", "trained", "--episodes", "2", "--out", str(out)]
    assert main(command) == 2
    assert "--policy trained and --network FILE.keras or --run RUN belong together" in capsys.readouterr().err
    assert main([*command, "--network", str(path), "--set", "search.num_simulations=2"]) == 0
    assert out.exists() and "2 episodes of identity" in capsys.readouterr().out
    other = ["collect", "CartPole-v1", "--policy", "trained", "--out", str(tmp_path / "x.npz"), "--network", str(path)]
    assert main(other) == 2
    assert "was made for" in capsys.readouterr().err


def test_collected_data_can_be_replayed_and_a_misaligned_copy_cannot(tmp_path, capsys):
    """The seed of every episode is stored, so the doctor can take the stored actions again."""
    path = tmp_path / "data.npz"
    write_npz(path, collect(make("catch"), "mixture", episodes=4, seed=5))
    assert all(episode.seed is not None for episode in read_npz(path))
    assert main(["data", "check", str(path), "--env", "catch"]) == 0
    assert "catch gives the same rewards for the same actions" in capsys.readouterr().out
    late = [dataclasses.replace(episode, rewards=np.roll(episode.rewards, 1)) for episode in read_npz(path)]
    write_npz(tmp_path / "late.npz", late)
    assert main(["data", "check", str(tmp_path / "late.npz"), "--env", "catch"]) == 1
    assert "catch gives other rewards for the same actions" in capsys.readouterr().out
