"""What `mzu data info` and `mzu data check` count while episodes stream by, with memory that does not grow with frames.

Notebook 10_dataset_doctor.
"""

import hashlib

import numpy as np

from mzu.episodes.episode import Episode

ACTION_BINS = 20
MOST_ACTIONS = 100_000  # discrete ones that are counted; larger numbers are surely no actions
_EXAMPLES = 5  # places that are remembered of each kind of trouble


class Statistics:
    """Feed with `add(episode)`.

    attribute         meaning
    lengths, returns  one number per episode
    ends              how many are terminated, truncated, or neither
    action_counts     discrete: how often each action was taken [A]; continuous: histogram over [-1, 1] [D, 20]
    low, high         smallest and largest value of each observed number [O] (of each pixel for images)
    repeats           for how many steps actions were held (None: not known): the first such episode
    duplicates        (episode, the earlier one that it equals), the first few; num_duplicates counts all
    """

    def __init__(self):
        self.lengths: list[int] = []
        self.returns: list[float] = []
        self.ends = {"terminated": 0, "truncated": 0, "neither": 0}
        self.forms: dict[tuple, int] = {}
        self.repeats: dict[int | None, int] = {}
        self.observation_shape: tuple | None = None
        self.observation_dtype = None
        self.continuous = False
        self.action_counts = np.zeros(0, np.int64)
        self.action_low = self.action_high = None
        self.low = self.high = None
        self.num_rewards = 0
        self.reward_low, self.reward_high = np.inf, -np.inf
        self.duplicates: list[tuple[int, int]] = []
        self.num_duplicates = 0
        self.no_change: list[int] = []
        self._seen: dict[bytes, int] = {}

    @property
    def num_episodes(self) -> int:
        return len(self.lengths)

    @property
    def num_steps(self) -> int:
        return sum(self.lengths)

    @property
    def known_repeats(self) -> list[int]:
        return sorted(repeat for repeat in self.repeats if repeat is not None)

    def add(self, episode: Episode) -> None:
        """Counts one more episode."""
        number = len(self.lengths)
        self.lengths.append(len(episode))
        self.returns.append(episode.total_reward)
        end = "terminated" if episode.terminated else "truncated" if episode.truncated else "neither"
        self.ends[end] += 1
        self.num_rewards += int(np.count_nonzero(episode.rewards))
        self.reward_low = min(self.reward_low, float(episode.rewards.min()))
        self.reward_high = max(self.reward_high, float(episode.rewards.max()))
        form = (episode.observations.shape[1:], str(episode.observations.dtype), episode.actions.shape[1:])
        self.forms.setdefault(form, number)
        self.repeats.setdefault(episode.repeat, number)
        if len(self.forms) == 1:  # others cannot be added up with the first
            self._add_observations(episode, number)
            self._add_actions(episode)
        self._look_for_duplicate(episode, number)

    def _add_observations(self, episode: Episode, number: int) -> None:
        self.observation_shape = episode.observations.shape[1:]
        self.observation_dtype = episode.observations.dtype
        low, high = episode.observations.min(axis=0), episode.observations.max(axis=0)
        if (low == high).all() and len(self.no_change) < _EXAMPLES:
            self.no_change.append(number)
        self.low = low if self.low is None else np.minimum(self.low, low)
        self.high = high if self.high is None else np.maximum(self.high, high)

    def _add_actions(self, episode: Episode) -> None:
        self.continuous = episode.is_continuous
        low, high = episode.actions.min(axis=0), episode.actions.max(axis=0)
        self.action_low = low if self.action_low is None else np.minimum(self.action_low, low)
        self.action_high = high if self.action_high is None else np.maximum(self.action_high, high)
        if episode.is_continuous:
            bins = np.clip((episode.actions + 1) / 2 * ACTION_BINS, 0, ACTION_BINS - 1).astype(int)
            counts = np.stack([np.bincount(column, minlength=ACTION_BINS) for column in bins.T])
        else:
            counts = np.bincount(np.clip(episode.actions, 0, MOST_ACTIONS - 1))
        if counts.shape != self.action_counts.shape:
            grown = np.zeros(np.maximum(counts.shape, self.action_counts.shape[-counts.ndim :]), np.int64)
            if self.action_counts.size:
                grown[: len(self.action_counts)] = self.action_counts
            self.action_counts = grown
        self.action_counts[: len(counts)] += counts

    def _look_for_duplicate(self, episode: Episode, number: int) -> None:
        digest = hashlib.blake2b(digest_size=16)
        for array in (episode.actions, episode.rewards, episode.observations):
            digest.update(np.ascontiguousarray(array).data)
        earlier = self._seen.setdefault(digest.digest(), number)
        if earlier != number:
            self.num_duplicates += 1
            if len(self.duplicates) < _EXAMPLES:
                self.duplicates.append((number, earlier))


class JpegTraces:
    """Whether images were compressed as JPEG: then a small change spreads over a whole block of 8x8 pixels.

    Counts the blocks that change from frame to frame, once on the grid of JPEG and once on a grid moved by 4 pixels.
    For pictures as they were drawn both counts are about equal; after JPEG the moved grid has far more.
    """

    MOST_FRAMES = 400

    def __init__(self):
        self.frames = 0
        self._aligned = self._moved = 0

    def add(self, episode: Episode) -> None:
        """Looks at an episode's frames, until there are enough."""
        shape = episode.observations.shape
        if self.frames >= self.MOST_FRAMES or len(shape) != 4 or min(shape[1:3]) < 24:
            return
        frames = episode.observations[: self.MOST_FRAMES, :, :, 0].astype(np.int16)
        changed = np.diff(frames, axis=0) != 0
        rows, columns = (size // 8 * 8 - 8 for size in changed.shape[1:])
        # Two aligned windows, one on either side of the moved one, so that what happens near a border counts fairly.
        for start in (0, 8):
            self._aligned += _blocks(changed[:, start : start + rows, start : start + columns]) / 2
        self._moved += _blocks(changed[:, 4 : 4 + rows, 4 : 4 + columns])
        self.frames += len(frames)

    @property
    def ratio(self) -> float:
        """Changed blocks of the moved grid per changed block of JPEG's; 1 when nothing can be said."""
        return self._moved / self._aligned if self._aligned >= 50 else 1.0

    @property
    def found(self) -> bool:
        return self.ratio > 1.7


def _blocks(changed: np.ndarray) -> int:
    steps, rows, columns = changed.shape
    return int(changed.reshape(steps, rows // 8, 8, columns // 8, 8).any(axis=(2, 4)).sum())
