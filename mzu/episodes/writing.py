"""Episodes written in any of the formats that are also read (`mzu data convert`); tutorials/data.md describes them."""

from collections.abc import Callable, Iterable
from pathlib import Path

from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.episodes.readers import minari_format, npz, rlu_atari, rlu_control

FORMATS = ("npz", "rlu", "rlu_atari", "minari")


def write_episodes(
    target: str | Path,
    episodes: Iterable[Episode],
    infer_spaces: Callable[[], Spaces],
    format: str | None = None,
    files: int = 1,
) -> None:
    """Writes NAME.npz, or a folder of another format, whole or not at all; what exists is not replaced.

    infer_spaces   finds out what the episodes hold, which may mean to read them all: only asked where a format needs it
    format         default: npz for *.npz, else RL Unplugged's, the one of control tasks or that of Atari
    files          rlu, rlu_atari: over how many files the episodes are spread
    """
    target = Path(target)
    if format is None and target.suffix == ".npz":
        format = "npz"
    if format == "npz":
        if target.exists():
            raise ValueError(f"{target} exists; choose another name, or remove it")
        npz.write_npz(target, episodes)
        return
    spaces = infer_spaces()
    if format is None:
        format = "rlu" if spaces.continuous and not spaces.is_image else "rlu_atari"
    if format == "minari":
        minari_format.write_minari(target, episodes, spaces)
    elif format == "rlu":
        known = target.name in rlu_control.ACTION_DIMENSIONS
        task = rlu_control.control_task(target.name) if known else rlu_control.own_task(target.name, spaces)
        rlu_control.write_control(target, episodes, task, files)
    else:
        rlu_atari.write_atari(target, episodes, num_shards=files)
