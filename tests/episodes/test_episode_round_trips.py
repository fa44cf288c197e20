"""What is written in a format is read back exactly, also by the programs that the format comes from."""

import dataclasses
import io
import signal
import subprocess
import sys
import tempfile
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_episodes import assert_same, atari_episodes, control_episodes

from mzu import load_episodes
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.episodes.readers.example import decode, encode
from mzu.episodes.readers.minari_format import LossyImages, write_minari
from mzu.episodes.readers.npz import write_npz
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, own_task, write_control
from mzu.episodes.readers.tfrecord import RecordWriter, masked_crc, read_records
from mzu.files import written_whole


def searched_episode():
    (episode,) = control_episodes(1)
    policy = np.random.default_rng(1).dirichlet(np.ones(4), 7)
    return dataclasses.replace(
        episode, search_policy=policy, search_actions=np.zeros((7, 4, 1)), search_value=np.arange(7.0), truncated=False
    )


def test_npz_keeps_everything_also_search_results(tmp_path):
    episodes = [*control_episodes(2), *atari_episodes(2), searched_episode()]
    assert write_npz(tmp_path / "all.npz", iter(episodes)) == 5
    again = list(load_episodes(tmp_path / "all.npz"))
    assert_same(episodes, again)
    assert [one.actions.dtype for one in again] == [one.actions.dtype for one in episodes]
    np.testing.assert_array_equal(again[-1].search_actions, episodes[-1].search_actions)
    with np.load(tmp_path / "all.npz") as archive:  # numpy alone opens it too
        np.testing.assert_array_equal(archive["000001/rewards"], episodes[1].rewards)


def test_for_how_many_steps_actions_were_held_travels_in_npz_and_minari(tmp_path):
    episodes = [dataclasses.replace(one, repeat=k) for one, k in zip(control_episodes(3), (4, None, 1), strict=True)]
    write_npz(tmp_path / "a.npz", episodes)
    again = list(load_episodes(tmp_path / "a.npz"))
    assert_same(episodes, again)
    assert [type(one.repeat) for one in again] == [int, type(None), int]
    pytest.importorskip("minari")
    write_minari(tmp_path / "test-v0", iter(episodes), Spaces((5,), 1, continuous=True))
    again = list(load_episodes(tmp_path / "test-v0"))
    assert_same(episodes, again)
    assert [type(one.repeat) for one in again] == [int, type(None), int]


def test_a_file_from_before_actions_were_held_is_read_as_it_was(tmp_path):
    episodes = [dataclasses.replace(one, seed=3, repeat=4) for one in control_episodes(2)]
    write_npz(tmp_path / "new.npz", episodes)
    with zipfile.ZipFile(tmp_path / "new.npz") as new, zipfile.ZipFile(tmp_path / "old.npz", "w") as old:
        for name in new.namelist():
            if not name.endswith("/repeat.npy"):
                old.writestr(name, new.read(name))
    again = list(load_episodes(tmp_path / "old.npz"))
    assert_same([dataclasses.replace(one, repeat=None) for one in episodes], again)
    assert [one.seed for one in again] == [3, 3]


@pytest.mark.parametrize(
    "repeat, sentence",
    [(0, "has repeat 0, but must be at least 1"), ([4, 4], "must be one whole number"), (2.0, "one")],
)
def test_a_repeat_that_is_no_number_of_steps_is_a_fault(repeat, sentence, tmp_path):
    (episode,) = control_episodes(1)
    arrays = {
        name: getattr(episode, name) for name in ("observations", "actions", "rewards", "terminated", "truncated")
    }
    arrays["repeat"] = np.array(repeat)
    np.savez(tmp_path / "a.npz", **{f"000000/{name}": array for name, array in arrays.items()})
    with pytest.raises(ValueError, match=sentence):
        list(load_episodes(tmp_path / "a.npz"))


def test_control_and_atari_episodes_survive_their_formats(tmp_path):
    control = control_episodes(5)
    write_control(tmp_path / "cartpole_swingup", iter(control), control_task("cartpole_swingup"), num_shards=2)
    assert_same([control[i] for i in (0, 2, 4, 1, 3)], load_episodes(tmp_path / "cartpole_swingup"))
    atari = atari_episodes(4)
    write_atari(tmp_path / "Asterix", iter(atari), num_shards=2)
    assert_same([atari[i] for i in (0, 2, 1, 3)], load_episodes(tmp_path / "Asterix"))


def test_a_terminal_end_survives_the_control_format(tmp_path):
    (episode,) = control_episodes(1)
    ended = dataclasses.replace(episode, terminated=True, truncated=False)
    write_control(tmp_path / "own", [ended], own_task("own", Spaces((5,), 1, continuous=True)))
    assert_same([ended], load_episodes(tmp_path / "own"))


