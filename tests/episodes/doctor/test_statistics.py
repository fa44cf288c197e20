"""What the statistics of a dataset see."""

import dataclasses
import io

import numpy as np
from made_findings import assert_found, check, moving_sprite
from PIL import Image

from mzu.episodes.doctor.statistics import JpegTraces, Statistics
from mzu.episodes.episode import Episode


def test_jpeg_is_recognised_by_its_blocks():
    def compressed(frame):
        buffer = io.BytesIO()
        Image.fromarray(frame[:, :, 0]).save(buffer, "JPEG", quality=90)
        return np.asarray(Image.open(buffer))[..., None]

    episode = moving_sprite()
    lossy = dataclasses.replace(episode, observations=np.stack([compressed(frame) for frame in episode.observations]))
    assert_found(check([lossy]), "doubtful", "compressed as JPEG")
    clean = JpegTraces()
    clean.add(episode)
    assert clean.ratio < 1.5 and not clean.found


def test_statistics_grow_with_the_number_of_actions():
    statistics = Statistics()
    for actions in ([0, 1], [3, 3, 3], [2]):
        count = len(actions)
        statistics.add(Episode(np.zeros((count + 1, 1)), np.array(actions), np.ones(count)))
    assert statistics.action_counts.tolist() == [1, 1, 1, 3]
    assert statistics.num_steps == 6 and statistics.returns == [2, 3, 1]
