"""What the searches along a game found: how it becomes segments, and their first priorities."""

import numpy as np

from mzu.config import Config
from mzu.games.piece import Piece
from mzu.games.searches import Searches, first_priorities


def config_of(td_steps):
    return Config().override("search.discount=0.5", f"learning.td_steps={td_steps}", "learning.unroll_steps=1")


def made_piece(length):
    """Without a tail."""
    observations, rewards = np.zeros((length + 1, 1), np.float32), np.zeros(length, np.float32)
    return Piece(observations, np.zeros(length, np.int32), rewards, length, ended=True, terminated=True)


def test_what_became_a_segment_is_forgotten_and_the_rest_is_kept():
    searches = Searches(config_of(td_steps=0))
    for number in range(5):
        searches.add(np.eye(3)[number % 3], None, value=10.0 + number, raw_value=8.0)
    segment = searches.pop_segment(made_piece(2))
    assert segment.search_value.tolist() == [10, 11] and segment.search_policy.argmax(axis=1).tolist() == [0, 1]
    assert segment.priorities.tolist() == [2, 3]  # |nu - v| with TD-0
    assert segment.search_actions is None
    assert len(searches) == 3
    segment = searches.pop_segment(made_piece(3))
    assert segment.search_value.tolist() == [12, 13, 14]


def test_positions_with_fewer_candidates_are_filled_up_with_nothing():
    searches = Searches(config_of(td_steps=0))
    searches.add(np.array([0.5, 0.5]), np.array([2, 1]), 0.0, 0.0)
    searches.add(np.array([0.25, 0.25, 0.5]), np.array([0, 1, 2]), 0.0, 0.0)
    segment = searches.pop_segment(made_piece(2))
    assert segment.search_policy.tolist() == [[0.5, 0.5, 0], [0.25, 0.25, 0.5]]
    assert segment.search_actions.tolist() == [[2, 1, 0], [0, 1, 2]]


def test_restored_searches_make_the_same_segment():
    first, second = Searches(config_of(2)), Searches(config_of(2))
    rng = np.random.default_rng(0)
    for _ in range(3):
        first.add(rng.dirichlet(np.ones(3)), rng.uniform(-1, 1, (3, 2)), *rng.normal(size=2))
    second.restore(first.state())
    piece = Piece(np.zeros((6, 1)), np.zeros((5, 2)), np.ones(5), 3, ended=False, terminated=False)
    one, two = first.pop_segment(piece), second.pop_segment(piece)
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
