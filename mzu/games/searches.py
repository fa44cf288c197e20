"""`Searches`: what the searches along a game found, until a piece of it is complete and becomes a `Segment`."""

import numpy as np

from mzu.config import Config
from mzu.games.piece import Piece
from mzu.replay.priorities import position_priority
from mzu.replay.returns import n_step_returns
from mzu.replay.segment import Segment


class Searches:
    """Improved policies, candidates and values of the positions searched so far that are in no segment yet."""

    def __init__(self, config: Config):
        self.discount, self.td_steps = config.search.discount, config.learning.td_steps
        self.policies, self.candidates, self.values, self.raw_values = [], [], [], []

    def __len__(self) -> int:
        return len(self.values)

    def add(self, policy, candidates, value: float, raw_value: float) -> None:
        """One position: policy [K], candidates [K(, D)], search value and the network's own value.

        Candidates are None where they are all actions in order; so is the policy where nothing was searched.
        """
        self.policies.append(policy)
        self.candidates.append(candidates)
        self.values.append(value)
        self.raw_values.append(raw_value)

    def pop_segment(self, piece: Piece) -> Segment:
        """The piece with what was found at its L positions, the first ones here, which are then forgotten."""
        length = piece.length
        values, raw_values = np.float32(self.values[:length]), np.float32(self.raw_values[:length])
        segment = Segment(
            observations=piece.observations,
            actions=piece.actions,
            rewards=piece.rewards,
            ended=piece.ended,
            terminated=piece.terminated,
            search_policy=None if self.policies[0] is None else _stack_padded(self.policies[:length]),
            search_actions=None if self.candidates[0] is None else _stack_padded(self.candidates[:length]),
            search_value=values,
            priorities=first_priorities(piece, values, raw_values, self.discount, self.td_steps),
        )
        for found in (self.policies, self.candidates, self.values, self.raw_values):
            del found[:length]
        return segment

    def state(self) -> dict[str, np.ndarray]:
        arrays = {"values": np.float64(self.values), "raw_values": np.float64(self.raw_values)}
        for name, rows in (("policies", self.policies), ("candidates", self.candidates)):
            if rows and rows[0] is not None:
                arrays[name] = _stack_padded(rows)
        return arrays

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.values, self.raw_values = list(state["values"]), list(state["raw_values"])
        nothing = [None] * len(self.values)
        self.policies, self.candidates = list(state.get("policies", nothing)), list(state.get("candidates", nothing))


def first_priorities(piece: Piece, values, raw_values, discount: float, td_steps: int) -> np.ndarray:
    """Priorities [L] as far as they are known when a piece is complete; the learner replaces those it samples.

    z is bootstrapped from the search value n steps later, or from the last one of the piece.
    """
    # One row of L positions, whose data end after all steps of the piece.
    rewards = np.concatenate([piece.rewards, np.zeros(td_steps, np.float32)])[None]
    bootstrap = values[np.minimum(np.arange(piece.length) + td_steps, piece.length - 1)][None]
    steps_left, terminated = np.array([len(piece.rewards)]), np.array([piece.terminated])
    targets = n_step_returns(rewards, bootstrap, steps_left, terminated, discount, td_steps)[0]
    return position_priority(values, targets, raw_values, td_steps)


def _stack_padded(rows: list[np.ndarray]) -> np.ndarray:
    """Rows [K_i, ...] of different K as one array [L, max K, ...], with zeros behind the shorter ones."""
    widest = max(len(row) for row in rows)
    stacked = np.zeros((len(rows), widest, *rows[0].shape[1:]), rows[0].dtype)
    for place, row in enumerate(rows):
        stacked[place, : len(row)] = row
    return stacked
