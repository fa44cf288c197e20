"""Pieces of episodes, and how the searches along them become segments and first priorities."""

import numpy as np
import pytest

from mzu.config import Config, LearningConfig
from mzu.replay.pieces import Piece, cut_piece, stack_frames, tail_length
from mzu.replay.trace import SearchTrace, first_priorities


def made_piece(start, stop, steps=10, tail=3, frame_stack=1, ended=True, terminated=True):
    """Of an episode whose observation, action and reward at t are t, t + 100 and t + 200."""
    return cut_piece(
        np.arange(steps + 1)[:, None], np.arange(100, 100 + steps), np.arange(200.0, 200 + steps), start, stop, tail,
        frame_stack, ended, terminated,
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
    assert piece.observation(0, 3).tolist() == [2, 3, 4]  # along the last axis, oldest first
    assert piece.observation(5, 3).tolist() == [7, 8, 9]


def test_frames_are_stacked_along_their_channels():
    frames = np.arange(2 * 3 * 4 * 2).reshape(2, 3, 4, 2)
    stacked = stack_frames(frames)
    assert stacked.shape == (3, 4, 4)
    np.testing.assert_array_equal(stacked[..., :2], frames[0])
    np.testing.assert_array_equal(stacked[..., 2:], frames[1])
    np.testing.assert_array_equal(stack_frames(frames[:1]), frames[0])


def test_a_tail_is_as_long_as_targets_look_ahead():
    assert tail_length(LearningConfig(unroll_steps=5, td_steps=5)) == 10
    assert tail_length(LearningConfig(unroll_steps=5, td_steps=0)) == 6  # the reward of the last unrolled step
    assert tail_length(LearningConfig(unroll_steps=0, td_steps=1)) == 1


# Search results along a game


def config_of(td_steps):
    return Config().override("search.discount=0.5", f"learning.td_steps={td_steps}", "learning.unroll_steps=1")


def test_a_trace_forgets_what_became_a_segment_and_keeps_the_rest():
    trace = SearchTrace(config_of(td_steps=0))
    for number in range(5):
        trace.record(np.eye(3)[number % 3], None, value=10.0 + number, raw_value=8.0)
    segment = trace.finish(made_piece(0, 2), stored=False)
    assert segment.search_value.tolist() == [10, 11] and segment.search_policy.argmax(axis=1).tolist() == [0, 1]
    assert segment.priorities.tolist() == [2, 3]  # |nu - v| with TD-0
    assert segment.search_actions is None and not segment.stored
    assert len(trace) == 3
    segment = trace.finish(made_piece(2, 5), stored=True)
    assert segment.search_value.tolist() == [12, 13, 14] and segment.stored


def test_positions_with_fewer_candidates_are_filled_up_with_nothing():
    trace = SearchTrace(config_of(td_steps=0))
    trace.record(np.array([0.5, 0.5]), np.array([2, 1]), 0.0, 0.0)
    trace.record(np.array([0.25, 0.25, 0.5]), np.array([0, 1, 2]), 0.0, 0.0)
    segment = trace.finish(made_piece(0, 2), stored=True)
    assert segment.search_policy.tolist() == [[0.5, 0.5, 0], [0.25, 0.25, 0.5]]
    assert segment.search_actions.tolist() == [[2, 1, 0], [0, 1, 2]]


def test_a_restored_trace_makes_the_same_segment():
    first, second = SearchTrace(config_of(2)), SearchTrace(config_of(2))
    rng = np.random.default_rng(0)
    for _ in range(3):
        first.record(rng.dirichlet(np.ones(3)), rng.uniform(-1, 1, (3, 2)), *rng.normal(size=2))
    second.restore(first.state())
    piece = Piece(np.zeros((6, 1)), np.zeros((5, 2)), np.ones(5), 3, ended=False, terminated=False)
    one, two = first.finish(piece, stored=True), second.finish(piece, stored=True)
    for name in ("search_policy", "search_actions", "search_value", "priorities"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


# First priorities |nu - z|, with n = 2, discount 1/2 and search values 1, 2, 3, 4


def priorities_of(rewards, terminated, length=4):
    piece = Piece(None, None, np.array(rewards, np.float32), length, ended=True, terminated=terminated)
    values = np.arange(1.0, length + 1)
    return first_priorities(piece, values, values, discount=0.5, td_steps=2).tolist()


def test_first_priorities_take_the_search_value_n_steps_later():
    # z_0 = 8 + 4 / 2 + 3 / 4; z_1 = 4 + 2 / 2 + 4 / 4; nothing is known behind the last position: its value stands in.
    z = [8 + 2 + 3 / 4, 4 + 1 + 4 / 4, 2 + 8 + 4 / 4, 16 + 16 + 4 / 4]
    assert priorities_of([8, 4, 2, 16, 32], False) == [abs(nu - one) for nu, one in zip((1, 2, 3, 4), z, strict=True)]


def test_first_priorities_at_an_end():
    # Four steps: position 2 is exactly n steps from the end, position 3 one.
    until = [8 + 2 + 3 / 4, 4 + 1 + 4 / 4]
    terminated = [*until, 2 + 8, 16]
    truncated = [*until, 2 + 8 + 4 / 4, 16 + 4 / 2]
    for end, z in ((True, terminated), (False, truncated)):
        assert priorities_of([8, 4, 2, 16], end) == [abs(nu - one) for nu, one in zip((1, 2, 3, 4), z, strict=True)]
