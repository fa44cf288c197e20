"""Minari, Farama's format for offline data: imported and exported without loss. Needs `pip install 'mzu[data]'`.

Minari stores T + 1 observations, T actions, rewards, terminations and truncations, as we do; for how many steps actions
were held stands in the metadata of each episode, as `repeat`. Its writer compresses
images as JPEG unless told not to; such a dataset is read with a warning, since its pictures are not what the agent
saw. Its files hold no checksum: what mzu writes has one in its metadata, of all files, and is refused where a byte of
them has changed; of anybody else's a changed number cannot be told. Notebook 09_real_data.
"""

import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.episodes.readers.faults import Fault, OnFault, raise_fault
from mzu.extras import require
from mzu.files import written_whole


class LossyImages(UserWarning):
    """The pictures of a dataset were compressed with loss."""


def dataset_folder(identifier: str, root: str | Path | None = None) -> Path:
    """Where `identifier` lies: under `root`, or where Minari keeps its datasets. Nothing is downloaded."""
    _require_minari()
    if root is None:
        from minari.storage.datasets_root_dir import get_dataset_path

        folder = Path(get_dataset_path(identifier))
    else:
        folder = Path(root) / identifier
    if not folder.is_dir():
        raise ValueError(f"There is no dataset in {folder}; fetch it once with: minari download {identifier}")
    return folder


def open_minari(folder: str | Path):
    """Minari's own object for the dataset in this folder, after a warning where its images are lossy."""
    _require_minari()
    import minari
    from minari.dataset.minari_storage import is_image_space

    folder = Path(folder).resolve()  # Minari joins a relative path to itself
    data = folder / "data" if (folder / "data").is_dir() else folder
    try:
        _check_unchanged(data)
        dataset = minari.MinariDataset(data)
    except Fault:
        raise
    except Exception as error:  # whatever Minari and HDF5 meet in a damaged file
        raise Fault(f"Minari cannot open the dataset: {_reason(error)}", folder) from None
    if dataset.storage.jpeg_encoding and any(is_image_space(space) for space in _leaves(dataset.observation_space)):
        what = "its images were compressed as JPEG, so they differ from what the agent saw by some grey levels"
        warnings.warn(f"{folder}: {what}; ask for a dataset made with jpeg_encoding=False", LossyImages, stacklevel=2)
    return dataset


def minari_spaces(dataset) -> Spaces:
    """Our description of Minari's spaces; dictionaries and tuples of numbers become one vector."""
    import gymnasium

    observation, action = dataset.observation_space, dataset.action_space
    if isinstance(action, gymnasium.spaces.Discrete):
        actions, continuous = int(action.n), False
    elif isinstance(action, gymnasium.spaces.Box) and len(action.shape) == 1:
        actions, continuous = action.shape[0], True
        if not (np.isfinite(action.low).all() and np.isfinite(action.high).all()):
            raise ValueError(f"The actions {action} have no bounds, so they cannot be mapped to [-1, 1]")
    else:
        raise ValueError(
            f"The actions {action} are neither numbers 0..A - 1 nor vectors, which is all that mzu searches over"
        )
    if isinstance(observation, gymnasium.spaces.Box) and len(observation.shape) == 3:
        kind = "uint8" if observation.dtype == np.uint8 else "float32"
        return Spaces(observation.shape, actions, continuous, kind)
    return Spaces((gymnasium.spaces.flatdim(observation),), actions, continuous)


def read_minari(dataset, on_fault: OnFault = raise_fault) -> Iterator[Episode]:
    """The episodes of `open_minari`'s dataset, one at a time."""
    spaces, place = minari_spaces(dataset), dataset.storage.data_path
    for record in dataset.episode_indices.tolist():
        try:
            (stored,) = dataset.iterate_episodes([record])
            (metadata,) = dataset.storage.get_episode_metadata([record])
            yield _episode(stored, dataset, spaces, place, record, metadata.get(_REPEAT))
        except Fault as fault:
            on_fault(fault)
        except Exception as error:
            on_fault(Fault(f"the episode cannot be read: {_reason(error)}", place, record))


def write_minari(
    folder: str | Path, episodes: Iterable[Episode], spaces: Spaces, identifier: str | None = None
) -> Path:
    """Write a dataset that `minari.MinariDataset(folder / "data")` opens; it appears when it is complete."""
    _require_minari()
    import gymnasium
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    if spaces.continuous:
        action_space = gymnasium.spaces.Box(-1, 1, (spaces.num_actions,), np.float32)
    else:
        action_space = gymnasium.spaces.Discrete(spaces.num_actions)
    low, high = (0, 255) if spaces.observation_dtype == "uint8" else (-np.inf, np.inf)
    observation_space = gymnasium.spaces.Box(low, high, spaces.observation_shape, np.dtype(spaces.observation_dtype))

    repeats = []

    def buffers():
        for episode in episodes:
            repeats.append({} if episode.repeat is None else {_REPEAT: episode.repeat})
            ends = np.zeros((2, len(episode)), bool)
            ends[:, -1] = episode.terminated, episode.truncated
            arrays = episode.observations, episode.actions, episode.rewards, *ends
            yield EpisodeBuffer(**dict(zip(_FIELDS, arrays, strict=True)))

    folder = Path(folder).resolve()
    with written_whole(folder) as temporary:
        temporary.mkdir()
        storage = MinariStorage.new(temporary / "data", observation_space, action_space, jpeg_encoding=False)
        storage.update_metadata({"dataset_id": identifier or folder.name, "minari_version": _minari_version()})
        storage.update_episodes(buffers())
        storage.update_episode_metadata(repeats)
        storage.update_metadata({_CHECKSUM: _checksum(temporary / "data")})
    return folder


