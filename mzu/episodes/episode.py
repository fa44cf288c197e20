"""`Episode`: what happened from a reset to the end, the one form in which all data moves through the library.

Fresh games end as episodes, datasets consist of them, and reanalyse plays them again (paper, section "Reanalyse").
"""

import dataclasses
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Episode:
    """T steps. `rewards[t]` follows `actions[t]`, which was taken in `observations[t]`.

    symbol   field           shape                       meaning
    o        observations    [T + 1, ...]                float32 states, or uint8 images [T + 1, height, width, channel]
    a        actions         [T] integer or [T, D]       continuous ones are float32 in [-1, 1]
    u        rewards         [T] float32
             terminated      bool                        the last observation is terminal: nothing can follow, value 0
             truncated       bool                        the episode was cut off there: more would have followed
    pi       search_policy   [T, K] or None              visit distribution, once the positions were searched
             search_actions  [T, K, D] or [T, K]         the actions it is about, where actions are sampled
    nu       search_value    [T] or None                 search value
             seed            int or None                 what the environment was reset with, where that is known
             repeat          int or None                 for how many steps of the world each action was held (1: not
                                                         held; None: not known)
             source          text                        where it came from, for messages: file, record

    Arrays are read-only, and so is the episode; `dataclasses.replace` makes a changed copy.

    >>> episode = mzu.Episode([[0.0], [1.0], [2.0]], actions=[1, 1], rewards=[0.0, 1.0], terminated=True)
    >>> len(episode), episode.total_reward
    (2, 1.0)
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: bool = False
    truncated: bool = False
    search_policy: np.ndarray | None = None
    search_actions: np.ndarray | None = None
    search_value: np.ndarray | None = None
    seed: int | None = None
    repeat: int | None = None
    source: str = ""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) or field.name in ("observations", "actions", "rewards"):
                array = np.asarray(value)[...]  # a view of our own, so that the caller's array stays writable
                if field.name == "actions" and array.dtype == np.uint64:
                    array = array.astype(np.int64)  # which mixes with other whole numbers; beyond its range is negative
                array.flags.writeable = False
                object.__setattr__(self, field.name, array)
        self._check()

    def __len__(self) -> int:
        """T, the number of steps."""
        return len(self.actions)

    @property
    def total_reward(self) -> float:
        """The undiscounted return."""
        return float(np.sum(self.rewards, dtype=np.float64))

    @property
    def is_continuous(self) -> bool:
        return self.actions.ndim == 2

    def _check(self) -> None:
        """One sentence for the first thing that is wrong."""
        name = f"The episode {self.source}" if self.source else "The episode"
        for field in ("observations", "actions", "rewards"):
            array = getattr(self, field)
            if array.ndim == 0 or array.dtype.kind not in "fiub":
                form = f"{array.dtype} {array.shape}"
                raise ValueError(f"{name} has {field} of the form {form}, but must have numbers, a row for every step")
        steps = len(self.actions)
        if steps == 0:
            raise ValueError(f"{name} has no step; leave empty episodes out")
        if len(self.observations) != steps + 1:
            raise ValueError(
                f"{name} has {steps} actions and {len(self.observations)} observations, but must have {steps + 1}: "
                "the last observation, after the last action, belongs to it"
            )
        if self.rewards.shape != (steps,):
            raise ValueError(f"{name} has {steps} actions, but rewards of shape {self.rewards.shape}")
        if self.actions.ndim > 2 or self.actions.shape[1:] == (0,):
            raise ValueError(
                f"{name} has actions of shape {self.actions.shape}, but must have [T] or [T, D] with D at least 1"
            )
        if self.actions.ndim == 1 and not np.issubdtype(self.actions.dtype, np.integer):
            raise ValueError(f"{name} has discrete actions of type {self.actions.dtype}, but must have whole numbers")
        for field in ("search_policy", "search_actions", "search_value"):
            array = getattr(self, field)
            if array is not None and len(array) != steps:
                raise ValueError(f"{name} has {steps} actions, but {field} has {len(array)} rows")
        for field in ("observations", "actions", "rewards"):
            array = getattr(self, field)
            if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
                step = int(np.argwhere(~np.isfinite(array))[0][0])
                raise ValueError(f"{name}: {field}[{step}] is not finite; remove the episode or repair the data")
        if self.repeat is not None and self.repeat < 1:
            raise ValueError(f"{name} has repeat {self.repeat}, but must be at least 1 (not held)")
        if self.terminated and self.truncated:
            raise ValueError(f"{name} is both terminated and truncated; a terminal end is not a truncated one")
