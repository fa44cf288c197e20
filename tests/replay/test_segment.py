"""Segments: which are possible, and how an episode is split into them."""

import numpy as np
import pytest
from made_segments import TAIL, made_segment

from mzu.replay.segment import split_lengths, stretch_at, tail_length


@pytest.mark.parametrize(
    ("sentence", "changed"),
    [
        ("search_value of shape", dict(search_value=np.zeros((3, 1)))),
        ("search_value of shape", dict(search_value=np.zeros(0))),
        ("actions of shape", dict(actions=np.zeros((8, 1, 1)))),
        ("discrete actions of type float64", dict(actions=np.zeros(8))),
        ("3 positions, but only 2 actions", dict(actions=np.zeros(2, np.int32))),
        ("8 actions, but rewards", dict(rewards=np.zeros(7))),
        ("8 actions and 8 observations", dict(observations=np.zeros((8, 2)))),
        ("3 positions, but search_policy", dict(search_policy=np.zeros((4, 3)))),
        ("no search_policy that they belong to", dict(search_policy=None, search_actions=np.zeros((3, 3), np.int32))),
        (r"search_actions of shape \(3, 2\)", dict(search_actions=np.zeros((3, 2), np.int32))),
        ("3 positions, but priorities", dict(priorities=np.zeros(4))),
        (r"priorities\[1\] is -1", dict(priorities=np.array([0, -1.0, 0]))),
        (r"rewards\[4\] that is not finite", dict(rewards=np.array([0, 0, 0, 0, np.nan, 0, 0, 0]))),
        (r"search_value\[2\] that is not finite", dict(search_value=np.array([0, 0, np.inf]))),
        ("terminated, but not ended", dict(terminated=True, ended=False)),
    ],
)
def test_an_impossible_segment_is_refused_in_one_sentence(sentence, changed):
    with pytest.raises(ValueError, match=sentence):
        made_segment(np.random.default_rng(0), 3, **changed)


def test_a_segment_is_read_only_and_the_callers_array_is_not():
    rewards = np.zeros(3 + TAIL, np.float32)
    segment = made_segment(np.random.default_rng(0), 3, rewards=rewards)
    with pytest.raises(ValueError, match="read-only"):
        segment.rewards[0] = 1
    rewards[0] = 1
    assert len(segment) == 3 and segment.tail == TAIL and segment.frames_before == 0


@pytest.mark.parametrize(
    ("steps", "pieces"),
    [(0, []), (1, [(0, 1)]), (3, [(0, 3)]), (4, [(0, 3), (3, 4)]), (7, [(0, 3), (3, 6), (6, 7)])],
)
def test_an_episode_is_split_on_an_even_grid(steps, pieces):
    assert split_lengths(steps, 3) == pieces
    for start, stop in pieces:
        assert {stretch_at(step, steps, 3) for step in range(start, stop)} == {(start, stop)}


def test_pieces_need_a_length():
    with pytest.raises(ValueError, match="segment_length is 0"):
        split_lengths(5, 0)


def test_a_tail_is_as_long_as_targets_look_ahead():
    assert tail_length(unroll_steps=5, td_steps=5) == 10
    assert tail_length(unroll_steps=5, td_steps=0) == 6  # the reward of the last unrolled step
    assert tail_length(unroll_steps=0, td_steps=1) == 1
