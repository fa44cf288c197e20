"""An episode is immutable, and never half a one."""

import dataclasses

import numpy as np
import pytest
from made_episodes import control_episodes

from mzu.episodes.episode import Episode


def test_an_episode_is_immutable_and_replaceable():
    (episode,) = control_episodes(1)
    with pytest.raises(ValueError, match="read-only"):
        episode.rewards[0] = 1
    changed = dataclasses.replace(episode, search_value=np.zeros(7))
    assert changed.search_value.shape == (7,) and episode.search_value is None
    assert isinstance(changed, Episode)


def test_half_an_episode_cannot_be_made():
    with pytest.raises(ValueError, match="2 actions and 2 observations, but must have 3"):
        Episode(np.zeros((2, 1)), np.zeros(2, int), np.zeros(2))
