"""Our own `.npz`: any number of episodes in one file that `numpy.load` opens, streamed in and out, written whole.

Episode k has the arrays `<k:06d>/observations`, `/actions`, `/rewards`, `/terminated`, `/truncated` and, once
searched, `/search_policy`, `/search_actions`, `/search_value`; `/seed` and `/repeat` where they are known. An `.npz`
with the plain arrays of someone else's steps is read too (`episodes_from_arrays`). Notebook 09_real_data.
"""

import dataclasses
import math
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from mzu.episodes.episode import Episode
from mzu.episodes.readers.faults import Fault, OnFault, raise_fault
from mzu.episodes.readers.files import ZIP_ERRORS, array_header, check_fits, check_not_empty
from mzu.files import check_seal, seal, written_whole

FIELDS = tuple(field.name for field in dataclasses.fields(Episode) if field.name != "source")
NEEDED = ("observations", "actions", "rewards", "terminated", "truncated")
PLAIN_ARRAYS = ("observations", "actions", "rewards", "next_observations")
PLAIN_ARRAYS += ("terminated", "truncated", "terminals", "timeouts")
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file knows: the same episodes give the same bytes


def write_npz(path: str | Path, episodes: Iterable[Episode]) -> int:
    """Write the episodes to one file and say how many there were; only one at a time is in memory."""
    number = -1
    with written_whole(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, episode in enumerate(episodes):
            for field in FIELDS:
                value = getattr(episode, field)
                if value is not None:
                    entry = zipfile.ZipInfo(f"{number:06d}/{field}.npy", _DATE)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    with archive.open(entry, "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, np.asarray(value), allow_pickle=False)
        if number < 0:
            raise ValueError(f"There is no episode to write to {path}")
        seal(archive)
    return number + 1


def count_npz(path: str | Path) -> int | None:
    """How many episodes a file of ours holds, from its table of contents; None for plain arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            count = sum(name.endswith("/actions.npy") for name in archive.namelist())
    except (*ZIP_ERRORS, ValueError):
        return None
    return count or None


def read_npz(path: str | Path, on_fault: OnFault = raise_fault) -> Iterator[Episode]:
    """The episodes of one file, one at a time."""
    path = Path(path)
    try:
        check_not_empty(path)
        with zipfile.ZipFile(path) as archive:
            check_seal(archive)
            names = set(archive.namelist())
            numbers = sorted({name.split("/")[0] for name in names if "/" in name})
            known = [name for name in sorted(names) if name.removesuffix(".npy") in PLAIN_ARRAYS]
            _check_names(archive, names - set(known), path)
            if not numbers:
                if not known:
                    found = ", ".join(sorted(names)) or "none"
                    raise Fault(f"the file has no arrays observations, actions, rewards; it has {found}", path)
                check_fits(sum(archive.getinfo(name).file_size for name in known), path)
                arrays = {name.removesuffix(".npy"): _array(archive, name, path) for name in known}
                yield from read_arrays(arrays, on_fault, source=str(path))
                return
            for record, number in enumerate(numbers):
                try:
                    yield _episode(archive, names, number, path, record)
                except Fault as fault:
                    on_fault(fault)
    except ZIP_ERRORS as error:
        on_fault(Fault(f"the file is cut off or damaged ({error}); copy or write it again", path))
    except Fault as fault:
        on_fault(fault)
    except ValueError as error:  # of zipfile itself, such as a name that is no text
        on_fault(Fault(f"the file is damaged ({error}); copy or write it again", path))


def read_arrays(arrays: dict, on_fault: OnFault = raise_fault, source: str = "arrays") -> Iterator[Episode]:
    """`episodes_from_arrays` of a dictionary, after a look at the names; unknown arrays are left alone."""
    for name in ("observations", "actions", "rewards"):
        if name not in arrays:
            on_fault(
                Fault(f"the array is missing; there are {', '.join(sorted(arrays)) or 'none'}", source, field=name)
            )
            return
    known = {name: array for name, array in arrays.items() if name in PLAIN_ARRAYS}
    yield from episodes_from_arrays(**known, source=source, on_fault=on_fault)


def episodes_from_arrays(
    observations,
    actions,
    rewards,
    terminated=None,
    truncated=None,
    next_observations=None,
    terminals=None,
    timeouts=None,
    source: str = "arrays",
    on_fault: OnFault = raise_fault,
) -> Iterator[Episode]:
    """Episodes from the steps of many episodes one after the other: row t is what was observed, done and rewarded.

    array                    shape              meaning
    observations             [N, ...]           before the action
    actions                  [N] or [N, D]
    rewards                  [N]                after the action
    terminated, terminals    [N] bool           the episode ended in a terminal state after this step
    truncated, timeouts      [N] bool           the episode was cut off after this step
    next_observations        [N, ...]           after the action; optional

    Without `next_observations` the observation after the last action is not known. At a terminal end the last one
    stands in for it, which harms nothing: nothing is predicted from there. At a truncated end the last step is dropped
    instead, since values are bootstrapped there. Rows after the last end count as truncated.
    """
    observations, actions, rewards = (np.asarray(array) for array in (observations, actions, rewards))
    terminated = _flags(terminals if terminated is None else terminated, len(rewards), "terminated", source)
    truncated = _flags(timeouts if truncated is None else truncated, len(rewards), "truncated", source)
    for name, array in (("observations", observations), ("actions", actions)):
        if len(array) != len(rewards):
            on_fault(Fault(f"there are {len(array)} rows, but {len(rewards)} rewards", source, field=name))
            return
    ends = np.flatnonzero(terminated | truncated) + 1
    if len(rewards) and (not len(ends) or ends[-1] != len(rewards)):
        ends = np.append(ends, len(rewards))
    start = 0
    for record, end in enumerate(ends):
        is_terminal, stop = bool(terminated[end - 1]), int(end)
        if next_observations is not None:
            last = np.asarray(next_observations)[stop - 1 : stop]
        elif is_terminal:
            last = observations[stop - 1 : stop]
        else:
            stop -= 1
            last = observations[stop : stop + 1]
        try:
            if stop > start:
                seen = np.concatenate([observations[start:stop], last])
                yield _checked(
                    path=source,
                    record=record,
                    observations=seen,
                    actions=actions[start:stop],
                    rewards=rewards[start:stop],
                    terminated=is_terminal,
                    truncated=not is_terminal,
                )
        except Fault as fault:
            on_fault(fault)
        start = int(end)


def _check_names(archive, names: set[str], path: Path) -> None:
    """Arrays that are not known may be left alone, but not one whose name was damaged: it stands in the file twice."""
    of_episodes = {f"{number}/{field}.npy" for number in {name.split("/")[0] for name in names} for field in FIELDS}
    for name in sorted(names - of_episodes):
        with archive.open(name):
            pass  # zipfile compares the two


def _episode(archive, names: set[str], number: str, path: Path, record: int) -> Episode:
    fields = {}
    check_fits(sum(archive.getinfo(name).file_size for name in names if name.startswith(f"{number}/")), path, record)
    for field in FIELDS:
        if f"{number}/{field}.npy" in names:
            fields[field] = _array(archive, f"{number}/{field}.npy", path, record, field)
        elif field in NEEDED:
            raise Fault("the array is missing", path, record, field)
    for end in ("terminated", "truncated"):
        if fields[end].shape != () or fields[end].dtype != bool:
            raise Fault(
                f"the array must be one bool, but is {fields[end].dtype} {fields[end].shape}", path, record, end
            )
        fields[end] = bool(fields[end])
    for field in {"seed", "repeat"} & fields.keys():
        if fields[field].shape != () or fields[field].dtype.kind not in "iu":
            raise Fault("the array must be one whole number", path, record, field)
        fields[field] = int(fields[field])
    return _checked(path=path, record=record, **fields)


def _checked(path, record: int, **fields) -> Episode:
    """The episode, with single precision where numbers came in double precision, as other programs write them."""
    for field in ("observations", "actions", "rewards"):
        array = fields[field]
        if array.dtype.kind not in "fiub":
            raise Fault(f"the array has type {array.dtype}, but must hold numbers", path, record, field)
        if array.dtype.kind == "f" or field == "rewards":
            fields[field] = array.astype(np.float32, copy=False)
    if fields["actions"].ndim == 2:
        fields["actions"] = fields["actions"].astype(np.float32, copy=False)
        if np.abs(fields["actions"]).max(initial=0) > 1:
            step, dimension = np.argwhere(np.abs(fields["actions"]) > 1)[0]
            value = fields["actions"][step, dimension]
            what = f"actions[{step}, {dimension}] is {value:g}, but must lie in [-1, 1]; divide by the bounds"
            raise Fault(what, path, record, "actions")
    try:
        return Episode(**fields, source=f"{path}, record {record}")
    except ValueError as error:
        raise Fault(
            str(error).removeprefix(f"The episode {path}, record {record}").lstrip(": "), path, record
        ) from None


def _array(archive, name: str, path: Path, record: int | None = None, field: str | None = None) -> np.ndarray:
    try:
        with archive.open(name) as file:
            shape, _, dtype = array_header(file)
            # numpy takes the memory that the header asks for before it looks for the numbers.
            size, there = math.prod(shape) * dtype.itemsize, archive.getinfo(name).file_size - file.tell()
            if size != there and not dtype.hasobject:
                raise ValueError(f"its header says {size:,} bytes of numbers, but there are {there:,}")
        with archive.open(name) as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    except ZIP_ERRORS:
        what = "the array is damaged: its bytes do not match their checksum; copy or write the file again"
        raise Fault(what, path, record, field or name) from None
    except ValueError as error:
        raise Fault(f"the array cannot be read: {error}", path, record, field or name) from None


def _flags(values, rows: int, name: str, source: str) -> np.ndarray:
    if values is None:
        return np.zeros(rows, bool)
    values = np.asarray(values).astype(bool)
    if values.shape != (rows,):
        raise Fault(f"the array has shape {values.shape}, but there are {rows} rewards", source, field=name)
    return values
