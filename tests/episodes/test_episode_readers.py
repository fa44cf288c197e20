"""Files that other projects wrote are read as they are meant, and one call finds every format."""

import dataclasses
import itertools
import subprocess
import sys

import numpy as np
import pytest
from made_episodes import assert_same, atari_episodes, control_episodes, rewrite, write_replay_logs

import mzu
from mzu import load_episodes
from mzu.episodes.episode import Episode
from mzu.episodes.readers.dqn_replay import TIME_LIMIT, _stretches
from mzu.episodes.readers.npz import episodes_from_arrays, write_npz
from mzu.episodes.readers.rlu_atari import MINIMAL_ACTIONS, write_atari
from mzu.episodes.readers.rlu_control import ACTION_DIMENSIONS, NUM_EPISODES, control_task, own_task, write_control


def test_the_dm_control_fixture_has_1001_observations_and_the_known_return(fixtures_folder):
    dataset = load_episodes("rlu:cartpole_swingup", root=fixtures_folder)
    (episode,) = dataset
    assert episode.observations.shape == (1001, 5) and episode.observations.dtype == np.float32
    assert episode.actions.shape == (1000, 1)
    assert round(episode.total_reward, 1) == 861.0
    assert episode.truncated and not episode.terminated
    assert np.isfinite(episode.rewards).all()
    # The first numbers of the file: position before velocity, and the reward that follows the first action.
    first = [-0.00151776, -0.99999738, 0.00228323, -0.00756582, 0.00110069]
    np.testing.assert_allclose(episode.observations[0], first, rtol=1e-5)
    assert episode.actions[0] == 1.0 and episode.rewards[0] == pytest.approx(4.847754e-07)
    assert episode.actions[-1] == pytest.approx(0.169304)
    assert dataset.spaces.num_actions == 1 and dataset.spaces.continuous


def test_the_atari_fixture_has_310_frames_and_the_last_one_stands_for_the_end(fixtures_folder):
    dataset = load_episodes("rlu_atari:Asterix/1", root=fixtures_folder)
    (episode,) = dataset
    assert episode.observations.shape == (310 + 1, 84, 84, 1) and episode.observations.dtype == np.uint8
    assert len(episode) == 310 and episode.terminated
    np.testing.assert_array_equal(episode.observations[-1], episode.observations[-2])
    assert episode.total_reward == 17.0
    assert dataset.spaces.num_actions == 9 and episode.actions.max() <= 8


def test_rewards_can_be_moved_to_the_step_that_earned_them(fixtures_folder):
    (episode,) = load_episodes("rlu_atari:Asterix", root=fixtures_folder)
    (moved,) = load_episodes("rlu_atari:Asterix", root=fixtures_folder, reward_shift=1)
    np.testing.assert_array_equal(moved.rewards[1:], episode.rewards[:-1])
    (earlier,) = load_episodes("rlu_atari:Asterix", root=fixtures_folder, reward_shift=-2)
    np.testing.assert_array_equal(earlier.rewards[:-2], episode.rewards[2:])
    assert not earlier.rewards[-2:].any()


@pytest.mark.parametrize("name", sorted(ACTION_DIMENSIONS))
def test_all_nine_tasks_are_read_key_by_key_in_the_documented_order(name, tmp_path):
    task = control_task(name)
    episodes = control_episodes(2, task.spaces.observation_shape[0], task.num_actions)
    write_control(tmp_path / name, episodes, task)
    dataset = load_episodes(f"rlu:{name}", root=tmp_path)
    assert dataset.spaces == task.spaces
    assert_same(episodes, dataset)
    assert NUM_EPISODES[name] >= 40


def test_an_atari_episode_without_a_terminal_end_keeps_only_true_observations(tmp_path):
    (episode,) = (one for one in atari_episodes(2) if one.truncated)
    write_atari(tmp_path / "Asterix", [episode])
    rewrite(tmp_path / "Asterix" / "run_1-00000-of-00001", lambda fields: fields["actions"].__setitem__(-1, 5))
    assert_same([episode], load_episodes(tmp_path / "Asterix"))  # the action after the last frame has no observation


