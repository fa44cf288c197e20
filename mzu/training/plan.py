"""What is to be trained: the runs that a preset, a config, an environment or a dataset asks for, and their folders.

Whatever cannot work is refused here, in a sentence, before anything is on the disk.
"""

import contextlib
import dataclasses
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from mzu.config import Config
from mzu.episodes.episode import Episode
from mzu.files import written_whole
from mzu.presets import DEFAULT, Preset, default_config, preset
from mzu.training.changes import change_settings
from mzu.training.comparison import METHODS
from mzu.training.results import spoken
from mzu.training.run_folder import RunFolder, refuse_taken

DATA = "data.npz"  # episodes that were given as objects, beside the runs that learn from them


class PlannedRun(NamedTuple):
    """A run in a folder that need not exist yet; `name` is one of METHODS, or "" outside a comparison."""

    name: str
    path: Path
    config: Config

    @property
    def label(self) -> str:
        """Its name where progress is shown."""
        return spoken(self.name) if self.name else self.path.name


class Plan(NamedTuple):
    """The runs to train, and the folder that gets their table and curve."""

    out: Path
    runs: list[PlannedRun]


def as_assignments(settings: Mapping[str, object]) -> list[str]:
    """Settings as Python values, {"learning.training_steps": 500}, in the form that `Config.override` takes."""
    return [f"{name}={json.dumps(value, default=_plain)}" for name, value in settings.items()]


def plan_new(
    source: str | Config | None = None,
    *,
    environment: str | None = None,
    data: str | Path | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    only: str | None = None,
    compared: bool | None = None,
    assignments: Iterable[str] = (),
) -> Plan:
    """The runs that are asked for. `source`: a preset's name or a config; `compared`: None is as the preset says."""
    assignments, data = list(assignments), None if data is None else str(data)
    name, chosen = _choose(source, environment, data, assignments)
    out = _free_folder(Path("runs") / name) if out is None else Path(out)
    if (out / "config.json").exists():
        raise ValueError(f"{out} holds a run already; choose another --out, or go on with it by --resume")
    given = {"environment": environment, "data": _absolute(data), "seed": seed}
    given = {name: value for name, value in given.items() if value is not None}
    config = dataclasses.replace(chosen.config, **given)
    if not (chosen.compare if compared is None else compared):
        if only is not None:
            raise ValueError("--only chooses among the three runs of an offline preset; this is a single run")
        return Plan(out, [PlannedRun("", out, config.override(*assignments))])
    if any(assignment.replace(" ", "").startswith("learning.policy_loss=") for assignment in assignments):
        raise ValueError("learning.policy_loss is what the three runs differ in; choose one of them with --only")
    if only not in (None, *METHODS):
        raise ValueError(f"only is {only!r}, but must be one of {', '.join(METHODS)}")
    runs = []
    for method in [only] if only else METHODS:
        own = config.override(*METHODS[method], *assignments)
        if method == "crr" and own.learning.td_steps == 0:
            own = own.override("learning.td_steps=5")  # CRR searches nothing, so there is no search value to learn from
        runs.append(PlannedRun(method, out / method, own))
    return Plan(out, runs)


def plan_resumed(out: str | Path, assignments: Iterable[str] = ()) -> Plan:
    """The run in this folder, or all runs of a comparison in it; `assignments` change the settings of the unfinished.

    Refused while another process is at work in one of them.
    """
    folders = list(runs_in(out).values())
    for folder in folders:
        with folder.locked():
            pass
    if assignments:
        change_settings(folders, list(assignments))
    return Plan(Path(out), [PlannedRun(name, run.path, run.config) for name, run in runs_in(out).items()])


def runs_in(out: str | Path) -> dict[str, RunFolder]:
    """The runs {method: RunFolder} of a comparison in this folder, or {"": RunFolder} of a single run."""
    names = [name for name in METHODS if (Path(out) / name / "config.json").is_file()]
    compared = {name: RunFolder.open(Path(out) / name) for name in names}
    return compared or {"": RunFolder.open(out)}


def load_shared_inputs(plan: Plan, jobs: int):
    """Environment and data, which all runs of the plan share, checked for each of them, and for `jobs` at once."""
    from mzu.learning.learner import check_possible
    from mzu.training.inputs import check_config, load_inputs
    from mzu.training.run_memory import check_memory

    inputs = load_inputs(plan.runs[0].config)
    for run in plan.runs:
        check_config(run.config, inputs.frame_spaces, bool(inputs.episodes))
        check_possible(run.config)
    check_memory([run.config for run in plan.runs], inputs, jobs)
    return inputs


def create_folders(plan: Plan, episodes_file: Path | None = None) -> Plan:
    """Makes the folders of all runs, at once or not at all -> the plan, with the data where they are kept now.

    `episodes_file` holds data that were given as objects. It is moved beside the runs, which need it to be resumed.
    """
    home = plan.runs[0].path if len(plan.runs) == 1 else plan.out
    if episodes_file is not None:
        kept = str((home / DATA).resolve())
        plan = plan._replace(
            runs=[run._replace(config=dataclasses.replace(run.config, data=kept)) for run in plan.runs]
        )
    refuse_taken(home)
    with written_whole(home) as temporary:
        for run in plan.runs:
            RunFolder.create(temporary / run.path.relative_to(home), run.config)
        if episodes_file is not None:
            shutil.move(episodes_file, temporary / DATA)
    return plan


@contextlib.contextmanager
def named_data(data) -> Iterator[str | Path | None]:
    """A name or path of the data, as a config holds it; episodes as objects are in a temporary file meanwhile."""
    if data is None or isinstance(data, (str, Path)):
        yield data
        return
    from mzu.episodes.dataset import load_episodes
    from mzu.episodes.readers.npz import write_npz

    with tempfile.TemporaryDirectory(prefix="mzu-data-") as folder:
        file = Path(folder) / DATA
        write_npz(file, _checked_episodes(load_episodes(data) if isinstance(data, Mapping) else data))
        yield file


def _checked_episodes(episodes) -> Iterator[Episode]:
    if not isinstance(episodes, Iterable):
        raise ValueError(f"data is {episodes!r}, but must be a name, a path, or episodes")
    for number, episode in enumerate(episodes):
        if not isinstance(episode, Episode):
            kind = type(episode).__name__
            raise ValueError(f"data[{number}] is a {kind}, but must be an Episode (mzu/episodes/episode.py)")
        yield episode


def _choose(source, environment: str | None, data: str | None, assignments: list[str]) -> tuple[str, Preset]:
    """A name for the folder, and the settings to begin with."""
    root = Config().override(*assignments).data_root  # also refuses unknown settings before anything is loaded
    if isinstance(source, Config):
        return _folder_name(environment or source.environment, data or source.data), Preset(source, "")
    if source is None and (environment or data):
        return _folder_name(environment, data), Preset(default_config(environment, data, root), "")
    name = source or DEFAULT
    return name, preset(name)


def _folder_name(environment: str | None, data: str | None) -> str:
    name = environment or (Path(data.replace(":", "-")).stem if data else "run")
    return re.sub(r"[^\w.-]+", "-", name)


def _absolute(data: str | None) -> str | None:
    """A file's path in full, so that the run can be resumed from another folder."""
    return str(Path(data).resolve()) if data and Path(data).exists() else data


def _free_folder(path: Path) -> Path:
    number = 2
    free = path
    while free.exists():
        free, number = path.with_name(f"{path.name}-{number}"), number + 1
    return free


def _plain(value):
    """NumPy's numbers as Python's, and paths as text; anything else is refused by its field."""
    return value.item() if hasattr(value, "item") else str(value)
