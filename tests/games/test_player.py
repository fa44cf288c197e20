"""Fresh and stored games in lockstep: who acts, who only replays, and what of it reaches the replay."""

import gymnasium
import numpy as np
import pytest
from made_worlds import STATES, VECTORS, Counter, LookUpModel, Unrepeatable, gaussian, preferring

import mzu.games.search_games
from mzu.config import ActingConfig, Config
from mzu.environments.held_actions import HeldActions
from mzu.environments.make import make
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.games.fresh_game import FreshGame
from mzu.games.piece import piece_of
from mzu.games.player import Player, temperature_at
from mzu.games.stored_game import StoredGame
from mzu.reanalyse.buffers import Demonstrations, Mixture, MostRecent
from mzu.replay.replay import Replay
from mzu.replay.segment import split_lengths


def made_config(*assignments):
    """Segments of 4 positions with a tail of U + n = 4; discount 1, so that search values are the model's own."""
    small = (
        *("acting.games=1", "search.num_simulations=8", "search.discount=1", "replay.segment_length=4"),
        *("learning.unroll_steps=2", "learning.td_steps=2", "reanalyse.fraction=0"),
    )
    return Config().override(*small, *assignments)


def made_player(config, model, environment=Counter, episodes=(), seed=0):
    """Stored games come from `episodes`, and from the fresh games once there are any."""
    length = config.replay.segment_length
    sources = Mixture({"data": (Demonstrations(episodes, length), 1.0), "recent": (MostRecent(1000, length), 1.0)})
    environments = None
    if config.reanalyse.fraction < 1:
        environments = [environment() for _ in range(config.acting.games)]
    return Player(config, model, sources, environments, np.random.default_rng(seed))


def play(player, rounds, temperature=1.0):
    """-> all segments, all finished fresh episodes."""
    played = [player.advance(temperature) for _ in range(rounds)]
    return [s for one in played for s in one.segments], [e for one in played for e in one.episodes]


def stored_episode(steps=10, action=0, number=0, spaces=STATES, **end):
    """Observations [number, t], the same action all the time, rewards 1, 2, 3, ..."""
    observations = np.stack([np.full(steps + 1, number), np.arange(steps + 1)], axis=1).astype(np.float32)
    actions = np.tile(np.float32(action), (steps, 1)) if spaces.continuous else np.full(steps, action, np.int32)
    end = end or {"terminated": True}
    return Episode(observations, actions, np.arange(1, steps + 1, dtype=np.float32), **end)


def step_as_value(observations):
    return observations[:, 1]


# Stored games


def test_a_stored_game_records_what_happened_and_never_what_the_search_prefers():
    episode = stored_episode(action=0)
    player = made_player(made_config("reanalyse.fraction=1"), LookUpModel(preferring(2)), episodes=[episode])
    segments, episodes = play(player, rounds=12)
    assert len(segments) >= 3 and not episodes
    for segment in segments:
        assert (segment.actions == 0).all()
        np.testing.assert_array_equal(segment.rewards, segment.observations[:-1, 1] + 1)
        np.testing.assert_array_equal(segment.search_policy.argmax(axis=1), 2)


def test_a_stored_game_gives_way_to_another_one():
    # Once its piece is searched: 20 episodes of one piece each must all have their turn.
    episodes = [stored_episode(4, number=number) for number in range(20)]
    player = made_player(made_config("reanalyse.fraction=1"), LookUpModel(preferring(0)), episodes=episodes)
    segments, _ = play(player, rounds=400)
    assert len(segments) == 100
    assert {int(segment.observations[0, 0]) for segment in segments} == set(range(20))
    assert player.fraction.stored_games == 101


def test_reanalyse_searches_again_with_the_network_of_the_moment():
    config = made_config("reanalyse.fraction=1", "replay.segment_length=10")
    policies = []
    for prefers in (0, 2):
        player = made_player(config, LookUpModel(preferring(prefers)), episodes=[stored_episode()])
        (segment,), _ = play(player, rounds=10)
        policies.append(segment.search_policy)
    assert (policies[0].argmax(axis=1) == 0).all() and (policies[1].argmax(axis=1) == 2).all()
    # The same game, whose network changes on the way.
    model = LookUpModel(preferring(0))
    player = made_player(config, model, episodes=[stored_episode()])
    play(player, rounds=5)
    model.policy = preferring(2)
    (segment,), _ = play(player, rounds=5)
    np.testing.assert_array_equal(segment.search_policy.argmax(axis=1), [0] * 5 + [2] * 5)


