"""`mzu collect` records what happened, the same for the same seed, and writes it whole or not at all."""

import numpy as np
import pytest

import mzu.collect
from mzu.cli import main
from mzu.collect import collect, record
from mzu.environments.make import make
from mzu.episodes.npz import read_npz


def same(first, second):
    return all(np.array_equal(getattr(first, n), getattr(second, n)) for n in ("observations", "actions", "rewards"))


def test_an_episode_is_what_the_environment_did():
    (episode,) = collect(make("catch"), "heuristic", episodes=1, seed=4)
    assert episode.observations.shape == (10, 10, 5, 1) and episode.observations.dtype == np.uint8
    assert episode.rewards.tolist() == [0] * 8 + [1] and (episode.terminated, episode.truncated) == (True, False)
    # Each action moved the paddle from the observation before it to the one after it.
    paddles = episode.observations[:-1, -1, :, 0].argmax(axis=1)
    assert np.array_equal(np.diff(paddles), episode.actions[:-1] - 1)


def test_continuous_actions_and_time_limits_are_recorded_as_such():
    (episode,) = collect(make("point", dimensions=3), "random", episodes=1)
    assert episode.actions.shape == (25, 3) and episode.actions.dtype == np.float32
    assert (episode.terminated, episode.truncated) == (False, True)


def test_episode_i_depends_on_the_seed_and_on_i_only():
    five, two = (list(collect(make("point"), "mixture", episodes=n, seed=7)) for n in (5, 2))
    assert all(same(a, b) for a, b in zip(five, two, strict=False))
    assert not same(five[0], five[1])
    assert not same(five[0], next(collect(make("point"), "mixture", seed=8)))


def test_a_mixture_reaches_from_the_heuristic_to_random_play():
    returns = {
        policy: np.array([e.total_reward for e in collect(make("CartPole-v1"), policy, episodes=30)])
        for policy in ("random", "mixture", "heuristic")
    }
    assert returns["random"].mean() < returns["mixture"].mean() < returns["heuristic"].mean() == 500
    assert returns["mixture"].min() < 60 and returns["mixture"].max() > 300


def test_a_policy_of_ones_own_can_be_recorded():
    episode = record(make("chain"), lambda observation, rng: 1, np.random.default_rng(0), "all right")
    assert len(episode) == 10 and episode.total_reward == 1 and episode.source == "all right"


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


def test_atari_is_recorded_in_single_frames(tmp_path):
    file = tmp_path / "pong.npz"
    assert main(["collect", "atari:Pong", "--episodes", "1", "--option", "frame_limit=80", "--out", str(file)]) == 0
    episode = next(read_npz(file))
    assert episode.observations.shape == (21, 84, 84, 1) and episode.truncated


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

    monkeypatch.setattr(mzu.collect, "record", interrupted)
    file = tmp_path / "a.npz"
    assert main(["collect", "catch", "--episodes", "8", "--out", str(file)]) == 130
    if complete:
        assert len(list(read_npz(file))) == 3 and "complete, of 8" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == (["a.npz"] if complete else [])


def test_a_crash_leaves_no_file(tmp_path, monkeypatch):
    def crashing(*arguments):
        raise MemoryError

    monkeypatch.setattr(mzu.collect, "record", crashing)
    with pytest.raises(MemoryError):
        main(["collect", "catch", "--out", str(tmp_path / "a.npz")])
    assert list(tmp_path.iterdir()) == []
