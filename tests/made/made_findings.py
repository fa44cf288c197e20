"""Data for the dataset doctor, and what it found."""

import re

import numpy as np

import mzu
from mzu.episodes.dataset import EpisodeDataset
from mzu.episodes.episode import Episode


def check(episodes, environment=None, spaces=None):
    dataset = EpisodeDataset("made", "npz", [lambda on_fault: iter(episodes)], spaces=spaces, skip_bad=True)
    return mzu.check(dataset, environment)


def findings(report, severity=None):
    return [finding.what for finding in report.findings if severity in (None, finding.severity)]


def assert_found(report, severity, pattern):
    found = [finding for finding in report.findings if re.search(pattern, finding.what)]
    assert found, findings(report)
    assert found[0].severity == severity
    assert all(found[0])  # where, why and what to do are said too
    assert report.is_wrong == any(finding.severity == "wrong" for finding in report.findings)


def moving_sprite(steps=120, score=True, seed=0):
    """A white square wanders; every now and then it earns a reward, and a mark in the corner changes."""
    rng = np.random.default_rng(seed)
    frames = np.full((steps + 1, 84, 84, 1), 40, np.uint8)
    actions, rewards = rng.integers(0, 4, steps), np.zeros(steps, np.float32)
    position, mark = np.array([40, 40]), 0
    for t in range(steps + 1):
        if t:
            position = np.clip(position + [(0, 3), (3, 0), (0, -3), (-3, 0)][actions[t - 1]], 20, 70)
            if rng.random() < 0.1:
                rewards[t - 1], mark = 1, 1 - mark
        frames[t, position[0] : position[0] + 5, position[1] : position[1] + 5] = 230
        if score:
            frames[t, 2:6, 2:6] = 60 + 100 * mark
    return Episode(frames, actions, rewards, terminated=True)
