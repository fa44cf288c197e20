"""Data of another layout than the environment's: columns in another order or unit, actions held or numbered otherwise.

Part of the dataset doctor, for states and not for pictures. Where a world can be put into the state that an observation
shows (`environments/states.py`, tried on its own play first), a few recorded steps are taken again; elsewhere only
first observations (`first_observations.py`) and ranges are compared. Notebook 09_real_data.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from mzu.environments.control import without_simulator_warnings
from mzu.environments.environment import Environment, EnvironmentFailed, random_action
from mzu.environments.held_actions import HeldActions, held_id, spoken_repeat
from mzu.environments.states import state_setter
from mzu.episodes.doctor.findings import DataFinding
from mzu.episodes.doctor.first_observations import (
    Reading,
    begins_elsewhere,
    number_names,
    readings,
    resets,
)
from mzu.episodes.episode import Episode

STEPS = 12  # recorded steps that are taken again, and steps of the environment's own play
_MOST_STARTS = 1000
_MOST_REPEAT = 10
_PLAYED = 300  # steps of random play, for the ranges
_ENOUGH, _FEW = 0.6, 0.2  # shares of the steps that lead where they led
_SHARE_OF_CHANGE = 0.1  # by which a next observation may be off, of what one step usually changes
_FAR_WIDER = 50  # times the range that random play reaches
_MOST_RENUMBERED = 5  # actions whose orders are all tried
_FACTORS = (-1.0, 2.0, 0.5)  # of actions


class Step(NamedTuple):
    """What was observed, done and earned, and what was observed next; `episode` and `number` say where it stands."""

    observation: np.ndarray
    action: np.ndarray
    reward: float
    following: np.ndarray
    episode: int = 0
    number: int = 0


class LayoutSample:
    """What is kept of the episodes that stream by: first observations, and a few steps from all over the data."""

    def __init__(self):
        self.starts: list[np.ndarray] = []
        self.steps: list[Step] = []
        self._seen = self._offered = 0
        self._rng = np.random.default_rng(0)

    def add(self, episode: Episode) -> None:
        """Takes one more episode into account."""
        if episode.observations.ndim != 2:
            return
        if len(self.starts) < _MOST_STARTS:
            self.starts.append(episode.observations[0])
        # A drawn sample: each episode offers some steps, each of which takes the place of another with falling
        # probability. The last one is left out, since an unknown last observation may be a repeated one.
        for number in self._rng.integers(max(len(episode) - 1, 1), size=STEPS):
            seen = episode.observations[number], episode.actions[number], float(episode.rewards[number])
            step = Step(*seen, episode.observations[number + 1], self._seen, int(number))
            self._offered += 1
            if len(self.steps) < STEPS:
                self.steps.append(step)
            elif (place := int(self._rng.integers(self._offered))) < STEPS:
                self.steps[place] = step
        self._seen += 1


def layout_findings(sample: LayoutSample, low, high, environment: Environment) -> tuple[list[DataFinding], bool]:
    """-> findings, and whether recorded steps could be taken again. `low`, `high`: ranges of the data's numbers [O]."""
    if not sample.starts or environment.spaces.is_image:
        return [], False
    first = resets(environment)
    own, played_low, played_high = _own_play(environment)
    again = _TakenAgain.trusted(environment, own)
    starts = np.stack(sample.starts)
    if again is not None:
        return [_of_steps(again, sample.steps, starts, first)], True
    return list(_of_numbers(environment, starts, first, (low, high), (played_low, played_high))), False


# Steps taken again ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(eq=False)
class _TakenAgain:
    """The world, put into stored states, and what a step leads to there; `tolerance` [O] is what may be off."""

    environment: Environment
    put: Callable[[np.ndarray], np.ndarray]
    tolerance: np.ndarray

    @classmethod
    def trusted(cls, environment: Environment, own: list[Step]) -> "_TakenAgain | None":
        """None where the world cannot be put into states, or its own play does not lead where it led."""
        put = state_setter(environment)
        if put is None or not own:
            return None
        changes = np.mean([np.abs(step.following - step.observation) for step in own], axis=0)
        again = cls(environment, put, _SHARE_OF_CHANGE * changes + 1e-4)
        return again if again.share(own) >= _ENOUGH else None

    def take(self, step: Step, repeat: int | None = None) -> tuple[np.ndarray, np.ndarray, float]:
        """(the state that was set, what follows, the reward); actions held as in the environment, or `repeat` steps."""
        world = self.environment if repeat is None else HeldActions(self.environment.unheld, repeat)
        world.reset(seed=0)
        shown = self.put(step.observation)
        try:
            with without_simulator_warnings():
                following, reward, _, _ = world.step(step.action)
        except EnvironmentFailed:  # a state that is none, or speeds that no machine survives
            return shown, np.full_like(shown, np.nan), np.nan
        return shown, following, reward

    def agrees(self, step: Step, repeat: int | None = None) -> np.ndarray:
        """Which numbers [O] are shown as stored, and go on as stored."""
        shown, following, _ = self.take(step, repeat)
        room = self.tolerance * (repeat or 1)
        return _near(shown, step.observation, room) & _near(following, step.following, room)

    def share(self, steps: list[Step], repeat: int | None = None) -> float:
        """The share of the steps in which a number goes on as stored, for the number that does so least often.

        Contacts are not quite repeated, so that single steps may differ; a wrong column differs in nearly all.
        """
        agreed = []
        for step in steps:
            agreed.append(self.agrees(step, repeat))
            if len(agreed) == 3 and not np.any(agreed, axis=0).all():
                break  # no reason to look for the state of the others
        return float(np.mean(agreed, axis=0).min())


