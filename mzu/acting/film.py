"""`Film`: an episode as moving pictures, in a notebook or in a file (`mzu evaluate RUN --video demo.gif`)."""

import base64
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mzu.extras import require
from mzu.files import written_whole

GIF, MP4 = ".gif", ".mp4"
FRAMES_PER_SECOND = 25  # of a video; faster worlds are shown with every second or fourth picture
NOTEBOOK_WIDTH, NOTEBOOK_COLOURS = 300, 64  # of what a notebook shows, and stores: a third of the bytes


class Film:
    """An episode as moving pictures, as many per second as a video needs. A notebook shows it.

    attribute  what it is
    pictures   list of RGB uint8 [height, width, 3]
    rate       how many of them are shown in a second

    >>> film = agent.watch(seed=0)
    >>> film.pictures[0].shape, film.rate
    ((400, 600, 3), 25.0)
    """

    def __init__(self):
        self.begin(FRAMES_PER_SECOND)

    def begin(self, frames_per_second: float) -> Callable[[np.ndarray], None]:
        """Forgets what was filmed; a world with so many pictures a second comes now -> takes the next one of them."""
        self.every = max(1, round(frames_per_second / FRAMES_PER_SECOND))
        self.rate = frames_per_second / self.every
        self.pictures, self._seen = [], 0
        return self._take

    def save(self, path: str | Path) -> None:
        """Writes it as GIF or MP4, by the ending of the name."""
        check_film_path(path)
        with written_whole(path) as temporary:
            if Path(path).suffix == GIF:
                temporary.write_bytes(self.gif())
                return
            from moviepy import ImageSequenceClip

            ImageSequenceClip(self.pictures, fps=self.rate).write_videofile(str(temporary), logger=None)

    def gif(self, small: bool = False) -> bytes:
        """The bytes of a GIF that begins again at its end; `small`: as a notebook stores it."""
        from PIL import Image

        pictures = map(Image.fromarray, self.pictures)
        first, *others = map(_small, pictures) if small else pictures
        file = io.BytesIO()
        milliseconds = round(1000 / self.rate)
        first.save(file, format="GIF", save_all=True, append_images=others, duration=milliseconds, loop=0)
        return file.getvalue()

    def _take(self, picture: np.ndarray) -> None:
        if self._seen % self.every == 0:
            self.pictures.append(picture)
        self._seen += 1

    def __repr__(self) -> str:
        return f"<Film: {len(self.pictures)} pictures, {len(self.pictures) / self.rate:.1f} s; save('demo.gif')>"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.gif(small=True)).decode()
        return f'<img alt="{len(self.pictures)} pictures" src="data:image/gif;base64,{data}">'


def _small(picture):
    """A PIL picture with fewer points and colours, where it has more."""
    from PIL import Image

    if picture.width > NOTEBOOK_WIDTH:
        height = round(picture.height * NOTEBOOK_WIDTH / picture.width)
        picture = picture.resize((NOTEBOOK_WIDTH, height), Image.Resampling.BOX)
    return picture.quantize(NOTEBOOK_COLOURS)


def check_film_path(path: str | Path) -> None:
    """Refuses what `Film.save` could not write: a look before anything is played."""
    if Path(path).suffix not in (GIF, MP4):
        raise ValueError(f"A film is written as {GIF} or {MP4}, but the file is called {path}")
    if Path(path).suffix == MP4:
        require("moviepy", f"A film as {MP4}, unlike {GIF},")
