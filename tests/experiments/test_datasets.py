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


def test_the_same_players_with_another_seed_are_other_episodes_of_the_same_recipe(tmp_path):
    path = provide("recipe:catch:3:5", tmp_path, lambda text: None)
    assert path == str(tmp_path / "catch-3-5.npz")
    own = provide("recipe:catch:3", tmp_path, lambda text: None)
    first, second = ([episode.actions.tolist() for episode in load_episodes(file)] for file in (own, path))
    assert len(second) == 3 and first != second


def test_a_recording_that_is_missing_is_asked_for_with_the_command_that_makes_it(tmp_path):
    path = tmp_path / "walker-sac.npz"
    with pytest.raises(ValueError, match=f"record_with_sac walker --out {path}`"):
        provide("recorded:walker", tmp_path)
    path.touch()
    assert provide("recorded:walker", tmp_path) == str(path)
    with pytest.raises(ValueError, match="There is no recording 'walkers'"):
        dataset_path("recorded:walkers", tmp_path)
