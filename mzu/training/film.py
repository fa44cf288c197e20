"""A video of an episode: pictures are collected while it is played, and written as .gif or .mp4."""

import importlib.util
from pathlib import Path

from mzu.files import written_whole

GIF, MP4 = ".gif", ".mp4"
FRAMES_PER_SECOND = 25  # of a video; faster worlds are shown with every second or fourth picture


class Film:
    """Collects pictures [height, width, 3] of an episode, as many per second as a video needs."""

    def __init__(self, frames_per_second: float = FRAMES_PER_SECOND):
        self.begin(frames_per_second)

    def begin(self, frames_per_second: float) -> None:
        """Forgets what was filmed; the world that comes now has this many pictures a second."""
        self.every = max(1, round(frames_per_second / FRAMES_PER_SECOND))
        self.rate = frames_per_second / self.every
        self.pictures, self._seen = [], 0

    def take(self, picture) -> None:
        """The next picture."""
        if self._seen % self.every == 0:
            self.pictures.append(picture)
        self._seen += 1

    def write(self, path: str | Path) -> None:
        """As GIF or MP4, by the ending of the name."""
        path = Path(path)
        with written_whole(path) as temporary:
            if path.suffix == MP4:
                from moviepy import ImageSequenceClip

                ImageSequenceClip(self.pictures, fps=self.rate).write_videofile(str(temporary), logger=None)
                return
            from PIL import Image

            first, *others = (Image.fromarray(picture) for picture in self.pictures)
            milliseconds = round(1000 / self.rate)
            first.save(temporary, save_all=True, append_images=others, duration=milliseconds, loop=0)


def check_video(path: Path) -> None:
    """Refuses, before anything is played, what could not be written afterwards."""
    if path.suffix not in (GIF, MP4):
        raise ValueError(f"--video is {path}, but must end in {GIF} or {MP4}")
    if path.suffix == MP4 and importlib.util.find_spec("moviepy") is None:
        raise ValueError("An .mp4 needs moviepy, which is not installed: pip install moviepy; or choose a .gif")
