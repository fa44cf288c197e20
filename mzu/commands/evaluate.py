"""`mzu evaluate`: how well a trained run plays, by each way of selecting actions, and a video of it."""

import dataclasses
from pathlib import Path

from mzu.training.results import result_row, table

SELECT = ("policy", "value", "search", "all")


def add_arguments(parser) -> None:
    parser.add_argument("folder", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("--select", choices=SELECT, help="how actions are selected (default: as the run says)")
    parser.add_argument("--episodes", type=int, metavar="N", help="how many (default: as the run says)")
    parser.add_argument("--checkpoint", default="latest", metavar="STEP", help="latest (default), best, or a step")
    parser.add_argument("--env", metavar="ID", help="another environment than the run's")
    parser.add_argument("--seed", type=int, metavar="N", help="of the episodes (default: the run's)")
    parser.add_argument("--video", type=Path, metavar="FILE",
                        help="writes the first episode as .gif, or as .mp4 where moviepy is installed")  # fmt: skip


def run(arguments) -> int:
    """Plays the episodes and prints a table."""
    if arguments.episodes is not None and arguments.episodes < 1:
        raise ValueError(f"--episodes is {arguments.episodes}, but must be at least 1")
    from mzu.acting.evaluation import evaluate
    from mzu.acting.selection import SELECTIONS
    from mzu.training.film import Film, check_video
    from mzu.training.problem import environment_maker, network_spaces
    from mzu.training.run_folder import RunFolder

    if arguments.video is not None:
        check_video(arguments.video)
    folder = RunFolder.open(arguments.folder)
    config = folder.config
    if arguments.env:
        config = dataclasses.replace(config, environment=arguments.env)
    network, scale = folder.load_network(arguments.checkpoint), folder.load_scale(arguments.checkpoint)
    make_environment = environment_maker(config, picture=arguments.video is not None)
    with make_environment() as environment:
        spaces, frames_per_second = network_spaces(config, environment.spaces), environment.frames_per_second
    if network.spaces != spaces:
        raise ValueError(f"{arguments.folder} was trained for {network.spaces}, but {config.environment} has {spaces}")
    episodes = arguments.episodes or config.evaluation.episodes
    seed = config.seed if arguments.seed is None else arguments.seed
    wanted = arguments.select or config.evaluation.select
    film = Film() if arguments.video else None
    rows = []
    for select in SELECTIONS if wanted == "all" else [wanted]:
        # The film shows the last way of selecting, which is the search where all are asked for.
        if film:
            film.begin(frames_per_second)
        on_frame = film.take if film else None
        evaluation = evaluate(network, config, make_environment, episodes, select, seed, on_frame, scale)
        rows.append(result_row(f"by {select}", evaluation.returns, evaluation.lengths))
    print(table(rows, f"{config.environment}, checkpoint {arguments.checkpoint}"))
    if film:
        film.save(arguments.video)
        print(f"{arguments.video}: the first episode, by {select}")
    return 0
