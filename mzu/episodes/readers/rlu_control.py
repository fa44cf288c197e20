"""RL Unplugged, DM Control, episode release: read and written (paper, "Offline RL and Continuous Action Spaces").

Files `dm_control_suite_episodes/<task>/train-<i>-of-00100`: GZIP TFRecord, one record is one episode of T = 1001 rows.
`reward[t]` and `discount[t]` follow `action[t - 1]`: index 0 is NaN, and the last action is padding. The discount
stays 1, since the episode ends by the time limit: truncated, not terminated. Notebook 09_real_data.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mzu.environments.control import OBSERVATION_KEYS
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.episodes.readers.example import Fields, decode, encode, floats
from mzu.episodes.readers.faults import TRANSITION_FIELDS, Fault, OnFault, ShuffledTransitions, raise_fault
from mzu.episodes.readers.files import shard_name
from mzu.episodes.readers.tfrecord import RecordWriter, read_records
from mzu.files import written_whole

ACTION_DIMENSIONS = {
    "cartpole_swingup": 1,
    "cheetah_run": 6,
    "finger_turn_hard": 2,
    "fish_swim": 5,
    "humanoid_run": 21,
    "manipulator_insert_ball": 5,
    "manipulator_insert_peg": 5,
    "walker_stand": 6,
    "walker_walk": 6,
}
NUM_EPISODES = {
    "cartpole_swingup": 40,
    "cheetah_run": 300,
    "finger_turn_hard": 500,
    "fish_swim": 200,
    "humanoid_run": 3000,
    "manipulator_insert_ball": 1500,
    "manipulator_insert_peg": 1500,
    "walker_stand": 200,
    "walker_walk": 200,
}
FIRST, LAST = 0.0, 2.0  # step_type; 1 in between


@dataclass(frozen=True)
class ControlTask:
    """What episodes of a task hold: `sizes` of the observation's keys in the order of joining, action dimensions."""

    name: str
    sizes: dict[str, int]
    num_actions: int

    @property
    def spaces(self) -> Spaces:
        return Spaces((sum(self.sizes.values()),), self.num_actions, continuous=True)


def control_task(name: str) -> ControlTask:
    """One of the nine tasks."""
    if name not in ACTION_DIMENSIONS:
        raise ValueError(f"RL Unplugged has no task {name!r}; it has {', '.join(sorted(ACTION_DIMENSIONS))}")
    return ControlTask(name, OBSERVATION_KEYS[name], ACTION_DIMENSIONS[name])


def own_task(name: str, spaces: Spaces) -> ControlTask:
    """A task of one's own in this format: the whole observation under the key `state`."""
    if not spaces.continuous or spaces.is_image:
        raise ValueError(
            f"{name} must have states and continuous actions to be written in RL Unplugged's control format"
        )
    return ControlTask(name, {"state": spaces.observation_shape[0]}, spaces.num_actions)


def read_control(path: str | Path, task: ControlTask | None, on_fault: OnFault = raise_fault) -> Iterator[Episode]:
    """The episodes of one file, one at a time. Without a `task` its keys and sizes are taken from the records."""
    for record, data in read_records(path, on_fault):
        try:
            fields = decode(data, path, record)
            _refuse_transitions(fields, path, record)
            yield _episode(fields, task or _task_of(fields, path, record), path, record)
        except Fault as fault:
            on_fault(fault)


def stored_keys(path: str | Path) -> list[str]:
    """The keys of the observation in the first record of a file; none where it holds no record that can be read."""
    for record, data in read_records(path, on_fault=lambda fault: None):
        try:
            return sorted(
                n.removeprefix("observation/") for n in decode(data, path, record) if n.startswith("observation/")
            )
        except Fault:
            break
    return []


def write_control(
    folder: str | Path, episodes: Iterable[Episode], task: ControlTask, num_shards: int = 1
) -> list[Path]:
    """Write `folder/train-<i>-of-<n>`, episode k to file k mod n; all files appear together, when they are complete."""
    folder = Path(folder)
    paths = [folder / shard_name("train", index, num_shards) for index in range(num_shards)]
    with written_whole(folder) as temporary:
        temporary.mkdir()
        writers = [RecordWriter(temporary / path.name) for path in paths]
        try:
            for number, episode in enumerate(episodes):
                writers[number % num_shards].write(encode(control_fields(episode, task, number)))
        finally:
            for writer in writers:
                writer.close()
    return paths


