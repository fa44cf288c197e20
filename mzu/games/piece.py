"""`Piece`: the stretch of an episode that a game plays.

Episodes are split into pieces for the replay (paper, appendix "Other Hyperparameters": subsequences of length up to
500); with what the searches along it found (`searches.py`) a piece becomes a `Segment`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mzu.config import Config
from mzu.episodes.episode import Episode
from mzu.replay.segment import tail_length


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

    def observation(self, position: int) -> np.ndarray:
        """What the network sees at a position 0..L + E."""
        frame_stack = len(self.observations) - len(self.actions)
        return stack_frames(self.observations[position : position + frame_stack])


def piece_of(episode: Episode, start: int, stop: int, config: Config) -> Piece:
    """The positions start..stop - 1 of a finished episode."""
    return cut_piece(
        episode.observations, episode.actions, episode.rewards, start, stop, config,
        ended=True, terminated=episode.terminated,
    )  # fmt: skip


def cut_piece(
    observations, actions, rewards, start: int, stop: int, config: Config, ended: bool, terminated: bool
) -> Piece:
    """The positions start..stop - 1 of an episode of which these arrays are known so far.

    `ended` and `terminated` say how the arrays end; the piece inherits that where its tail reaches their end.
    """
    last = min(stop + tail_length(config.learning.unroll_steps, config.learning.td_steps), len(actions))
    before = config.network.frame_stack - 1
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


def observation_at(frames: Sequence[np.ndarray], step: int, frame_stack: int) -> np.ndarray:
    """What the network sees at a step of an episode: zeros stand for frames before the first."""
    first = step - frame_stack + 1
    return stack_frames([*[np.zeros_like(frames[0])] * -first, *frames[max(first, 0) : step + 1]])


def stack_frames(frames: Sequence[np.ndarray]) -> np.ndarray:
    """Frames [S, height, width, C], oldest first -> [height, width, S * C]; a single state or frame as it is."""
    if len(frames) == 1:
        return frames[0]
    return np.concatenate(list(frames), axis=-1)
