"""`train` and `compare`: what `mzu train` does, as functions."""

import functools
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mzu.config import Config
from mzu.training.clock import Time, now, passed
from mzu.training.data_check import check_before_training, save_check
from mzu.training.interruption import interrupt, on_interruption
from mzu.training.plan import (
    Plan,
    PlannedRun,
    as_assignments,
    create_folders,
    load_shared_inputs,
    named_data,
    plan_new,
    plan_resumed,
)
from mzu.training.progress import Silence, open_display
from mzu.training.results import finished_words, shown_path
from mzu.training.run_folder import RunFolder

if TYPE_CHECKING:
    from mzu.training.forecast import Forecast
    from mzu.training.training_result import Comparison, TrainingResult

PROGRESS = 10.0  # seconds between two lines where there is no terminal


def train(
    preset: str | Config | None = None,
    *,
    environment: str | None = None,
    data=None,
    seed: int | None = None,
    out: str | Path | None = None,
    only: str | None = None,
    resume: bool = False,
    anyway: bool = False,
    dry_run: bool = False,
    jobs: int | None = None,
    progress: float = PROGRESS,
    **settings,
) -> "TrainingResult | Comparison | Forecast":
    """Trains and evaluates -> `TrainingResult`, or `Comparison` for an offline preset, as `mzu train` does.

    preset       a name of `mzu presets`, or a `Config`; the default is cartpole_offline, unless another is named:
    environment  an id, such as CartPole-v1
    data         a dataset's name or path, or a list of `Episode`; these are kept in the run's folder
    seed         of all random numbers
    out          folder of the run (default runs/NAME, or runs/NAME-2)
    only         one of the three runs of an offline preset: behaviour_cloning, crr or unplugged
    resume       goes on with the run in `out` from its last checkpoint; it keeps its settings, but for those that are
                 named and may change (changes.py), such as more learning.training_steps
    anyway       learns from data that the dataset doctor calls wrong
    dry_run      measures a few steps and trains nothing -> `Forecast`: how long it will take, and how much memory
    jobs         how many runs of a comparison are trained at once (default: one more than there are cores)
    progress     seconds between two lines where there is no terminal and no notebook; 0 shows nothing anywhere
    settings     by their full names: train("cartpole", **{"search.num_simulations": 16})

    Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt after a checkpoint, which `resume` goes on from.

    >>> tiny = {"learning.training_steps": 3, "learning.jit_compile": False, "evaluation.episodes": 2}
    >>> result = mzu.train("cartpole_offline", only="unplugged", out="runs/mine", progress=0, **tiny)
    >>> result.evaluation["search"].returns.shape
    (2,)
    """
    if resume:
        given = {"preset": preset, "environment": environment, "data": data, "seed": seed, "only": only}
        given = [name for name, value in given.items() if value is not None]
        if dry_run and settings:
            raise ValueError("A dry run changes nothing, and a resumed run keeps its settings: leave them out")
        plan = resumable(given, out, as_assignments(settings))
        return forecast_plan(plan, jobs=jobs) if dry_run else run_plan(plan, jobs=jobs, progress=progress)
    options = {"environment": environment, "seed": seed, "out": out, "only": only}
    return _train_anew(preset, data, options, settings, jobs, progress, anyway, dry_run)


def compare(
    preset: str | Config | None = None,
    *,
    environment: str | None = None,
    data=None,
    seed: int | None = None,
    out: str | Path | None = None,
    anyway: bool = False,
    dry_run: bool = False,
    jobs: int | None = None,
    progress: float = PROGRESS,
    **settings,
) -> "Comparison | Forecast":
    """Behaviour cloning, CRR and Unplugged on the same data and network, side by side -> `Comparison`.

    Arguments as of `train`; any preset, config or data will do. `train(out=..., resume=True)` goes on with one that
    was interrupted.

    >>> comparison = mzu.compare("cartpole_offline", out="runs/three", progress=0, **tiny)
    >>> list(comparison.runs)
    ['behaviour_cloning', 'crr', 'unplugged']
    """
    options = {"environment": environment, "seed": seed, "out": out, "compared": True}
    return _train_anew(preset, data, options, settings, jobs, progress, anyway, dry_run)


def resumable(given: list[str], out: str | Path | None, assignments: list[str]) -> Plan:
    """The plan of the run or runs in `out`, whose settings are changed by `assignments`.

    A sentence where it is not named, where something is `given` that a resumed run has, or where another process is at
    work in it.
    """
    if out is None:
        raise ValueError("--resume needs to know which run to go on with; add --out DIR")
    if given:
        raise ValueError(f"A resumed run keeps its settings; leave {given[0]} out, or train anew without --resume")
    return plan_resumed(out, assignments)


