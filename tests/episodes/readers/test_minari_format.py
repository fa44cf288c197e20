"""Minari datasets: states, images, bounds and dictionaries, with and without the package."""

import numpy as np
import pytest
from made_episodes import assert_same, atari_episodes, control_episodes

from mzu import load_episodes
from mzu.environments.spaces import Spaces
from mzu.episodes.readers.minari_format import LossyImages, write_minari


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
