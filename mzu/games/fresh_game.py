"""`FreshGame`: an episode while it happens (paper, section "Reanalyse"; notebook 07_training_system)."""

import numpy as np

from mzu.config import Config
from mzu.environments.environment import Environment
from mzu.episodes.episode import Episode
from mzu.games.piece import cut_piece, observation_at
from mzu.games.searches import Searches
from mzu.nested_arrays import inside, under
from mzu.replay.segment import Segment, tail_length


class DoesNotRepeat(ValueError):
    """The same seed and actions led elsewhere in the environment of this id."""


class FreshGame:
    """Applies the chosen actions to an environment, and hands out segments as soon as they are complete.

    The seed of the reset and the actions define where the environment is: that is how a game that was interrupted goes
    on later (`from_state`).
    """

    is_stored = False

    def __init__(self, environment: Environment, seed: int, config: Config):
        self.environment, self.seed, self.config = environment, seed, config
        self.searches = Searches(config)
        self.observations, self.actions, self.rewards = [environment.reset(seed=seed)], [], []
        self.terminated = self.truncated = False
        self.segmented = 0  # positions that were handed out

    @property
    def observation(self) -> np.ndarray:
        """What the network sees now."""
        return observation_at(self.observations, len(self.actions), self.config.network.frame_stack)

    @property
    def legal_actions(self) -> np.ndarray | None:
        return None if self.finished else self.environment.legal_actions()

    @property
    def finished(self) -> bool:
        return self.terminated or self.truncated

    def take(self, action, policy, candidates, value: float, raw_value: float) -> None:
        """Records what the search found and applies the action."""
        self.searches.add(policy, candidates, value, raw_value)
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
        tail = tail_length(self.config.learning.unroll_steps, self.config.learning.td_steps)
        while self.segmented < steps:
            stop = min(self.segmented + self.config.replay.segment_length, steps)
            if stop + tail > steps and not self.finished:
                break
            # Arrays of the whole game would be made anew for every segment: only what this one needs.
            first = max(self.segmented - self.config.network.frame_stack + 1, 0)
            last = min(stop + tail, steps)
            reaches_end = last == steps
            piece = cut_piece(
                np.stack(self.observations[first : last + 1]), self.action_array(first, last),
                np.float32(self.rewards[first:last]), self.segmented - first, stop - first, self.config,
                ended=self.finished and reaches_end, terminated=self.terminated and reaches_end,
            )  # fmt: skip
            segments.append(self.searches.pop_segment(piece))
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

    def state(self) -> dict[str, np.ndarray]:
        """Seed and actions, where they led, and what was found on the way."""
        arrays = {"seed": np.array(self.seed), "actions": self.action_array(), "observation": self.observation}
        arrays |= {"rewards": np.array(self.rewards, float), "segmented": np.array(self.segmented)}
        return arrays | under("trace", self.searches.state())

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray], environment: Environment, config: Config) -> "FreshGame":
        """The game that `state` was taken of, brought back by taking the same actions again."""
        try:
            game = cls(environment, int(state["seed"]), config)
            for action in state["actions"]:
                game.apply(action if environment.spaces.continuous else int(action))
        except ValueError as error:  # it ended earlier, or failed
            raise DoesNotRepeat(environment.id) from error
        same = np.array_equal(game.observation, state["observation"]) and np.array_equal(game.rewards, state["rewards"])
        if not same:
            raise DoesNotRepeat(environment.id)
        game.searches.restore(inside(state, "trace"))
        game.segmented = int(state["segmented"])
        return game
