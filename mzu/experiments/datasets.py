"""The experiments' datasets: `recipe:NAME` is the dataset of `mzu collect --recipe NAME`, `recipe:NAME:25` its first 25
episodes, or more than the recipe has: episode i depends only on the seed and on i.

What is in the package is taken from there. Everything else is collected on first use, as this project's own .npz
(tutorials/data.md), and kept in a folder of the experiments.
"""

from pathlib import Path

from mzu.episodes.embedded import Recipe, recipe

SCHEME = "recipe"


def dataset_path(data: str, folder: Path) -> str:
    """What `Config.data` must say for `data`; anything that is no recipe stays as it is."""
    name, episodes, made = _read(data)
    if made is None:
        return data
    if made.is_embedded and episodes == made.episodes:
        return f"embedded:{name}"
    return str((folder / f"{name}-{episodes}.npz").resolve())


def provide(data: str, folder: Path, say=print) -> str:
    """Like `dataset_path`, and the file is there afterwards."""
    path = dataset_path(data, folder)
    _, episodes, made = _read(data)
    if made is not None and path.endswith(".npz") and not Path(path).exists():
        say(f"Collecting {episodes} episodes of {made.environment} into {path} ...")
        _collect(made, episodes, Path(path))
    return path


def _read(data: str) -> tuple[str, int, Recipe | None]:
    scheme, _, rest = data.partition(":")
    if scheme != SCHEME:
        return data, 0, None
    name, _, episodes = rest.partition(":")
    made = recipe(name)
    return name, int(episodes or made.episodes), made


def _collect(made: Recipe, episodes: int, path: Path) -> None:
    from mzu.collect import collect
    from mzu.environments.make import make
    from mzu.episodes.npz import write_npz

    path.parent.mkdir(parents=True, exist_ok=True)
    with make(made.environment) as environment:
        write_npz(path, collect(environment, "players", episodes, made.seed))
