"""DQN Replay, the logs of an online DQN agent: gzipped numpy arrays (paper, table "Low-data Atari setting").

`<Game>/<run>/replay_logs/$store$_{observation,action,reward,terminal}_ckpt.<N>.gz`, N = 0..49, each up to a million
steps: uint8 [n, 84, 84], int32 [n], float32 [n] clipped rewards, uint8 [n]. Notebook 09_real_data.

  - Three black frames with action 0 and reward 0 stand before each episode: padding for the frame stack, removed.
  - The last slot of a file is stale: it is where the ring buffer would have written next. Removed.
  - No observation follows a terminal step: its frame is repeated, see rlu_atari.py.
  - The agent's program wrote `terminal` at the time limit of 27,000 steps too: such an episode is read as truncated.
  - An episode cut by the end of a file is truncated there, and what follows it in the next file is an episode too.

Fractions: 1 % and 10 % are the first part of every file, so that each stage of the agent's learning has the same share.
The observation files (7 GB) are read episode by episode, after one pass to their end, where their checksum stands: a
changed bit is other pixels everywhere behind it, and nothing else would tell.
"""

import gzip
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mzu.episodes.episode import Episode
from mzu.episodes.readers.faults import Fault, MissingFiles, OnFault, raise_fault
from mzu.episodes.readers.files import GZIP_ERRORS, array_header, check_fits, check_not_empty, gzip_size
from mzu.episodes.readers.rlu_atari import FULL_ACTION_SET, SIZE

PADDING = 3  # frames of a stack of 4 that come before the first
TIME_LIMIT = 27_000  # steps: 108,000 frames, four to a step
KINDS = {"observation": np.uint8, "action": np.int32, "reward": np.float32, "terminal": np.uint8}
_NAME = re.compile(r"\$store\$_(?P<kind>observation|action|reward|terminal)_ckpt\.(?P<number>\d+)\.gz")


def file_name(kind: str, number: int) -> str:
    return f"$store$_{kind}_ckpt.{number}.gz"


def find_checkpoints(folder: Path, on_fault: OnFault = raise_fault) -> list[int]:
    """The numbers of the complete quartets of files; a number left out, or a file of four missing, is a fault."""
    found: dict[int, set[str]] = {}
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        if match:
            found.setdefault(int(match["number"]), set()).add(match["kind"])
    for number in range(max(found, default=-1) + 1):
        missing = [kind for kind in KINDS if kind not in found.get(number, ())]
        if missing:
            names = ", ".join(file_name(kind, number) for kind in missing)
            what = f"files of the set are missing: {names}; download them, or pass skip_bad (--skip-bad)"
            on_fault(MissingFiles(what, folder))
    return sorted(number for number, kinds in found.items() if len(kinds) == len(KINDS))


def read_dqn_replay(
    folder: str | Path,
    number: int,
    fraction: float = 1.0,
    num_actions: int = FULL_ACTION_SET,
    on_fault: OnFault = raise_fault,
) -> Iterator[Episode]:
    """The episodes of checkpoint `number`, or of its first `fraction`; observations uint8 [T + 1, 84, 84, 1]."""
    folder = Path(folder)
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction is {fraction}, but must lie above 0 and up to 1; the paper has 0.01 and 0.1")
    path = folder / file_name("observation", number)
    try:
        actions, rewards, terminals = (_whole_array(folder, kind, number) for kind in ("action", "reward", "terminal"))
        for kind, array in (("reward", rewards), ("terminal", terminals)):
            if len(array) != len(actions):
                what = f"there are {len(array)} values, but {len(actions)} actions"
                raise Fault(what, folder / file_name(kind, number), field=kind)
        check_not_empty(path)
        with gzip.open(path, "rb") as file:
            shape = _header(file, "observation", path)
            if shape[1:] != (SIZE, SIZE):
                raise Fault(f"frames are {shape[1:]}, but must be ({SIZE}, {SIZE})", path, field="observation")
            if shape[0] != len(actions):
                raise Fault(f"there are {shape[0]} frames, but {len(actions)} actions", path, field="observation")
            _check_size(gzip_size(path), file.tell() + math.prod(shape), path, "observation")
            usable = max(1, round(fraction * len(actions)))
            usable = min(usable, len(actions) - 1)  # the last slot is stale
            for record, (start, stop) in enumerate(_stretches(terminals[:usable])):
                frames = _frames(file, stop - start, path, record)
                try:
                    steps = actions[start:stop], rewards[start:stop], bool(terminals[stop - 1])
                    episode = _episode(frames, *steps, num_actions, path, record)
                except Fault as fault:
                    on_fault(fault)
                    continue
                if episode is not None:
                    yield episode
    except EOFError:
        on_fault(Fault("the file is cut off; download it again", path, field="observation"))
    except GZIP_ERRORS as error:
        on_fault(Fault(f"the GZIP stream is damaged ({error}); download the file again", path, field="observation"))
    except Fault as fault:
        on_fault(fault)


