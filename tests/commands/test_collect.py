"""`mzu collect` records what happened, the same for the same seed, and writes it whole or not at all."""

import dataclasses

import numpy as np
import pytest

import mzu.acting.collect
from mzu.acting.collect import collect, record, trained_policy
from mzu.commands.cli import main
from mzu.environments.make import make
from mzu.episodes.readers.npz import read_npz, write_npz


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


def saved_network(folder, id="identity"):
    from mzu.config import NetworkConfig
    from mzu.networks.network import build_network
    from mzu.networks.saving import save_network

    config = NetworkConfig(width=16, num_blocks=0, value_support=5, reward_support=5)
    network = build_network(config, make(id).spaces)
    save_network(network, folder / "network.keras")
    return network, folder / "network.keras"


def test_a_trained_network_plays_by_search_what_it_has_learned(tmp_path):
    """Identity pays for repeating the observation; a policy head that copies it is the trained network."""
    from mzu.config import Config
    from mzu.networks.saving import save_network

    network, path = saved_network(tmp_path)
    size = network.spaces.num_actions
    first, head = network.representation.get_layer("first"), network.prediction.get_layer("policy")
    first.kernel.assign(np.eye(network.spaces.observation_shape[0], 16))
    first.bias.assign(np.zeros(16))
    head.kernel.assign(20 * np.eye(16, size))
    save_network(network, path)
    environment = make("identity")
    policy = trained_policy(environment, path, Config().override("search.num_simulations=4"))
    (episode,) = collect(environment, policy, episodes=1, seed=0)
    assert episode.total_reward == len(episode)
    (noisy,) = collect(environment, policy, episodes=1, seed=0, noise=1.0)
    assert noisy.total_reward < len(noisy)


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
