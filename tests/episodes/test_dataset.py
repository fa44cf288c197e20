"""Files that other projects wrote are read as they are meant, and one call finds every format."""

import subprocess
import sys

import numpy as np
import pytest
from made_episodes import assert_same, atari_episodes, control_episodes, rewrite

import mzu
from mzu import load_episodes
from mzu.episodes.readers.npz import write_npz
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, own_task, write_control


def test_rewards_can_be_moved_to_the_step_that_earned_them(fixtures_folder):
    (episode,) = load_episodes("rlu_atari:Asterix", root=fixtures_folder)
    (moved,) = load_episodes("rlu_atari:Asterix", root=fixtures_folder, reward_shift=1)
    np.testing.assert_array_equal(moved.rewards[1:], episode.rewards[:-1])
    (earlier,) = load_episodes("rlu_atari:Asterix", root=fixtures_folder, reward_shift=-2)
    np.testing.assert_array_equal(earlier.rewards[:-2], episode.rewards[2:])
    assert not earlier.rewards[-2:].any()


def test_runs_are_read_together_or_alone(tmp_path):
    first, second = atari_episodes(2)
    write_atari(tmp_path / "rlu_atari" / "Asterix", [first], run=1)
    write_atari(tmp_path / "other", [second], run=2)
    (tmp_path / "other" / "run_2-00000-of-00001").rename(tmp_path / "rlu_atari" / "Asterix" / "run_2-00000-of-00001")
    assert_same([first, second], load_episodes("rlu_atari:Asterix", root=tmp_path))
    assert_same([second], load_episodes("rlu_atari:Asterix/2", root=tmp_path))
    with pytest.raises(ValueError, match="no files of run 3"):
        load_episodes("rlu_atari:Asterix/3", root=tmp_path)


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
