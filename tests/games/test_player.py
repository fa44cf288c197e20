"""Fresh and stored games in lockstep: who acts, who only replays, and what of it reaches the replay."""

import numpy as np
import pytest
from made_games import made_config, made_player, play, step_as_value, stored_episode
from made_worlds import STATES, VECTORS, Counter, LookUpModel, Unrepeatable, gaussian, preferring

from mzu.config import ActingConfig, Config
from mzu.environments.make import make
from mzu.environments.spaces import Spaces
from mzu.games.player import temperature_at
from mzu.replay.replay import Replay

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


def test_a_high_temperature_tries_actions_that_a_low_one_leaves_out():
    config = made_config("search.dirichlet_fraction=0", "acting.games=30")
    taken = {}
    for temperature in (1.0, 0.0):
        player = made_player(config, LookUpModel(preferring(2, strength=1.0)))
        play(player, 5, temperature)
        taken[temperature] = {action for environment in player.environments for action in environment.taken}
    assert taken == {1.0: {0, 1, 2}, 0.0: {2}}


# Actions of the trajectory among the candidates


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
