"""Trains what is missing and measures what is missing. What is finished is never done again.

    OUT/runs/TASK-SEED-DIGEST/             a run's folder, as `mzu train` leaves it, shared by all experiments
    OUT/runs/.../cells/search-final.json   the returns of one cell
    OUT/data/                              datasets that are not in the package
    OUT/NAME.csv                           what is known of experiment NAME: one line per cell

Everything appears whole or not at all. A run that was interrupted goes on from its last checkpoint.
"""

import contextlib
import csv
import dataclasses
import io
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mzu.config import Config
from mzu.experiments.datasets import dataset_path, provide
from mzu.experiments.definition import STEPS, Experiment, Measure, Task, Variant, run_config, run_name
from mzu.files import written_whole

COLUMNS = (
    "task", "variant", "seed", "select", "checkpoint", "mean", "deviation", "lowest", "highest", "episodes", "step",
    "fresh_steps", "minutes", "processor_minutes", "run",
)  # fmt: skip
# Settings were chosen by looking at runs with the seeds 0 to 2, which would flatter what they were chosen for.
FIRST_SEED = 100
# Cells are played from other beginnings than the evaluations on the way, by which the best network is chosen.
EVALUATION_SEED = 1_000_000


@dataclass(frozen=True)
class ExperimentRun:
    """One training that an experiment asks for, and where it is kept."""

    task: Task
    variant: Variant
    seed: int
    config: Config
    path: Path

    @property
    def label(self) -> str:
        return f"{self.task.name}/{self.variant.name}/{self.seed}"

    def cell_file(self, measure: Measure) -> Path:
        return self.path / "cells" / f"{measure.name}-{measure.checkpoint}.json".replace(" ", "-")

    def cell(self, measure: Measure) -> dict:
        """What was measured, empty before."""
        file = self.cell_file(measure)
        return json.loads(file.read_text()) if file.is_file() else {}

    @property
    def missing(self) -> list[Measure]:
        return [measure for measure in self.variant.measures if not self.cell(measure)]

    @property
    def is_finished(self) -> bool:
        return not self.missing


def planned_runs(experiment: Experiment, tasks: list[Task], seeds: list[int], out: Path) -> list[ExperimentRun]:
    """All runs, seed by seed, so that a table with fewer seeds is complete early."""
    runs = []
    for seed in seeds:
        for task in tasks:
            for variant in experiment.variants:
                config = run_config(task, variant, seed)
                runs.append(ExperimentRun(task, variant, seed, config, out / "runs" / run_name(task.name, config)))
    return runs


def run_all(runs: list[ExperimentRun], out: Path, after_run: Callable[[], None], say=print) -> bool:
    """Trains and measures every run that is not finished -> False where Ctrl-C ended it early."""
    pending = [a_run for a_run in runs if not a_run.is_finished]
    say(f"{len(runs)} runs, {len(runs) - len(pending)} of them finished before")
    spent = []
    for number, a_run in enumerate(pending, 1):
        start = time.perf_counter()
        if not _train(a_run, out, say):
            return False
        for measure in a_run.missing:
            _measure(a_run, measure)
        after_run()
        spent.append((time.perf_counter() - start) / 60)
        left = np.mean(spent) * (len(pending) - number)
        returns = ", ".join(
            f"{measure.name} {a_run.cell(measure)['mean']:.4g}" + (" (best)" if measure.checkpoint == "best" else "")
            for measure in a_run.variant.measures
        )
        say(f"[{number}/{len(pending)}] {a_run.label}: {returns}; {spent[-1]:.1f} min, about {left:.0f} min left")
    return True


def rows(runs: list[ExperimentRun]) -> list[dict]:
    """One row per measured cell, as the CSV has them."""
    found = []
    for a_run in runs:
        for measure in a_run.variant.measures:
            cell = a_run.cell(measure)
            if cell:
                names = {"task": a_run.task.name, "variant": a_run.variant.name, "seed": a_run.seed}
                names |= {"select": measure.name, "checkpoint": measure.checkpoint, "run": a_run.path.name}
                found.append({column: (names | cell)[column] for column in COLUMNS})
    return found