def test_without_a_search_the_networks_own_value_is_recorded_and_no_policy():
    config = made_config("reanalyse.fraction=1", "learning.policy_loss=behaviour_cloning")
    player = made_player(config, LookUpModel(preferring(2), step_as_value), episodes=[stored_episode(8)])
    segments, _ = play(player, rounds=4)
    assert segments[0].search_policy is None
    np.testing.assert_array_equal(segments[0].search_value, segments[0].observations[:4, 1])


# Fresh games


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


def test_a_high_temperature_tries_actions_that_a_low_one_leaves_out():
    config = made_config("search.dirichlet_fraction=0", "acting.games=30")
    taken = {}
    for temperature in (1.0, 0.0):
        player = made_player(config, LookUpModel(preferring(2, strength=1.0)))
        play(player, 5, temperature)
        taken[temperature] = {action for environment in player.environments for action in environment.taken}
    assert taken == {1.0: {0, 1, 2}, 0.0: {2}}


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


# Actions of the trajectory among the candidates


@pytest.fixture
def searches(monkeypatch):
    """The keyword arguments of all searches that a player makes."""
    made, search = [], mzu.games.search_games.search

    def remember(*arguments, **keywords):
        made.append(keywords)
        return search(*arguments, **keywords)

    monkeypatch.setattr(mzu.games.search_games, "search", remember)
    return made


@pytest.fixture
def handed_out(monkeypatch):
    """The segments that came from stored games (True), and those from fresh ones (False)."""
    by_kind = {True: [], False: []}
    for kind in (StoredGame, FreshGame):
        monkeypatch.setattr(kind, "pop_segments", _remembering(kind.pop_segments, by_kind[kind.is_stored]))
    return by_kind


def _remembering(pop_segments, kept):
    def popped(game):
        segments = pop_segments(game)
        kept.extend(segments)
        return segments

    return popped


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


def test_a_stored_action_a_rounding_error_outside_the_bounds_can_be_injected():
    episodes = [stored_episode(action=[1.000005, -1.0], spaces=VECTORS)]
    config = made_config("search.num_sampled_actions=4", "reanalyse.fraction=1")
    player = made_player(config, LookUpModel(gaussian([0, 0], [0.1, 0.1])), episodes=episodes)
    segments, _ = play(player, 10)
    assert segments and np.abs(segments[0].search_actions).max() <= 1


# Frames


def test_stacked_frames_are_the_same_in_fresh_games_stored_games_and_the_replay():
    frames = Spaces((6, 5, 1), 3, observation_dtype="uint8")
    settings = (
        *("network.frame_stack=2", "replay.segment_length=2", "learning.unroll_steps=1"),
        "replay.uniform_share=1",
    )
    config = made_config(*settings)
    model = LookUpModel(preferring(2, 1.0))
    player = made_player(config, model, lambda: make("catch", rows=6))
    segments, (episode,) = play(player, 5)
    seen = np.concatenate(model.seen)  # what the network saw at the five positions
    assert seen.shape == (5, 6, 5, 2) and seen.dtype == np.uint8
    pictures = episode.observations
    np.testing.assert_array_equal(seen[0], np.concatenate([np.zeros_like(pictures[0]), pictures[0]], axis=-1))
    for t in range(1, 5):
        np.testing.assert_array_equal(seen[t], np.concatenate([pictures[t - 1], pictures[t]], axis=-1))

    replayed = LookUpModel(preferring(0))
    offline = made_config(*settings, "reanalyse.fraction=1")
    play(made_player(offline, replayed, episodes=[episode]), 30)
    by_ball = {int(np.argmax(picture[..., 1].any(axis=1))): picture for picture in seen}
    assert len(by_ball) == 5
    for picture in np.concatenate(replayed.seen):
        np.testing.assert_array_equal(picture, by_ball[int(np.argmax(picture[..., 1].any(axis=1)))])

    replay = Replay(config.replay, frames, unroll_steps=1, td_steps=2, candidates=3, sampled=False, frame_stack=2)
    for segment in segments:
        replay.add(segment)
    drawn = replay.sample(60, np.random.default_rng(0)).observations
    rows = [int(np.argmax(picture[..., 1].any(axis=1))) for picture in drawn]
    assert set(rows) == set(range(5))
    for row, picture in zip(rows, drawn, strict=True):
        np.testing.assert_array_equal(picture, by_ball[row])


