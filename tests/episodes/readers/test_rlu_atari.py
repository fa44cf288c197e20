"""RL Unplugged's Atari episodes: read as recorded, written and read again."""

import numpy as np
import pytest
from made_episodes import assert_same, atari_episodes, rewrite

from mzu import load_episodes
from mzu.episodes.readers.rlu_atari import MINIMAL_ACTIONS, write_atari


def test_the_atari_fixture_has_310_frames_and_the_last_one_stands_for_the_end(fixtures_folder):
    dataset = load_episodes("rlu_atari:Asterix/1", root=fixtures_folder)
    (episode,) = dataset
    assert episode.observations.shape == (310 + 1, 84, 84, 1) and episode.observations.dtype == np.uint8
    assert len(episode) == 310 and episode.terminated
    np.testing.assert_array_equal(episode.observations[-1], episode.observations[-2])
    assert episode.total_reward == 17.0
    assert dataset.spaces.num_actions == 9 and episode.actions.max() <= 8


def test_an_atari_episode_without_a_terminal_end_keeps_only_true_observations(tmp_path):
    (episode,) = (one for one in atari_episodes(2) if one.truncated)
    write_atari(tmp_path / "Asterix", [episode])
    rewrite(tmp_path / "Asterix" / "run_1-00000-of-00001", lambda fields: fields["actions"].__setitem__(-1, 5))
    assert_same([episode], load_episodes(tmp_path / "Asterix"))  # the action after the last frame has no observation


def test_the_minimal_action_sets_are_those_of_the_emulator():
    ale_py = pytest.importorskip("ale_py")
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    for game, rom in (("Breakout", "breakout"), ("MsPacman", "ms_pacman"), ("KungFuMaster", "kung_fu_master")):
        emulator = ale_py.ALEInterface()
        emulator.loadROM(ale_py.roms.get_rom_path(rom))
        assert len(emulator.getMinimalActionSet()) == MINIMAL_ACTIONS[game]
