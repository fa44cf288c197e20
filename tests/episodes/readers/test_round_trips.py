"""What is written in a format is read back exactly, also by the programs that the format comes from."""

import dataclasses
import io

import numpy as np
import pytest
from made_episodes import assert_same, atari_episodes, control_episodes

from mzu import load_episodes
from mzu.environments.spaces import Spaces
from mzu.episodes.readers.example import decode
from mzu.episodes.readers.minari_format import write_minari
from mzu.episodes.readers.npz import write_npz
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, write_control
from mzu.episodes.readers.tfrecord import read_records


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


def test_control_and_atari_episodes_survive_their_formats(tmp_path):
    control = control_episodes(5)
    write_control(tmp_path / "cartpole_swingup", iter(control), control_task("cartpole_swingup"), num_shards=2)
    assert_same([control[i] for i in (0, 2, 4, 1, 3)], load_episodes(tmp_path / "cartpole_swingup"))
    atari = atari_episodes(4)
    write_atari(tmp_path / "Asterix", iter(atari), num_shards=2)
    assert_same([atari[i] for i in (0, 2, 1, 3)], load_episodes(tmp_path / "Asterix"))


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
