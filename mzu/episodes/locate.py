"""Where the files of a named dataset lie, and which format a file or folder has. Notebook 09_real_data."""

import difflib
import re
from pathlib import Path

from mzu.episodes.embedded import embedded_path
from mzu.episodes.readers import minari_format, rlu_control
from mzu.episodes.readers.faults import ShuffledTransitions
from mzu.episodes.readers.files import SHARD

_ROOT = "--root FOLDER (mzu train: --set data_root=FOLDER; in Python: root=FOLDER)"
SCHEMES = ("embedded", "rlu", "rlu_atari", "dqn_replay", "minari")


def locate(source: str | Path, root) -> tuple[str, str, Path]:
    """(scheme, name, path) of what was asked for."""
    if root is None and not str(source).strip():
        raise ValueError("The name of the dataset is empty; give a path, or a name such as embedded:cartpole")
    scheme, colon, name = str(source).partition(":")
    if isinstance(source, Path) or not colon or (scheme not in SCHEMES and Path(source).exists()):
        path = Path(source) if root is None else Path(root) / source
        return _recognise(path)
    if scheme not in SCHEMES:
        near = difflib.get_close_matches(scheme, SCHEMES, n=1)
        advice = f"did you mean {near[0]}:{name}?" if near else f"known are {', '.join(f'{s}:...' for s in SCHEMES)}"
        raise ValueError(f"There is no dataset format {scheme!r}; {advice}")
    if scheme == "embedded":
        return scheme, name, embedded_path(name)
    if scheme == "minari":
        return scheme, name, minari_format.dataset_folder(name, root)
    if root is None:
        raise ValueError(f"{source} needs the folder that holds the downloaded files: {_ROOT}; see tutorials/data.md")
    if scheme == "rlu":
        rlu_control.control_task(name)  # a mistyped task is a better message than a missing folder
    return scheme, name, _search_folder(scheme, name, Path(root))


# Where the files may lie below `root`: as in the public bucket, as in TensorFlow Datasets' test data, or directly.
_PLACES = {
    "rlu": ("dm_control_suite_episodes/{}", "rlu_control_suite/{}", "{}", "."),
    "rlu_atari": ("atari_episodes_ordered/{}", "rlu_atari/{}", "{}", "."),
    "dqn_replay": ("dqn/{}/replay_logs", "{}/replay_logs", "replay_logs", "."),
}
_SHUFFLED = {"rlu": ("dm_control_suite", "dm_control_suite_episodes"), "rlu_atari": ("atari", "atari_episodes_ordered")}


def _search_folder(scheme: str, name: str, root: Path) -> Path:
    folder_name = name.split("/")[0] if scheme == "rlu_atari" else name
    tried = [root / place.format(folder_name) for place in _PLACES[scheme]]
    for folder in tried:
        if folder.is_dir() and _kind_of_folder(folder) == scheme:
            _refuse_shuffled(scheme, folder)
            return folder
    if scheme in _SHUFFLED:
        wrong, right = _SHUFFLED[scheme]
        if (root / wrong / folder_name).is_dir():
            raise ShuffledTransitions(root / wrong / folder_name, f"{right}/{folder_name}")
    raise ValueError(f"There are no files of {scheme}:{name} under {root}; looked in {', '.join(map(str, tried[:-1]))}")


def _recognise(path: Path) -> tuple[str, str, Path]:
    """(scheme, name, path) of a file or folder, by the names of the files."""
    if not path.exists():
        raise ValueError(f"{path} does not exist; a named dataset looks like rlu:cartpole_swingup, with {_ROOT}")
    if not (path.is_file() or path.is_dir()):
        raise ValueError(f"{path} is neither a file nor a folder, but a pipe or a device; write it to a file first")
    kind = _kind_of_folder(path) if path.is_dir() else _kind_of_file(path)
    if kind is None:
        what = "is no .npz and not named like a file of RL Unplugged (train-00000-of-00100, run_1-00000-of-00050)"
        if path.is_dir():
            what = "holds no .npz, no files of RL Unplugged or DQN Replay, and no Minari dataset"
        raise ValueError(f"{path} {what}; the formats are described in tutorials/data.md")
    folder = path if path.is_dir() else path.parent
    _refuse_shuffled(kind, folder)
    if kind == "dqn_replay":
        folder = folder / "replay_logs" if (folder / "replay_logs").is_dir() else folder
        parts = folder.resolve().parts
        return kind, "/".join(parts[-3:-1]) if folder.name == "replay_logs" else folder.name, folder
    return kind, folder.resolve().name, path


def _kind_of_file(path: Path) -> str | None:
    match = SHARD.fullmatch(path.name)
    if match and match["prefix"] == "train":
        return "rlu"
    if match and re.fullmatch(r"run_\d+", match["prefix"]):
        return "rlu_atari"
    return "npz" if path.suffix == ".npz" else None


def _kind_of_folder(folder: Path) -> str | None:
    if (folder / "data" / "metadata.json").is_file() or (folder / "metadata.json").is_file():
        return "minari"
    logs = folder / "replay_logs" if (folder / "replay_logs").is_dir() else folder
    if any(path.name.startswith("$store$_") for path in logs.iterdir()):
        return "dqn_replay"
    return next((kind for path in sorted(folder.iterdir()) if path.is_file() and (kind := _kind_of_file(path))), None)


def _refuse_shuffled(scheme: str, folder: Path) -> None:
    wrong, right = _SHUFFLED.get(scheme, (None, None))
    if wrong and folder.resolve().parent.name == wrong:
        raise ShuffledTransitions(folder, f"{right}/{folder.name}")
