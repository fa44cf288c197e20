"""`mzu bench data`: how fast each dataset format is written and read, on synthetic episodes.

Besides episodes and steps per second: megabytes of decoded arrays per second, which formats of different compression
have in common, and the same relative to copying the arrays once.
"""

import json
import tempfile
import time
from pathlib import Path

import numpy as np

from mzu.episodes.dataset import load_episodes
from mzu.episodes.episode import Episode
from mzu.episodes.readers import dqn_replay, minari_format, npz, rlu_atari, rlu_control
from mzu.extras import is_installed

COLUMNS = {
    "format": "format       ",
    "episodes": "episodes",
    "file_mb": "file MB",
    "write_episodes_per_second": "written ep/s",
    "read_episodes_per_second": "read ep/s",
    "read_steps_per_second": "read steps/s",
    "read_mb_per_second": "read MB/s",
    "of_copy": "of a copy",
}


def add_arguments(parser) -> None:
    parser.add_argument("--episodes", type=int, default=20, help="of each kind (default 20)")
    parser.add_argument("--repetitions", type=int, default=3, help="readings, of which the best counts (default 3)")
    parser.add_argument("--json", action="store_true", help="print a list of records instead of a table")


def run(arguments) -> int:
    for name in ("episodes", "repetitions"):
        if getattr(arguments, name) < 1:
            raise ValueError(f"--{name} is {getattr(arguments, name)}, but must be at least 1")
    records = []
    if not arguments.json:
        print("  ".join(COLUMNS.values()))
    with tempfile.TemporaryDirectory() as folder:
        for measure in contestants(arguments.episodes, Path(folder)):
            records.append(measured(*measure, arguments.repetitions))
            if not arguments.json:
                cells = (_cell(records[-1][key]).rjust(len(title)) for key, title in COLUMNS.items())
                print("  ".join(cells), flush=True)
    if arguments.json:
        print(json.dumps(records, indent=2))
    return 0


def contestants(count: int, folder: Path) -> list[tuple]:
    """(format, episodes, function that writes them to a path, path) of each format."""
    states, frames = control_episodes(count), atari_episodes(count)
    task = rlu_control.control_task("walker_walk")
    spaces = rlu_atari.atari_spaces("Pong")
    result = [
        ("rlu", states, lambda path: rlu_control.write_control(path, states, task), folder / "walker_walk"),
        ("npz states", states, lambda path: npz.write_npz(path, states), folder / "states.npz"),
        ("rlu_atari", frames, lambda path: rlu_atari.write_atari(path, frames), folder / "Pong"),
        ("dqn_replay", frames, lambda path: write_replay_logs(path, frames), folder / "logs"),
        ("npz frames", frames, lambda path: npz.write_npz(path, frames), folder / "frames.npz"),
    ]
    if is_installed("minari"):
        write = lambda path: minari_format.write_minari(path, states, task.spaces)  # noqa: E731
        result.append(("minari states", states, write, folder / "minari" / "states-v0"))
        write = lambda path: minari_format.write_minari(path, frames, spaces)  # noqa: E731
        result.append(("minari frames", frames, write, folder / "minari" / "frames-v0"))
    return result


def measured(format: str, episodes: list[Episode], write, path: Path, repetitions: int) -> dict:
    """One record; reading takes the best of `repetitions` passes."""
    start = time.perf_counter()
    write(path)
    writing = time.perf_counter() - start
    dataset = load_episodes(path)
    reading = copying = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        for _ in dataset:
            pass
        reading = min(reading, time.perf_counter() - start)
        start = time.perf_counter()
        for episode in episodes:
            episode.observations.copy()
        copying = min(copying, time.perf_counter() - start)
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    steps, size = sum(map(len, episodes)), sum(episode.observations.nbytes for episode in episodes) / 1e6
    return {
        "format": format,
        "episodes": len(episodes),
        "file_mb": sum(file.stat().st_size for file in files) / 1e6,
        "write_episodes_per_second": len(episodes) / writing,
        "read_episodes_per_second": len(episodes) / reading,
        "read_steps_per_second": steps / reading,
        "read_mb_per_second": size / reading,
        "of_copy": copying / reading,
    }


def control_episodes(count: int, steps: int = 1000) -> list[Episode]:
    """Like walker_walk: 24 observed numbers, 6 action dimensions."""
    rng = np.random.default_rng(0)
    return [
        Episode(
            rng.normal(size=(steps + 1, 24)).astype(np.float32),
            rng.uniform(-1, 1, (steps, 6)).astype(np.float32),
            rng.random(steps, np.float32),
            truncated=True,
        )
        for _ in range(count)
    ]


def atari_episodes(count: int, steps: int = 300) -> list[Episode]:
    """A few squares on a plain ground, which compress about as well as a game's frames do."""
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(count):
        frames = np.full((steps + 1, 84, 84, 1), 60, np.uint8)
        for _ in range(8):
            rows, columns = (np.cumsum(rng.integers(-2, 3, steps + 1)) % 76 for _ in range(2))
            for t in range(steps + 1):
                frames[t, rows[t] : rows[t] + 8, columns[t] : columns[t] + 8] = rng.integers(80, 256)
        frames[-1] = frames[-2]
        actions = rng.integers(0, 6, steps).astype(np.int32)
        episodes.append(Episode(frames, actions, np.zeros(steps, np.float32), terminated=True))
    return episodes


def write_replay_logs(folder: Path, episodes: list[Episode]) -> None:
    """The four files of DQN Replay: padding before each episode, one stale slot at the end."""
    import gzip

    folder.mkdir()
    padding = dqn_replay.PADDING
    parts = {kind: [] for kind in dqn_replay.KINDS}
    for episode in episodes:
        terminal = np.zeros(padding + len(episode), np.uint8)
        terminal[-1] = 1
        parts["observation"].append(np.pad(episode.observations[:-1, :, :, 0], ((padding, 0), (0, 0), (0, 0))))
        parts["action"].append(np.pad(episode.actions, (padding, 0)))
        parts["reward"].append(np.pad(episode.rewards, (padding, 0)))
        parts["terminal"].append(terminal)
    for kind, arrays in parts.items():
        array = np.concatenate([*arrays, np.zeros_like(arrays[0][:1])]).astype(dqn_replay.KINDS[kind])
        with gzip.open(folder / dqn_replay.file_name(kind, 0), "wb", compresslevel=6) as file:
            np.save(file, array)


def _cell(value) -> str:
    if isinstance(value, str | int):
        return str(value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
