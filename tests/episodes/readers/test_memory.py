"""Datasets of 2 GB stream through less than 500 MB of memory, and the benchmark reports every format."""

import gzip
import subprocess
import sys

import numpy as np
import pytest

from mzu.episodes.episode import Episode
from mzu.episodes.readers.dqn_replay import file_name
from mzu.episodes.readers.example import encode
from mzu.episodes.readers.npz import write_npz
from mzu.episodes.readers.rlu_atari import atari_fields
from mzu.episodes.readers.tfrecord import RecordWriter

EPISODES, STEPS = 300, 1000  # 300,000 frames of 84x84 are 2.1 GB
# Not `ru_maxrss`: that also counts what the process that starts this one holds.
READ = """
import sys, mzu
size = count = 0
for episode in mzu.load_episodes(sys.argv[1]):
    size, count = size + episode.observations.nbytes, count + 1
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(count, size, int(peak) * 1024)
"""


def long_episode():
    frames = np.zeros((STEPS + 1, 84, 84, 1), np.uint8)
    for t in range(STEPS):
        frames[t, t % 80 : t % 80 + 4, (7 * t) % 80 : (7 * t) % 80 + 4] = 200
    frames[:, 0, 0] = 1  # no frame is black like the padding
    frames[-1] = frames[-2]
    return Episode(frames, np.arange(STEPS, dtype=np.int32) % 6, np.ones(STEPS, np.float32), terminated=True)


def write_two_gigabytes(path, format):
    episode = long_episode()
    if format == "npz":
        write_npz(path, (episode for _ in range(EPISODES)))
    elif format == "rlu_atari":
        path.mkdir()
        record = encode(atari_fields(episode))
        with RecordWriter(path / "run_1-00000-of-00001") as writer:
            for _ in range(EPISODES):
                writer.write(record)
    else:
        path.mkdir()
        rows = EPISODES * STEPS + 1
        arrays = {
            "observation": episode.observations[:-1, :, :, 0],
            "action": episode.actions,
            "reward": episode.rewards,
            "terminal": (np.arange(STEPS) == STEPS - 1).astype(np.uint8),
        }
        for kind, array in arrays.items():
            with gzip.open(path / file_name(kind, 0), "wb", compresslevel=1) as file:
                header = {"descr": array.dtype.str, "fortran_order": False, "shape": (rows, *array.shape[1:])}
                np.lib.format.write_array_header_1_0(file, header)
                for _ in range(EPISODES):
                    file.write(array.tobytes())
                file.write(array[:1].tobytes())


@pytest.mark.slow
@pytest.mark.parametrize("format", ["npz", "rlu_atari", "dqn_replay"])
def test_two_gigabytes_stream_through_less_than_half_a_gigabyte(format, tmp_path):
    path = tmp_path / ("data.npz" if format == "npz" else "data")
    write_two_gigabytes(path, format)
    process = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    count, size, memory = map(int, process.stdout.split())
    assert count == EPISODES and size > 2e9
    assert memory < 500e6, f"{memory / 1e6:.0f} MB"