def write_rows(path: Path, table: list[dict]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    with written_whole(path) as temporary:
        temporary.write_text(text.getvalue())


def read_rows(path: Path) -> list[dict]:
    """What `write_rows` wrote, numbers as numbers."""
    words = {"task", "variant", "select", "checkpoint", "run"}
    whole = {"seed", "episodes", "step", "fresh_steps"}
    with path.open(newline="") as file:
        return [
            {key: text if key in words else int(text) if key in whole else float(text) for key, text in row.items()}
            for row in csv.DictReader(file)
        ]


def _train(a_run: ExperimentRun, out: Path, say) -> bool:
    """Trains the run to its end, unless that was done before -> False where it was interrupted."""
    from mzu.training.trainer import Trainer

    config = a_run.config
    if config.data is not None:
        config = dataclasses.replace(config, data=provide(config.data, out / "data", say))
    folder = _folder(a_run, config)
    if folder.result():
        return True
    clock, processor = time.perf_counter(), time.process_time()
    with contextlib.closing(Trainer(config)) as trainer:
        finished = trainer.run(folder)
        figures = {"steps": trainer.steps, "fresh_steps": trainer.fresh_steps}
    minutes = {"minutes": time.perf_counter() - clock, "processor_minutes": time.process_time() - processor}
    figures |= _add_up(a_run.path / "spent.json", {name: value / 60 for name, value in minutes.items()})
    if finished:
        folder.save_result(figures)
    _forget_networks()
    return finished


def _folder(a_run: ExperimentRun, config: Config):
    """The run's folder, made where it does not exist, and refused where it holds something else."""
    from mzu.training.run_folder import RunFolder

    if not (a_run.path / "config.json").is_file():
        if a_run.path.exists():
            shutil.rmtree(a_run.path)  # a kill came before the first file was whole
        return RunFolder.create(a_run.path, config)
    folder = RunFolder(a_run.path)
    data = dataset_path(a_run.config.data, a_run.path.parent.parent / "data") if a_run.config.data else None
    if dataclasses.replace(folder.config, data=data, run=config.run, evaluation=config.evaluation) != config:
        raise ValueError(
            f"{a_run.path} was trained with other settings by another version of mzu; remove it, or give another --out"
        )
    return folder


def _measure(a_run: ExperimentRun, measure: Measure) -> None:
    """Plays the episodes of one cell and keeps their returns, or counts its steps."""
    from mzu.training.run_folder import RunFolder

    folder = RunFolder.open(a_run.path)
    result = folder.result()
    count = _steps_to_goal if measure == STEPS else _played
    returns, figures = count(a_run, measure, folder)
    cell = {
        "mean": round(float(np.mean(returns)), 4),
        "deviation": round(float(np.std(returns)), 4) if np.isfinite(returns).all() else 0.0,
        "lowest": round(float(np.min(returns)), 4),
        "highest": round(float(np.max(returns)), 4),
        "fresh_steps": result["fresh_steps"],
        "minutes": round(result["minutes"], 2),
        "processor_minutes": round(result["processor_minutes"], 2),
        "returns": returns.tolist(),
    }
    with written_whole(a_run.cell_file(measure)) as temporary:
        temporary.write_text(json.dumps(cell | figures) + "\n")
    _forget_networks()


def _steps_to_goal(a_run: ExperimentRun, measure: Measure, folder) -> tuple[np.ndarray, dict]:
    """The steps in the world [1] when an evaluation on the way first earned the goal; infinite where none did."""
    from mzu.training.reference import evaluated

    reached = [row for row in evaluated(folder.read_log()) if row["evaluation"] >= a_run.task.goal]
    episodes = folder.config.evaluation.period_episodes
    if not reached:
        return np.array([np.inf]), {"episodes": episodes, "step": folder.result()["steps"]}
    return np.array([reached[0]["fresh_steps"]]), {"episodes": episodes, "step": int(reached[0]["step"])}


def _played(a_run: ExperimentRun, measure: Measure, folder) -> tuple[np.ndarray, dict]:
    """The returns of the cell's episodes, and with which network."""
    from mzu.acting.evaluation import evaluate_selection
    from mzu.training.inputs import environment_maker

    is_best = measure.checkpoint == "best"
    which = "best" if is_best else "latest"
    network, scale = folder.load_network(which), folder.load_scale(which)
    maker = environment_maker(a_run.config)
    seed = EVALUATION_SEED + a_run.seed
    config = a_run.config
    if measure.simulations is not None:
        config = config.override(f"search.num_simulations={measure.simulations}")
    returns = evaluate_selection(network, config, maker, a_run.task.episodes, measure.select, seed, scale=scale).returns
    step = folder.best()["step"] if is_best else folder.result()["steps"]
    return returns, {"episodes": len(returns), "step": step}


def _add_up(path: Path, minutes: dict[str, float]) -> dict[str, float]:
    """Adds the time of this session to that of the sessions before, which Ctrl-C ended; a kill loses its own."""
    before = json.loads(path.read_text()) if path.is_file() else {}
    total = {name: value + before.get(name, 0.0) for name, value in minutes.items()}
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(total) + "\n")
    return total


def _forget_networks() -> None:
    """Keras remembers every network; many runs in one process would fill the memory."""
    import gc

    from mzu.silent_tensorflow import keras

    keras.utils.clear_session()
    gc.collect()
