"""`load_episodes`: one call for every format; what it gives can be iterated again, one episode in memory at a time.

    embedded:cartpole         in the package (embedded.py)
    rlu:cartpole_swingup      RL Unplugged, DM Control (rlu_control.py)
    rlu_atari:Asterix         RL Unplugged, Atari, all runs; `rlu_atari:Asterix/1` for one (rlu_atari.py)
    dqn_replay:Pong/1         DQN Replay, one run (dqn_replay.py)
    minari:ID                 Minari (minari_format.py)
    a path                    an .npz (npz.py), or a file or folder of the formats above
    a dictionary of arrays    as `episodes_from_arrays` takes them (npz.py)
    a list of episodes        or anything else that gives them one by one, such as `collect`

The formats: tutorials/data.md; notebook 09_real_data.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from mzu.environments.spaces import Spaces
from mzu.episodes.embedded import recipe
from mzu.episodes.episode import Episode
from mzu.episodes.locate import locate
from mzu.episodes.readers import dqn_replay, minari_format, npz, rlu_atari, rlu_control
from mzu.episodes.readers.faults import Fault, FaultCounter, OnFault, raise_fault
from mzu.episodes.readers.files import find_shards

Reader = Callable[[OnFault], Iterator[Episode]]
Source = str | Path | Mapping | Iterable[Episode]


class EpisodeDataset:
    """Episodes that are read from their files each time one iterates.

    attribute      meaning
    name           what was asked for
    format         "embedded", "rlu", "rlu_atari", "dqn_replay", "minari", "npz", "arrays" or "episodes"
    spaces         Spaces, where the format says them; `infer_spaces` finds them in the data
    files          the files in the order of reading
    keys           RL Unplugged's control tasks: the parts of an observation and their sizes, in order
    num_episodes   how many there are, where the format tells without reading; then `len` works too
    skipped        with skip_bad, how many faults the last pass left out; `faults` holds the first few
    reward_shift   by how many steps rewards were moved to later steps

    >>> dataset.format, dataset.spaces.num_actions
    ('embedded', 2)
    """

    def __init__(
        self,
        name: str,
        format: str,
        readers: Sequence[Reader],
        spaces: Spaces | None = None,
        files: Sequence[Path] = (),
        num_episodes: int | None = None,
        reward_shift: int = 0,
        skip_bad: bool = False,
        set_faults: Sequence[Fault] = (),
        keys: Mapping[str, int] | None = None,
    ):
        self.name, self.format, self.spaces, self.files = name, format, spaces, list(files)
        self.num_episodes, self.reward_shift, self.skip_bad = num_episodes, reward_shift, skip_bad
        self.keys = keys
        self._readers, self._set_faults = readers, list(set_faults)
        self._counter = FaultCounter()
        self._start_counting()

    def __iter__(self) -> Iterator[Episode]:
        self._start_counting()
        on_fault = self._counter if self.skip_bad else raise_fault
        for read in self._readers:
            for episode in read(on_fault):
                fault = self._outside(episode)
                if fault:
                    on_fault(fault)
                else:
                    yield shift_rewards(episode, self.reward_shift)

    def __len__(self) -> int:
        if self.num_episodes is None:
            raise TypeError(
                f"{self.name} does not say how many episodes it holds; count them by reading: sum(1 for _ in it)"
            )
        return self.num_episodes

    def __repr__(self):
        count = "an unknown number of" if self.num_episodes is None else self.num_episodes
        return f"<{self.name}: {count} episodes in {len(self.files)} files>"

    @property
    def num_bytes(self) -> int:
        """The size of all files together."""
        inside = [inner for path in self.files for inner in ([path] if path.is_file() else path.rglob("*"))]
        return sum(path.stat().st_size for path in inside if path.is_file())

    @property
    def skipped(self) -> int:
        return self._counter.count

    @property
    def faults(self) -> list[Fault]:
        return self._counter.first

    def infer_spaces(self) -> Spaces:
        """`spaces`, or what the data show: shape of observations, largest action plus one (reads everything)."""
        if self.spaces is not None:
            return self.spaces
        num_actions = 0
        for episode in self:
            shape, dtype = episode.observations.shape[1:], episode.observations.dtype
            if episode.is_continuous:
                return Spaces(shape, episode.actions.shape[1], continuous=True, observation_dtype=_kind(dtype))
            num_actions = max(num_actions, int(episode.actions.max()) + 1)
        if num_actions == 0:
            raise ValueError(f"{self.name} holds no episode")
        return Spaces(shape, num_actions, observation_dtype=_kind(dtype))

    def _start_counting(self) -> None:
        self._counter = FaultCounter()
        for fault in self._set_faults:
            self._counter(fault)

    def _outside(self, episode: Episode) -> Fault | None:
        """A fault where an episode does not fit the spaces, for formats whose reader does not know them."""
        spaces = self.spaces
        if spaces is None:
            return None
        if episode.is_continuous != spaces.continuous:
            wanted = "continuous" if spaces.continuous else "discrete"
            what = f"the actions are not {wanted}; is this another dataset?"
            return Fault(what, episode.source, field="actions")
        if not spaces.continuous and not (episode.actions.min() >= 0 and episode.actions.max() < spaces.num_actions):
            step = int(np.argmax((episode.actions < 0) | (episode.actions >= spaces.num_actions)))
            number = spaces.num_actions
            what = f"actions[{step}] is {episode.actions[step]}, but there are {number} actions (0..{number - 1})"
            return Fault(f"{what}; is this the dataset of another environment?", episode.source, field="actions")
        return None


def load_episodes(
    source: Source,
    root: str | Path | None = None,
    *,
    skip_bad: bool = False,
    reward_shift: int = 0,
    fraction: float = 1.0,
    num_actions: int | None = None,
) -> EpisodeDataset:
    """The dataset of this name under the folder `root`, at this path, or made of what is given; nothing is downloaded.

    option         meaning
    skip_bad       count what cannot be read and go on, instead of stopping with the first fault
    reward_shift   move rewards this many steps later (see `mzu data check`)
    fraction       DQN Replay only: 0.01 and 0.1 are the paper's low-data setting
    num_actions    of a discrete action space, where it differs from the game's minimal set or is not known

    >>> dataset = mzu.load_episodes("embedded:cartpole")
    >>> len(dataset), next(iter(dataset)).observations.shape
    (250, (194, 4))
    """
    if isinstance(source, Mapping):
        read = functools.partial(npz.read_arrays, dict(source))
        return EpisodeDataset("arrays", "arrays", [read], reward_shift=reward_shift, skip_bad=skip_bad)
    if not isinstance(source, str | Path):
        parts = _open_given(source, num_actions)
        return EpisodeDataset("episodes", "episodes", **parts, reward_shift=reward_shift, skip_bad=skip_bad)
    scheme, name, path = locate(source, root)
    counter = FaultCounter()
    on_fault = counter if skip_bad else raise_fault
    if fraction != 1 and scheme != "dqn_replay":
        raise ValueError(f"fraction={fraction} applies to DQN Replay only; {source} is {scheme}")
    if num_actions is not None and scheme in ("embedded", "rlu", "minari"):
        raise ValueError(f"num_actions does not apply: {source} says itself which actions it has")
    parts = _OPENERS[scheme](name, path, on_fault, fraction=fraction, num_actions=num_actions)
    return EpisodeDataset(
        str(source), scheme, **parts, reward_shift=reward_shift, skip_bad=skip_bad, set_faults=counter.first
    )


def shift_rewards(episode: Episode, steps: int) -> Episode:
    """Rewards moved `steps` later (earlier when negative); zeros come in, and what leaves the episode is lost."""
    if steps == 0:
        return episode
    rewards = np.zeros_like(episode.rewards)
    if steps > 0:
        rewards[steps:] = episode.rewards[:-steps]
    else:
        rewards[:steps] = episode.rewards[-steps:]
    return dataclasses.replace(episode, rewards=rewards)


def _open_given(source, num_actions: int | None) -> dict:
    """Episodes that are in memory already."""
    if not isinstance(source, Iterable):
        raise ValueError(f"{source!r} is no dataset; give a name, a path, a dictionary of arrays or a list of episodes")
    episodes = list(source)
    for number, item in enumerate(episodes):
        if not isinstance(item, Episode):
            raise ValueError(
                f"Item {number} of the dataset is a {type(item).__name__}, but must be an Episode; arrays go into "
                "a dictionary, see tutorials/your_own_dataset.md"
            )
    spaces = _discrete_spaces(episodes, num_actions)
    return {"readers": [lambda on_fault: iter(episodes)], "spaces": spaces, "num_episodes": len(episodes)}


def _open_embedded(name, path, on_fault, **_) -> dict:
    made = recipe(name)
    readers = [functools.partial(npz.read_npz, path)]
    return {"readers": readers, "files": [path], "spaces": made.spaces, "num_episodes": made.episodes}


def _open_rlu(name, path, on_fault, **_) -> dict:
    files = [path] if path.is_file() else find_shards(path, "train", on_fault)
    task = rlu_control.control_task(name) if name in rlu_control.ACTION_DIMENSIONS else None
    readers = [lambda report, file=file: rlu_control.read_control(file, task, report) for file in files]
    whole = task is not None and len(files) == 100  # the release's own number of files
    count = rlu_control.NUM_EPISODES[name] if whole else None
    return {
        "readers": readers,
        "files": files,
        "spaces": task and task.spaces,
        "num_episodes": count,
        "keys": task and task.sizes,
    }


def _open_rlu_atari(name, path, on_fault, num_actions, **_) -> dict:
    game, _, run = name.partition("/")
    if run and not run.isdigit():
        raise ValueError(f"The run in rlu_atari:{name} is {run!r}, but must be a number from 1 to 5")
    files = [path] if path.is_file() else find_shards(path, f"run_{run}" if run else r"run_\d+", on_fault)
    if not files:
        raise ValueError(f"There are no files of run {run} in {path}")
    spaces = rlu_atari.atari_spaces(game, num_actions)
    number = spaces.num_actions
    readers = [lambda report, file=file: rlu_atari.read_atari(file, number, report) for file in files]
    return {"readers": readers, "files": files, "spaces": spaces}


def _open_dqn_replay(name, path, on_fault, num_actions, fraction) -> dict:
    spaces = rlu_atari.atari_spaces(name.split("/")[0], num_actions)
    numbers = dqn_replay.find_checkpoints(path, on_fault)
    if not numbers:
        raise ValueError(f"There is no complete set of observation, action, reward and terminal files in {path}")
    readers = [
        lambda report, number=number: dqn_replay.read_dqn_replay(path, number, fraction, spaces.num_actions, report)
        for number in numbers
    ]
    files = [path / dqn_replay.file_name("observation", number) for number in numbers]
    return {"readers": readers, "files": files, "spaces": spaces}


def _open_minari(name, path, on_fault, **_) -> dict:
    dataset = minari_format.open_minari(path)
    read = functools.partial(minari_format.read_minari, dataset)
    spaces = minari_format.minari_spaces(dataset)
    return {"readers": [read], "files": [path], "spaces": spaces, "num_episodes": int(dataset.total_episodes)}


def _open_npz(name, path, on_fault, num_actions, **_) -> dict:
    files = [path] if path.is_file() else sorted(path.glob("*.npz"))
    counts = [npz.count_npz(file) for file in files]
    episodes = (episode for file in files for episode in npz.read_npz(file, on_fault=lambda fault: None))
    spaces = _discrete_spaces(episodes, num_actions)
    readers = [functools.partial(npz.read_npz, file) for file in files]
    count = None if None in counts else sum(counts)
    return {"readers": readers, "files": files, "spaces": spaces, "num_episodes": count}


def _discrete_spaces(episodes: Iterable[Episode], num_actions: int | None) -> Spaces | None:
    """Spaces as the first episode shows them, with this number of actions; None where it is not given."""
    if num_actions is None:
        return None
    observations = next((episode.observations for episode in episodes), np.zeros((1, 1)))
    return Spaces(observations.shape[1:], num_actions, observation_dtype=_kind(observations.dtype))


_OPENERS = {
    "embedded": _open_embedded,
    "rlu": _open_rlu,
    "rlu_atari": _open_rlu_atari,
    "dqn_replay": _open_dqn_replay,
    "minari": _open_minari,
    "npz": _open_npz,
}


def _kind(dtype) -> str:
    return "uint8" if dtype == np.uint8 else "float32"