def _near(one: np.ndarray, other: np.ndarray, room: np.ndarray) -> np.ndarray:
    return np.abs(one - other) <= room + 1e-3 * np.abs(other)


def _of_steps(again: _TakenAgain, steps: list[Step], starts: np.ndarray, first: np.ndarray) -> DataFinding:
    name, count = again.environment.id, len(steps)
    share = again.share(steps)
    where = f"{count} steps from all over the data"
    if share >= _ENOUGH:
        return _rewards_of_steps(again, steps, where)
    few = steps[: STEPS // 2]
    for what, why, advice in _explanations(again, few, starts, first):
        return DataFinding("wrong", what, where, why, advice)
    step = next(step for step in steps if not again.agrees(step).all())
    shown, following, _ = again.take(step)
    is_shown = _near(shown, step.observation, again.tolerance).all()
    got, stored = (following, step.following) if is_shown else (shown, step.observation)
    worst = int(np.nanargmax(np.abs(got - stored) / again.tolerance)) if np.isfinite(got).any() else 0
    what = f"from the stored states, {name} does not go on as the data do"
    if not is_shown:
        what = f"the stored observations are not what {name} shows in any state"
    place = f"episode {step.episode}, step {step.number}: {number_names(again.environment)[worst]} is "
    place += f"{got[worst]:.4g}, stored is {stored[worst]:.4g}"
    why = "columns may stand in another order or have other units, or another version of the task recorded them"
    severity = "wrong" if share <= _FEW else "doubtful"
    return DataFinding(severity, what, place, why, "find out which program recorded them, and what its columns mean")


def _rewards_of_steps(again: _TakenAgain, steps: list[Step], where: str) -> DataFinding:
    """The states agree; the rewards may be those of another version of the task."""
    name, same = again.environment.id, [step for step in steps if again.agrees(step).all()] or steps
    rewards = np.array([again.take(step)[2] for step in same])
    stored = np.array([step.reward for step in same])
    other = np.abs(rewards - stored) > 1e-2 * (1 + np.abs(rewards))
    if other.mean() > 1 - _ENOUGH:
        step = int(np.argmax(other))
        what = (
            f"{name} gives other rewards for the same states and actions: {rewards[step]:g} instead of {stored[step]:g}"
        )
        place = f"episode {same[step].episode}, step {same[step].number}"
        why = "rewards are misaligned, scaled, or those of another version of the task"
        return DataFinding("wrong", what, place, why, "find out how they were recorded; see also --reward-shift")
    what = f"put into stored states, {name} goes on as the data do, and earns what they earned"
    return DataFinding("note", what, where, "columns, actions and rewards mean the same on both sides", "nothing")


def _explanations(again: _TakenAgain, steps: list[Step], starts, first) -> Iterator[tuple[str, str, str]]:
    """(what, why, advice) of each change that makes the steps lead where they led."""
    environment = again.environment
    name = environment.id
    for reading in readings(environment, starts, first):
        if again.share([_read(step, reading) for step in steps]) >= _ENOUGH:
            yield _reading_words(reading, name)
    for repeat in range(1, _MOST_REPEAT + 1):
        if repeat != environment.repeat and again.share(steps, repeat) >= _ENOUGH:
            held = held_id(environment.unheld.id, repeat)
            what = f"{held} leads where the data lead, {name} does not: actions were held for {spoken_repeat(repeat)}"
            why = "rewards and next observations are those of another number of steps of the world"
            yield what, why, f"use --env '{held}', here and for training"
    for words, actions in _other_actions(environment, steps):
        changed = [step._replace(action=action) for step, action in zip(steps, actions, strict=True)]
        if again.share(changed) >= _ENOUGH:
            why = (
                "the model learns what each action does under a wrong name; the agent does something else than planned"
            )
            yield f"{words}: then {name} leads where the data lead", why, "change the actions in the data"
    for reading in _other_units(environment):
        if again.share([_read(step, reading) for step in steps]) >= _ENOUGH:
            yield _reading_words(reading, name)


def _other_actions(environment: Environment, steps: list[Step]) -> Iterator[tuple[str, list]]:
    """Other meanings of the stored actions: (words, the actions of the environment)."""
    count = environment.spaces.num_actions
    if environment.spaces.continuous:
        for factor in _FACTORS:
            actions = [np.clip(factor * step.action, -1, 1).astype(np.float32) for step in steps]
            yield f"actions would have to be multiplied by {factor:g}", actions
    elif count <= _MOST_RENUMBERED:
        for order in itertools.permutations(range(count)):
            if order != tuple(range(count)):
                words = ", ".join(f"{theirs} is {ours}" for theirs, ours in enumerate(order) if theirs != ours)
                yield f"actions are numbered otherwise ({words} here)", [order[int(step.action)] for step in steps]


def _other_units(environment: Environment) -> Iterator[Reading]:
    """Degrees for radians, and the reverse, in one part of the observation or one number."""
    size = environment.spaces.observation_shape[0]
    sizes = getattr(environment.unheld, "sizes", None) or {f"number {j}": 1 for j in range(min(size, 10))}
    begin = 0
    for key, length in sizes.items():
        for unit, words in ((180 / np.pi, "degrees instead of radians"), (np.pi / 180, "radians instead of degrees")):
            factors = np.ones(size)
            factors[begin : begin + length] = 1 / unit
            yield Reading(f"another unit: {key} is in {words}", np.arange(size), factors)
        begin += length


def _read(step: Step, reading: Reading) -> Step:
    return step._replace(observation=reading.read(step.observation), following=reading.read(step.following))


# Numbers compared -----------------------------------------------------------------------------------------------------


def _of_numbers(environment: Environment, starts, first, ranges, played) -> Iterator[DataFinding]:
    """First observations and ranges, where no step can be taken again."""
    names, wrong = number_names(environment), begins_elsewhere(starts, first)
    if wrong.any():
        reading = next(readings(environment, starts, first), None)
        where = f"the first observations of {len(starts)} episodes"
        if reading is not None:
            yield DataFinding("wrong", *_insert(_reading_words(reading, environment.id), where))
            return
        j = int(np.argmax(wrong))
        what = f"{int(wrong.sum())} of {len(wrong)} numbers begin elsewhere than in {environment.id}: {names[j]} at "
        what += f"{np.median(starts[:, j]):.4g}, there at {first[:, j].min():.4g} .. {first[:, j].max():.4g}"
        why = "columns may stand in another order or have other units, or episodes do not begin at a reset"
        yield DataFinding("doubtful", what, where, why, "compare the columns with what the environment returns")
        return
    (low, high), (played_low, played_high) = ranges, played
    width = played_high - played_low
    apart = (width > 0) & ((low > played_high + width) | (high < played_low - width))
    apart |= (width > 0) & (high - low > _FAR_WIDER * width)
    if apart.any():
        j = int(np.argmax(apart))
        what = f"{names[j]} lies in {low[j]:.4g} .. {high[j]:.4g}, in {environment.id} played at random in "
        what += f"{played_low[j]:.4g} .. {played_high[j]:.4g}"
        why = "it may have another unit, or a policy has come where chance does not"
        yield DataFinding("doubtful", what, "all steps", why, "compare it with what the environment returns")


def _reading_words(reading: Reading, name: str) -> tuple[str, str, str]:
    """(what, why, advice) of columns that have to be read in another way."""
    what = f"{reading.words}; read like that, they fit {name}"
    why = "an agent that learned from them would take one number for another wherever it acts"
    return what, why, "write the columns in the order and units in which the environment returns them"


def _insert(words: tuple[str, str, str], where: str) -> tuple[str, str, str, str]:
    what, why, advice = words
    return what, where, why, advice


def _own_play(environment: Environment) -> tuple[list[Step], np.ndarray, np.ndarray]:
    """Random play: steps from its course, and the ranges of the observed numbers."""
    rng, steps, seen = np.random.default_rng(0), [], []
    running, seed = False, 0
    for number in range(_PLAYED):
        if not running:
            observation, running, seed = environment.reset(seed=seed), True, seed + 1
        action = random_action(environment.spaces, rng, environment.legal_actions())
        following, reward, terminated, truncated = environment.step(action)
        if number % (_PLAYED // STEPS) == 0:
            steps.append(Step(observation, action, reward, following))
        seen.append(following)
        observation, running = following, not (terminated or truncated)
    return steps, np.min(seen, axis=0), np.max(seen, axis=0)
