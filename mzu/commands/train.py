"""`mzu train`: from a preset or an environment to trained networks, a table and a learning curve."""

import contextlib
import dataclasses
import re
import time
from pathlib import Path
from typing import NamedTuple

from mzu.config import Config
from mzu.files import written_whole
from mzu.presets import DEFAULT, Preset, default_config, preset
from mzu.silent_tensorflow import import_tensorflow
from mzu.training.comparison import METHODS
from mzu.training.results import as_csv, result_row, shown, shown_path, spoken, table


class PlannedRun(NamedTuple):
    """A run that is to be trained, in a folder that need not exist yet; `name` is "" where it is the only one."""

    name: str
    path: Path
    config: Config


def add_arguments(parser) -> None:
    parser.add_argument("preset", nargs="?", help=f"a name of `mzu presets` (default {DEFAULT})")
    parser.add_argument("--env", metavar="ID",
                        help="environment: CartPole-v1, dm_control:cartpole-swingup, atari:Pong, catch; "
                        "'CartPole-v1?repeat=2' holds every action for two steps")  # fmt: skip
    parser.add_argument("--data", metavar="PATH", help="dataset: a file or folder, embedded:cartpole, rlu:cheetah_run")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.FIELD=VALUE",
                        help="a setting, such as search.num_simulations=16; may be given several times")  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N", help="of all random numbers (default 0); long runs may part")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the run (default runs/NAME, or runs/NAME-2)")
    parser.add_argument("--only", choices=METHODS, help="one of the three runs of an offline preset")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out from its last checkpoint")


def run(arguments) -> int:
    """Trains and evaluates; 130 where Ctrl-C ended it early, which --resume goes on from."""
    out, planned = plan_resumed(arguments) if arguments.resume else plan_new(arguments)
    problem = _load(planned)
    from mzu.training.run_folder import RunFolder

    if not arguments.resume:
        for a_run in planned:
            RunFolder.create(a_run.path, a_run.config)
    print(_headline(planned, problem, out), flush=True)
    try:
        finished = all(_train(a_run, problem) for a_run in planned)
    except KeyboardInterrupt:
        finished = False
    if not finished:
        print(f"Interrupted; go on with `mzu train --resume --out {shown_path(out)}`")
        return 130
    _report(out, problem)
    return 0


def plan_new(arguments) -> tuple[Path, list[PlannedRun]]:
    """The runs that the arguments ask for."""
    name, chosen = _choose(arguments)
    out = arguments.out or _free_folder(Path("runs") / name)
    if (out / "config.json").exists():
        raise ValueError(f"{out} holds a run already; choose another --out, or go on with it by --resume")
    given = {"environment": arguments.env, "data": _absolute(arguments.data), "seed": arguments.seed}
    given = {name: value for name, value in given.items() if value is not None}
    config = dataclasses.replace(chosen.config, **given)
    if not chosen.compare:
        if arguments.only:
            raise ValueError("--only chooses among the three runs of an offline preset; this is a single run")
        return out, [PlannedRun("", out, config.override(*arguments.set))]
    if any(assignment.replace(" ", "").startswith("learning.policy_loss=") for assignment in arguments.set):
        raise ValueError("learning.policy_loss is what the three runs differ in; choose one of them with --only")
    planned = []
    for method in [arguments.only] if arguments.only else METHODS:
        own = config.override(*METHODS[method], *arguments.set)
        if method == "crr" and own.learning.td_steps == 0:
            own = own.override("learning.td_steps=5")  # CRR searches nothing, so there is no search value to learn from
        planned.append(PlannedRun(method, out / method, own))
    return out, planned


def plan_resumed(arguments) -> tuple[Path, list[PlannedRun]]:
    """The run in --out, or all runs of a comparison in it."""
    if arguments.out is None:
        raise ValueError("--resume needs to know which run to go on with; add --out DIR")
    for name in ("preset", "env", "data", "set", "seed", "only"):
        if getattr(arguments, name) not in (None, []):
            option = f"--{name}" if name != "preset" else f"the preset {arguments.preset}"
            raise ValueError(f"A resumed run keeps its settings; leave {option} out, or train anew without --resume")
    import_tensorflow()
    folders = runs_in(arguments.out)
    return arguments.out, [PlannedRun(name, folder.path, folder.config) for name, folder in folders.items()]


def runs_in(path: Path) -> dict:
    """The runs {method: RunFolder} of a comparison in this folder, or {"": RunFolder} of a single run."""
    from mzu.training.run_folder import RunFolder

    compared = {name: RunFolder(path / name) for name in METHODS if (path / name / "config.json").is_file()}
    return compared or {"": RunFolder.open(path)}


def _choose(arguments) -> tuple[str, Preset]:
    """A name for the folder, and the settings to begin with."""
    root = Config().override(*arguments.set).data_root  # also refuses unknown settings before anything is loaded
    if arguments.preset is None and (arguments.env or arguments.data):
        config = default_config(arguments.env, arguments.data, root)
        name = arguments.env or Path(arguments.data.replace(":", "-")).stem
        return re.sub(r"[^\w.-]+", "-", name), Preset(config, "")
    name = arguments.preset or DEFAULT
    return name, preset(name)


def _absolute(data: str | None) -> str | None:
    """A file's path in full, so that the run can be resumed from another folder."""
    return str(Path(data).resolve()) if data and Path(data).exists() else data


