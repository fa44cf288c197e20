"""`RunFolder`: what a run leaves on the disk, so that it can be looked at, evaluated and continued.

    config.json       everything that defines the run
    changes.json      settings that were changed when it was resumed, and after which step (changes.py)
    run.lock          the process that is at work in it, as long as it is (run_lock.py)
    held_out.json     the numbers of the episodes that nothing is learned from, where there are any (held_out.py)
    versions.json     versions of Python and of the libraries, the processor, and when the run was started
    log.csv           what was learned, step by step: the same for the same seed (tutorials/metrics.md)
    timing.csv        how long it took
    seals.json        lengths and checksums of these texts, by which a changed digit is noticed (seals.py)
    curve.png         the learning curve; beside the runs where several are compared, like result.csv, the table
    checkpoints/N/    the whole state after learner step N: state.npz and network.keras; the latest few stay
    best/             the network with the highest evaluation so far, and which one that was
    .../scale.json    beside a network: the running scale of its advantages, where `search.improvement` has one
    forecast.json     how long it would take and how much memory, as measured before; beside runs that are compared
    result.json       the final evaluation, by every way of selecting actions, how long training took, and the memory
    data.npz          the data, where they were given as objects; beside the runs where several are compared

Files appear whole or not at all (`mzu/files.py`); the two logs grow line by line.
"""

import contextlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mzu.config import Config
from mzu.config_fields import differing_fields
from mzu.environments.make import refuse_unknown_module
from mzu.files import check_seal, remove_leftovers, remove_whole, seal, written_whole
from mzu.training.example_runs import is_example, known_examples, refuse_example, run_path
from mzu.training.made_with import difference_words, made_with
from mzu.training.results import COLUMNS, shown_path
from mzu.training.run_lock import locked
from mzu.training.run_log import append_row, keep_rows, logged_rows
from mzu.training.seals import check_as_written, is_sealed, seal_here, write_sealed

if TYPE_CHECKING:  # a folder is looked at without Keras
    from mzu.networks.network import Network

FORMAT = "mzu run 2"
LOGS = ("log.csv", "timing.csv")


class Damaged(ValueError):
    """A checkpoint cannot be read."""


