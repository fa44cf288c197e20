"""What a notebook shows of an explanation."""

import dataclasses
import sys

import pytest
from made_systems import KINDS, made_system

from mzu.explain import tables
from mzu.explain.drawing import tree_svg
from mzu.explain.explanation import explain_position
from mzu.explain.notebook import simulation_html
from mzu.explain.root_drawing import root_svg


@pytest.fixture(scope="module", params=KINDS)
def explanation(request):
    return explain_position(made_system(request.param), 0, 3)


def test_the_summary_has_candidates_tree_and_targets_and_no_script(explanation):
    html = explanation._repr_html_()
    assert "<script" not in html and root_svg(explanation) in html and tree_svg(explanation) in html
    for row in tables.candidates_table(explanation).rows:
        assert f"<td>{row[0]}</td><td>{row[1]}</td>" in html
    assert tables.value_sum(explanation.value_target["steps"][0], 2) in html


def test_flags_are_shown_and_words_from_outside_are_escaped(explanation):
    flag = {"name": "stored step", "flag": True, "says": "a < b"}
    about = explanation.about | {"system": "<b>runs</b>"}
    html = dataclasses.replace(explanation, checks=[flag], about=about)._repr_html_()
    assert "<b>stored step</b>: a &lt; b" in html
    assert "&lt;b&gt;runs" in html and "<b>runs" not in html


def test_without_a_search_there_is_no_tree():
    explanation = explain_position(made_system("discrete", "learning.policy_loss=behaviour_cloning"), 0, 3)
    html = explanation._repr_html_()
    assert "<svg" not in html and "Nothing is searched" in html
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


def test_the_walk_shows_the_tree_and_the_path_of_the_slider(explanation):
    pytest.importorskip("ipywidgets")
    slider, shown = explanation.walk().children
    assert (slider.min, slider.max) == (0, 7)
    for count in (0, 5, 7):
        slider.value = count
        assert shown.value == simulation_html(explanation, count)
        assert tree_svg(explanation, count) in shown.value
    assert tables.leaf_words(explanation.simulations[6]) in shown.value


def test_without_ipywidgets_a_sentence_says_what_to_install(explanation, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ValueError, match=r"needs ipywidgets, which is not installed: pip install 'mzu\[notebooks\]'"):
        explanation.walk()
