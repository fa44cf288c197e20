"""Episodes that a run never learns from, so that its policy can be judged by them (`reanalyse.held_out`;
tutorials/offline_judgement.md).

Whole episodes, drawn from the run's seed: steps of one episode resemble each other, and a policy that has learned from
some of them would be judged by their neighbours. Which ones they are stands in the run's held_out.json.
"""

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from mzu.episodes.dataset import load_episodes
from mzu.episodes.episode import Episode
from mzu.episodes.held_episodes import HeldEpisodes
from mzu.training.results import shown_path
from mzu.training.run_folder import RunFolder

FILE = "held_out.json"


class ChosenEpisodes(Sequence):
    """Some of `episodes`, by their numbers, without a copy: all of them stay where they are held."""

    def __init__(self, episodes: HeldEpisodes, numbers: Sequence[int]):
        self._episodes, self.numbers = episodes, [int(number) for number in numbers]

    @property
    def bytes_in_memory(self) -> int:
        return self._episodes.bytes_in_memory

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, number: int) -> Episode:
        return self._episodes[self.numbers[number]]


def split_episodes(episodes: Sequence[Episode], share: float, seed: int) -> tuple[Sequence, Sequence]:
    """-> (the episodes to learn from, those that are held out); the same seed draws the same ones."""
    if share == 0:
        return episodes, []
    count = round(share * len(episodes))
    if not 0 < count < len(episodes):
        what = "no episode at all" if count == 0 else "all of them, and nothing to learn from"
        raise ValueError(
            f"reanalyse.held_out is {share}, which of {len(episodes)} episodes holds out {what}; choose a share "
            + (f"between {1 / len(episodes):.2g} and {1 - 1 / len(episodes):.2g}" if len(episodes) > 1 else "of 0")
        )
    drawn = np.random.default_rng([seed, 7]).permutation(len(episodes))
    return ChosenEpisodes(episodes, np.sort(drawn[count:])), ChosenEpisodes(episodes, np.sort(drawn[:count]))


def record_held_out(folder: RunFolder, held_out: Sequence[Episode]) -> None:
    """Notes in a run's folder which episodes are held out; a run that goes on must hold out the same ones."""
    if not held_out:
        return
    if (folder.path / FILE).is_file():
        check_held_out(folder, held_out)
    else:
        folder.save_text(FILE, json.dumps({"numbers": held_out.numbers, "digest": _digest(held_out)}) + "\n")


def check_held_out(folder: RunFolder, held_out: Sequence[Episode]) -> None:
    """A sentence where these are not the episodes that the run has held out: its data have changed."""
    path = folder.path / FILE
    if not path.is_file():
        raise ValueError(f"{path} is missing, so nobody knows what {folder.path} has not learned from; put it back")
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        same = recorded["numbers"] == held_out.numbers and recorded["digest"] == _digest(held_out)
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{path} cannot be read; put it back from a copy") from None
    if not same:
        raise ValueError(
            f"{folder.config.data} is not the dataset that {folder.path} was trained on: its held-out episodes differ "
            f"from those of {FILE}; put the data back as they were"
        )


def judged_episodes(folder: RunFolder) -> tuple[Sequence[Episode], Sequence[Episode]]:
    """The episodes that a run learns from, and those that it has held out (none: []); no environment is needed."""
    config = folder.config
    if config.data is None:
        raise ValueError(
            f"{folder.name} has learned from no data, so there are no episodes to judge it by; `mzu evaluate "
            f"{shown_path(folder.name)}` plays it"
        )
    episodes = HeldEpisodes(load_episodes(config.data, config.data_root), 1e9 * config.run.data_memory)
    learned, held_out = split_episodes(episodes, config.reanalyse.held_out, config.seed)
    if held_out:
        check_held_out(folder, held_out)
    return learned, held_out


def _digest(episodes: Sequence[Episode]) -> str:
    """Tells actions and rewards of these episodes from those of others."""
    digest = hashlib.sha256()
    for episode in episodes:
        digest.update(np.asarray(episode.actions, np.float32).tobytes())
        digest.update(np.asarray(episode.rewards, np.float32).tobytes())
    return digest.hexdigest()[:16]
