"""`FreshGame`: an episode while it happens (paper, section "Reanalyse"; notebook 07_training_system)."""

import numpy as np

from mzu.environments.environment import Environment
from mzu.episodes.episode import Episode
from mzu.replay.pieces import cut_piece, stack_frames
from mzu.replay.segment import Segment
from mzu.replay.trace import SearchTrace


class FreshGame:
    """Applies the chosen actions to an environment, and hands out segments as soon as they are complete.

    The seed of the reset and the actions define where the environment is: that is how a game that was interrupted goes
    on later (`restore_game` in `player.py`).
    """

    is_stored = False

    def __init__(
        self, environment: Environment, seed: int, segment_length: int, tail: int, frame_stack: int, trace: SearchTrace
    ):
        self.environment, self.seed = environment, seed
        self.segment_length, self.tail, self.frame_stack = segment_length, tail, frame_stack
        self.trace = trace
        self.observations, self.actions, self.rewards = [environment.reset(seed=seed)], [], []
        self.terminated = self.truncated = False
        self.segmented = 0  # positions that were handed out

    @property
    def observation(self) -> np.ndarray:
        """What the network sees now: zeros stand for frames before the first."""
        frames = self.observations[-self.frame_stack :]
        missing = self.frame_stack - len(frames)
        return stack_frames(np.stack([np.zeros_like(frames[0])] * missing + frames))

    @property
    def legal_actions(self) -> np.ndarray | None:
        return self.environment.legal_actions()

    @property
    def finished(self) -> bool:
        return self.terminated or self.truncated

    def take(self, action, policy, candidates, value: float, raw_value: float) -> None:
        """Records what the search found and applies the action."""
        self.trace.record(policy, candidates, value, raw_value)
        self.apply(action)

    def apply(self, action) -> None:
        """One step of the environment."""
        observation, reward, self.terminated, self.truncated = self.environment.step(action)
        self.observations.append(observation)
        self.actions.append(action)
        self.rewards.append(reward)

    def pop_segments(self) -> list[Segment]:
        """The segments that became complete: their positions, and all steps that their targets look at."""
        segments, steps = [], len(self.actions)
        while self.segmented < steps:
            stop = min(self.segmented + self.segment_length, steps)
            if stop + self.tail > steps and not self.finished:
                break
            # Arrays of the whole game would be made anew for every segment: only what this one needs.
            first, last = max(self.segmented - self.frame_stack + 1, 0), min(stop + self.tail, steps)
            reaches_end = last == steps
            piece = cut_piece(
                np.stack(self.observations[first : last + 1]), self.action_array(first, last),
                np.float32(self.rewards[first:last]), self.segmented - first, stop - first, self.tail, self.frame_stack,
                ended=self.finished and reaches_end, terminated=self.terminated and reaches_end,
            )  # fmt: skip
            segments.append(self.trace.finish(piece, stored=False))
            self.segmented = stop
        return segments

    def episode(self) -> Episode:
        """The finished game as an episode."""
        return Episode(
            observations=np.stack(self.observations),
            actions=self.action_array(),
            rewards=np.float32(self.rewards),
            terminated=self.terminated,
            truncated=self.truncated,
            seed=self.seed,
            repeat=self.environment.repeat,
            source=f"{self.environment.id}, seed {self.seed}",
        )

    def action_array(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """The actions start..stop - 1 that were taken."""
        kind = np.float32 if self.environment.spaces.continuous else np.int32
        return np.array(self.actions[start:stop], kind)
