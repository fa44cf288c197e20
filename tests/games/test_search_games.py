"""One search serves fresh and stored games; which of them inject their action, and what is legal."""

import numpy as np
import pytest
from made_games import made_config, made_player, play, stored_episode
from made_worlds import VECTORS, Counter, LookUpModel, gaussian, preferring

import mzu.games.search_games


@pytest.fixture
def searches(monkeypatch):
    """The keyword arguments of all searches that a player makes."""
    made, search = [], mzu.games.search_games.search

    def remember(*arguments, **keywords):
        made.append(keywords)
        return search(*arguments, **keywords)

    monkeypatch.setattr(mzu.games.search_games, "search", remember)
    return made


SAMPLED = ("search.num_sampled_actions=4", "reanalyse.fraction=0.5", "acting.games=6")


def test_only_stored_games_have_their_action_injected(searches, handed_out):
    episodes = [stored_episode(action=[0.75, -0.25], spaces=VECTORS)]
    model = LookUpModel(gaussian([0, 0], [0.1, 0.1]))
    player = made_player(made_config(*SAMPLED), model, lambda: Counter(spaces=VECTORS), episodes)
    for _ in range(20):
        player.games = player.games or player._filled([None] * 6)
        is_stored = [game.is_stored for game in player.games]
        player.advance(1.0)
        np.testing.assert_array_equal(searches[-1]["inject"], is_stored)
        injected = searches[-1]["injected_actions"]
        assert injected.shape == (6, 2)
        assert all((action == 0).all() for action, stored in zip(injected, is_stored, strict=True) if not stored)
    from_the_data = [segment for segment in handed_out[True] if segment.observations[0, 0] == 0]
    assert from_the_data and handed_out[False]
    for segment in from_the_data:
        assert (segment.actions == np.float32([0.75, -0.25])).all()
        # Five standard deviations away, so it is not drawn: it is there because it was injected.
        taken = segment.actions[: len(segment), None]
        assert (segment.search_actions == taken).all(axis=2).any(axis=1).all()
    for segment in handed_out[False]:
        taken = segment.actions[: len(segment), None]
        there = (segment.search_actions == taken).all(axis=2) & (segment.search_policy > 0)
        assert there.any(axis=1).all()  # a fresh game can only take what was searched


def test_nothing_is_injected_where_all_actions_are_candidates_or_nobody_asks_for_it(searches):
    episodes = [stored_episode()]
    play(made_player(made_config("reanalyse.fraction=1"), LookUpModel(preferring(1)), episodes=episodes), 3)
    config = made_config("reanalyse.fraction=1", "reanalyse.inject_actions=false", "search.num_sampled_actions=2")
    play(made_player(config, LookUpModel(preferring(1)), episodes=episodes), 3)
    fresh = made_config("search.num_sampled_actions=2")
    play(made_player(fresh, LookUpModel(preferring(1)), episodes=episodes), 3)
    assert len(searches) == 9
    assert not any("injected_actions" in keywords for keywords in searches)


def test_discrete_actions_are_injected_where_they_are_sampled(searches):
    config = made_config("reanalyse.fraction=1", "search.num_sampled_actions=2")
    player = made_player(config, LookUpModel(preferring(1)), episodes=[stored_episode(action=2)])
    (segment, *_), _ = play(player, 4)
    assert searches[0]["injected_actions"].tolist() == [2]
    assert (segment.search_actions == 2).any(axis=1).all()
