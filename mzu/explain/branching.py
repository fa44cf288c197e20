"""What other actions would have done in a stored state: the environment is brought there and asked.

An episode that knows the seed of its reset can be replayed: reset with the seed, then the stored actions. Every
observation on the way must be the stored one, and so must the one after, otherwise the world is another and the state
does not count. At a state that is asked about, the environment is copied and each copy takes another action; where it
cannot be copied (an emulator) the way there is taken again for every action.
"""

import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from mzu.environments.environment import Environment
from mzu.episodes.episode import Episode

TOLERANCE = 1e-4  # relative and absolute: the last digits differ between processors
MOST_STEPS = 100_000  # of an environment that cannot be copied


class Outcome(NamedTuple):
    """What an action led to: observation is a single frame or state."""

    observation: np.ndarray
    reward: float
    terminated: bool


class Branches(NamedTuple):
    """outcomes {step: K outcomes}, None for an illegal action; and the world's rewards on the way, from step 0 on."""

    outcomes: dict[int, list[Outcome | None]]
    rewards: list[float]


def branch(make_environment: Callable[[], Environment], episode: Episode, wanted: dict[int, np.ndarray]) -> Branches:
    """What the actions {step: [K(, D)]} lead to. Steps that the environment cannot be brought to are missing."""
    if episode.seed is None:
        return Branches({}, [])
    with make_environment() as environment:
        found = _by_copies(environment, episode, wanted) if _can_be_copied(environment) else None
        return _by_replaying(environment, episode, wanted) if found is None else found


def _can_be_copied(environment: Environment) -> bool:
    try:
        copy.deepcopy(environment)
    except Exception:  # worlds of others refuse in many ways: TypeError, pickling errors, ...
        return False
    return True


def _by_copies(environment: Environment, episode: Episode, wanted: dict) -> Branches | None:
    """One walk through the episode, with copies at the wanted steps; None if a copy is not the same world."""
    outcomes, rewards, tried, own = {}, [], None, None
    for step in _walk(environment, episode, max(wanted) + 1, rewards):
        if tried is not None:
            if not _agrees(own, episode.observations[step]):
                return None
            outcomes[step - 1], tried = tried, None
        if step in wanted:
            point, legal = BranchPoint(environment), environment.legal_actions()
            tried = [point.take(action) if _allowed(action, legal) else None for action in wanted[step]]
            own = point.take(episode.actions[step]).observation
            point.restore()
    return Branches(outcomes, rewards)


def _by_replaying(environment: Environment, episode: Episode, wanted: dict) -> Branches:
    """The way to each wanted step is taken anew for every action, early steps first, as long as it is affordable."""
    outcomes, rewards, spent = {}, [], 0
    for step, actions in sorted(wanted.items()):
        spent += (step + 1) * (len(actions) + 1)
        tried = []
        rewards = []
        if spent > MOST_STEPS or not _reaches(environment, episode, step + 1, rewards):
            break
        for action in actions:
            if _reaches(environment, episode, step, []):
                allowed = _allowed(action, environment.legal_actions())
                tried.append(_outcome(environment.step(_as_taken(action))) if allowed else None)
        if len(tried) < len(actions):  # it plays dice
            break
        outcomes[step] = tried
    return Branches(outcomes, rewards)


def _reaches(environment: Environment, episode: Episode, step: int, rewards: list[float]) -> bool:
    """Brings the environment to this step -> whether the way there was the stored one."""
    return any(place == step for place in _walk(environment, episode, step, rewards))


def _walk(environment: Environment, episode: Episode, last: int, rewards: list[float]) -> Iterator[int]:
    """Brings the environment to step 0, 1, ... `last`, at each of which it yields; ends where the world differs."""
    observation, ended = environment.reset(seed=episode.seed), False
    for step in range(min(last, len(episode)) + 1):
        if not _agrees(observation, episode.observations[step]):
            return
        yield step
        if ended or step in (last, len(episode)):
            return
        observation, reward, terminated, truncated = environment.step(_as_taken(episode.actions[step]))
        rewards.append(reward)
        ended = terminated or truncated


class BranchPoint:
    """An environment at a moment, from which any number of actions can be tried.

    The simulation of DM Control is large, so that it is not copied: all copies share it, and it is set back instead,
    to the last digit.
    """

    def __init__(self, environment: Environment):
        self.environment = environment
        self.physics = getattr(getattr(environment.unheld, "world", None), "physics", None)
        if self.physics is not None:
            self._data = copy.copy(self.physics.data.ptr)

    def take(self, action) -> Outcome:
        """What the action leads to; call `restore` before the environment itself goes on."""
        self.restore()
        shared = {} if self.physics is None else {id(self.physics): self.physics}
        return _outcome(copy.deepcopy(self.environment, shared).step(_as_taken(action)))

    def restore(self) -> None:
        """The environment is again as it was."""
        if self.physics is not None:
            import mujoco

            mujoco.mj_copyData(self.physics.data.ptr, self.physics.model.ptr, self._data)


def _outcome(result: tuple) -> Outcome:
    observation, reward, terminated, _ = result
    return Outcome(observation, reward, terminated)


def _as_taken(action):
    return int(action) if np.ndim(action) == 0 else np.clip(action, -1, 1)


def _allowed(action, legal: np.ndarray | None) -> bool:
    return legal is None or bool(legal[int(action)])


def _agrees(one, other) -> bool:
    return np.shape(one) == np.shape(other) and np.allclose(one, other, TOLERANCE, TOLERANCE)
