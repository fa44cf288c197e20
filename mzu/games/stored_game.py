"""`StoredGame`: a piece of an episode that is played again (paper, section "Reanalyse"; notebook 04_reanalyse).

It looks like a fresh game to whoever plays it, except that it goes where the episode went: the action that the search
prefers is recorded as a target, and never taken.
"""

import numpy as np

from mzu.replay.pieces import Piece
from mzu.replay.segment import Segment
from mzu.replay.trace import SearchTrace


class StoredGame:
    """One position after the other of a piece, from the first that `trace` has no search of."""

    is_stored = True
    legal_actions = None  # the stored action was legal; which others were is not recorded

    def __init__(self, piece: Piece, frame_stack: int, trace: SearchTrace):
        self.piece, self.frame_stack, self.trace = piece, frame_stack, trace
        # Critical: not the length of the trace, which forgets the piece as soon as it is a segment. A game that asked
        # the trace would never be finished, and the same piece would be searched for ever.
        self.position = len(trace)

    @property
    def observation(self) -> np.ndarray:
        """What the network sees now."""
        return self.piece.observation(self.position, self.frame_stack)

    @property
    def action(self):
        """The stored action at this position, which joins the candidates of a sampled search."""
        return self.piece.actions[self.position]

    def followed_by(self) -> tuple[float, np.ndarray, bool]:
        """What really followed the stored action: its reward, the next observation, and whether that is terminal."""
        piece, following = self.piece, self.position + 1
        terminal = piece.terminated and following == len(piece.actions)
        return float(piece.rewards[self.position]), piece.observation(following, self.frame_stack), terminal

    @property
    def finished(self) -> bool:
        return self.position == self.piece.length

    def take(self, action, policy, candidates, value: float, raw_value: float) -> None:
        """Records what the search found and goes on to the next stored position, whatever `action` was chosen."""
        self.trace.record(policy, candidates, value, raw_value)
        self.position += 1

    def pop_segments(self) -> list[Segment]:
        """The piece as a segment, once all of it is searched."""
        return [self.trace.finish(self.piece, stored=True)] if self.finished and len(self.trace) else []
