"""Recipes are taken from the package where they are in it, and collected where they are not."""

import pytest

from mzu import load_episodes
from mzu.experiments.datasets import dataset_path, provide


def test_what_is_in_the_package_is_taken_from_there(tmp_path):
    assert provide("recipe:catch", tmp_path) == provide("recipe:catch:400", tmp_path) == "embedded:catch"
    assert list(tmp_path.iterdir()) == []


def test_other_data_stay_as_they_are(tmp_path):
    assert dataset_path("rlu:cheetah_run", tmp_path) == "rlu:cheetah_run"
    assert dataset_path("mine.npz", tmp_path) == "mine.npz"


def test_a_part_of_a_recipe_is_its_first_episodes(tmp_path):
    said = []
    path = provide("recipe:catch:3", tmp_path, said.append)
    assert path == str(tmp_path / "catch-3.npz") and "Collecting 3 episodes of catch" in said[0]
    part, whole = list(load_episodes(path)), list(load_episodes("embedded:catch"))
    assert len(part) == 3
    for mine, theirs in zip(part, whole, strict=False):
        assert mine.actions.tolist() == theirs.actions.tolist() and mine.total_reward == theirs.total_reward


def test_what_was_collected_is_not_collected_again(tmp_path):
    first = provide("recipe:catch:3", tmp_path)
    said = []
    assert provide("recipe:catch:3", tmp_path, said.append) == first and said == []


def test_an_unknown_recipe_is_said(tmp_path):
    with pytest.raises(ValueError, match="no embedded dataset 'katch'"):
        dataset_path("recipe:katch", tmp_path)
