"""Small episodes of every kind, for the tests of this folder."""

import gzip
import io

import numpy as np

from mzu.episodes.episode import Episode
from mzu.episodes.readers.example import decode, encode
from mzu.episodes.readers.tfrecord import RecordWriter, read_records

FIELDS = ("observations", "actions", "rewards", "terminated", "truncated", "search_policy", "search_value", "repeat")


def control_episodes(count=3, size=5, dimensions=1, steps=7, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Episode(
            rng.normal(size=(steps + 1, size)).astype(np.float32),
            rng.uniform(-1, 1, (steps, dimensions)).astype(np.float32),
            rng.normal(size=steps).astype(np.float32),
            truncated=True,
        )
        for _ in range(count)
    ]


def atari_episodes(count=3, steps=6, actions=9, seed=0):
    """Ends alternate: terminated (the terminal observation repeats the last frame), truncated."""
    rng = np.random.default_rng(seed)
    episodes = []
    for number in range(count):
        frames = rng.integers(1, 256, (steps + 1, 84, 84, 1), dtype=np.uint8)
        terminated = number % 2 == 0
        if terminated:
            frames[-1] = frames[-2]
        chosen = rng.integers(0, actions, steps)
        rewards = rng.integers(-1, 2, steps).astype(np.float32)
        episodes.append(Episode(frames, chosen, rewards, terminated, not terminated))
    return episodes


def assert_same(expected, found):
    """Every field equal, to the last bit; `source` says where an episode was read and differs."""
    expected, found = list(expected), list(found)
    assert len(expected) == len(found)
    for one, other in zip(expected, found, strict=True):
        for field in FIELDS:
            value, again = getattr(one, field), getattr(other, field)
            if isinstance(value, np.ndarray):
                assert value.dtype.kind == again.dtype.kind, field
                np.testing.assert_array_equal(value, again, err_msg=field)
            else:
                assert value == again, field


def rewrite(path, change):
    """Decode each record of a TFRecord file, let `change(fields)` alter it, and write it back."""
    records = [decode(data) for _, data in read_records(path)]
    for fields in records:
        change(fields)
    with RecordWriter(path) as writer:
        for fields in records:
            writer.write(encode(fields))


def write_replay_logs(folder, frames, actions, rewards, terminals, number=0):
    """The four files of a DQN Replay checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        "observation": np.asarray(frames, np.uint8),
        "action": np.asarray(actions, np.int32),
        "reward": np.asarray(rewards, np.float32),
        "terminal": np.asarray(terminals, np.uint8),
    }
    for kind, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        (folder / f"$store$_{kind}_ckpt.{number}.gz").write_bytes(gzip.compress(buffer.getvalue(), 1))