def test_runs_are_read_together_or_alone(tmp_path):
    first, second = atari_episodes(2)
    write_atari(tmp_path / "rlu_atari" / "Asterix", [first], run=1)
    write_atari(tmp_path / "other", [second], run=2)
    (tmp_path / "other" / "run_2-00000-of-00001").rename(tmp_path / "rlu_atari" / "Asterix" / "run_2-00000-of-00001")
    assert_same([first, second], load_episodes("rlu_atari:Asterix", root=tmp_path))
    assert_same([second], load_episodes("rlu_atari:Asterix/2", root=tmp_path))
    with pytest.raises(ValueError, match="no files of run 3"):
        load_episodes("rlu_atari:Asterix/3", root=tmp_path)


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


def test_plain_arrays_with_next_observations_keep_every_step():
    observations = np.arange(12.0).reshape(6, 2)
    ends = np.array([0, 0, 1, 0, 0, 0], bool)
    first, second = episodes_from_arrays(observations, np.arange(6), np.arange(6), ends, None, observations + 1)
    assert first.terminated and first.observations[:, 0].tolist() == [0, 2, 4, 5]
    assert second.truncated and second.rewards.tolist() == [3, 4, 5]


def test_plain_arrays_without_next_observations_drop_the_last_step_of_a_truncated_episode():
    arrays = {"observations": np.arange(5.0)[:, None], "actions": np.arange(5), "rewards": np.ones(5)}
    first, second = load_episodes({**arrays, "terminals": [0, 1, 0, 0, 0], "timeouts": [0, 0, 0, 0, 1]})
    assert first.observations[:, 0].tolist() == [0, 1, 1] and len(first) == 2
    assert second.observations[:, 0].tolist() == [2, 3, 4] and second.actions.tolist() == [2, 3]


def test_a_folder_of_npz_files_and_plain_arrays_in_an_npz_are_read(tmp_path):
    one, two, three = control_episodes(3)
    write_npz(tmp_path / "a.npz", [one, two])
    write_npz(tmp_path / "b.npz", [three])
    dataset = load_episodes(tmp_path)
    assert len(dataset) == 3
    assert_same([one, two, three], dataset)
    np.savez(tmp_path / "plain.npz", observations=np.ones((4, 2)), actions=np.zeros(4, int), rewards=np.ones(4))
    (plain,) = load_episodes(str(tmp_path / "plain.npz"))
    assert len(plain) == 3 and plain.rewards.dtype == np.float32


def test_a_dataset_can_be_iterated_again_and_tells_its_length_when_it_knows(tmp_path):
    write_npz(tmp_path / "a.npz", control_episodes(2))
    dataset = load_episodes(tmp_path / "a.npz")
    assert_same(dataset, dataset)
    assert len(dataset) == 2
    write_control(tmp_path / "own", control_episodes(2), own_task("own", dataset.infer_spaces()))
    with pytest.raises(TypeError, match="does not say how many"):
        len(load_episodes(tmp_path / "own"))
    assert_same(dataset, load_episodes(tmp_path / "own"))  # a task that is none of the nine