def has_checksum(folder: str | Path) -> bool:
    """Whether a changed byte of the dataset in this folder would be noticed."""
    folder = Path(folder)
    data = folder / "data" if (folder / "data").is_dir() else folder
    return _CHECKSUM in json.loads((data / _METADATA).read_text(encoding="utf-8"))


_FIELDS = ("observations", "actions", "rewards", "terminations", "truncations")
_REPEAT = "repeat"
_METADATA, _CHECKSUM = "metadata.json", "mzu_checksum"


def _check_unchanged(data: Path) -> None:
    if has_checksum(data):
        stored = json.loads((data / _METADATA).read_text(encoding="utf-8"))[_CHECKSUM]
        if stored != _checksum(data):
            raise Fault("the files are not those that mzu wrote: their checksum differs; copy or convert again", data)


def _checksum(data: Path) -> str:
    """SHA-256 of the metadata without the checksum, and of the arrays' files in the order of their names."""
    metadata = json.loads((data / _METADATA).read_text(encoding="utf-8"))
    metadata.pop(_CHECKSUM, None)
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for path in sorted(data.glob("*.hdf5")):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _episode(stored, dataset, spaces: Spaces, place, record: int, repeat) -> Episode:
    import gymnasium

    actions = np.asarray(stored.actions)
    action_space = dataset.action_space
    if spaces.continuous:
        actions = actions.astype(np.float32)
        low, high = action_space.low, action_space.high
        if (low != -1).any() or (high != 1).any():
            actions = (2 * (actions - low) / (high - low) - 1).astype(np.float32)
        outside = np.abs(actions) > 1
    else:
        actions = actions - action_space.start if action_space.start else actions
        outside = (actions < 0) | (actions >= spaces.num_actions)
    if outside.any():
        step = int(np.argwhere(outside)[0][0])
        raise Fault(f"actions[{step}] is {actions[step]}, which is outside {action_space}", place, record, "actions")
    if spaces.is_image or isinstance(dataset.observation_space, gymnasium.spaces.Box):
        observations = np.asarray(stored.observations)
        if not spaces.is_image:
            observations = observations.reshape(len(observations), -1)
        if observations.shape[1:] != spaces.observation_shape:
            what = f"observations have shape {observations.shape[1:]}, but must have {spaces.observation_shape}"
            raise Fault(what, place, record, "observations")
    else:
        observations = _joined(stored.observations, dataset.observation_space)
    if observations.dtype != np.uint8:
        observations = observations.astype(np.float32, copy=False)
    terminated = bool(stored.terminations[-1]) if len(stored.terminations) else False
    try:
        return Episode(
            observations,
            actions,
            np.asarray(stored.rewards, np.float32),
            terminated,
            # An episode without either mark was cut off when recording stopped.
            truncated=not terminated,
            repeat=None if repeat is None else int(repeat),
            source=f"{place}, record {record}",
        )
    except ValueError as error:
        raise Fault(
            str(error).removeprefix(f"The episode {place}, record {record}").lstrip(": "), place, record
        ) from None


def _joined(values, space) -> np.ndarray:
    """float32 [T + 1, O]: the leaves of a dictionary or tuple side by side, in the order of the space."""
    import gymnasium

    if isinstance(space, gymnasium.spaces.Dict):
        return np.concatenate([_joined(values[key], part) for key, part in space.spaces.items()], axis=1)
    if isinstance(space, gymnasium.spaces.Tuple):
        return np.concatenate([_joined(value, part) for value, part in zip(values, space.spaces, strict=True)], axis=1)
    if isinstance(space, gymnasium.spaces.Discrete):
        return np.eye(int(space.n), dtype=np.float32)[np.asarray(values) - int(space.start)]
    return np.asarray(values, np.float32).reshape(len(values), -1)


def _leaves(space) -> list:
    import gymnasium

    if isinstance(space, gymnasium.spaces.Dict):
        return [leaf for part in space.spaces.values() for leaf in _leaves(part)]
    if isinstance(space, gymnasium.spaces.Tuple):
        return [leaf for part in space.spaces for leaf in _leaves(part)]
    return [space]


def _minari_version() -> str:
    import minari

    return minari.__version__


def _require_minari() -> None:
    require("minari", "Minari's format")
