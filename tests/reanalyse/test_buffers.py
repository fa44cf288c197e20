"""Where stored games come from: who stays, and who is drawn how often."""

import numpy as np
import pytest

from mzu.episodes.episode import Episode
from mzu.reanalyse.buffers import Demonstrations, HighestReturn, Mixture, MostRecent

SETTINGS = {"segment_length": 4}


def made_episode(number, steps=10, reward=0.0, **end):
    """Observations [number, t]."""
    observations = np.stack([np.full(steps + 1, number), np.arange(steps + 1)], axis=1).astype(np.float32)
    rewards = np.zeros(steps, np.float32)
    rewards[-1] = reward
    return Episode(observations, np.full(steps, number % 3, np.int32), rewards, **end)


def numbers(buffer):
    return [int(episode.observations[0, 0]) for episode in buffer.episodes]


def draws(source, count=4000, seed=0):
    """[number of the episode, position] of the first observation of each drawn stretch."""
    rng = np.random.default_rng(seed)
    drawn = (source.draw(rng) for _ in range(count))
    return np.array([episode.observations[start] for episode, start, _ in drawn], int)


# Drawing


def test_every_position_is_equally_likely_to_be_played_again():
    # 10 steps are pieces of 4, 4 and 2, 3 steps are one piece: 13 positions in all.
    buffer = Demonstrations([made_episode(0, 10), made_episode(1, 3)], **SETTINGS)
    found = draws(buffer)
    expected = {(0, 0): 4, (0, 4): 4, (0, 8): 2, (1, 0): 3}
    assert {tuple(row) for row in found.tolist()} == set(expected)
    for place, positions in expected.items():
        share = (found == place).all(axis=1).mean()
        assert share == pytest.approx(positions / 13, abs=4 * np.sqrt(positions / 13 / 4000))


def test_a_stretch_lies_in_its_episode_and_the_last_one_may_be_shorter():
    episode = made_episode(1, 10)
    buffer, rng = Demonstrations([episode], **SETTINGS), np.random.default_rng(0)
    drawn = [buffer.draw(rng) for _ in range(100)]
    assert all(one is episode for one, _, _ in drawn)
    assert {(start, stop) for _, start, stop in drawn} == {(0, 4), (4, 8), (8, 10)}


def test_the_same_generator_draws_the_same_stretches():
    buffer = Demonstrations([made_episode(number, 5 + number) for number in range(6)], **SETTINGS)
    np.testing.assert_array_equal(draws(buffer, 50, seed=3), draws(buffer, 50, seed=3))
    assert (draws(buffer, 50, seed=3) != draws(buffer, 50, seed=4)).any()


def test_an_empty_buffer_says_so():
    with pytest.raises(ValueError, match="no episode to draw from"):
        MostRecent(10, **SETTINGS).draw(np.random.default_rng(0))


# Who stays


def test_the_oldest_episode_makes_room_for_the_most_recent():
    buffer = MostRecent(25, **SETTINGS)
    held = []
    for number in range(4):
        buffer.add(made_episode(number, 10))
        held.append((numbers(buffer), buffer.steps))
    assert held == [([0], 10), ([0, 1], 20), ([1, 2], 20), ([2, 3], 20)]
    buffer.add(made_episode(4, 5))  # 25 steps are just enough
    assert numbers(buffer) == [2, 3, 4]
    buffer.add(made_episode(5, 100))  # longer than all that is allowed, yet there must be something to draw
    assert numbers(buffer) == [5]
    assert set(draws(buffer, 20)[:, 0]) == {5}


def test_the_best_episodes_stay_in_whatever_order_they_come():
    buffer = HighestReturn(30, **SETTINGS)
    for number, reward in enumerate([3, 1, 5, 0, 2, 9]):
        buffer.add(made_episode(number, 10, reward))
    assert numbers(buffer) == [5, 2, 0]
    buffer.add(made_episode(6, 10, 3))  # as good as number 0: the newer one stays
    assert numbers(buffer) == [5, 2, 6]
    assert set(draws(buffer, 100)[:, 0]) == {5, 2, 6}