def _free_folder(path: Path) -> Path:
    number = 2
    free = path
    while free.exists():
        free, number = path.with_name(f"{path.name}-{number}"), number + 1
    return free


def _load(planned: list[PlannedRun]):
    """The problem that all runs share, checked for each of them."""
    import_tensorflow()
    from mzu.learning.learner import check_possible
    from mzu.training.inputs import check_config, load_inputs

    problem = load_inputs(planned[0].config)
    for a_run in planned:
        check_config(a_run.config, problem.frame_spaces, bool(problem.episodes))
        check_possible(a_run.config)
    return problem


def _headline(planned: list[PlannedRun], problem, out: Path) -> str:
    config = planned[-1].config
    parts = [config.environment or "no environment"]
    if config.data:
        parts.append(f"{len(problem.episodes)} episodes of {config.data}")
    parts += [f"{config.learning.training_steps} learner steps", f"seed {config.seed}", f"in {out}"]
    return ", ".join(parts)


def _train(a_run: PlannedRun, problem) -> bool:
    """Trains and evaluates one run, unless it is finished -> whether it is now."""
    from tqdm import tqdm

    from mzu.training.run_folder import RunFolder
    from mzu.training.trainer import Trainer

    folder, config = RunFolder(a_run.path), a_run.config
    name = spoken(a_run.name)
    if folder.result():
        print(f"{name}: finished before", flush=True)
        return True
    start = time.perf_counter()
    with contextlib.closing(Trainer(config, dataclasses.replace(problem, config=config))) as trainer:
        # disable=None: no bar where the output is not a terminal.
        with tqdm(total=config.learning.training_steps, desc=name, unit="step", disable=None) as bar:
            if not trainer.run(folder, lambda trainer, row: _show(bar, row)):
                return False
        minutes, seconds = divmod(round(time.perf_counter() - start), 60)
        result = {"steps": trainer.steps}
        ending = ""
        if config.environment is not None:
            evaluation = trainer.evaluate(config.evaluation.episodes)
            row = result_row(name, evaluation.returns, evaluation.lengths)
            lists = {"returns": evaluation.returns.tolist(), "lengths": evaluation.lengths.tolist()}
            result |= {"select": config.evaluation.select, **row, **lists}
            ending = f", return {shown(row['mean'])} ({shown(row['low'])} .. {shown(row['high'])})"
        folder.save_result(result)
        print(f"{name}: {config.learning.training_steps} steps in {minutes} min {seconds} s{ending}", flush=True)
        _report_model(trainer, folder)
    return True


def _report_model(trainer, folder) -> None:
    """The short form of `mzu explain RUN --model`, where a model was searched and there are data to compare it with."""
    config = trainer.config
    if config.data is None or config.learning.unroll_steps == 0 or config.learning.policy_loss != "reanalyse":
        return
    from mzu.explain.model_report import report_model
    from mzu.explain.model_text import short_text
    from mzu.explain.system import open_system

    report = report_model(open_system(trainer), episodes=0, ranked=False)
    print(f"{short_text(report)}\n  All of it: `mzu explain {shown_path(folder.path)} --model`", flush=True)


def _show(bar, row: dict) -> None:
    """The figures that matter beside the progress bar: loss, value, and the latest return."""
    if bar.disable:
        return
    if bar.n == 0 and row["step"] > 1:
        bar.n = bar.initial = row["step"] - 1  # a resumed run: the speed counts from here
    if row["evaluation"] != "":
        bar.evaluation = f"{row['evaluation']:.4g}"
    figures = {"loss": f"{row['loss']:.3g}", "value": f"{row['value']:.3g}"}
    if row["fresh_return"] != "":
        figures["playing"] = f"{row['fresh_return']:.4g}"
    if hasattr(bar, "evaluation"):
        figures["evaluation"] = bar.evaluation
    bar.set_postfix(figures, refresh=False)
    bar.update(row["step"] - bar.n)


def _report(out: Path, problem) -> None:
    """Table, result.csv and curve.png of the run or runs in `out`, and where they are."""
    from mzu.training.curves import Curve, plot_curves

    folders = runs_in(out)
    results = {name: result for name, folder in folders.items() if (result := folder.result())}
    returns = [episode.total_reward for episode in problem.episodes]
    rows = [result_row("dataset", returns, list(map(len, problem.episodes)))] if returns else []
    rows += [result for result in results.values() if "mean" in result]
    with written_whole(out / "result.csv") as temporary:
        temporary.write_text(as_csv(rows))
    evaluated = {name: result if "mean" in result else None for name, result in results.items()}
    curves = [Curve(spoken(name), folders[name].read_log(), result) for name, result in evaluated.items()]
    config = folders[next(iter(results))].config
    where = config.environment or config.data
    source = f" from {Path(config.data).name}" if config.data and config.environment else ""
    mean = rows[0]["mean"] if returns else None
    plot_curves(out / "curve.png", curves, f"{where}{source}, seed {config.seed}", mean)
    print(f"\n{table(rows, where)}\n")
    if not any(evaluated.values()):
        print("Nothing was evaluated, since there is no environment (--env).")
    last = shown_path(out / list(results)[-1])
    print(f"Table, curve and checkpoints are in {out}; more episodes or a video: `mzu evaluate {last}`")