def run_plan(
    plan: Plan,
    *,
    is_new: bool = False,
    episodes_file: Path | None = None,
    jobs: int | None = None,
    progress: float = PROGRESS,
    anyway: bool = False,
):
    """Trains and evaluates what is not finished -> `TrainingResult` or `Comparison`.

    A new plan's folders are made as soon as all is known to fit together, and its data are checked; `episodes_file` is
    moved into them.
    """
    jobs, began = _checked(jobs), now()
    inputs = load_shared_inputs(plan, jobs)
    display = open_display(progress)
    if is_new:
        look = None if episodes_file is None else "mzu.check(data)"
        found = check_before_training(inputs, display.say, anyway, look)
        plan = create_folders(plan, episodes_file)
        save_check(plan.out, found)
    display.say(headline(plan, len(inputs.episodes), len(inputs.held_out)))
    try:
        with on_interruption(interrupt):
            failed = _run(plan, inputs, jobs, display, began)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Interrupted; go on with `mzu train --resume --out {shown_path(plan.out)}`") from None
    finally:
        display.close()
    if len(failed) == len(plan.runs):
        raise ValueError("\n".join(failed.values()))
    from mzu.training.training_result import collect_results

    return collect_results(plan, inputs.episodes, failed, passed(began).wall)


def forecast_plan(plan: Plan, *, is_new: bool = False, jobs: int | None = None) -> "Forecast":
    """How long the plan will take on this machine and how much memory, from a few steps; nothing is left on the disk.

    The runs of a comparison are measured side by side, each in a process of its own, as they are trained.
    """
    jobs, began = _checked(jobs), now()
    inputs = load_shared_inputs(plan, jobs)
    from mzu.training.forecast import NOTHING, forecast
    from mzu.training.side_by_side import run_side_by_side
    from mzu.training.single_run import measure_run

    measured, before = {}, passed(began) if len(plan.runs) > 1 else NOTHING
    with tempfile.TemporaryDirectory(prefix="mzu-forecast-") as folder, on_interruption(interrupt):
        runs = _unfinished(plan)
        if is_new:
            runs = [run._replace(path=Path(folder) / (run.name or "run")) for run in runs]
            for run in runs:
                RunFolder.create(run.path, run.config)
        if len(plan.runs) == 1:
            measured = {run.name: measure_run(RunFolder(run.path), inputs, began) for run in runs}
        elif failed := run_side_by_side(runs, jobs, Silence(), measured.__setitem__, "measure"):
            raise ValueError("\n".join(failed.values()))
    if not measured:
        raise ValueError(f"All is finished in {plan.out}; there is nothing left to forecast")
    return forecast(measured, jobs, before)


def _checked(jobs: int | None) -> int:
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs is {jobs}, but must be at least 1")
    return jobs or default_jobs()


def default_jobs() -> int:
    """One more than there are cores: what does not search keeps less than a core busy.

    Measured on two cores (cartpole_offline, 300 steps): 55 s one after the other, 37 s two at once, 33 s three at once.
    """
    return (os.cpu_count() or 1) + 1


def headline(plan: Plan, episodes: int, held_out: int = 0) -> str:
    """What is trained, from which data, for how long, and where to."""
    config = plan.runs[-1].config
    parts = [config.environment or "no environment"]
    if config.data:
        parts.append(f"{episodes} episodes of {config.data}" + (f", {held_out} more held out" if held_out else ""))
    parts += [f"{config.learning.training_steps} learner steps", f"seed {config.seed}", f"in {plan.out}"]
    return ", ".join(parts)


def _train_anew(preset, data, options: dict, settings: dict, jobs, progress: float, anyway: bool, dry_run: bool):
    with named_data(data) as source:
        plan = plan_new(preset, data=source, assignments=as_assignments(settings), **options)
        if dry_run:
            return forecast_plan(plan, is_new=True, jobs=jobs)
        episodes_file = None if source is data else source
        return run_plan(plan, is_new=True, episodes_file=episodes_file, jobs=jobs, progress=progress, anyway=anyway)


def _unfinished(plan: Plan, say=lambda text: None) -> list[PlannedRun]:
    """What is to be trained, in this order: what searches takes longest, and begins first."""
    unfinished = []
    for run in plan.runs:
        if RunFolder(run.path).result():
            say(f"{run.label}: finished before")
        else:
            unfinished.append(run)
    return sorted(unfinished, key=lambda run: run.config.learning.policy_loss != "reanalyse")


def _run(plan: Plan, inputs, jobs: int, display, began: Time) -> dict[str, str]:
    """A single run is trained in this process, those of a comparison each in its own -> {name: sentence} of failed."""
    from mzu.training.forecast import NOTHING, Announcement

    unfinished, is_compared = _unfinished(plan, display.say), len(plan.runs) > 1
    before = passed(began) if is_compared else NOTHING
    announcement = Announcement([run.name for run in unfinished], jobs, plan.out, display.say, before)
    if is_compared:
        from mzu.training.side_by_side import run_side_by_side

        return run_side_by_side(unfinished, jobs, display, announcement.note)
    from mzu.training.single_run import train_run

    for run in unfinished:
        display.begin(run.label, run.config.learning.training_steps)
        on_figures = functools.partial(display.show, run.label)
        on_calibration = functools.partial(announcement.note, run.name)
        if not train_run(RunFolder(run.path), run.name, on_figures, display.say, inputs, on_calibration, began):
            raise KeyboardInterrupt
        display.say(finished_words(run.label, RunFolder(run.path).result()))
    return {}