def control_fields(episode: Episode, task: ControlTask, number: int = 0) -> Fields:
    """The fields of one record, as RL Unplugged has them; `number` becomes `episode_id`."""
    rows, size = len(episode) + 1, sum(task.sizes.values())
    if episode.observations.shape != (rows, size) or episode.actions.shape != (rows - 1, task.num_actions):
        raise ValueError(
            f"Episode {number} has observations {episode.observations.shape} and actions {episode.actions.shape}, but "
            f"{task.name} has {size} observed numbers and {task.num_actions} action dimensions"
        )
    ends = np.cumsum(list(task.sizes.values()))[:-1]
    parts = np.split(np.asarray(episode.observations, np.float32), ends, axis=1)
    discount = np.ones(rows, np.float32)
    discount[0] = np.nan
    discount[-1] = 0.0 if episode.terminated else 1.0
    step_type = np.ones(rows, np.float32)
    step_type[0], step_type[-1] = FIRST, LAST
    padding = np.zeros((1, task.num_actions), np.float32)
    return {
        **{f"observation/{key}": part for key, part in zip(task.sizes, parts, strict=True)},
        "action": np.concatenate([episode.actions, padding], dtype=np.float32),
        "reward": np.concatenate([[np.nan], episode.rewards]).astype(np.float32),
        "discount": discount,
        "step_type": step_type,
        "episode_id": np.array([number], np.int64),
        "timestamp": np.zeros(1, np.int64),
    }


def _episode(fields: Fields, task: ControlTask, path, record: int) -> Episode:
    reward = floats(fields, "reward", path, record)
    rows = len(reward)
    if rows < 2:
        raise Fault(f"the field has {rows} values, but an episode needs at least 2", path, record, "reward")
    discount = _column(fields, "discount", 1, rows, path, record)[:, 0]
    step_type = _column(fields, "step_type", 1, rows, path, record)[:, 0]
    if step_type[0] != FIRST or step_type[-1] != LAST:
        what = (
            f"the first step type is {step_type[0]:g} and the last {step_type[-1]:g}, but a whole episode has 0 and 2"
        )
        raise Fault(what, path, record, "step_type")
    names = [(f"observation/{key}", size) for key, size in task.sizes.items()]
    observations = np.concatenate([_finite(fields, name, size, rows, path, record) for name, size in names], axis=1)
    actions = _finite(fields, "action", task.num_actions, rows, path, record)[:-1]  # the last one is padding
    if np.abs(actions).max() > 1:
        step, dimension = np.argwhere(np.abs(actions) > 1)[0]
        what = f"action[{step}, {dimension}] is {actions[step, dimension]:g}, but must lie in [-1, 1]"
        raise Fault(what, path, record, "action")
    # Index 0 comes before any action and is NaN in the release: dropped.
    for name, values in (("reward", reward), ("discount", discount)):
        if not np.isfinite(values[1:]).all():
            step = 1 + int(np.argmin(np.isfinite(values[1:])))
            raise Fault(f"{name}[{step}] is {values[step]:g}; only index 0 may be NaN", path, record, name)
    terminated = bool(discount[-1] == 0)
    return Episode(
        observations, actions, reward[1:], terminated, truncated=not terminated, source=f"{path}, record {record}"
    )


def _column(fields: Fields, name: str, size: int, rows: int, path, record: int) -> np.ndarray:
    """float32 [rows, size]."""
    values = floats(fields, name, path, record)
    if len(values) != rows * size:
        what = f"the field has {len(values)} numbers, but {rows} rows of {size} are {rows * size}"
        raise Fault(f"{what}; is this the dataset of another task?", path, record, name)
    return values.reshape(rows, size)


def _finite(fields: Fields, name: str, size: int, rows: int, path, record: int) -> np.ndarray:
    values = _column(fields, name, size, rows, path, record)
    kept = values if name != "action" else values[:-1]
    if not np.isfinite(kept).all():
        row, column = np.argwhere(~np.isfinite(kept))[0]
        raise Fault(f"{name}[{row}, {column}] is {kept[row, column]:g}, which is not finite", path, record, name)
    return values


def _task_of(fields: Fields, path, record: int) -> ControlTask:
    """Keys in alphabetical order and sizes from the lengths, for a task that is none of the nine."""
    rows = len(floats(fields, "reward", path, record))
    keys = sorted(name.removeprefix("observation/") for name in fields if name.startswith("observation/"))
    if not keys:
        raise Fault("the record has no field observation/<key>; is this a dataset of another kind?", path, record)
    sizes = {key: len(floats(fields, f"observation/{key}", path, record)) // max(rows, 1) for key in keys}
    return ControlTask(Path(path).parent.name, sizes, len(floats(fields, "action", path, record)) // max(rows, 1))


def _refuse_transitions(fields: Fields, path, record: int) -> None:
    """The other release has single steps in random order, from which no episode can be put together again."""
    if TRANSITION_FIELDS & fields.keys() or ("step_type" not in fields and len(fields.get("reward", ())) in (1, 2)):
        raise ShuffledTransitions(path, "dm_control_suite_episodes")
