"""DQN Replay: padding, stale slots, fractions, ends at the time limit."""

import itertools

import numpy as np
import pytest
from made_episodes import write_replay_logs

from mzu import load_episodes
from mzu.episodes.readers.dqn_replay import TIME_LIMIT, _stretches
from mzu.episodes.readers.rlu_atari import MINIMAL_ACTIONS


def replay_rows(lengths, rng, start_padding=True):
    """Frames, actions, rewards, terminals as DQN's replay buffer has them: padding before each episode."""
    frames, actions, rewards, terminals = [], [], [], []
    for number, length in enumerate(lengths):
        if number or start_padding:
            frames += [np.zeros((84, 84), np.uint8)] * 3
            actions, rewards, terminals = actions + [0] * 3, rewards + [0] * 3, terminals + [0] * 3
        frames += list(rng.integers(1, 256, (length, 84, 84), dtype=np.uint8))
        actions += rng.integers(0, 6, length).tolist()
        rewards += rng.integers(-1, 2, length).tolist()
        terminals += [0] * (length - 1) + [1]
    return frames, actions, rewards, terminals


def test_dqn_replay_loses_its_padding_and_its_stale_slot(tmp_path):
    rng = np.random.default_rng(0)
    frames, actions, rewards, terminals = replay_rows([5, 4, 6], rng)
    stop = len(frames) - 2  # the file ends within the third episode
    logs = tmp_path / "Pong" / "1" / "replay_logs"
    rows = frames[:stop], actions[:stop], rewards[:stop], terminals[:stop]
    stale = np.full((84, 84), 7, np.uint8)
    write_replay_logs(logs, [*rows[0], stale], [*rows[1], 5], [*rows[2], 1], [*rows[3], 1])
    first, second, third = load_episodes("dqn_replay:Pong/1", root=tmp_path)
    assert [len(first), len(second), len(third)] == [5, 4, 3]  # 4 true frames of the third are 3 steps
    np.testing.assert_array_equal(first.observations[:5, :, :, 0], frames[3:8])
    np.testing.assert_array_equal(first.observations[5], first.observations[4])
    assert first.actions.tolist() == actions[3:8] and first.rewards.tolist() == rewards[3:8]
    assert first.terminated and second.terminated and third.truncated
    np.testing.assert_array_equal(third.observations[:, :, :, 0], frames[18:22])
    assert load_episodes(tmp_path / "Pong" / "1").spaces.num_actions == MINIMAL_ACTIONS["Pong"] == 6


def test_a_fraction_of_dqn_replay_is_the_first_part_of_every_file(tmp_path):
    rng = np.random.default_rng(0)
    logs = tmp_path / "Pong" / "1" / "replay_logs"
    whole = []
    for number in range(2):
        rows = replay_rows([7] * 10, rng)
        whole.append(rows)
        write_replay_logs(logs, *rows, number=number)
    dataset = load_episodes("dqn_replay:Pong/1", root=tmp_path, fraction=0.1)
    first, second = dataset  # 10 of 100 rows: three of padding, seven steps
    assert first.rewards.tolist() == whole[0][2][3:10] and second.rewards.tolist() == whole[1][2][3:10]
    assert len(list(load_episodes("dqn_replay:Pong/1", root=tmp_path))) == 20
    with pytest.raises(ValueError, match="fraction is 2"):
        list(load_episodes("dqn_replay:Pong/1", root=tmp_path, fraction=2))


def test_a_fraction_is_believed_only_after_the_checksum_at_the_end_of_its_file(tmp_path):
    rows = replay_rows([7] * 40, np.random.default_rng(0))
    logs = tmp_path / "Pong" / "1" / "replay_logs"
    write_replay_logs(logs, *rows)
    path = logs / "$store$_observation_ckpt.0.gz"
    assert len(list(load_episodes("dqn_replay:Pong/1", root=tmp_path, fraction=0.1))) == 4
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(ValueError, match=r"observation_ckpt.0.gz, .*the file is cut off"):
        next(iter(load_episodes("dqn_replay:Pong/1", root=tmp_path, fraction=0.1)))


def test_an_end_at_the_time_limit_is_a_truncation_in_dqn_replay(tmp_path, monkeypatch):
    monkeypatch.setattr("mzu.episodes.readers.dqn_replay.TIME_LIMIT", 6)
    rows = replay_rows([6, 5], np.random.default_rng(0))
    logs = tmp_path / "Pong" / "1" / "replay_logs"
    write_replay_logs(logs, *([*values, values[0]] for values in rows))
    limited, ended = load_episodes("dqn_replay:Pong/1", root=tmp_path)
    assert limited.truncated and len(limited) == 5
    assert ended.terminated and len(ended) == 5


def test_a_log_without_any_end_is_cut_into_pieces_that_fit_in_memory():
    pieces = _stretches(np.zeros(100_000, np.uint8))
    assert pieces[0] == (0, TIME_LIMIT + 3) and pieces[-1][1] == 100_000
    assert all(one[1] == other[0] for one, other in itertools.pairwise(pieces))
