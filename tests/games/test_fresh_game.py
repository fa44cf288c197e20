"""A fresh game: which actions it takes, and how it is cut into segments."""

import gymnasium
import numpy as np
import pytest
from made_games import made_config, made_player, play, step_as_value
from made_worlds import Counter, LookUpModel, preferring

from mzu.environments.held_actions import HeldActions
from mzu.environments.make import make
from mzu.games.piece import piece_of
from mzu.replay.segment import split_lengths


def test_a_fresh_game_takes_the_action_that_was_selected():
    player = made_player(made_config(), LookUpModel(preferring(2)))
    _, episodes = play(player, rounds=7, temperature=0)
    (environment,) = player.environments
    assert environment.taken == [2] * 7
    np.testing.assert_array_equal(episodes[0].actions, [2] * 7)
    np.testing.assert_array_equal(episodes[0].rewards, 10 * np.arange(7) + 2)
    assert episodes[0].terminated and not episodes[0].truncated
    assert player.fraction.stored_positions == 0


def test_a_fresh_game_says_for_how_many_steps_its_actions_were_held():
    player = made_player(made_config(), LookUpModel(preferring(2)), lambda: HeldActions(Counter((7,)), 3))
    _, (episode,) = play(player, rounds=3, temperature=0)
    assert episode.repeat == 3 and episode.source.startswith("counter?repeat=3, seed ")
    np.testing.assert_array_equal(episode.rewards, [0 + 10 + 20 + 6, 30 + 40 + 50 + 6, 60 + 2])
    np.testing.assert_array_equal(episode.observations[:, 1], [0, 3, 6, 7])
    _, (episode,) = play(made_player(made_config(), LookUpModel(preferring(2))), rounds=7)
    assert episode.repeat == 1


@pytest.mark.parametrize("terminates", [True, False])
@pytest.mark.parametrize("length", [1, 3, 4, 7, 8, 9, 23])
def test_segments_of_a_game_that_goes_on_are_those_cut_from_the_finished_episode(length, terminates):
    config = made_config()
    player = made_player(config, LookUpModel(preferring(0, 1.0), step_as_value), lambda: Counter((length,), terminates))
    segments, came_after = [], []
    for step in range(1, length + 1):
        played = player.advance(1.0)
        segments += played.segments
        came_after += [step] * len(played.segments)
    (episode,) = played.episodes
    pieces = [
        piece_of(episode, start, stop, config) for start, stop in split_lengths(length, config.replay.segment_length)
    ]
    assert len(segments) == len(pieces)
    for number, (segment, piece) in enumerate(zip(segments, pieces, strict=True)):
        for name in ("observations", "actions", "rewards"):
            np.testing.assert_array_equal(getattr(segment, name), getattr(piece, name))
        assert (len(segment), segment.ended, segment.terminated) == (piece.length, piece.ended, piece.terminated)
        assert came_after[number] == min(4 * number + 4 + 4, length)  # at once, not at the end of the game
    # Every search stands at the position it was made for.
    found = np.concatenate([segment.search_value for segment in segments])
    np.testing.assert_allclose(found, np.arange(length), atol=1e-6)


def test_a_game_that_was_not_asked_for_segments_hands_them_out_at_the_end():
    player = made_player(made_config(), LookUpModel(preferring(0)), lambda: Counter((15,)))
    player.advance(1.0)
    (game,) = player.games
    for _ in range(14):
        game.take(0, np.ones(3) / 3, None, 0.0, 0.0)
    ends = [(segment.ended, segment.terminated) for segment in game.pop_segments()]
    assert ends == [(False, False), (False, False), (True, True), (True, True)]


class Forbidding(gymnasium.Env):
    """Action t % 3 is illegal at step t."""

    observation_space = gymnasium.spaces.Box(0, 100, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.steps = 0
        return self._ask()

    def step(self, action):
        assert action != self.steps % 3, "an illegal action was taken"
        self.steps += 1
        observation, info = self._ask()
        return observation, 1.0, False, self.steps == 9, info

    def _ask(self):
        return np.array([0, self.steps], np.float32), {"action_mask": np.int8(np.arange(3) != self.steps % 3)}


def test_a_fresh_game_takes_legal_actions_only(handed_out):
    config = made_config("acting.games=8", "reanalyse.fraction=0.5", "replay.segment_length=9")
    player = made_player(config, LookUpModel(preferring(0, 1.0)), lambda: make(Forbidding()))
    _, episodes = play(player, 60)
    assert episodes and handed_out[True] and handed_out[False]
    for stored, segments in handed_out.items():
        for segment in segments:
            policy = segment.search_policy[np.arange(9), segment.observations[:9, 1].astype(int) % 3]
            # Which actions were legal is not stored: a stored game searches all of them.
            assert (policy > 0).any() if stored else (policy == 0).all()
