"""Where stored games come from (paper, section "Reanalyse": its list of uses; notebook 04_reanalyse).

buffer          holds                                            use in the paper
MostRecent      the latest fresh episodes                        data efficiency
Demonstrations  a dataset that never changes                     offline RL, learning from demonstrations
HighestReturn   the fresh episodes with the highest return       exploitation of good episodes

A `Mixture` draws from several of them by weight. What is drawn is a stretch (episode, start, stop), with probability
proportional to its length.
"""

import bisect
import itertools
from collections.abc import Sequence

import numpy as np

from mzu.config import Config
from mzu.episodes.episode import Episode
from mzu.nested_arrays import inside, under
from mzu.replay.segment import stretch_at

_ARRAYS = ("observations", "actions", "rewards")


class EpisodeBuffer:
    """Episodes, and the draw of a stretch of one of them. `add` decides which ones stay."""

    def __init__(self, segment_length: int):
        self.segment_length = segment_length
        self.episodes: Sequence[Episode] = []
        self._ends: list[int] = []

    @property
    def steps(self) -> int:
        return self._ends[-1] if self._ends else 0

    def add(self, episode: Episode) -> None:
        raise NotImplementedError

    def draw(self, rng: np.random.Generator) -> tuple[Episode, int, int]:
        """An episode, and the start and stop of up to `segment_length` positions of it.

        Every position of the buffer is equally likely to be among them.
        """
        if not self.episodes:
            raise ValueError("There is no episode to draw from in this buffer")
        step = int(rng.integers(self.steps))
        number = bisect.bisect_right(self._ends, step)
        episode = self.episodes[number]
        place = step - (self._ends[number] - len(episode))
        return episode, *stretch_at(place, len(episode), self.segment_length)

    def state(self) -> dict[str, np.ndarray]:
        """The episodes one behind the other, as arrays."""
        if not self.episodes:
            return {}
        ends = [(episode.terminated, episode.truncated) for episode in self.episodes]
        arrays = {name: np.concatenate([getattr(e, name) for e in self.episodes]) for name in _ARRAYS}
        return arrays | {"lengths": np.array([len(episode) for episode in self.episodes]), "ends": np.array(ends)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Holds the episodes of `state` again."""
        lengths = state.get("lengths", np.zeros(0, int))
        after = np.cumsum(lengths)
        parts = {name: np.split(state[name], after[:-1]) for name in ("actions", "rewards") if len(lengths)}
        parts["observations"] = np.split(state["observations"], np.cumsum(lengths + 1)[:-1]) if len(lengths) else []
        self._keep(
            [
                Episode(*(parts[name][number] for name in _ARRAYS), *(bool(end) for end in state["ends"][number]))
                for number in range(len(lengths))
            ]
        )

    def _keep(self, episodes: Sequence[Episode]) -> None:
        self.episodes = episodes
        self._ends = list(itertools.accumulate(len(episode) for episode in episodes))


class MostRecent(EpisodeBuffer):
    """The latest episodes that have at most `steps` steps together (the last one always stays)."""

    def __init__(self, steps: int, segment_length: int):
        super().__init__(segment_length)
        self.capacity = steps

    def add(self, episode: Episode) -> None:
        episodes = [*self.episodes, episode]
        total = self.steps + len(episode)
        while total > self.capacity and len(episodes) > 1:
            total -= len(episodes.pop(0))
        self._keep(episodes)


class HighestReturn(EpisodeBuffer):
    """The episodes with the highest return that have at most `steps` steps together; of equal ones the newer."""

    def __init__(self, steps: int, segment_length: int):
        super().__init__(segment_length)
        self.capacity = steps

    def add(self, episode: Episode) -> None:
        place = bisect.bisect_left([-other.total_reward for other in self.episodes], -episode.total_reward)
        episodes = [*self.episodes[:place], episode, *self.episodes[place:]]
        total = self.steps + len(episode)
        while total > self.capacity and len(episodes) > 1:
            total -= len(episodes.pop())
        self._keep(episodes)


class Demonstrations(EpisodeBuffer):
    """A dataset, held as it is; fresh episodes pass it by."""

    def __init__(self, episodes: Sequence[Episode], segment_length: int):
        super().__init__(segment_length)
        self._keep(episodes)

    def add(self, episode: Episode) -> None:
        pass

    def state(self) -> dict[str, np.ndarray]:
        return {}  # it is read from its files again

    def restore(self, state: dict[str, np.ndarray]) -> None:
        pass


class Mixture:
    """Several buffers by weight; those that are still empty are passed over."""

    def __init__(self, buffers: dict[str, tuple[EpisodeBuffer, float]]):
        self.buffers = {name: buffer for name, (buffer, weight) in buffers.items() if weight > 0}
        self.weights = {name: weight for name, (_, weight) in buffers.items() if weight > 0}

    @property
    def is_empty(self) -> bool:
        return not any(buffer.episodes for buffer in self.buffers.values())

    def add(self, episode: Episode) -> None:
        for buffer in self.buffers.values():
            buffer.add(episode)

    def draw(self, rng: np.random.Generator) -> tuple[Episode, int, int]:
        filled = [name for name, buffer in self.buffers.items() if buffer.episodes]
        if not filled:
            raise ValueError("There is no stored game yet; a dataset or a finished fresh game comes first")
        weights = np.array([self.weights[name] for name in filled])
        return self.buffers[rng.choice(filled, p=weights / weights.sum())].draw(rng)

    def state(self) -> dict[str, np.ndarray]:
        return {
            key: array for name, buffer in self.buffers.items() for key, array in under(name, buffer.state()).items()
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        for name, buffer in self.buffers.items():
            buffer.restore(inside(state, name))


def new_sources(config: Config, episodes: Sequence[Episode]) -> Mixture:
    """The buffers that a run draws its stored games from; `episodes` are its dataset."""
    reanalyse, length = config.reanalyse, config.replay.segment_length
    buffers = {
        "most_recent": (MostRecent(reanalyse.most_recent_steps, length), reanalyse.most_recent),
        "demonstrations": (Demonstrations(episodes, length), reanalyse.demonstrations),
        "highest_return": (HighestReturn(reanalyse.highest_return_steps, length), reanalyse.highest_return),
    }
    return Mixture(buffers)
