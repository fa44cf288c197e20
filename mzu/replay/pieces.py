"""`Piece`: a stretch of an episode before it is searched.

Episodes are split into pieces for the replay (paper, appendix "Other Hyperparameters": subsequences of length up to
500); with the results of the search a piece becomes a `Segment`.
"""

from dataclasses import dataclass

import numpy as np

from mzu.config import LearningConfig
from mzu.replay.segment import Segment


@dataclass(frozen=True, eq=False)
class Piece:
    """L positions to be searched, and the E steps that follow them, as far as their targets look ahead.

    field         shape                 meaning
    observations  [H + L + E + 1, ...]  single frames; H = frame_stack - 1 of them only complete the first stacks
    actions       [L + E(, D)]
    rewards       [L + E]
    length        L
    ended         bool                  the episode ends with the last observation
    terminated    bool                  and that end is terminal
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    length: int
    ended: bool
    terminated: bool

    def observation(self, position: int, frame_stack: int) -> np.ndarray:
        """What the network sees at a position 0..L + E."""
        return stack_frames(self.observations[position : position + frame_stack])


def tail_length(config: LearningConfig) -> int:
    """E: how many steps after a position its targets look at."""
    return config.unroll_steps + max(config.td_steps, 1)


def cut_piece(
    observations, actions, rewards, start: int, stop: int, tail: int, frame_stack: int, ended: bool, terminated: bool
) -> Piece:
    """The positions start..stop - 1 of an episode of which these arrays are known so far.

    `ended` and `terminated` say how the arrays end; the piece inherits that where its tail reaches their end.
    """
    last = min(stop + tail, len(actions))
    before = frame_stack - 1
    frames = observations[max(start - before, 0) : last + 1]
    if start < before:
        zeros = np.zeros((before - start, *frames.shape[1:]), frames.dtype)
        frames = np.concatenate([zeros, frames])
    reaches_end = last == len(actions)
    return Piece(
        observations=frames,
        actions=actions[start:last],
        rewards=rewards[start:last],
        length=stop - start,
        ended=ended and reaches_end,
        terminated=terminated and reaches_end,
    )


def stack_frames(frames: np.ndarray) -> np.ndarray:
    """Frames [S, height, width, C], oldest first -> [height, width, S * C]; a single state or frame as it is."""
    if len(frames) == 1:
        return frames[0]
    return np.concatenate(list(frames), axis=-1)


def finish_piece(piece: Piece, policy, actions, value, priorities, stored: bool) -> Segment:
    """A piece whose L positions were searched: policy [L, K] or None, actions [L, K(, D)] or None, value [L]."""
    return Segment(
        observations=piece.observations,
        actions=piece.actions,
        rewards=piece.rewards,
        ended=piece.ended,
        terminated=piece.terminated,
        search_policy=policy,
        search_actions=actions,
        search_value=value,
        priorities=priorities,
        stored=stored,
    )
