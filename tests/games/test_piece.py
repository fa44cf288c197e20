"""Pieces of episodes, and what the network sees at their positions."""

import numpy as np
import pytest

from mzu.config import Config
from mzu.episodes.episode import Episode
from mzu.games.piece import cut_piece, observation_at, piece_of, stack_frames


def config_of(frame_stack=1):
    """With a tail of U + n = 3."""
    return Config().override("learning.unroll_steps=1", "learning.td_steps=2", f"network.frame_stack={frame_stack}")


def made_piece(start, stop, steps=10, frame_stack=1, ended=True, terminated=True):
    """Of an episode whose observation, action and reward at t are t, t + 100 and t + 200."""
    return cut_piece(
        np.arange(steps + 1)[:, None], np.arange(100, 100 + steps), np.arange(200.0, 200 + steps), start, stop,
        config_of(frame_stack), ended, terminated,
    )  # fmt: skip


def test_a_piece_has_its_positions_the_tail_and_the_observation_behind_it():
    piece = made_piece(2, 5)
    assert piece.length == 3
    assert piece.observations[:, 0].tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert piece.actions.tolist() == [102, 103, 104, 105, 106, 107]
    assert piece.rewards.tolist() == [202, 203, 204, 205, 206, 207]
    assert not piece.ended and not piece.terminated


@pytest.mark.parametrize(("stop", "tail", "ended"), [(6, 3, False), (7, 3, True), (8, 2, True), (10, 0, True)])
def test_a_tail_stops_at_the_end_of_the_episode_and_takes_over_how_it_ended(stop, tail, ended):
    piece = made_piece(stop - 3, stop)
    assert len(piece.actions) == 3 + tail
    assert piece.observations[-1, 0] == stop + tail
    assert piece.ended == piece.terminated == ended
    truncated = made_piece(stop - 3, stop, terminated=False)
    assert truncated.ended == ended and not truncated.terminated


def test_data_that_merely_end_are_no_end():
    piece = made_piece(7, 10, ended=False, terminated=False)
    assert not piece.ended and not piece.terminated


def test_frames_before_a_piece_complete_its_first_stacks():
    assert made_piece(0, 2, frame_stack=3).observations[:4, 0].tolist() == [0, 0, 0, 1]
    assert made_piece(1, 2, frame_stack=3).observations[:4, 0].tolist() == [0, 0, 1, 2]
    piece = made_piece(4, 6, frame_stack=3)
    assert piece.observations[:, 0].tolist() == [2, 3, 4, 5, 6, 7, 8, 9]
    assert piece.observation(0).tolist() == [2, 3, 4]  # along the last axis, oldest first
    assert piece.observation(5).tolist() == [7, 8, 9]


def test_frames_are_stacked_along_their_channels():
    frames = np.arange(2 * 3 * 4 * 2).reshape(2, 3, 4, 2)
    stacked = stack_frames(frames)
    assert stacked.shape == (3, 4, 4)
    np.testing.assert_array_equal(stacked[..., :2], frames[0])
    np.testing.assert_array_equal(stacked[..., 2:], frames[1])
    np.testing.assert_array_equal(stack_frames(frames[:1]), frames[0])


def test_before_the_first_frame_the_network_sees_zeros():
    frames = np.arange(1, 6, dtype=np.uint8).reshape(5, 1, 1, 1)
    for seen in (frames, list(frames)):  # an episode has an array of them, a game that goes on a list
        assert observation_at(seen, 0, 3).ravel().tolist() == [0, 0, 1]
        assert observation_at(seen, 4, 3).ravel().tolist() == [3, 4, 5]
        assert observation_at(seen, 2, 1).ravel().tolist() == [3]


@pytest.mark.parametrize("terminated", [True, False])
def test_a_piece_of_a_finished_episode_knows_how_it_ended(terminated):
    end = {"terminated": True} if terminated else {"truncated": True}
    frames = np.arange(1, 12, dtype=np.uint8).reshape(11, 1, 1, 1)
    episode = Episode(frames, np.arange(10, dtype=np.int32), np.arange(10, dtype=np.float32), **end)
    pieces = [piece_of(episode, start, start + 3, config_of(frame_stack=3)) for start in (0, 3, 6)]
    assert [piece.ended for piece in pieces] == [False, False, True]
    assert [piece.terminated for piece in pieces] == [False, False, terminated]
    assert pieces[0].observation(0).ravel().tolist() == [0, 0, 1]
    assert pieces[1].observation(0).ravel().tolist() == [2, 3, 4] and pieces[1].actions.tolist() == [3, 4, 5, 6, 7, 8]
    assert pieces[2].observation(4).ravel().tolist() == [9, 10, 11]  # the last one
