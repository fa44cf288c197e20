"""A verdict names the first broken part: of every planted bug, and of nothing that is healthy."""

import dataclasses
import functools
import json
import re

import pytest

import mzu
from mzu.commands.cli import main
from mzu.explain import bugs
from mzu.explain.checks import CHECKS
from mzu.explain.play import Play, dataset_mean, how_it_plays
from mzu.explain.run_verdict import ADVICE, CHECKED, PARTS, parts_of_play
from mzu.explain.toy import toy_system, two_rooms
from mzu.training.run_folder import RunFolder

# Where each bug lives, in the circle of data.
LIVES = {
    "rewards_misaligned": "data", "other_action_space": "data", "lossy_images": "replay",
    "backup_unreversed": "search", "parent_state_asked": "search", "noise_unread": "search", "clock_seeded": "search",
    "never_searches_again": "search", "one_piece_for_ever": "search", "new_action_recorded": "replay",
    "candidate_number_as_action": "replay", "weights_in_other_slots": "replay", "replay_empties_itself": "replay",
    "priority_of_first_play": "replay", "priorities_misplaced": "replay", "bootstrap_offset": "targets",
    "done_mask_missing": "targets", "discount_missing": "targets", "row_leak": "targets", "weights_ignored": "policy",
}  # fmt: skip


@functools.cache
def verdict_on(name):
    return mzu.explain.verdict(bugs.planted(name))


@pytest.mark.parametrize("name", bugs.names())
def test_every_planted_bug_is_named_first(name):
    verdict = verdict_on(name)
    assert verdict.is_wrong
    assert (verdict.broken, verdict.first["name"]) == (LIVES[name], bugs.BUGS[name].check)
    assert 1 <= len(verdict.positions) <= 3
    for position, explanation in zip(verdict.positions, verdict.explanations, strict=True):
        assert position["says"] in [check["says"] for check in explanation.flags]
        assert position["command"] == f"mzu.explain(system, episode={position['episode']}, step={position['step']})"


@pytest.mark.parametrize(
    "make",
    [toy_system, functools.partial(toy_system, sampled=True), functools.partial(toy_system, pictures=True), two_rooms],
)
def test_healthy_systems_pass(make):
    verdict = mzu.explain.verdict(make())
    assert verdict.broken is None and not verdict.is_wrong and verdict.positions == []
    assert str(verdict).startswith("Nothing is broken.")
    assert {part["state"] for part in verdict.parts} <= {"fine", "not looked at"}


def test_every_check_belongs_to_a_part_and_has_advice():
    assert CHECKED.keys() == CHECKS.keys() == ADVICE.keys()
    assert {check.part for check in CHECKED.values()} <= set(PARTS)


def test_text_notebook_and_page_say_the_same():
    verdict = verdict_on("discount_missing")
    says = verdict.first["says"]
    text = " ".join(str(verdict).split())
    assert text.startswith(f"The first broken part is the targets: {says}.")
    assert "targets BROKEN" in text and "mzu.explain(system, episode=0, step=" in text
    assert says in verdict._repr_html_() and "<script" not in verdict._repr_html_()
    page = verdict.page()
    links = re.findall(r'<a href="#(position-\d)">', page)
    assert links == [f"position-{number + 1}" for number in range(len(verdict.positions))]
    assert all(f"<h2 id='{link}'>" in page for link in links)
    assert page.count("<iframe") == len(verdict.positions)
    assert "http://" not in page.replace("http://www.w3.org", "")  # it needs no network
    assert json.loads(verdict.to_json())["broken"] == "targets"


def test_doubts_count_where_the_run_plays_badly():
    doubt = {"name": "the values cannot tell actions apart", "is_broken": False}
    parts = {part: [] for part in PARTS} | {"values": [doubt], "data": [{"name": "few", "is_broken": False}]}
    play = Play(10.0, 400.0, 500, None, collapsed=True, is_bad=True, says=[])
    compared = [{"part": "model", "name": "rewards", "says": "off", "advice": "stop", "ratio": 4.0}]
    parts_of_play(parts, play, compared)
    assert doubt["is_broken"] and not parts["data"][0]["is_broken"]
    assert parts["model"][0]["name"] == "rewards: best against last" and parts["model"][0]["is_broken"]


def test_a_position_needs_both_of_its_numbers(tmp_path, capsys):
    assert main(["explain", str(tmp_path), "--episode", "3"]) == 2
    assert "Give both --episode N and --step N, or neither" in capsys.readouterr().err
    assert main(["explain", str(tmp_path), "--simulations", "0:2"]) == 2
    assert "--simulations is about one position" in capsys.readouterr().err


def test_a_run_that_earns_less_than_its_data_plays_badly(tmp_path):
    folder = RunFolder.create(tmp_path / "run", mzu.Config())
    row = {"name": "a", "mean": 50.0, "low": 45.0, "high": 55.0, "min": 1, "max": 99, "length": 9, "episodes": 20}
    folder.save_result({"steps": 3, "seconds": 1.0, "select": "search", **row, "selections": {"search": row}})
    assert not how_it_plays(folder.path).is_bad and not how_it_plays(folder.path, 58.0).is_bad
    bad = how_it_plays(folder.path, 98.0)
    assert bad.is_bad and not bad.collapsed
    assert "the data earn 98, more than the network that learned from them" in bad.says


def test_the_mean_of_the_data_is_that_of_runs_that_learn_from_nothing_else():
    system = toy_system()
    assert dataset_mean(system) is None  # it names no data
    named = dataclasses.replace(system, config=system.config.replace(data="a.npz"))
    assert dataset_mean(named) == pytest.approx(sum(episode.total_reward for episode in system.episodes) / 3)
