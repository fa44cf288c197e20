"""`Segment`: a piece of a played game, the unit in which the replay takes and forgets data.

Episodes are split into subsequences of up to 500 positions (paper, appendix "Other Hyperparameters"). The steps that
follow a piece are stored with it, so that the targets of its last positions look ahead as far as those of its first.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from mzu.replay.priorities import check_priorities


@dataclass(frozen=True, eq=False)
class Segment:
    """L positions that can be sampled, H frames before them, and a tail of E steps that only targets look at.

    symbol   field           shape                          meaning
    o        observations    [H + L + E + 1, ...]           single frames or states; row H + t is position t
    a        actions         [L + E] int32 or [L + E, D]    continuous ones are float32
    u        rewards         [L + E] float32                rewards[t] follows actions[t]
             ended           bool                           the data end where the episode ends
             terminated      bool                           and that end is terminal; otherwise it is a truncated one
    pi       search_policy   [L, K] float32 or None         visit distribution; None where positions were not searched
             search_actions  [L, K] or [L, K, D] or None    the actions it is about, where actions are sampled
    nu       search_value    [L] float32                    search value, or the network's own where not searched
    p        priorities      [L], at least 0

    H = frame_stack - 1 frames complete the stack of the first positions (zeros before the episode's start); it is 0 for
    states. E is `tail_length`, or fewer where the episode ends earlier. Arrays are read-only.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    ended: bool
    terminated: bool
    search_policy: np.ndarray | None
    search_actions: np.ndarray | None
    search_value: np.ndarray
    priorities: np.ndarray

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None and field.name not in ("ended", "terminated"):
                array = np.asarray(value)[...]  # a view of our own, so that the caller's array stays writable
                array.flags.writeable = False
                object.__setattr__(self, field.name, array)
        self._check()

    def __len__(self) -> int:
        """L, the number of positions that can be sampled."""
        return len(self.search_value)

    @property
    def tail(self) -> int:
        """E, the number of steps behind the L positions."""
        return len(self.actions) - len(self)

    @property
    def frames_before(self) -> int:
        """H, the number of frames in front that only complete stacks."""
        return len(self.observations) - len(self.actions) - 1

    def _check(self) -> None:
        """One sentence for the first thing that is wrong."""
        if self.search_value.ndim != 1 or len(self.search_value) == 0:
            raise ValueError(
                f"A segment has search_value of shape {self.search_value.shape}, but must have [L], L >= 1"
            )
        positions, steps = len(self.search_value), len(self.actions)
        if self.actions.ndim not in (1, 2):
            raise ValueError(
                f"A segment has actions of shape {self.actions.shape}, but must have [L + E] or [L + E, D]"
            )
        if self.actions.ndim == 1 and not np.issubdtype(self.actions.dtype, np.integer):
            raise ValueError(
                f"A segment has discrete actions of type {self.actions.dtype}, but must have whole numbers"
            )
        if steps < positions:
            raise ValueError(f"A segment has {positions} positions, but only {steps} actions")
        if self.rewards.shape != (steps,):
            raise ValueError(f"A segment has {steps} actions, but rewards of shape {self.rewards.shape}")
        if len(self.observations) < steps + 1:
            raise ValueError(
                f"A segment has {steps} actions and {len(self.observations)} observations, but must have at least "
                f"{steps + 1}: the last observation, after the last action, belongs to it"
            )
        if self.search_policy is not None and (self.search_policy.ndim != 2 or len(self.search_policy) != positions):
            raise ValueError(
                f"A segment has {positions} positions, but search_policy of shape {self.search_policy.shape}"
            )
        if self.search_actions is not None:
            if self.search_policy is None:
                raise ValueError("A segment has search_actions, but no search_policy that they belong to")
            expected = self.search_policy.shape + self.actions.shape[1:]
            if self.search_actions.shape != expected:
                raise ValueError(
                    f"A segment has search_actions of shape {self.search_actions.shape}, but must have {expected}: one "
                    "action for each entry of search_policy"
                )
        if self.priorities.shape != (positions,):
            raise ValueError(f"A segment has {positions} positions, but priorities of shape {self.priorities.shape}")
        check_priorities(self.priorities)
        for field in ("observations", "actions", "rewards", "search_policy", "search_actions", "search_value"):
            array = getattr(self, field)
            if array is not None and np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
                row = int(np.argwhere(~np.isfinite(array))[0][0])
                raise ValueError(f"A segment has {field}[{row}] that is not finite; has the network diverged?")
        if self.terminated and not self.ended:
            raise ValueError("A segment is terminated, but not ended; a terminal end is an end of the episode")


def tail_length(unroll_steps: int, td_steps: int) -> int:
    """E: how many steps after a position its targets look at."""
    return unroll_steps + max(td_steps, 1)


def stretch_at(step: int, steps: int, segment_length: int) -> tuple[int, int]:
    """The one of the `split_lengths` of an episode of `steps` steps that holds a step."""
    start = step - step % segment_length
    return start, min(start + segment_length, steps)


def split_lengths(steps: int, segment_length: int) -> list[tuple[int, int]]:
    """The pieces (start, stop) of at most `segment_length` steps that cover an episode of `steps` steps.

    >>> split_lengths(7, 3)
    [(0, 3), (3, 6), (6, 7)]
    """
    if segment_length < 1:
        raise ValueError(f"segment_length is {segment_length}, but must be at least 1")
    return [(start, min(start + segment_length, steps)) for start in range(0, steps, segment_length)]
