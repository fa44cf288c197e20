"""`SearchTrace`: what the searches along a game found, until a piece of it is complete and becomes a `Segment`."""

import numpy as np

from mzu.config import Config
from mzu.replay.pieces import Piece, finish_piece
from mzu.replay.returns import n_step_returns
from mzu.replay.segment import Segment


class SearchTrace:
    """Visit distributions, candidates and values of the positions searched so far that are in no segment yet."""

    def __init__(self, config: Config):
        self.discount, self.td_steps = config.search.discount, config.learning.td_steps
        self.policies, self.candidates, self.values, self.raw_values = [], [], [], []

    def __len__(self) -> int:
        return len(self.values)

    def record(self, policy, candidates, value: float, raw_value: float) -> None:
        """One position: policy [K], candidates [K(, D)], search value and the network's own value.

        Candidates are None where they are all actions in order; so is the policy where nothing was searched.
        """
        self.policies.append(policy)
        self.candidates.append(candidates)
        self.values.append(value)
        self.raw_values.append(raw_value)

    def finish(self, piece: Piece, stored: bool) -> Segment:
        """A segment of the first L positions, which are then forgotten."""
        length = piece.length
        values, raw_values = np.float32(self.values[:length]), np.float32(self.raw_values[:length])
        policy = None if self.policies[0] is None else _stack_padded(self.policies[:length])
        actions = None if self.candidates[0] is None else _stack_padded(self.candidates[:length])
        priorities = first_priorities(piece, values, raw_values, self.discount, self.td_steps)
        for kept in (self.policies, self.candidates, self.values, self.raw_values):
            del kept[:length]
        return finish_piece(piece, policy, actions, values, priorities, stored)

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
    """|nu - z| [L] as far as it is known when a piece is finished; the learner replaces it when it samples a position.

    z is bootstrapped from the search value n steps later, or from the last one of the piece. With TD-0, where z = nu,
    the distance to the network's own value takes its place.
    """
    if td_steps == 0:
        return np.abs(values - raw_values)
    # One row of L positions, whose data end after all steps of the piece.
    rewards = np.concatenate([piece.rewards, np.zeros(td_steps, np.float32)])[None]
    bootstrap = values[np.minimum(np.arange(piece.length) + td_steps, piece.length - 1)][None]
    steps_left, terminated = np.array([len(piece.rewards)]), np.array([piece.terminated])
    return np.abs(values - n_step_returns(rewards, bootstrap, steps_left, terminated, discount, td_steps)[0])


def _stack_padded(rows: list[np.ndarray]) -> np.ndarray:
    """Rows [K_i, ...] of different K as one array [L, max K, ...], with zeros behind the shorter ones."""
    widest = max(len(row) for row in rows)
    stacked = np.zeros((len(rows), widest, *rows[0].shape[1:]), rows[0].dtype)
    for place, row in enumerate(rows):
        stacked[place, : len(row)] = row
    return stacked
