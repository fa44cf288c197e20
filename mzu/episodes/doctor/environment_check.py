"""Whether data suit an environment: the same spaces, and, where it can be replayed, the same course of events.

Part of the dataset doctor, see check.py. Notebook 10_dataset_doctor.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mzu.environments.environment import Environment, random_action
from mzu.environments.held_actions import HeldActions, held_id, spoken_repeat
from mzu.episodes.doctor.findings import DataFinding
from mzu.episodes.doctor.statistics import Statistics
from mzu.episodes.episode import Episode
from mzu.episodes.readers.rlu_control import ACTION_DIMENSIONS

_TRIED_SEEDS = 100
_MOST_REPEAT = 10  # held steps that are tried
_MOST_STEPS = 5000  # in which a time limit is looked for


def environment_findings(statistics: Statistics, environment: Environment) -> Iterator[DataFinding]:
    spaces, name = environment.spaces, environment.id
    shape = statistics.observation_shape
    # Atari's environment shows a stack of frames, datasets hold single ones.
    stacked = len(shape) == 3 and shape[2] == 1 and shape[:2] == spaces.observation_shape[:2]
    if shape != spaces.observation_shape and not stacked:
        what = f"observations have shape {shape}, but {name} shows {spaces.observation_shape}"
        why = "a network for one cannot see the other; keys of the observation may be missing or too many"
        yield DataFinding("wrong", what, "all steps", why, "is this the dataset of another environment?")
    elif str(statistics.observation_dtype) != spaces.observation_dtype:
        what = f"observations are {statistics.observation_dtype}, but {name} shows {spaces.observation_dtype}"
        why = "uint8 images are divided by 255, other numbers are taken as they are"
        yield DataFinding("wrong", what, "all steps", why, "store them as the environment shows them")
    if statistics.continuous != spaces.continuous:
        kinds = ("continuous", "discrete") if statistics.continuous else ("discrete", "continuous")
        what = f"actions are {kinds[0]}, but {name} takes {kinds[1]} ones"
        advice = "is this the dataset of another environment?"
        yield DataFinding("wrong", what, "all steps", "no action of the data could be taken", advice)
    elif statistics.continuous and len(statistics.action_counts) != spaces.num_actions:
        what = f"actions have {len(statistics.action_counts)} dimensions, but {name} has {spaces.num_actions}"
        advice = "is this the dataset of another environment?"
        yield DataFinding("wrong", what, "all steps", "no action of the data could be taken", advice)
    elif not statistics.continuous and len(statistics.action_counts) > spaces.num_actions:
        largest = len(statistics.action_counts) - 1
        what = f"action {largest} was taken, but {name} has {spaces.num_actions} actions (0..{spaces.num_actions - 1})"
        advice = "is it another game, or its full action set instead of the minimal one?"
        yield DataFinding("wrong", what, "at least one step", "action numbers mean something else in the data", advice)
    elif not statistics.continuous and len(statistics.action_counts) < spaces.num_actions:
        what = f"of the {spaces.num_actions} actions of {name} only 0..{len(statistics.action_counts) - 1} were taken"
        why = "the others cannot be learnt, or the data have another action set"
        yield DataFinding("doubtful", what, "all steps", why, "compare the meanings of the action numbers")
    yield from _repeat_findings(statistics, environment)
    yield from _key_findings(environment.unheld)


def _repeat_findings(statistics: Statistics, environment: Environment) -> Iterator[DataFinding]:
    """Data that say themselves that they were recorded with actions held for another number of steps."""
    for repeat in statistics.known_repeats:
        if repeat != environment.repeat:
            held, where = spoken_repeat(repeat), f"episode {statistics.repeats[repeat]}"
            what = f"every action was held for {held}, but in {environment.id} it is {environment.repeat}"
            yield DataFinding("wrong", what, where, _OTHER_STEPS, _use(environment, repeat))


_OTHER_STEPS = "rewards and next observations are those of another number of steps of the world"


def _use(environment: Environment, repeat: int) -> str:
    return f"use --env '{held_id(environment.id, repeat)}', here and for training"


def _key_findings(environment) -> Iterator[DataFinding]:
    """DM Control tasks whose data lack what the environment returns."""
    world, sizes = getattr(environment, "world", None), getattr(environment, "sizes", None)
    task = environment.id.removeprefix("dm_control:").replace("-", "_", 1)
    if world is None or sizes is None or task not in ACTION_DIMENSIONS:
        return
    missing = [key for key in world.observation_spec() if key not in sizes]
    if missing:
        what = f"the data lack {', '.join(missing)}, which {environment.id} returns"
        why = "an agent trained on the data acts without it"
        yield DataFinding("note", what, "all steps", why, "nothing: mzu leaves it out on both sides")


class Replayed(NamedTuple):
    """What the stored actions lead to: rewards [T], observations [T + 1, ...], and the two marks of the end."""

    rewards: np.ndarray
    observations: np.ndarray
    terminated: bool
    truncated: bool


def replay_findings(episodes: list[Episode], environment: Environment) -> tuple[list[DataFinding], bool]:
    """Take the stored actions again, where the environment begins in the stored state, and compare what follows.

    -> findings, and whether anything could be compared.
    """
    for number, seed in _matching_starts(environment, episodes):
        episode = episodes[number]
        played, again = (_play(environment, episode, seed) for _ in range(2))
        if not (np.array_equal(played.rewards, again.rewards) and _same(played.observations, again.observations)):
            continue  # it plays dice: the comparison would mean nothing
        return [_compared(played, episode, number, environment, seed)], True
    findings = list(_time_limit_findings(episodes, environment))
    what = f"{environment.id} could not be replayed"
    why = "it starts in other states than the data or draws random numbers, so the rewards cannot be compared"
    return [*findings, DataFinding("note", what, f"the first {len(episodes)} episodes", why, "nothing")], False


def _compared(played: Replayed, episode: Episode, number: int, environment: Environment, seed: int) -> DataFinding:
    """The first thing that is not as stored, or that all is."""
    steps = len(played.rewards)
    seen = ~np.isclose(played.observations, episode.observations[: steps + 1], rtol=1e-3, atol=1e-3)
    differs, seen = _differ(played.rewards, episode), seen.reshape(steps + 1, -1).any(axis=1)
    end = _other_end(played, episode)
    why, advice = (
        "the data come from another version of the environment, or are misaligned",
        "find out which recorded them",
    )
    step = steps - 1
    if differs.any() or steps < len(episode):
        step = int(np.argmax(differs)) if differs.any() else step
        repeat = _agreeing_repeat(environment.unheld, episode, seed)
        if repeat is not None:
            what = f"{held_id(environment.id, repeat)} gives the rewards of the data, {environment.id} others"
            why, advice = _OTHER_STEPS, _use(environment, repeat)
        elif differs.any():
            what = f"{environment.id} gives other rewards for the same actions"
            what += f": {played.rewards[step]:g} instead of {episode.rewards[step]:g}"
        else:
            what = f"{environment.id} ends after {steps} of {len(episode)} steps for the same actions"
    elif seen.any():
        step = int(np.argmax(seen))
        what = f"{environment.id} shows other observations for the same actions, though the rewards agree"
    elif end:
        what, why = f"{environment.id} ends otherwise: {end}", "the value after the last step is 0, or bootstrapped"
        advice = "mark the ends as the environment does"
    else:
        what = f"{environment.id} gives the same rewards for the same actions, and the same observations and end"
        return DataFinding("note", what, f"episode {number}", "the data are what they say", "nothing")
    return DataFinding("wrong", what, f"episode {number}, step {step}", why, advice)


def _other_end(played: Replayed, episode: Episode) -> str:
    """How the ends differ. Data may stop where the environment would go on: then they are cut off there."""
    if episode.terminated and not played.terminated:
        return "the data say terminated, but " + ("a time limit cuts it off" if played.truncated else "it goes on")
    if played.terminated and not episode.terminated:
        return "the data do not say terminated, but nothing can follow"
    return ""


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and np.array_equal(one, other)


def _matching_starts(environment, episodes: list[Episode]) -> Iterator[tuple[int, int]]:
    """(episode, seed) where the environment starts in the stored observation: its own seed, or one of the first few."""
    shape = environment.spaces.observation_shape
    if episodes[0].observations.shape[1:] != shape:
        return
    for number, episode in enumerate(episodes):
        if episode.seed is not None and np.allclose(environment.reset(seed=episode.seed), episode.observations[0]):
            yield number, episode.seed
    for seed in range(_TRIED_SEEDS if len(shape) == 1 else 2):  # emulators take long to begin
        observation = environment.reset(seed=seed)
        for number, episode in enumerate(episodes):
            if np.allclose(observation, episode.observations[0]):
                yield number, seed


def _differ(rewards: np.ndarray, episode: Episode) -> np.ndarray:
    return np.abs(rewards - episode.rewards[: len(rewards)]) > 1e-4 * (1 + np.abs(rewards))


def _agreeing_repeat(world: Environment, episode: Episode, seed: int) -> int | None:
    """For how many steps actions must be held to get all of the stored rewards, where that is not known."""
    for repeat in range(1, _MOST_REPEAT + 1) if episode.repeat is None else ():
        rewards = _play(HeldActions(world, repeat), episode, seed).rewards
        if len(rewards) == len(episode) and not _differ(rewards, episode).any():
            return repeat
    return None


def _time_limit_findings(episodes: list[Episode], environment: Environment) -> Iterator[DataFinding]:
    """Data that were cut off after another number of steps than the environment, but fit if actions were held."""
    steps = len(episodes[0])
    if not all(episode.truncated and episode.repeat is None and len(episode) == steps for episode in episodes):
        return
    limit = _time_limit(environment.unheld, min(_MOST_REPEAT * steps, _MOST_STEPS))
    fitting = [repeat for repeat in range(1, _MOST_REPEAT + 1) if limit and math.ceil(limit / repeat) == steps]
    if len(fitting) == 1 and fitting[0] != environment.repeat:
        other = math.ceil(limit / environment.repeat)
        what = f"episodes are cut off after {steps} steps, those of {environment.id} after {other}"
        where, why = f"the first {len(episodes)} episodes", f"every action seems held for {spoken_repeat(fitting[0])}"
        yield DataFinding("doubtful", what, where, why, f"if that is so, {_use(environment, fitting[0])}")


def _time_limit(world: Environment, most: int) -> int | None:
    """After how many steps of random play the world is cut off, where that is within `most`."""
    rng = np.random.default_rng(0)
    world.reset(seed=0)
    for step in range(1, most + 1):
        _, _, terminated, truncated = world.step(random_action(world.spaces, rng, world.legal_actions()))
        if terminated or truncated:
            return step if truncated else None
    return None


def _play(environment, episode: Episode, seed: int) -> Replayed:
    """What follows the stored actions, up to the end of either."""
    observations, rewards = [environment.reset(seed=seed)], []
    terminated = truncated = False
    for action in episode.actions:
        observation, reward, terminated, truncated = environment.step(action)
        observations.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            break
    return Replayed(np.array(rewards, np.float32), np.stack(observations), terminated, truncated)