def _stretches(terminals: np.ndarray) -> list[tuple[int, int]]:
    """From the step after a terminal one up to and including the next, and what is left at the end.

    No episode of the agent was longer than the time limit; should a file say otherwise, its frames still fit in memory.
    """
    ends = (np.flatnonzero(terminals) + 1).tolist()
    if not ends or ends[-1] != len(terminals):
        ends.append(len(terminals))
    longest = TIME_LIMIT + PADDING
    pieces = []
    for start, stop in zip([0, *ends[:-1]], ends, strict=True):
        pieces += [(first, min(first + longest, stop)) for first in range(start, stop, longest)]
    return pieces


def _episode(frames, actions, rewards, terminal: bool, num_actions, path, record) -> Episode | None:
    """One stretch without its padding; None when no step is left of it, as after the last terminal of a fraction."""
    padding = 0
    while padding < min(PADDING, len(frames)) and not (frames[padding].any() or actions[padding] or rewards[padding]):
        padding += 1
    frames, actions, rewards = frames[padding:], actions[padding:], rewards[padding:]
    terminated = terminal and len(actions) < TIME_LIMIT
    if len(actions) < (1 if terminated else 2):
        return None
    outside = (actions < 0) | (actions >= num_actions)
    if outside.any():
        step = int(np.argmax(outside))
        what = f"actions[{step}] is {actions[step]}, but the game has {num_actions} actions (0..{num_actions - 1})"
        raise Fault(f"{what}; is this the dataset of another game?", path, record, "action")
    if not np.isfinite(rewards).all():
        step = int(np.argmin(np.isfinite(rewards)))
        raise Fault(f"reward[{step}] is {rewards[step]:g}, which is not finite", path, record, "reward")
    if terminated:
        frames = np.concatenate([frames, frames[-1:]])
    else:  # values are bootstrapped from the last frame: it must be a true one
        actions, rewards = actions[:-1], rewards[:-1]
    return Episode(
        frames[..., None],
        actions,
        rewards,
        terminated,
        truncated=not terminated,
        source=f"{path}, record {record}",
    )


def _whole_array(folder: Path, kind: str, number: int) -> np.ndarray:
    """One of the three small arrays."""
    path = folder / file_name(kind, number)
    check_not_empty(path)
    try:
        with gzip.open(path, "rb") as file:
            (length, *rest) = _header(file, kind, path)
            if rest:
                raise Fault(f"the array has shape {(length, *rest)}, but must have one dimension", path, field=kind)
            size = length * np.dtype(KINDS[kind]).itemsize
            check_fits(size, path, field=kind)
            _check_size(gzip_size(path), file.tell() + size, path, kind)
            data = file.read(size)
    except EOFError:
        raise Fault("the file is cut off; download it again", path, field=kind) from None
    except GZIP_ERRORS as error:
        raise Fault(f"the GZIP stream is damaged ({error}); download the file again", path, field=kind) from None
    return np.frombuffer(data, KINDS[kind])


def _check_size(found: int, expected: int, path: Path, kind: str) -> None:
    if found != expected:
        what = "cut off" if found < expected else "longer than its array"
        raise Fault(f"the file is {what}: {found:,} bytes instead of {expected:,}; download it again", path, field=kind)


def _header(file, kind: str, path: Path) -> tuple[int, ...]:
    """The shape that numpy wrote before the numbers, after a check of the type."""
    try:
        shape, by_columns, dtype = array_header(file)
        if by_columns or not shape or min(shape) < 0:
            raise ValueError
    except ValueError:
        raise Fault("there is no numpy array in the file", path, field=kind) from None
    if dtype != KINDS[kind]:
        raise Fault(f"the array has type {dtype}, but must have {np.dtype(KINDS[kind])}", path, field=kind)
    return shape


def _frames(file, count: int, path: Path, record: int) -> np.ndarray:
    """The next `count` frames uint8 [count, 84, 84] of the stream."""
    frames = np.empty((count, SIZE, SIZE), np.uint8)
    view, done = memoryview(frames).cast("B"), 0
    while done < len(view):
        read = file.readinto(view[done:])
        if not read:
            raise Fault("the file is cut off; download it again", path, record, "observation")
        done += read
    return frames
