"""Episodes in npz files, and plain arrays."""

import dataclasses
import zipfile

import numpy as np
import pytest
from made_episodes import assert_same, atari_episodes, control_episodes

from mzu import load_episodes
from mzu.episodes.readers.npz import episodes_from_arrays, write_npz


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
