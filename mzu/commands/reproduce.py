"""`mzu reproduce`: reruns an experiment of the paper in miniature, or renews the page of the stored results."""

from pathlib import Path

from mzu.experiments.catalogue import EXPERIMENTS, experiment
from mzu.experiments.definition import Experiment, Task
from mzu.experiments.tasks import task

SEEDS = 5
OUT = Path("runs/reproduce")
PAGE = Path("tutorials/results.md")


def add_arguments(parser) -> None:
    parser.add_argument("name", nargs="?", help="the experiment; --list shows them")
    parser.add_argument("--list", action="store_true", help="lists the experiments, and what each mirrors")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"runs of each kind (default {SEEDS})")
    parser.add_argument("--scale", choices=("classroom", "paper"), default="classroom",
                        help="classroom (default) or the paper's own data and settings")  # fmt: skip
    parser.add_argument("--data-root", type=Path, metavar="DIR", help="where the data of --scale paper are")
    parser.add_argument("--cell", metavar="TASK/VARIANT/SEED", help="only this run, such as cartpole/unplugged/100")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"where runs are kept (default {OUT})")
    parser.add_argument("--resume", action="store_true", help="go on with an experiment that was interrupted")
    parser.add_argument("--report", action="store_true",
                        help="runs nothing: renews tables and figures of --page from --results")  # fmt: skip
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder of CSVs (default: those of the package)")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help=f"(default {PAGE})")


def run(arguments) -> int:
    """Trains and measures what is missing; 130 where Ctrl-C ended it early, which --resume goes on from."""
    if arguments.list:
        print(listing())
        return 0
    if arguments.report:
        return _report(arguments)
    if arguments.name is None:
        raise ValueError(f"Name an experiment: {', '.join(EXPERIMENTS)}; --list says what they are")
    if arguments.seeds < 1:
        raise ValueError(f"--seeds is {arguments.seeds}, but must be at least 1")
    chosen = experiment(arguments.name)
    if arguments.scale == "paper":
        from mzu.experiments.paper_scale import at_paper_scale

        return _run_experiment(*at_paper_scale(chosen, arguments.data_root, arguments.cell), arguments)
    return _run_experiment(chosen, [task(name) for name in chosen.tasks], arguments)


def listing() -> str:
    """Name, title, what it mirrors, tasks and variants of every experiment."""
    lines = []
    for item in EXPERIMENTS.values():
        names = ", ".join(variant.name for variant in item.variants)
        lines += [
            f"{item.name}: {item.title}",
            f"    mirrors {f'the {item.mirrors}' if item.mirrors else 'nothing in the paper'}",
        ]
        lines += [f"    tasks {', '.join(item.tasks)}; variants {names}"]
    return "\n".join(lines)


def _run_experiment(chosen: Experiment, tasks: list[Task], arguments) -> int:
    from mzu.experiments.running import FIRST_SEED, planned_runs, rows, run_all, write_rows
    from mzu.training.run_lock import locked

    out = arguments.out
    runs = planned_runs(chosen, tasks, list(range(FIRST_SEED, FIRST_SEED + arguments.seeds)), out)
    wanted = [a_run for a_run in runs if arguments.cell in (None, a_run.label)]
    if not wanted:
        raise ValueError(f"{chosen.name} has no cell {arguments.cell}; they are named like {runs[0].label}")
    file = out / f"{chosen.name}.csv"
    if file.exists() and not arguments.resume and not all(a_run.is_finished for a_run in wanted):
        raise ValueError(f"{file} was begun before; go on with it by --resume, or give another folder with --out")
    with locked(out):
        write_rows(file, rows(runs))
        try:
            finished = run_all(wanted, out, lambda: write_rows(file, rows(runs)), _say)
        except KeyboardInterrupt:
            finished = False
    if not finished:
        print("Interrupted; the same command with --resume goes on")
        return 130
    _show(chosen, {item.name: item for item in tasks}, rows(runs), out)
    if arguments.cell:
        _compare(chosen, rows(wanted))
    return 0


def _show(chosen: Experiment, tasks: dict[str, Task], found: list[dict], out: Path) -> None:
    """Table, verdicts and figure of what is known so far."""
    from mzu.experiments.figures import draw_experiment
    from mzu.experiments.page import experiment_section

    picture = out / f"{chosen.name}.png"
    draw_experiment(chosen, tasks, found, picture)
    print(f"\n{chosen.title}\n\n{experiment_section(chosen, tasks, found)}\n")
    print(f"{picture.with_suffix('.csv')}: one line per cell; {picture}: the figure")


def _compare(chosen: Experiment, own: list[dict]) -> None:
    """The cells that were rerun, beside those that come with the package."""
    from mzu.experiments.page import RESULTS
    from mzu.experiments.running import read_rows

    stored = RESULTS / f"{chosen.name}.csv"
    key = ("task", "variant", "seed", "select", "checkpoint")
    known = {tuple(row[name] for name in key): row["mean"] for row in read_rows(stored)} if stored.is_file() else {}
    for row in own:
        published = known.get(tuple(row[name] for name in key))
        beside = "no stored result" if published is None else f"stored result {published:.4g}"
        print(f"{row['task']}/{row['variant']}/{row['seed']} by {row['select']}: {row['mean']:.4g}; {beside}")


def _report(arguments) -> int:
    from mzu.experiments.page import RESULTS, write_results_page

    written = write_results_page(arguments.page, arguments.results or RESULTS)
    print(f"{arguments.page}: {', '.join(written) or 'no results found'}")
    return 0


def _say(text: str) -> None:
    print(text, flush=True)
