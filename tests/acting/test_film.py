"""A film of an episode: how many pictures, in which format."""

import io

import numpy as np
import pytest
from PIL import Image

from mzu.acting.film import Film


def test_a_film_of_a_fast_world_keeps_every_second_picture():
    film = Film()
    take = film.begin(frames_per_second=50)
    for level in range(6):
        take(np.full((2, 2, 3), 40 * level, np.uint8))
    assert [picture[0, 0, 0] for picture in film.pictures] == [0, 80, 160]
    with Image.open(io.BytesIO(film.gif())) as gif:
        assert gif.n_frames == 3 and gif.info["duration"] == 40


def test_a_notebook_stores_a_film_with_fewer_points():
    film = Film()
    film.begin(frames_per_second=25)(np.random.default_rng(0).integers(256, size=(400, 600, 3)).astype(np.uint8))
    with Image.open(io.BytesIO(film.gif())) as whole, Image.open(io.BytesIO(film.gif(small=True))) as small:
        assert whole.size == (600, 400) and small.size == (300, 200)
    assert len(film._repr_html_()) < len(film.gif()) / 2


def test_a_film_has_a_name_that_says_its_format(tmp_path):
    with pytest.raises(ValueError, match=r"written as \.gif or \.mp4, but the file is called .*demo\.avi"):
        Film().save(tmp_path / "demo.avi")
