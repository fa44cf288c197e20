"""`mzu train`: from a preset or an environment to trained networks, a table and a learning curve."""

from pathlib import Path

from mzu.commands.trust import add_trust, trust_run
from mzu.presets import DEFAULT
from mzu.training.comparison import METHODS
from mzu.training.interruption import end_despite_what_is_left
from mzu.training.plan import plan_new
from mzu.training.results import shown_path
from mzu.training.run_folder import RunFolder
from mzu.training.train import forecast_plan, resumable, run_plan
from mzu.training.training_result import Comparison, TrainingResult


def add_arguments(parser) -> None:
    parser.add_argument("preset", nargs="?", help=f"a name of `mzu presets` (default {DEFAULT})")
    parser.add_argument("--env", metavar="ID",
                        help="environment: CartPole-v1, dm_control:cartpole-swingup, atari:Pong, catch; "
                        "'CartPole-v1?repeat=2' holds every action for two steps")  # fmt: skip
    parser.add_argument("--data", metavar="PATH", help="dataset: a file or folder, embedded:cartpole, rlu:cheetah_run")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.FIELD=VALUE",
                        help="a setting, such as search.num_simulations=16; may be given several times")  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N", help="of all random numbers (default 0)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the run (default runs/NAME, or runs/NAME-2)")
    parser.add_argument("--compare", action="store_true",
                        help="behaviour cloning, CRR and Unplugged on --data, as offline presets do")  # fmt: skip
    parser.add_argument("--only", choices=METHODS, help="one of the three runs of a comparison")
    parser.add_argument("--jobs", type=int, metavar="N",
                        help="how many runs of a comparison at once (default: one more than cores)")  # fmt: skip
    parser.add_argument("--anyway", action="store_true",
                        help="learn from data that the dataset doctor calls wrong")  # fmt: skip
    parser.add_argument("--resume", action="store_true",
                        help="go on with the run in --out from its last checkpoint; --set may give it more steps or "
                        "another learning rate")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true",
                        help="say how long it will take on this machine and how much memory, from a few steps, and "
                        "leave nothing on the disk")  # fmt: skip
    add_trust(parser)


def run(arguments) -> int:
    """Trains and evaluates; 130 where Ctrl-C or a signal ended it early, for --resume to go on; 2 where it failed."""
    if arguments.dry_run and arguments.resume and arguments.set:
        raise ValueError("--dry-run changes nothing, and a resumed run keeps its settings: leave --set out")
    planned = plan(arguments)
    if arguments.dry_run:
        print(forecast_plan(planned, is_new=not arguments.resume, jobs=arguments.jobs))
        return 0
    if arguments.resume and (notice := RunFolder(planned.runs[0].path).made_elsewhere()):
        print(notice)
    try:
        result = run_plan(planned, is_new=not arguments.resume, jobs=arguments.jobs, anyway=arguments.anyway)
    except KeyboardInterrupt as interruption:
        print(str(interruption) or "Interrupted before anything was learned")
        end_despite_what_is_left(130)
        return 130
    print(f"\n{result}\n")
    runs = list(result.runs.values()) if isinstance(result, Comparison) else [result]
    for a_run in runs:
        _report_model(a_run)
    last = shown_path(runs[-1].folder)
    print(f"Table, curve and checkpoints are in {planned.out}; more episodes or a video: `mzu evaluate {last}`")
    return 2 if isinstance(result, Comparison) and result.failed else 0


def plan(arguments):
    """The runs that the arguments ask for, or those in --out."""
    if arguments.trust and arguments.resume and arguments.out is not None:
        trust_run(arguments.out)
    if arguments.resume:
        given = [f"the preset {arguments.preset}"] if arguments.preset else []
        options = {"env": None, "data": None, "seed": None, "compare": False, "only": None}
        given += [f"--{name}" for name, unset in options.items() if getattr(arguments, name) != unset]
        return resumable(given, arguments.out, arguments.set)
    return plan_new(
        arguments.preset,
        environment=arguments.env,
        data=arguments.data,
        seed=arguments.seed,
        out=arguments.out,
        only=arguments.only,
        compared=True if arguments.compare else None,
        assignments=arguments.set,
    )


def _report_model(result: TrainingResult) -> None:
    """The short form of `mzu explain RUN --model`, where a model was searched and there are data to compare it with."""
    config = result.config
    if config.data is None or config.learning.unroll_steps == 0 or config.learning.policy_loss != "reanalyse":
        return
    from mzu.explain.model_report import report_model
    from mzu.explain.model_text import short_text
    from mzu.explain.system import open_system

    report = report_model(open_system(result.folder), episodes=0, ranked=False)
    print(f"{short_text(report)}\n  All of it: `mzu explain {shown_path(result.folder)} --model`")
