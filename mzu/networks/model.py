"""What a search needs of a model, and the simplest model there is: tables given as arrays."""

from typing import NamedTuple, Protocol

import numpy as np


class GaussianPolicy(NamedTuple):
    """A policy over continuous actions in [-1, 1]: mean and scale, each [B, D]. Samples are clipped to the bounds."""

    mean: np.ndarray
    scale: np.ndarray


Policy = np.ndarray | GaussianPolicy  # logits [B, A], or mean and scale [B, D]


def checked_observations(observations, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Observations [B, *shape], C-contiguous, of the type that a network takes; a sentence where they are another.

    Nothing is made a picture of 0..255 that is not one: of numbers from 0 to 1 only black would be left.
    """
    given = np.asarray(observations)
    if given.shape[1:] != shape:
        expected = ", ".join(map(str, shape))
        raise ValueError(f"observations have shape {given.shape}, but this network takes [B, {expected}]")
    if dtype == "uint8":
        if given.dtype != np.uint8:
            raise ValueError(
                f"observations are {given.dtype}, but this network takes pictures of whole numbers 0..255 (uint8)"
            )
        return np.ascontiguousarray(given)
    if given.dtype.kind not in "fiub":
        raise ValueError(f"observations are {given.dtype}, but this network takes numbers (float32)")
    given = np.ascontiguousarray(given, np.float32)
    if not np.isfinite(given).all():
        row = np.flatnonzero(~np.isfinite(given).reshape(len(given), -1).all(axis=1))[0]
        raise ValueError(f"observations[{row}] holds NaN or infinity")
    return given


class Model(Protocol):
    """Any object with these two methods can be searched. Everything is batched."""

    def initial(self, observations) -> tuple[np.ndarray, Policy, np.ndarray]:
        """Observations [B, ...] -> hidden [B, ...], policy, value [B]."""

    def recurrent(self, hidden, actions) -> tuple[np.ndarray, np.ndarray, Policy, np.ndarray]:
        """Hidden [B, ...] and actions [B] or [B, D] -> hidden [B, ...], reward [B], policy, value [B]."""


class TabularModel:
    """A finite world given as arrays, so that the right answer of a search can be worked out on paper.

    The hidden state is the number of the state, and so is the observation.

    symbol      shape   meaning
    next_state  [S, A]  the state that an action leads to
    reward      [S, A]  the reward for it
    logits      [S, A]  the policy network's output
    value       [S]     the value network's output

    >>> model = mzu.TabularModel(next_state=[[2, 1], [2, 2], [2, 2]], reward=[[1, 0], [3, 3], [0, 0]])
    """

    def __init__(self, next_state, reward, logits=None, value=None):
        self.next_state = np.asarray(next_state, np.int32)
        self.reward = np.asarray(reward, float)
        states, actions = self.next_state.shape
        self.logits = np.zeros((states, actions)) if logits is None else np.asarray(logits, float)
        self.value = np.zeros(states) if value is None else np.asarray(value, float)
        expected = {"reward": (states, actions), "logits": (states, actions), "value": (states,)}
        for name, shape in expected.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has shape {getattr(self, name).shape}, but next_state asks for {shape}")
        if self.next_state.min() < 0 or self.next_state.max() >= states:
            raise ValueError(f"next_state must hold states 0..{states - 1}, the rows of the tables")

    def __repr__(self) -> str:
        names = ("next_state", "reward", "logits", "value")
        return f"TabularModel({', '.join(f'{name}={getattr(self, name).tolist()}' for name in names)})"

    def initial(self, observations):
        states = np.asarray(observations, np.int32)
        return states, self.logits[states], self.value[states]

    def recurrent(self, hidden, actions):
        states = self.next_state[hidden, actions]
        return states, self.reward[hidden, actions], self.logits[states], self.value[states]
