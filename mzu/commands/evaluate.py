"""`mzu evaluate`: how well a trained run plays, by each way of selecting actions, and a video of it."""

import dataclasses
from pathlib import Path

from mzu.silent_tensorflow import import_tensorflow
from mzu.training.results import result_row, table

SELECT = ("policy", "value", "search", "all")
GIF, MP4 = ".gif", ".mp4"
FRAMES_PER_SECOND = 25  # of a video; faster worlds are shown with every second or fourth picture


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
    _check_video(arguments.video)
    import_tensorflow()
    from mzu.acting.evaluation import evaluate
    from mzu.acting.selection import SELECTIONS
    from mzu.training.inputs import environment_maker, network_spaces
    from mzu.training.run_folder import RunFolder

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
    film = Film(frames_per_second) if arguments.video else None
    rows = []
    for select in SELECTIONS if wanted == "all" else [wanted]:
        # The film shows the last way of selecting, which is the search where all are asked for.
        on_frame = film.begin() if film else None
        evaluation = evaluate(network, config, make_environment, episodes, select, seed, on_frame, scale)
        rows.append(result_row(f"by {select}", evaluation.returns, evaluation.lengths))
    print(table(rows, f"{config.environment}, checkpoint {arguments.checkpoint}"))
    if film:
        film.write(arguments.video)
        print(f"{arguments.video}: the first episode, by {select}")
    return 0


class Film:
    """Collects pictures [height, width, 3] of an episode, as many per second as a video needs."""

    def __init__(self, frames_per_second: float):
        self.every = max(1, round(frames_per_second / FRAMES_PER_SECOND))
        self.rate = frames_per_second / self.every
        self.pictures, self._seen = [], 0

    def begin(self):
        """Forgets what was filmed -> the function that takes the next picture."""
        self.pictures, self._seen = [], 0
        return self._take

    def _take(self, picture) -> None:
        if self._seen % self.every == 0:
            self.pictures.append(picture)
        self._seen += 1

    def write(self, path: Path) -> None:
        """As GIF or MP4, by the ending of the name."""
        from mzu.files import written_whole

        with written_whole(path) as temporary:
            if path.suffix == MP4:
                from moviepy import ImageSequenceClip

                ImageSequenceClip(self.pictures, fps=self.rate).write_videofile(str(temporary), logger=None)
                return
            from PIL import Image

            first, *others = (Image.fromarray(picture) for picture in self.pictures)
            milliseconds = round(1000 / self.rate)
            first.save(temporary, save_all=True, append_images=others, duration=milliseconds, loop=0)


def _check_video(path: Path | None) -> None:
    """Refuses, before anything is played, what could not be written afterwards."""
    import importlib.util

    if path is None:
        return
    if path.suffix not in (GIF, MP4):
        raise ValueError(f"--video is {path}, but must end in {GIF} or {MP4}")
    if path.suffix == MP4 and importlib.util.find_spec("moviepy") is None:
        raise ValueError("An .mp4 needs moviepy, which is not installed: pip install moviepy; or choose a .gif")
