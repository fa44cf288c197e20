"""Episodes by number, the first ones in memory and the others in a temporary file: nobody sees the difference."""

import dataclasses
import subprocess
import sys
import weakref

import numpy as np
import pytest

from mzu.episodes.episode import Episode
from mzu.episodes.held_episodes import HeldEpisodes
from mzu.reanalyse.buffers import Demonstrations


def made_episodes(count=6, pictures=False):
    """Episodes of different lengths with every kind of field."""
    rng, episodes = np.random.default_rng(0), []
    for number in range(count):
        steps = 3 + 2 * number
        if pictures:
            observations = rng.integers(0, 256, (steps + 1, 5, 3, 1), np.uint8)
            actions = rng.integers(0, 3, steps, np.int32)
        else:
            observations = rng.normal(size=(steps + 1, 3)).astype(np.float32)
            actions = rng.uniform(-1, 1, (steps, 2)).astype(np.float32)
        end = {"terminated": True, "seed": number} if number % 2 else {"truncated": True, "repeat": 2}
        found = {"search_value": rng.normal(size=steps)} if number == 4 else {}
        rewards = rng.normal(size=steps).astype(np.float32)
        episodes.append(Episode(observations, actions, rewards, source=f"number {number}", **end, **found))
    return episodes


def size(episode):
    return sum(array.nbytes for array in vars(episode).values() if isinstance(array, np.ndarray))


def assert_equal_episodes(one, other):
    for field in dataclasses.fields(Episode):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        np.testing.assert_array_equal(mine, theirs, err_msg=field.name)
        assert getattr(mine, "dtype", None) == getattr(theirs, "dtype", None)


@pytest.mark.parametrize("in_memory", [0, 2, 6])
@pytest.mark.parametrize("pictures", [False, True])
def test_an_episode_is_the_same_wherever_it_is_held(in_memory, pictures):
    episodes = made_episodes(pictures=pictures)
    held = HeldEpisodes(iter(episodes), memory=sum(map(size, episodes[:in_memory])))
    assert [one is other for one, other in zip(held, episodes, strict=True)] == [True] * in_memory + [False] * (
        6 - in_memory
    )
    for number in (3, 0, 5, 1, 2, 4, -1):  # in any order
        assert_equal_episodes(held[number], episodes[number])
    with pytest.raises(IndexError, match="There are 6 episodes, but number 6 is asked for"):
        held[6]


def test_an_episode_that_went_to_the_file_is_not_in_memory_any_more():
    handed_over = []

    def reading():
        for number in range(5):
            assert sum(episode() is not None for episode in handed_over) <= 1  # the one before, at most
            episode = made_episodes(number + 1)[-1]
            handed_over.append(weakref.ref(episode))
            yield episode

    held = HeldEpisodes(reading(), memory=0)
    assert len(held) == 5 and not any(episode() for episode in handed_over)
    assert not held[0].observations.flags.writeable and not held[0].observations.flags.owndata


def test_no_episode_is_held_where_there_is_none():
    assert not HeldEpisodes([], memory=1e9) and list(HeldEpisodes([], memory=1e9)) == []


def test_the_same_stretches_are_drawn_from_memory_and_from_the_file():
    episodes = made_episodes()
    held = Demonstrations(HeldEpisodes(episodes, memory=0), segment_length=4)
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    plain = Demonstrations(episodes, segment_length=4)
    for _ in range(50):
        (mine, *stretch), (theirs, *expected) = held.draw(one), plain.draw(other)
        assert stretch == expected
        assert_equal_episodes(mine, theirs)


LARGER_THAN_THE_LIMIT = """
import numpy as np
from mzu.episodes.episode import Episode
from mzu.episodes.held_episodes import HeldEpisodes
from mzu.reanalyse.buffers import Demonstrations


def peak():
    return next(int(line.split()[1]) / 1e3 for line in open("/proc/self/status") if line.startswith("VmHWM"))


def reading():
    for number in range(20):
        frames = np.full((1001, 100, 100, 1), number, np.uint8)  # 10 MB
        yield Episode(frames, np.zeros(1000, np.int32), np.zeros(1000, np.float32), truncated=True)


before = peak()
buffer, rng = Demonstrations(HeldEpisodes(reading(), memory=20e6), segment_length=50), np.random.default_rng(0)
for _ in range(200):
    episode, start, stop = buffer.draw(rng)
    frames = episode.observations[start:stop]
    assert frames.min() == frames.max() == frames[0, 0, 0, 0]
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of the memory from /proc")
def test_data_larger_than_the_limit_are_held_and_drawn_in_bounded_memory():
    process = subprocess.run(
        [sys.executable, "-c", LARGER_THAN_THE_LIMIT], capture_output=True, text=True, check=True, timeout=120
    )
    assert float(process.stdout) < 80  # MB: the limit of 20, an episode of 10 on its way, and what goes with them
