"""The experiments' datasets, by what `data` of a task says.

recipe:NAME            the dataset of `mzu collect --recipe NAME`
recipe:NAME:25         its first 25 episodes, or more than the recipe has: episode i depends only on the seed and on i
recipe:NAME:250:1      250 episodes of the same players with seed 1
recorded:NAME          what SAC recorded while it learned (recordings.py)

What is in the package is taken from there. Other recipes are collected on first use, as this project's own .npz
(tutorials/data.md), and kept in a folder of the experiments. Recordings are made by a library that is no part of mzu's
requirements; where one is missing, a sentence says how it is made.
"""

from pathlib import Path
from typing import NamedTuple

from mzu.episodes.embedded import Recipe, recipe
from mzu.experiments.recordings import recording


class Collected(NamedTuple):
    """A recipe, and how much of it."""

    name: str
    made: Recipe
    episodes: int
    seed: int

    @property
    def is_embedded(self) -> bool:
        return self.made.is_embedded and (self.episodes, self.seed) == (self.made.episodes, self.made.seed)

    @property
    def file(self) -> str:
        other_seed = "" if self.seed == self.made.seed else f"-{self.seed}"
        return f"{self.name}-{self.episodes}{other_seed}.npz"


def dataset_path(data: str, folder: Path) -> str:
    """What `Config.data` must say for `data`; what is neither recipe nor recording stays as it is."""
    scheme, _, rest = data.partition(":")
    if scheme == "recorded":
        recording(rest)
        return str((folder / f"{rest}-sac.npz").resolve())
    if scheme != "recipe":
        return data
    collected = _read(rest)
    return f"embedded:{collected.name}" if collected.is_embedded else str((folder / collected.file).resolve())


def provide(data: str, folder: Path, say=print) -> str:
    """Like `dataset_path`, and the file is there afterwards."""
    path = dataset_path(data, folder)
    if path == data or path.startswith("embedded:") or Path(path).exists():
        return path
    scheme, _, rest = data.partition(":")
    if scheme == "recorded":
        raise ValueError(
            f"{path} is missing; `python -m mzu.experiments.record_with_sac {rest} --out {path}` records it, in an "
            "environment that has torch and stable-baselines3"
        )
    collected = _read(rest)
    say(f"Collecting {collected.episodes} episodes of {collected.made.environment} into {path} ...")
    _collect(collected, Path(path))
    return path


def _read(words: str) -> Collected:
    name, *numbers = words.split(":")
    made = recipe(name)
    episodes, seed, *_ = [*map(int, numbers), *(made.episodes, made.seed)[len(numbers) :]]
    return Collected(name, made, episodes, seed)


def _collect(collected: Collected, path: Path) -> None:
    from mzu.acting.collect import collect
    from mzu.environments.make import make
    from mzu.episodes.readers.npz import write_npz

    path.parent.mkdir(parents=True, exist_ok=True)
    with make(collected.made.environment) as environment:
        write_npz(path, collect(environment, "players", collected.episodes, collected.seed))