# Legal actions


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


# The reanalyse fraction, temperatures


@pytest.mark.parametrize("fraction", [0.25, 0.5])
def test_the_share_of_stored_positions_is_the_reanalyse_fraction(fraction):
    config = made_config("acting.games=8", f"reanalyse.fraction={fraction}", "search.num_simulations=1")
    player = made_player(config, LookUpModel(preferring(0)), lambda: Counter((20, 30)))
    stored = 0
    for _ in range(600):
        player.advance(1.0)
        stored += sum(game.is_stored for game in player.games)
    searched = player.fraction.stored_positions
    assert searched + player.fraction.fresh_positions == 8 * 600
    assert searched / (8 * 600) == pytest.approx(fraction, abs=0.02)
    assert stored == pytest.approx(searched, abs=8)  # the games of the first round instead of the last


def test_offline_needs_no_environment_and_online_no_data():
    offline = made_player(made_config("reanalyse.fraction=1"), LookUpModel(preferring(0)), episodes=[stored_episode()])
    assert offline.environments is None
    assert play(offline, 20)[0]
    online = made_player(made_config(), LookUpModel(preferring(0)), episodes=[stored_episode()])
    segments, _ = play(online, 40)
    assert segments and online.fraction.stored_positions == 0
    with pytest.raises(ValueError, match="there is no stored game to play"):
        made_player(made_config("reanalyse.fraction=1"), LookUpModel(preferring(0))).advance(1.0)


def test_temperatures_change_at_the_ends_of_their_schedule():
    config = Config().override("learning.training_steps=100")
    steps = (0, 49, 50, 74, 75, 99, 100)
    assert [temperature_at(config, step) for step in steps] == [1, 1, 0.5, 0.5, 0.25, 0.25, 0.25]
    constant = Config(acting=ActingConfig(temperatures=(0.7,), temperature_ends=()))
    assert [temperature_at(constant, step) for step in (0, 10**6)] == [0.7, 0.7]


# Going on later


def assert_equal_segments(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert (one.ended, one.terminated) == (other.ended, other.terminated)
        for name in ("observations", "actions", "rewards", "search_policy", "search_value", "priorities"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        if one.search_actions is not None:
            np.testing.assert_array_equal(one.search_actions, other.search_actions)


@pytest.mark.parametrize("spaces", [STATES, VECTORS], ids=["discrete", "continuous"])
def test_a_restored_player_goes_on_as_if_nothing_had_happened(spaces):
    policy = gaussian([0.1, 0.2], [0.3, 0.3]) if spaces.continuous else preferring(1, 1.0)
    more = ("search.num_sampled_actions=4",) if spaces.continuous else ()
    config = made_config("acting.games=5", "reanalyse.fraction=0.4", *more)

    def new_player(seed):
        model = LookUpModel(policy, step_as_value)
        return made_player(config, model, lambda: Counter((13, 17), spaces=spaces), seed=seed)

    first, second = new_player(0), new_player(1)
    play(first, 31)
    while {game.is_stored for game in first.games} != {True, False}:
        play(first, 1)
    state, sources = first.state(), first.sources.state()
    generator = first.rng.bit_generator.state
    expected = play(first, 40)
    second.sources.restore(sources)
    second.restore(state)
    second.rng.bit_generator.state = generator
    again = play(second, 40)
    assert_equal_segments(expected[0], again[0])
    assert [episode.source for episode in expected[1]] == [episode.source for episode in again[1]]
    assert vars(first.fraction) == vars(second.fraction)


@pytest.mark.parametrize("only_rewards", [False, True])
def test_games_of_an_environment_that_does_not_repeat_itself_begin_anew_and_are_counted(only_rewards):
    def new_player():
        return made_player(made_config(), LookUpModel(preferring(0)), lambda: Unrepeatable(only_rewards, lengths=(50,)))

    player = new_player()
    play(player, 3)
    restored = new_player()
    assert restored.restore(player.state()) == len(restored.games) > 0
    assert all(len(game.actions) == 0 for game in restored.games)
    play(restored, 3)
