"""A stored game: where it goes, what it hands out, and when it is over."""

import numpy as np
import pytest

from mzu.config import Config
from mzu.games.piece import cut_piece
from mzu.games.stored_game import StoredGame

CONFIG = Config().override("learning.unroll_steps=1", "learning.td_steps=1")


def made_game(start=2, stop=5, steps=10):
    """Positions 2, 3, 4 of an episode whose observation, action and reward at t are t, t % 3 and 10 t."""
    piece = cut_piece(
        np.arange(steps + 1, dtype=np.float32)[:, None], np.arange(steps, dtype=np.int32) % 3,
        10 * np.arange(steps, dtype=np.float32), start, stop, CONFIG, ended=True, terminated=True,
    )  # fmt: skip
    return StoredGame(piece, CONFIG)


def test_a_stored_game_goes_where_the_episode_went_whatever_is_chosen():
    game = made_game()
    seen = []
    while not game.finished:
        seen.append((float(game.observation[0]), int(game.action)))
        assert game.pop_segments() == []
        game.take(0, np.array([1.0, 0.0, 0.0]), None, value=7.0, raw_value=0.0)  # the search always wants action 0
    assert seen == [(2, 2), (3, 0), (4, 1)]
    (segment,) = game.pop_segments()
    np.testing.assert_array_equal(segment.actions, [2, 0, 1, 2, 0])  # with the tail
    np.testing.assert_array_equal(segment.rewards, [20, 30, 40, 50, 60])
    np.testing.assert_array_equal(segment.search_policy, [[1, 0, 0]] * 3)
    np.testing.assert_array_equal(segment.search_value, [7, 7, 7])
    assert not segment.ended


def test_a_game_stays_finished_once_its_segment_is_handed_out():
    game = made_game()
    for _ in range(3):
        game.take(0, np.ones(3) / 3, None, 0.0, 0.0)
    assert game.finished and len(game.pop_segments()) == 1
    assert game.finished and game.pop_segments() == []


def test_a_restored_game_goes_on_behind_what_was_searched_already():
    game = made_game()
    game.take(0, np.ones(3) / 3, None, 1.0, 0.0)
    again = StoredGame.from_state(game.state(), CONFIG)
    assert again.observation[0] == game.observation[0] == 3
    for _ in range(2):
        again.take(0, np.ones(3) / 3, None, 2.0, 0.0)
    (segment,) = again.pop_segments()
    np.testing.assert_array_equal(segment.search_value, [1, 2, 2])


@pytest.mark.parametrize(("start", "ended"), [(2, False), (4, False), (5, True), (7, True)])
def test_a_segment_ends_with_the_episode_where_its_tail_reaches_that_far(start, ended):
    game = made_game(start, start + 3)  # of 10 steps, with a tail of 2
    while not game.finished:
        game.take(0, np.ones(3) / 3, None, 0.0, 0.0)
    (segment,) = game.pop_segments()
    assert segment.ended == segment.terminated == ended


def test_an_action_a_rounding_error_outside_of_the_bounds_is_a_candidate_inside_them():
    actions = np.float32([[1.000005, -1.0], [0.5, -1.000005]])
    piece = cut_piece(np.zeros((3, 1)), actions, np.zeros(2), 0, 2, CONFIG, ended=True, terminated=True)
    game = StoredGame(piece, CONFIG)
    assert game.action.tolist() == [1.0, -1.0] and game.piece.actions[0, 0] > 1  # what happened stays as it was
    assert StoredGame(piece, CONFIG, position=1).action.tolist() == [0.5, -1.0]
