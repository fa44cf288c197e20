"""Which positions of a run a verdict looks at: those where mistakes show, and a few drawn by chance.

by depth            the first step, the middle and the last of the longest episode
at every kind of end   the last step of an episode that terminated, and of one that was cut off
before an end       where the bootstrap reaches it
by priority         what the replay holds to be most surprising
by disagreement     where the best and the last network differ most, where there are two
"""

from typing import NamedTuple

import numpy as np

from mzu.explain.found_position import find_in_replay
from mzu.explain.system import System
from mzu.replay.segment import stretch_at

DRAWN = 48  # positions among which priority and disagreement choose
EACH = 3  # that each of the two chooses
BY_CHANCE = 4
FEW = 24  # steps: of a world with no more, every one is looked at


class Place(NamedTuple):
    """A position, and why it is looked at."""

    episode: int
    step: int
    reason: str


def choose_positions(system: System, best=None) -> list[Place]:
    """The positions; `best` is a model to compare the system's with, such as that of the best network."""
    episodes = system.episodes
    if not len(episodes):
        return []
    numbers = range(min(len(episodes), 200))
    lengths = {number: len(episodes[number]) for number in numbers}
    if len(lengths) == len(episodes) and sum(lengths.values()) <= FEW:
        return [Place(number, step, "every position") for number, length in lengths.items() for step in range(length)]
    rng = np.random.default_rng([system.config.seed, 5])
    places = [*_by_depth(lengths), *_at_ends(system, lengths)]
    drawn = [(number, int(rng.integers(lengths[number]))) for number in rng.choice(list(lengths), DRAWN)]
    places += [Place(*place, "by chance") for place in drawn[:BY_CHANCE]]
    places += [Place(*drawn[index], "a high priority") for index in _largest(_priorities(system, drawn))]
    if best is not None:
        apart = _disagreement(system, best, drawn)
        places += [Place(*drawn[index], "best and last network disagree") for index in _largest(apart)]
    chosen: dict[tuple[int, int], Place] = {}
    for place in places:
        chosen.setdefault(place[:2], place)
    return list(chosen.values())


def _by_depth(lengths: dict[int, int]) -> list[Place]:
    longest = max(lengths, key=lengths.get)
    last = lengths[longest] - 1
    return [
        Place(longest, 0, "the first step"),
        Place(longest, last // 2, "in the middle"),
        Place(longest, last, "the last step"),
    ]


def _at_ends(system: System, lengths: dict[int, int]) -> list[Place]:
    """The last step of one episode of each kind of end, and the step whose bootstrap reaches it."""
    places, reach = [], max(system.config.learning.td_steps, 1)
    for kind in ("terminated", "truncated"):
        number = next((number for number in lengths if getattr(system.episodes[number], kind)), None)
        if number is not None:
            last = lengths[number] - 1
            places.append(Place(number, last, f"a {kind} end"))
            places.append(Place(number, max(last + 1 - reach, 0), f"the bootstrap reaches a {kind} end"))
    return places


def _largest(numbers: np.ndarray) -> list[int]:
    """The places of the largest numbers that are above 0."""
    return [int(index) for index in np.argsort(-numbers, kind="stable")[:EACH] if numbers[index] > 0]


def _priorities(system: System, drawn) -> np.ndarray:
    """p^alpha of each position, 0 where the replay does not hold it."""
    found = np.zeros(len(drawn))
    for index, (number, step) in enumerate(drawn):
        start, _ = stretch_at(step, len(system.episodes[number]), system.config.replay.segment_length)
        handle, _ = find_in_replay(system, system.game(number, step).piece, start, step - start)
        if handle is not None:
            found[index] = system.replay.priority(handle)["to_the_alpha"]
    return found


def _disagreement(system: System, best, drawn) -> np.ndarray:
    """How far values and policies of two models are apart, each in units of its own spread."""
    seen = np.stack([system.observation(number, step) for number, step in drawn])
    (_, policy, value), (_, other_policy, other_value) = system.model.initial(seen), best.initial(seen)
    apart = np.zeros(len(drawn))
    for one, other in ((policy, other_policy), (value, other_value)):
        one, other = (np.asarray(array, float).reshape(len(drawn), -1) for array in (one, other))
        apart += np.abs(one - other).mean(axis=1) / (one.std() + other.std() + 1e-9)
    return apart
