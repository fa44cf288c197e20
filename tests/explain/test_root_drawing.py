"""The picture of the root has every candidate with its prior, its Q and what the operator made of them."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from made_systems import KINDS, made_system

from mzu.explain.explanation import explain_position
from mzu.explain.root_drawing import root_svg
from mzu.explain.wording import action_name, number

SVG = "{http://www.w3.org/2000/svg}"
OPERATORS = ("visits", "advantage", "completed_q", "one_step")


def rows(svg):
    """Of every candidate, from above: what the mouse shows, the texts, the bars (left, width) and where the line is."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        bars = [(float(bar.get("x")), float(bar.get("width"))) for bar in group.findall(f"{SVG}rect")]
        line = float(re.match(r"M(\S+) ", group.find(f"{SVG}path").get("d"))[1])
        texts = [text.text for text in group.findall(f"{SVG}text")]
        found.append((group.find(f"{SVG}title").text, texts, bars, line))
    return found


@pytest.fixture(scope="module", params=[(kind, operator) for kind in KINDS for operator in OPERATORS], ids=" ".join)
def explanation(request):
    kind, operator = request.param
    return explain_position(made_system(kind, f"search.improvement={operator}"), 0, 3)


def test_every_candidate_has_its_numbers_the_highest_q_first(explanation):
    candidates = {action_name(row["action"], 6): row for row in explanation.root["candidates"]}
    shown = [title.splitlines()[0].removeprefix("action ") for title, *_ in rows(root_svg(explanation))]
    assert sorted(shown) == sorted(candidates)
    values = [candidates[name]["q"] for name in shown]
    assert values == sorted(values, key=lambda q: (q is None, -(q or 0)))
    for name, (_, texts, *_) in zip(shown, rows(root_svg(explanation)), strict=True):
        row = candidates[name]
        assert texts[1:] == [number(row[key], 3) for key in ("prior", "q", "policy")]
        assert ("injected" in texts[0]) == bool(row.get("injected"))


def test_prior_and_policy_have_one_scale_and_the_line_stands_where_the_prior_ends(explanation):
    candidates = {action_name(row["action"], 6): row for row in explanation.root["candidates"]}
    scales = []
    for title, _, bars, line in rows(root_svg(explanation)):
        row = candidates[title.splitlines()[0].removeprefix("action ")]
        (_, prior), (left, policy) = bars[0], bars[-1]
        assert len(bars) == 2 + (row["q"] is not None)
        assert line - left == pytest.approx(prior, abs=0.11)
        scales += [wide / row[key] for wide, key in ((prior, "prior"), (policy, "policy")) if row[key] > 0.1]
    assert max(scales) - min(scales) < 2


def test_the_bars_of_q_begin_at_their_mean_and_with_one_step_at_the_value_of_the_root(explanation):
    rated = [row for row in explanation.root["candidates"] if row["q"] is not None]
    mean = sum(row["prior"] * row["q"] for row in rated) / sum(row["prior"] for row in rated)
    base = explanation.root["raw_value"] if explanation.result["improvement"] == "one_step" else mean
    ranked = sorted(rated, key=lambda row: -row["q"])
    bars = [bars[1] for _, _, bars, _ in rows(root_svg(explanation)) if len(bars) == 3]
    (zero,) = {round(left if row["q"] > base else left + wide) for (left, wide), row in zip(bars, ranked, strict=True)}
    lengths = [wide if left > zero - 1 else -wide for left, wide in bars]
    scale = max(map(abs, lengths)) / max(abs(row["q"] - base) for row in rated)
    assert lengths == pytest.approx([scale * (row["q"] - base) for row in ranked], abs=0.2)


@pytest.mark.parametrize("operator", ["advantage", "one_step"])
def test_what_really_followed_counts_for_the_injected_action(operator):
    settings = (f"search.improvement={operator}", "search.stored_value=data")
    explanation = explain_position(made_system("gaussian", *settings), 0, 3)
    stored, value = explanation.result["stored_value"], explanation.root["raw_value"]
    (row,) = [row for row in rows(root_svg(explanation)) if "injected" in row[1][0]]
    assert row[1][2] == number(stored, 3) and f"what really followed {number(stored)}" in row[0]
    assert "injected: data" in root_svg(explanation)
    advantages = [candidate.get("advantage") for candidate in explanation.root["candidates"]]
    assert operator == "one_step" or stored - value == pytest.approx(advantages[-1])


def test_the_picture_needs_nothing_else_and_has_a_plain_colour_behind_every_variable(explanation):
    svg = root_svg(explanation)
    for word in ("<script", "foreignObject", "href", "url(", "<style", "class="):
        assert word not in svg
    assert svg.count("var(") == len(re.findall(r'="#\w{6}" style="(?:fill|stroke):var\(', svg))
