"""`Environment`: what the whole library expects of a world to act in (paper, section "Reanalyse": fresh games).

Five kinds fulfil it: Gymnasium's, Atari's, MinAtar's, DM Control's and the built-in games; `make` builds them all, and
holds the actions of any of them for several steps where the id says so (held_actions.py). There is no automatic reset:
what `step` returns at the end is the last observation of this episode, never the first of the next, so that no
transition is recorded that did not happen.
"""

import math
import os
import sys
from typing import NoReturn

import numpy as np

from mzu.environments.spaces import Spaces

# Continuous actions that a float32 rounding carried over the bound are clipped; anything further out is a mistake.
BOUND_TOLERANCE = 1e-5


class Environment:
    """A world with `spaces`, and an `id` that `make` understands.

    call                 gives
    reset(seed=None)     the first observation; a seed fixes everything that follows until the next seed
    step(action)         (observation, reward, terminated, truncated); never both of the last two
    legal_actions()      bool [A], or None where all actions are legal
    render()             RGB uint8 [height, width, 3], where the world can draw itself
    close()              frees what the world holds

    Observations are float32 states [O], or images [height, width, channels] of uint8 or float32. Actions are whole
    numbers 0..A - 1, or float32 [D] in [-1, 1]. `terminated` says that nothing can follow; `truncated` that a time
    limit cut the episode off, after which values must still be bootstrapped.

    A kind of environment fills in `_reset`, `_step` and, where it can, `legal_actions`, `render` and `close`.

    >>> with mzu.make("catch") as world:
    ...     first = world.reset(seed=0)
    ...     observation, reward, terminated, truncated = world.step(1)
    >>> reward, terminated, truncated
    (0.0, False, False)
    """

    frames_per_second = 30.0  # at which a video of it looks right
    repeat = 1  # for how many steps of the world an action is held
    time_limit: int | None = None  # steps after which the world itself ends an episode, where it says so

    def __init__(self, id: str, spaces: Spaces):
        self.id = id
        self.spaces = spaces
        self.max_steps: int | None = None  # an episode is cut off after so many; None: only by the world itself
        self.cut_off = 0  # episodes that were
        self._running = False
        self._episode = ""  # how messages call it
        self._steps_taken = 0

    def reset(self, seed: int | None = None) -> np.ndarray:
        self._episode = "an episode without a seed" if seed is None else f"the episode with seed {seed}"
        self._steps_taken = 0
        try:
            observation = self._reset(None if seed is None else int(seed))
            check_observation(observation, "reset()", self.id)
        except Exception as error:
            self._fail("at the reset", error)
        self._running = True
        return observation

    def step(self, action) -> tuple[np.ndarray, float, bool, bool]:
        if not self._running:
            raise ValueError(f"{self.id}: the episode has ended or not begun; call reset() before step()")
        action = checked_action(action, self.spaces, self.id)
        self._steps_taken += 1
        try:
            observation, reward, terminated, truncated = self._step(action)
            check_observation(observation, "step()", self.id)
            reward = checked_reward(reward, self.id)
        except Exception as error:
            self._fail(f"in step {self._steps_taken}", error)
        if self._steps_taken == self.max_steps and not (terminated or truncated):
            truncated = True
            self.cut_off += 1
        self._running = not (terminated or truncated)
        # Where both happen in the same step nothing can follow, and the time limit no longer matters.
        return observation, reward, bool(terminated), bool(truncated and not terminated)

    @property
    def unheld(self) -> "Environment":
        """The world itself, in which no action is held; what is known by a world's id is known by this one's."""
        return self

    def legal_actions(self) -> np.ndarray | None:
        return None

    def render(self) -> np.ndarray:
        raise ValueError(f"{self.id} has no picture to show")

    def close(self) -> None:
        self._running = False

    def _reset(self, seed: int | None) -> np.ndarray:
        raise NotImplementedError

    def _step(self, action) -> tuple[np.ndarray, float, bool, bool]:
        raise NotImplementedError

    def _fail(self, when: str, error: Exception) -> NoReturn:
        """Raises what the world raised, as a sentence that says where it happened."""
        if isinstance(error, EnvironmentFailed):  # the world whose actions are held has said it
            raise error
        what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise EnvironmentFailed(f"{self.id} failed {when} of {self._episode}: {what}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<{self.id}: {self.spaces}>"


class EnvironmentFailed(ValueError):
    """A world raised an error: names the world, the episode's seed and the step; the error itself is its cause."""


def has_screen() -> bool:
    """Whether libraries that draw may look for a screen; on a server without one they would fail or complain."""
    is_linux = sys.platform.startswith("linux")
    return not is_linux or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def checked_action(action, spaces: Spaces, name: str = "The environment"):
    """`action` as an int, or as float32 [D] within [-1, 1]; one sentence where it is neither."""
    array = np.asarray(action)
    if spaces.continuous:
        if array.shape != (spaces.num_actions,) or array.dtype.kind not in "fiu":
            raise ValueError(
                f"{name}: the action is {_shown(action)}, but must be {spaces.num_actions} numbers in [-1, 1], "
                f"shape ({spaces.num_actions},)"
            )
        array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise ValueError(
                f"{name}: the action is {_shown(action)}, which is not finite; is the policy's output NaN?"
            )
        if np.abs(array).max() > 1 + BOUND_TOLERANCE:
            raise ValueError(f"{name}: the action is {_shown(action)}, but must lie in [-1, 1] in every dimension")
        return np.clip(array, -1, 1)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name}: the action is {_shown(action)}, which is not finite; is the policy's output NaN?")
    if array.shape != () or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: the action is {_shown(action)}, but must be one whole number in 0..{spaces.num_actions - 1}"
        )
    if not 0 <= array < spaces.num_actions:
        raise ValueError(
            f"{name}: the action is {int(array)}, but the environment has {spaces.num_actions} actions "
            f"(0..{spaces.num_actions - 1})"
        )
    return int(array)