def test_episodes_that_are_there_already_are_a_dataset_like_any_other():
    episodes = control_episodes(3)
    for given in (episodes, tuple(episodes), iter(episodes)):
        dataset = load_episodes(given)
        assert (dataset.name, len(dataset), dataset.format) == ("episodes", 3, "episodes")
        assert_same(episodes, dataset)
        assert_same(episodes, dataset)  # once more
        assert dataset.infer_spaces().continuous
    shifted = load_episodes(episodes, reward_shift=1)
    assert [episode.rewards[0] for episode in shifted] == [0, 0, 0]
    assert load_episodes(atari_episodes(2), num_actions=18).infer_spaces().num_actions == 18


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([control_episodes(1)[0], "a"], "Item 1 of the dataset is a str, but must be an Episode"),
        (None, "None is no dataset; give a name, a path, a dictionary of arrays or a list of episodes"),
        (7, "7 is no dataset"),
    ],
)
def test_what_is_no_episode_is_said_in_one_sentence(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        load_episodes(given)


def test_spaces_are_found_in_the_data(tmp_path):
    write_npz(tmp_path / "a.npz", atari_episodes(2, actions=4))
    spaces = load_episodes(tmp_path / "a.npz").infer_spaces()
    assert spaces.num_actions == 4 and spaces.observation_dtype == "uint8" and spaces.observation_shape == (84, 84, 1)


def test_the_shuffled_transition_releases_are_refused_with_the_name_of_the_right_one(tmp_path):
    shuffled = tmp_path / "dm_control_suite" / "cartpole_swingup"
    write_control(shuffled, control_episodes(1), control_task("cartpole_swingup"))
    for source, root in (("rlu:cartpole_swingup", tmp_path), (shuffled, None)):
        with pytest.raises(
            ValueError, match=r"random order .* use the release dm_control_suite_episodes/cartpole_swingup"
        ):
            load_episodes(source, root=root, skip_bad=True)
    write_atari(tmp_path / "atari" / "Asterix", atari_episodes(1))
    with pytest.raises(ValueError, match="use the release atari_episodes_ordered/Asterix"):
        load_episodes("rlu_atari:Asterix", root=tmp_path)


def test_shuffled_transitions_are_recognised_by_their_fields_too(tmp_path):
    write_atari(tmp_path / "Asterix", atari_episodes(1))
    rewrite(tmp_path / "Asterix" / "run_1-00000-of-00001", lambda fields: fields.update(o_tm1=[b""], r_t=np.ones(1)))
    with pytest.raises(ValueError, match="atari_episodes_ordered"):
        list(load_episodes(tmp_path / "Asterix", skip_bad=True))
    write_control(tmp_path / "fish_swim", control_episodes(1, 24, 5), control_task("fish_swim"))

    def one_step(fields):
        del fields["step_type"]
        fields["reward"] = fields["reward"][:1]

    rewrite(tmp_path / "fish_swim" / "train-00000-of-00001", one_step)
    with pytest.raises(ValueError, match="dm_control_suite_episodes"):
        list(load_episodes(tmp_path / "fish_swim", skip_bad=True))


@pytest.mark.parametrize(
    ("source", "root", "sentence"),
    [
        ("rlu:cartpole", "here", "RL Unplugged has no task 'cartpole'; it has cartpole_swingup, "),
        ("rlu:fish_swim", None, "rlu:fish_swim needs the folder that holds the downloaded files: --root"),
        ("rlu:fish_swim", "here", "There are no files of rlu:fish_swim under"),
        ("rlu_atri:Pong", "here", "did you mean rlu_atari:Pong?"),
        ("nowhere.npz", "here", "does not exist"),
        ("", "here", "holds no .npz, no files of RL Unplugged"),
        ("text.txt", "here", "is no .npz and not named like a file of RL Unplugged"),
    ],
)
def test_what_cannot_be_found_is_said_in_one_sentence(source, root, sentence, tmp_path):
    (tmp_path / "text.txt").write_text("x")
    with pytest.raises(ValueError, match=r".+") as error:
        load_episodes(source, root=root and tmp_path)
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_options_that_do_not_apply_are_refused(tmp_path):
    write_control(tmp_path / "cartpole_swingup", control_episodes(1), control_task("cartpole_swingup"))
    with pytest.raises(ValueError, match="DQN Replay only"):
        load_episodes("rlu:cartpole_swingup", root=tmp_path, fraction=0.1)
    with pytest.raises(ValueError, match="num_actions does not apply"):
        load_episodes("rlu:cartpole_swingup", root=tmp_path, num_actions=3)


def test_importing_mzu_imports_no_reader_and_reading_imports_no_tensorflow(tmp_path):
    write_control(tmp_path / "cartpole_swingup", control_episodes(1), control_task("cartpole_swingup"))
    code = f"""
import sys, mzu
assert "numpy" not in sys.modules
(episode,) = mzu.load_episodes({str(tmp_path / "cartpole_swingup")!r})
assert "tensorflow" not in sys.modules and "minari" not in sys.modules
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    with pytest.raises(AttributeError, match="no attribute 'load_episode'"):
        mzu.load_episode  # noqa: B018


def test_the_minimal_action_sets_are_those_of_the_emulator():
    ale_py = pytest.importorskip("ale_py")
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    for game, rom in (("Breakout", "breakout"), ("MsPacman", "ms_pacman"), ("KungFuMaster", "kung_fu_master")):
        emulator = ale_py.ALEInterface()
        emulator.loadROM(ale_py.roms.get_rom_path(rom))
        assert len(emulator.getMinimalActionSet()) == MINIMAL_ACTIONS[game]


def test_an_episode_is_immutable_and_replaceable():
    (episode,) = control_episodes(1)
    with pytest.raises(ValueError, match="read-only"):
        episode.rewards[0] = 1
    changed = dataclasses.replace(episode, search_value=np.zeros(7))
    assert changed.search_value.shape == (7,) and episode.search_value is None
    assert isinstance(changed, Episode)