def test_demonstrations_never_change():
    given = [made_episode(0), made_episode(1)]
    buffer = Demonstrations(given, **SETTINGS)
    buffer.add(made_episode(7, 1000, 99.0))
    assert buffer.episodes == given and buffer.steps == 20 and numbers(buffer) == [0, 1]


# Mixtures


def test_buffers_are_drawn_by_weight_whatever_their_size():
    small, large = Demonstrations([made_episode(0, 4)], **SETTINGS), Demonstrations([made_episode(1, 400)], **SETTINGS)
    mixture = Mixture({"small": (small, 3.0), "large": (large, 1.0)})
    assert (draws(mixture)[:, 0] == 0).mean() == pytest.approx(0.75, abs=0.03)


def test_a_buffer_that_is_still_empty_is_passed_over():
    recent = MostRecent(100, **SETTINGS)
    mixture = Mixture({"data": (Demonstrations([made_episode(0)], **SETTINGS), 0.5), "recent": (recent, 0.5)})
    assert not mixture.is_empty
    assert set(draws(mixture, 50)[:, 0]) == {0}
    mixture.add(made_episode(8))
    assert numbers(recent) == [8]
    assert set(draws(mixture, 50)[:, 0]) == {0, 8}


def test_a_weight_of_zero_is_no_source():
    data, recent = Demonstrations([made_episode(0)], **SETTINGS), MostRecent(100, **SETTINGS)
    mixture = Mixture({"data": (data, 0.0), "recent": (recent, 1.0)})
    assert mixture.is_empty
    with pytest.raises(ValueError, match="no stored game yet"):
        mixture.draw(np.random.default_rng(0))
    mixture.add(made_episode(4))
    assert set(draws(mixture, 30)[:, 0]) == {4}


def test_every_buffer_of_a_mixture_decides_for_itself_what_to_keep():
    recent, best = MostRecent(20, **SETTINGS), HighestReturn(20, **SETTINGS)
    mixture = Mixture({"recent": (recent, 1.0), "best": (best, 1.0)})
    for number, reward in enumerate([9, 1, 8, 2]):
        mixture.add(made_episode(number, 10, reward))
    assert numbers(recent) == [2, 3] and numbers(best) == [0, 2]


# Going on later


def test_a_restored_mixture_draws_the_same_stretches_and_goes_on_alike():
    def new_mixture():
        data = Demonstrations([made_episode(99)], **SETTINGS)
        recent, best = MostRecent(30, **SETTINGS), HighestReturn(20, **SETTINGS)
        return Mixture({"data": (data, 1.0), "recent": (recent, 1.0), "best": (best, 1.0)})

    first, second = new_mixture(), new_mixture()
    for number in range(8):
        end = {"terminated": True} if number % 2 else {"truncated": True}
        first.add(made_episode(number, 5 + number, reward=-number, **end))
    second.restore({name: array.copy() for name, array in first.state().items()})
    for mixture in (first, second):
        mixture.add(made_episode(20, 6, reward=-1.0, terminated=True))
    for name, buffer in first.buffers.items():
        other = second.buffers[name]
        assert numbers(buffer) == numbers(other) and buffer.steps == other.steps
        for one, two in zip(buffer.episodes, other.episodes, strict=True):
            assert (one.terminated, one.truncated) == (two.terminated, two.truncated)
            for array in ("observations", "actions", "rewards"):
                np.testing.assert_array_equal(getattr(one, array), getattr(two, array))
                assert getattr(one, array).dtype == getattr(two, array).dtype
    np.testing.assert_array_equal(draws(first, 100), draws(second, 100))


def test_an_empty_buffer_is_restored_as_an_empty_one():
    first, second = MostRecent(30, **SETTINGS), MostRecent(30, **SETTINGS)
    second.add(made_episode(1))
    second.restore(first.state())
    assert second.episodes == [] and second.steps == 0