class RunFolder:
    """A run's folder, new or existing, or by its name an example of the package, which is only read."""

    def __init__(self, path: str | Path):
        self.name, self.path = path, run_path(path)
        self._is_locked = False

    @classmethod
    def create(cls, path: str | Path, config: Config) -> "RunFolder":
        """A new folder; one that already holds a run is refused rather than overwritten."""
        refuse_taken(path)
        folder = cls(path)
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.save_text("config.json", config.to_json() + "\n")
        folder.save_text("versions.json", json.dumps(made_with(), indent=2) + "\n")
        return folder

    @classmethod
    def open(cls, path: str | Path, environment: str | None = None) -> "RunFolder":
        """An existing run, perhaps a stranger's: refused where the code of a module would run for its environment.

        `environment` is another one to play in, chosen by the caller; then that of the run does not matter.
        """
        folder = cls(path)
        is_run = (folder.path / "config.json").is_file()
        inside = sorted(config.parent.name for config in folder.path.glob("*/config.json"))
        if inside and not is_run:
            raise ValueError(f"{path} holds the runs {', '.join(inside)}; choose one of them, as {path}/{inside[-1]}")
        if not is_run:
            advice = "name the folder of a run" if folder.path.exists() else f"`mzu train --out {path}` makes one"
            raise ValueError(f"{path} is no run of mzu: it has no config.json; {advice}, and {known_examples()}")
        if environment is None:
            refuse_unknown_module(folder.config.environment, str(folder.path / "config.json"))
        return folder

    @property
    def config(self) -> Config:
        path = self.path / "config.json"
        try:
            config = Config.from_json(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        if not is_sealed(path):
            way = f"; `mzu train --resume --out {shown_path(self.path)} --set NAME=VALUE` changes and records a setting"
            check_as_written(path, self._changed_settings(config), way)
        return config

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """This object alone writes into the folder meanwhile; what a killed process left half-written is removed."""
        refuse_example(self.name)
        if self._is_locked:
            yield
            return
        with locked(self.path):
            self._is_locked = True
            try:
                for folder in (self.path, self.path / "checkpoints", self.path / "best"):
                    remove_leftovers(folder)
                yield
            finally:
                self._is_locked = False

    def made_elsewhere(self) -> str:
        """A sentence where the run was made with other versions or on another processor than these; else empty."""
        return difference_words(versions, made_with()) if (versions := self._read("versions.json")) else ""

    def log(self, row: dict, name: str = "log.csv") -> None:
        """Appends a row to a log."""
        append_row(self.path / name, row)

    def read_log(self, name: str = "log.csv") -> list[dict[str, float]]:
        """The rows of a log as numbers; empty cells are NaN."""
        return logged_rows(self.path / name)

    def forget_after(self, step: int) -> None:
        """Takes out the rows behind a step: what a killed run wrote after its last checkpoint happens again."""
        for name in LOGS:
            keep_rows(self.path / name, step)

    def save_checkpoint(
        self,
        step: int,
        state: dict[str, np.ndarray],
        network: "Network",
        keep: int,
        scale: float | None = None,
    ) -> None:
        """Writes the state, the network and its scale, then removes the oldest checkpoints beyond `keep`."""
        from mzu.networks.saving import save_network

        path = self.path / "checkpoints" / f"{step:08d}"
        if path.exists():
            return
        with written_whole(path) as temporary:
            temporary.mkdir()
            np.savez(temporary / "state.npz", format=FORMAT, **state)
            with zipfile.ZipFile(temporary / "state.npz", "a") as archive:
                seal(archive)
            save_network(network, temporary / "network.keras")
            if scale is not None:
                write_sealed(temporary / "scale.json", json.dumps(scale) + "\n")
        seal_here(*(self.path / name for name in LOGS))
        for old in self.checkpoints()[:-keep]:
            remove_whole(self._checkpoint(old))

    def checkpoints(self) -> list[int]:
        """The learner steps of all complete checkpoints, in order."""
        folder = self.path / "checkpoints"
        names = [path.name for path in folder.iterdir() if path.name.isdecimal()] if folder.is_dir() else []
        return sorted(int(name) for name in names if name == f"{int(name):08d}")  # not a copy that somebody made

    def load_checkpoint(self, step: int) -> dict[str, np.ndarray]:
        """The state that `save_checkpoint` wrote."""
        path = self._checkpoint(step) / "state.npz"
        try:
            with zipfile.ZipFile(path) as archive:
                check_seal(archive)
            with np.load(path) as archive:
                state = {name: archive[name] for name in archive.files}
            format = str(state.pop("format"))
        except Exception as error:
            raise Damaged(f"{path} is damaged ({error}); remove its folder to resume from the one before") from None
        if format != FORMAT:
            raise ValueError(f"{path} was written by another version of mzu; this one reads '{FORMAT}'")
        return state

    def set_aside(self, step: int) -> None:
        """Renames a damaged checkpoint, so that nothing takes it for one, and its step can be saved again."""
        aside = self._checkpoint(step).with_suffix(".damaged")
        shutil.rmtree(aside, ignore_errors=True)
        self._checkpoint(step).rename(aside)

    def save_best(self, step: int, mean: float, network: "Network", scale: float | None = None) -> None:
        """Keeps the network if its mean return is the highest so far."""
        from mzu.networks.saving import save_network

        if mean <= self.best().get("mean", -np.inf):
            return
        # The network first: after a crash between the two the note names an older, lower mean, which is beaten again.
        save_network(network, self.path / "best" / "network.keras")
        if scale is not None:
            self.save_text("best/scale.json", json.dumps(scale) + "\n")
        self.save_text("best/best.json", json.dumps({"step": step, "mean": mean}) + "\n")

    def best(self) -> dict:
        """{"step": ..., "mean": ...} of the best network, empty where none was evaluated."""
        return self._read("best/best.json", "step", "mean")

    def load_network(self, which: str = "latest") -> "Network":
        """The network of the latest checkpoint, of the best evaluation ("best"), or of a learner step ("2000")."""
        from mzu.networks.saving import load_network

        return load_network(self.network_file(which))

    def load_scale(self, which: str = "latest") -> float | None:
        """The running scale that belongs to that network; None where the run has none."""
        path = self.network_file(which).parent / "scale.json"
        if not path.is_file():
            return None
        try:
            scale = float(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            raise ValueError(f"{path} must hold one number; go back to an earlier checkpoint") from None
        check_as_written(path)
        return scale

    def network_file(self, which: str = "latest") -> Path:
        """The file of that network."""
        if which == "best":
            if not self.best():
                why = "an example keeps the last" if is_example(self.name) else "nothing was evaluated during training"
                raise ValueError(f"{self.name} has no best network: {why}")
            return self.path / "best" / "network.keras"
        steps = self.checkpoints()
        if not steps:
            raise ValueError(f"{self.path} has no checkpoint yet")
        if which != "latest" and (not which.isdecimal() or int(which) not in steps):
            known = ", ".join(["latest", *(["best"] if self.best() else []), *map(str, steps)])
            raise ValueError(f"{self.name} has no checkpoint {which}; there are {known}")
        return self._checkpoint(steps[-1] if which == "latest" else int(which)) / "network.keras"

    def save_arrays(self, name: str, arrays: dict[str, np.ndarray]) -> Path:
        """A file of arrays beside the log, for instance the batch that made the loss infinite."""
        with written_whole(self.path / name) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)
        return self.path / name

    def save_text(self, name: str, text: str) -> Path:
        """A file of text beside the log, with its seal."""
        write_sealed(self.path / name, text)
        return self.path / name

    def save_result(self, result: dict) -> None:
        self.save_text("result.json", json.dumps(result, indent=2) + "\n")

    def reopen(self) -> None:
        """A finished run is to go on: its final evaluation is kept under another name."""
        if result := self.result():
            (self.path / "result.json").rename(self.path / f"result_after_{result['steps']}.json")

    def result(self) -> dict:
        """The final evaluation, which marks a finished run; empty before."""
        result = self._read("result.json")
        if "mean" in result:
            selections = result.get("selections") or {result.get("select"): result}
            rows = selections.values() if isinstance(selections, dict) else [None]
            if not all(map(_is_row, rows)) or "select" not in result:
                needed = ", ".join(("select", *COLUMNS))
                raise ValueError(f"{self.path / 'result.json'} is incomplete: an evaluation has {needed}; move it away")
        return result

    def _checkpoint(self, step: int) -> Path:
        return self.path / "checkpoints" / f"{step:08d}"

    def _read(self, name: str, *needed: str) -> dict:
        """The object in a file of JSON, with at least the `needed` entries; empty where there is no such file."""
        path = self.path / name
        if not path.is_file():
            return {}
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} cannot be read ({error}); move it away") from None
        if not isinstance(content, dict) or not content.keys() >= set(needed):
            raise ValueError(
                f"{path} is not what mzu writes: it must be an object with {', '.join(needed)}; move it away"
            )
        check_as_written(path)
        return content

    def _changed_settings(self, config: Config) -> str:
        """What the latest checkpoint has learned with and this config says otherwise, as part of a sentence."""
        with contextlib.suppress(Exception):
            with np.load(self._checkpoint(self.checkpoints()[-1]) / "state.npz") as archive:
                before = Config.from_json(str(archive["config"]))
            changed = differing_fields(before, config)
            return ": " * bool(changed) + ", ".join(
                f"{name} was {a} and is now {b}" for name, (a, b) in changed.items()
            )
        return ""


def _is_row(row) -> bool:
    """Whether it is a row of results: a name, and numbers."""
    return isinstance(row, dict) and all(isinstance(row.get(column), int | float) for column in COLUMNS[1:])


def refuse_taken(path: str | Path) -> None:
    """A sentence where something is in the way of a new run's folder."""
    refuse_example(path)
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"{path} exists and is not empty; choose another --out, or go on with it by --resume")
