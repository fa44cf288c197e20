"""`mzu evaluate`: how well a trained run plays, by each way of selecting actions, and a video of it; `--offline`: what
its data alone say of it."""

from pathlib import Path

from mzu.acting.film import Film, check_film_path
from mzu.commands.trust import add_trust, trust_run
from mzu.training.example_runs import example_words
from mzu.training.results import cut_off_words, result_row, results_table

SELECT = ("policy", "value", "search", "all")


def add_arguments(parser) -> None:
    parser.add_argument("folder", type=Path, metavar="RUN",
                        help="the folder of a run, or an example such as example:cartpole")  # fmt: skip
    parser.add_argument("--select", choices=SELECT, help="how actions are selected (default: as the run says)")
    parser.add_argument("--episodes", type=int, metavar="N", help="how many (default: as the run says)")
    parser.add_argument("--checkpoint", default="latest", metavar="STEP", help="latest (default), best, or a step")
    parser.add_argument("--env", metavar="ID", help="another environment than the run's")
    add_trust(parser)
    parser.add_argument("--seed", type=int, metavar="N", help="of the episodes (default: the run's)")
    parser.add_argument("--video", type=Path, metavar="FILE",
                        help="writes the first episode as .gif, or as .mp4 where moviepy is installed")  # fmt: skip
    parser.add_argument("--offline", action="store_true",
                        help="plays nothing: judges the policy by episodes of its data (held out with "
                        "`mzu train --set reanalyse.held_out=0.2`)")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="with --offline: writes all numbers")


def run(arguments) -> int:
    """Plays the episodes and prints a table; with --offline it plays nothing."""
    if arguments.offline:
        return _judge(arguments)
    if arguments.json is not None:
        raise ValueError("--json writes the numbers of --offline; add that, or leave it out")
    if arguments.episodes is not None and arguments.episodes < 1:
        raise ValueError(f"--episodes is {arguments.episodes}, but must be at least 1")
    if arguments.video is not None:
        check_film_path(arguments.video)
    from mzu.training.evaluate_run import evaluate_run
    from mzu.training.run_folder import RunFolder

    if arguments.trust:
        trust_run(arguments.folder)
    folder = RunFolder.open(arguments.folder, arguments.env)
    for notice in filter(None, (example_words(arguments.folder), folder.made_elsewhere())):
        print(notice)
    film = Film() if arguments.video else None
    found = evaluate_run(
        arguments.folder,
        arguments.episodes,
        arguments.select,
        arguments.checkpoint,
        environment=arguments.env,
        seed=arguments.seed,
        film=film,
    )
    rows = [result_row(f"by {way}", evaluation.returns, evaluation.lengths) for way, evaluation in found.items()]
    world = arguments.env or folder.config.environment
    print(results_table(rows, f"{world}, checkpoint {arguments.checkpoint}"))
    limit = folder.config.acting.max_episode_steps
    for way, evaluation in found.items():
        if evaluation.cut_off:
            which = f"by {way}: {evaluation.cut_off} of {len(evaluation.returns)} episodes"
            print(cut_off_words(which, limit))
    if film:
        film.save(arguments.video)
        print(f"{arguments.video}: the first episode, by {list(found)[-1]}")
    return 0


def _judge(arguments) -> int:
    """Prints what can be said without playing."""
    for name in ("episodes", "env", "video"):
        if getattr(arguments, name) is not None:
            raise ValueError(f"--{name} is about playing, and --offline plays nothing; leave one of them out")
    if arguments.trust:
        trust_run(arguments.folder)
    from mzu.explain.offline_report import evaluate_offline

    report = evaluate_offline(arguments.folder, arguments.select, arguments.checkpoint, seed=arguments.seed)
    if arguments.json is not None:
        report.save(arguments.json)
        print(f"{arguments.json}: all numbers")
    else:
        print(report)
    return 0
