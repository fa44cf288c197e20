"""`StoredGame`: a piece of an episode that is played again (paper, section "Reanalyse"; notebook 04_reanalyse).

It looks like a fresh game to whoever plays it, except that it goes where the episode went: the action that the search
prefers is recorded as a target, and never taken.
"""

import numpy as np

from mzu.config import Config
from mzu.games.piece import Piece
from mzu.games.searches import Searches
from mzu.nested_arrays import inside, under
from mzu.replay.segment import Segment


class StoredGame:
    """One position after the other of a piece, from `position` on."""

    is_stored = True
    legal_actions = None  # the stored action was legal; which others were is not recorded

    def __init__(self, piece: Piece, config: Config, position: int = 0):
        self.piece, self.searches = piece, Searches(config)
        # Critical: not the number of searches, which forget the piece as soon as it is a segment. A game that asked
        # them would never be finished, and the same piece would be searched for ever.
        self.position = position

    @property
    def observation(self) -> np.ndarray:
        """What the network sees now."""
        return self.piece.observation(self.position)

    @property
    def action(self):
        """The stored action at this position as a candidate, which an injection makes of it: an integer, or [D]."""
        action = self.piece.actions[self.position]
        # Stored actions may lie a rounding error outside of the bounds (`BOUND_TOLERANCE`); candidates may not.
        return np.clip(action, -1, 1) if np.ndim(action) else action

    def followed_by(self) -> tuple[float, np.ndarray, bool]:
        """What really followed the stored action: its reward, the next observation, and whether that is terminal."""
        piece, following = self.piece, self.position + 1
        terminal = piece.terminated and following == len(piece.actions)
        return float(piece.rewards[self.position]), piece.observation(following), terminal

    @property
    def finished(self) -> bool:
        return self.position == self.piece.length

    def take(self, action, policy, candidates, value: float, raw_value: float) -> None:
        """Records what the search found and goes on to the next stored position, whatever `action` was chosen."""
        self.searches.add(policy, candidates, value, raw_value)
        self.position += 1

    def pop_segments(self) -> list[Segment]:
        """The piece as a segment, once all of it is searched."""
        return [self.searches.pop_segment(self.piece)] if self.finished and len(self.searches) else []

    def state(self) -> dict[str, np.ndarray]:
        """The piece, and what was found in it so far."""
        piece = self.piece
        arrays = {"observations": piece.observations, "actions": piece.actions, "rewards": piece.rewards}
        arrays |= {"length": np.array(piece.length), "ends": np.array([piece.ended, piece.terminated])}
        return arrays | under("trace", self.searches.state())

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray], config: Config) -> "StoredGame":
        """The game that `state` was taken of."""
        arrays, ends = (state["observations"], state["actions"], state["rewards"]), map(bool, state["ends"])
        game = cls(Piece(*arrays, int(state["length"]), *ends), config)
        game.searches.restore(inside(state, "trace"))
        game.position = len(game.searches)
        return game