def test_the_fixtures_survive_being_written_again(fixtures_folder, tmp_path):
    for name, source in (("cartpole_swingup", "rlu:cartpole_swingup"), ("Asterix", "rlu_atari:Asterix")):
        dataset = load_episodes(source, root=fixtures_folder)
        if name == "Asterix":
            (path,) = write_atari(tmp_path / name, dataset)
        else:
            (path,) = write_control(tmp_path / name, dataset, control_task(name))
        assert_same(dataset, load_episodes(tmp_path / name))
        (file,) = dataset.files
        ((_, original),), ((_, written),) = read_records(file), read_records(path)
        original, written = decode(original), decode(written)
        assert original.keys() == written.keys()
        for key in original.keys() - {"observations", "episode_id", "timestamp", "episode_idx", "checkpoint_idx"}:
            np.testing.assert_array_equal(original[key], written[key], err_msg=key)


def test_episodes_that_do_not_fit_a_format_are_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(ValueError, match="cheetah_run has 17 observed numbers and 6 action dimensions"):
        write_control(tmp_path / "a", control_episodes(1), control_task("cheetah_run"))
    with pytest.raises(ValueError, match=r"Atari has uint8 \[84, 84, 1\]"):
        write_atari(tmp_path / "b", control_episodes(1))
    with pytest.raises(ValueError, match="There is no episode to write"):
        write_npz(tmp_path / "c.npz", [])
    with pytest.raises(ValueError, match="states and continuous actions"):
        own_task("own", Spaces((5,), 2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("write", [write_npz, write_atari])
def test_a_writer_that_is_interrupted_leaves_nothing_under_the_final_name(write, tmp_path):
    def episodes():
        yield atari_episodes(1)[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "data.npz", episodes())
    assert list(tmp_path.iterdir()) == []


def test_an_older_file_stays_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, control_episodes(1))
    before = path.read_bytes()
    with pytest.raises(RuntimeError), written_whole(path) as temporary:
        temporary.write_bytes(b"half")
        raise RuntimeError
    assert path.read_bytes() == before
    write_npz(path, control_episodes(1))
    assert path.read_bytes() == before  # the same episodes, the same bytes
    folder = tmp_path / "full"
    write_atari(folder, atari_episodes(1))
    with pytest.raises(ValueError, match="exists and is not empty"):
        write_atari(folder, atari_episodes(1))


def test_kill_in_the_middle_of_writing_leaves_nothing_under_the_final_name(tmp_path):
    code = """
import os, signal, sys
from mzu.files import written_whole
with written_whole(sys.argv[1]) as temporary:
    temporary.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    process = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.npz")])
    assert process.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".a.npz.") and left.name.endswith(".tmp")
    with pytest.raises(ValueError, match=r"holds no \.npz"):
        load_episodes(tmp_path)


@settings(max_examples=30, deadline=None)
@given(data=st.lists(st.binary(max_size=40), max_size=6))
def test_records_come_back_in_order(data):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/records"
        with RecordWriter(path) as writer:
            for record in data:
                writer.write(record)
        assert [record for _, record in read_records(path)] == data


@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=100))
def test_the_checksum_equals_its_definition_bit_by_bit(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    assert masked_crc(data) == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % 2**32
    assert not data or masked_crc(data) != zlib.crc32(data)


def test_the_example_message_is_tensorflows(tmp_path):
    import tensorflow as tf

    fields = {"a": np.array([1.5, np.pi], np.float32), "b": np.array([-3, 2**60]), "c": [b"x", b""]}
    example = tf.train.Example.FromString(encode(fields)).features.feature
    assert example["a"].float_list.value == fields["a"].tolist() and example["b"].int64_list.value == [-3, 2**60]
    assert list(example["c"].bytes_list.value) == [b"x", b""]
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path, "GZIP") as writer:
        writer.write(tf.train.Example.FromString(encode(fields)).SerializeToString())
    ((_, data),) = read_records(path)
    assert decode(data).keys() == fields.keys() and decode(data)["b"].tolist() == [-3, 2**60]
    with RecordWriter(path) as writer:
        writer.write(data)
    (again,) = tf.data.TFRecordDataset(path, "GZIP")
    assert again.numpy() == data


def test_tensorflow_datasets_reads_what_we_write(tmp_path):
    pytest.importorskip("tensorflow_datasets")
    from tensorflow_datasets.rl_unplugged.rlu_atari.rlu_atari import RluAtari
    from tensorflow_datasets.rl_unplugged.rlu_control_suite.rlu_control_suite import RluControlSuite

    control, atari = control_episodes(1, 24, 5), atari_episodes(2)
    (path,) = write_control(tmp_path / "fish_swim", control, control_task("fish_swim"))
    builder = RluControlSuite(config="fish_swim", data_dir=tmp_path)
    ((_, found),) = builder.generate_examples_one_file(path)
    steps = found["steps"]
    keys = ("target", "velocity", "upright", "joint_angles")
    observations = np.concatenate([steps["observation"][key] for key in keys], axis=1)
    np.testing.assert_array_equal(observations, control[0].observations)
    np.testing.assert_array_equal(steps["action"][:-1], control[0].actions)
    np.testing.assert_array_equal(steps["reward"][:-1], control[0].rewards)
    assert steps["discount"].tolist() == [1.0] * 8 and not steps["is_terminal"].any() and steps["is_last"][-1]
    encoded = builder.info.features.encode_example(found)
    assert encoded["episode_id"] == 0

    (path,) = write_atari(tmp_path / "Asterix", atari)
    builder = RluAtari(config="Asterix_run_1", data_dir=tmp_path)
    (_, ended), (_, cut) = builder.generate_examples_one_file(path)
    from PIL import Image

    frames = [np.asarray(Image.open(io.BytesIO(data)))[..., None] for data in ended["steps"]["observation"]]
    np.testing.assert_array_equal(frames, atari[0].observations[:-1])
    np.testing.assert_array_equal(ended["steps"]["action"], atari[0].actions)
    np.testing.assert_array_equal(ended["steps"]["reward"], atari[0].rewards)
    assert ended["steps"]["is_terminal"][-1] and not cut["steps"]["is_terminal"].any()
    assert ended["episode_return"] == atari[0].total_reward


def test_minari_keeps_states_and_images_exactly(tmp_path):
    minari = pytest.importorskip("minari")
    control, atari = control_episodes(2), atari_episodes(3)
    for name, episodes, spaces in (
        ("control", control, Spaces((5,), 1, continuous=True)),
        ("atari", atari, Spaces((84, 84, 1), 9, observation_dtype="uint8")),
    ):
        write_minari(tmp_path / name / "test-v0", iter(episodes), spaces)
        dataset = load_episodes(f"minari:{name}/test-v0", root=tmp_path)
        assert dataset.spaces == spaces and len(dataset) == len(episodes)
        assert_same(episodes, dataset)
        assert_same(episodes, load_episodes(tmp_path / name / "test-v0"))
        theirs = minari.MinariDataset(tmp_path / name / "test-v0" / "data")
        np.testing.assert_array_equal(theirs[1].rewards, episodes[1].rewards)
        assert theirs[1].truncations[-1] == episodes[1].truncated


def test_minari_accepts_a_relative_path(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.chdir(tmp_path)
    episodes = control_episodes(2)
    write_minari("folder/test-v0", episodes, Spaces((5,), 1, continuous=True))
    assert_same(episodes, load_episodes("folder/test-v0"))
    assert_same(episodes, load_episodes("minari:test-v0", root="folder"))


def test_a_lossy_minari_dataset_is_read_with_a_warning(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    import gymnasium

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    frames = np.random.default_rng(0).integers(0, 256, (3, 84, 84, 3), dtype=np.uint8)
    buffer = minari.data_collector.EpisodeBuffer(
        observations=frames, actions=[1, 0], rewards=[0.0, 1.0], terminations=[False, False], truncations=[False, True]
    )
    with pytest.warns(UserWarning):
        minari.create_dataset_from_buffers(
            "lossy-v0",
            [buffer],
            observation_space=gymnasium.spaces.Box(0, 255, (84, 84, 3), np.uint8),
            action_space=gymnasium.spaces.Discrete(2),
        )
    with pytest.warns(LossyImages, match="compressed as JPEG"):
        (episode,) = load_episodes("minari:lossy-v0")
    assert episode.rewards.tolist() == [0.0, 1.0]
    assert not np.array_equal(episode.observations, frames)


def test_minari_bounds_and_dictionaries_become_ours(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    import gymnasium

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    parts = {"a": np.arange(3.0)[:, None], "b": np.ones((3, 2))}
    buffer = minari.data_collector.EpisodeBuffer(
        observations=parts, actions=np.array([[0.0], [2.0]]), rewards=[0, 1], terminations=[0, 1], truncations=[0, 0]
    )
    box = gymnasium.spaces.Box
    with pytest.warns(UserWarning):
        minari.create_dataset_from_buffers(
            "bounds-v0",
            [buffer],
            observation_space=gymnasium.spaces.Dict({"a": box(-9, 9, (1,)), "b": box(-9, 9, (2,))}),
            action_space=box(-2, 2, (1,)),
        )
    (episode,) = load_episodes("minari:bounds-v0")
    assert episode.actions.tolist() == [[0.0], [1.0]] and episode.terminated
    assert episode.observations.tolist() == [[0, 1, 1], [1, 1, 1], [2, 1, 1]]


def test_without_minari_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    with pytest.raises(ValueError, match=r"pip install 'mzu\[data\]'"):
        load_episodes("minari:D4RL/door/human-v2")
    with pytest.raises(ValueError, match=r"pip install 'mzu\[data\]'"):
        write_minari(tmp_path / "x", [], Spaces((1,), 1))


def test_a_minari_dataset_that_is_not_there(tmp_path):
    pytest.importorskip("minari")
    with pytest.raises(ValueError, match="minari download D4RL/door/human-v2"):
        load_episodes("minari:D4RL/door/human-v2", root=tmp_path)


def test_half_an_episode_cannot_be_made():
    with pytest.raises(ValueError, match="2 actions and 2 observations, but must have 3"):
        Episode(np.zeros((2, 1)), np.zeros(2, int), np.zeros(2))
