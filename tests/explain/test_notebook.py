"""What a notebook shows of an explanation."""

import dataclasses
import html
import re

import numpy as np
import pytest
from made_systems import KINDS, made_system

from mzu import SearchConfig, TabularModel, search
from mzu.explain import tables
from mzu.explain.drawing import tree_svg
from mzu.explain.explanation import explain_position
from mzu.explain.notebook import simulation_html, walk_search
from mzu.explain.page import page_html
from mzu.explain.root_drawing import root_svg


@pytest.fixture(scope="module", params=KINDS)
def explanation(request):
    return explain_position(made_system(request.param), 0, 3)


def test_the_summary_has_candidates_tree_and_targets_and_no_script(explanation):
    shown = explanation._repr_html_()
    assert "<script" not in shown and root_svg(explanation) in shown and tree_svg(explanation) in shown
    for row in tables.candidates_table(explanation).rows:
        assert f"<td>{row[0]}</td><td>{row[1]}</td>" in shown
    assert tables.value_sum(explanation.value_target["steps"][0], 2) in shown


def test_flags_are_shown_and_words_from_outside_are_escaped(explanation):
    flag = {"name": "stored step", "flag": True, "says": "a < b"}
    about = explanation.about | {"system": "<b>runs</b>"}
    shown = dataclasses.replace(explanation, checks=[flag], about=about)._repr_html_()
    assert "<b>stored step</b>: a &lt; b" in shown
    assert "&lt;b&gt;runs" in shown and "<b>runs" not in shown


def test_without_a_search_there_is_no_tree():
    explanation = explain_position(made_system("discrete", "learning.policy_loss=behaviour_cloning"), 0, 3)
    shown = explanation._repr_html_()
    assert "<svg" not in shown and "Nothing is searched" in shown
    with pytest.raises(ValueError, match="has no root"):
        explanation.root_picture()
    with pytest.raises(ValueError, match="no simulations to walk through"):
        explanation.walk()


def test_what_is_stored_as_plain_text_is_one_line(explanation):
    assert repr(explanation) == f"Explanation of {explanation.about['system']}, episode 0, step 3"


def test_a_picture_is_an_output_of_its_own(explanation):
    assert explanation.tree_picture(3)._repr_svg_() == tree_svg(explanation, 3)
    assert explanation.tree_picture()._repr_svg_() == tree_svg(explanation)
    assert explanation.root_picture()._repr_svg_() == root_svg(explanation)


def test_the_walk_holds_the_tree_and_the_path_of_every_simulation_and_shows_the_last(explanation):
    shown = explanation.walk()
    sections = re.findall(r"<section( hidden)?>(.*?)</section>", shown.page, flags=re.DOTALL)
    assert [bool(hidden) for hidden, _ in sections] == [True] * 7 + [False]
    for count, (_, section) in enumerate(sections):
        assert section == simulation_html(explanation, count)
        assert tree_svg(explanation, count) in section
    assert 'min="0" max="7" value="7"' in shown.page
    assert tables.leaf_words(explanation.simulations[6]) in html.unescape(sections[7][1])


def test_what_is_framed_can_neither_leave_its_frame_nor_differ_from_run_to_run(explanation):
    for shown, page in ((explanation.walk(), None), (explanation.page(), page_html(explanation))):
        [inside] = re.findall(r"^<iframe [^>]*? srcdoc='([^']*)'></iframe>$", shown._repr_html_(), flags=re.DOTALL)
        assert html.unescape(inside) == shown.page
        assert page is None or shown.page == page
        assert " at 0x" not in repr(shown) and len(repr(shown)) < 100


def test_any_recorded_search_can_be_walked_through():
    model = TabularModel([[1, 1], [1, 1]], [[0.0, 1.0], [0.0, 0.0]])
    config = SearchConfig(num_simulations=3, discount=0.9)
    result = search(model, np.array([0]), config, np.random.default_rng(0), record=True)
    assert walk_search(result, discount=0.9).page.count("<section") == 4
    with pytest.raises(ValueError, match="search with record=True"):
        walk_search(search(model, np.array([0]), config, np.random.default_rng(0)), discount=0.9)