def check_observation(observation: np.ndarray, call: str, name: str) -> None:
    """A sentence where a number of an observation is NaN or infinite; uint8 pixels cannot be."""
    # The sum is the fastest thing that no NaN and no infinity gets past; large numbers alone can overflow it.
    if observation.dtype.kind == "f" and not math.isfinite(observation.sum()):
        wrong = np.argwhere(~np.isfinite(observation))
        if len(wrong):
            place = ", ".join(map(str, wrong[0]))
            raise ValueError(
                f"{name}: {call} returned an observation with {observation[tuple(wrong[0])]} at [{place}], but all "
                "numbers must be finite; find out where the environment computes it"
            )


def checked_reward(reward, name: str) -> float:
    """The reward as a finite number; a sentence for NaN, infinity, text or an array of several."""
    if type(reward) is not float:
        array = np.asarray(reward)
        if array.size != 1 or array.dtype.kind not in "fiub":
            raise ValueError(f"{name}: step() returned the reward {_shown(reward)}, but it must be one number")
        reward = array.item()
    if not math.isfinite(reward):
        raise ValueError(f"{name}: step() returned the reward {reward}, but it must be a finite number")
    return float(reward)


def is_legal(environment: Environment, action) -> bool:
    """Whether the action may be taken now."""
    legal = environment.legal_actions()
    return legal is None or bool(legal[action])


def random_action(spaces: Spaces, rng: np.random.Generator, legal: np.ndarray | None = None):
    """A uniformly drawn action: an int among the legal ones, or float32 [D] in [-1, 1]."""
    if spaces.continuous:
        return rng.uniform(-1, 1, spaces.num_actions).astype(np.float32)
    return int(rng.integers(spaces.num_actions) if legal is None else rng.choice(np.flatnonzero(legal)))


def _shown(action) -> str:
    text = repr(action.tolist() if isinstance(action, np.ndarray | np.generic) else action)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."
