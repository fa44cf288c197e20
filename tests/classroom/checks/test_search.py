"""Assignment 2 asks for the library's search: its right answers and its inputs are held to the compiled one."""

import math
import re

import numpy as np
import pytest

from mzu.classroom.checks.search import (
    BACKUP,
    EXPAND,
    HOUSE,
    ROOT,
    SEARCH,
    SELECT,
    as_node,
    grow,
    random_model,
    scores,
)
from mzu.classroom.question import HIDDEN_SEED, Wrong, call_locally, judge
from mzu.config import SearchConfig
from mzu.search.search import search

SIMULATIONS = 24
MODELS = [HOUSE, *(random_model(np.random.default_rng(seed), actions=2 + seed) for seed in range(3))]


def library(model, state, simulations, discount, record=False):
    config = SearchConfig(num_simulations=simulations, discount=discount, dirichlet_fraction=0.0)
    return search(model, np.array([state]), config, np.random.default_rng(0), record=record)


def all_inputs(question):
    return [*question.examples, *(one for seed in (HIDDEN_SEED, 1, 2, 3) for one in question.inputs(True, seed))]


@pytest.mark.parametrize("model", MODELS)
def test_the_right_scores_are_those_that_the_library_saw(model):
    history = library(model, 0, SIMULATIONS, 0.9, record=True).history
    for simulation in range(SIMULATIONS):
        tree = grow(model, 0, simulation, 0.9)
        seen = history.value_terms[0, simulation, 0] + history.prior_terms[0, simulation, 0]
        np.testing.assert_allclose(scores(as_node(tree, ROOT), tree["bounds"], 0.9), seen, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_the_flat_trees_of_the_questions_are_those_of_the_library(model):
    mine, theirs = grow(model, 0, SIMULATIONS, 0.9), library(model, 0, SIMULATIONS, 0.9).tree
    for name in ("parent", "visits", "value"):
        np.testing.assert_allclose(mine[name], theirs.nodes[name][0], rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(mine["children"], theirs.edges["child"][0])
    np.testing.assert_allclose(mine["prior"], theirs.edges["prior"][0], rtol=1e-12)
    np.testing.assert_allclose(mine["bounds"], theirs.bounds[0], rtol=1e-12)


def test_the_right_search_is_the_librarys():
    for model, state, simulations, discount in all_inputs(SEARCH):
        visits, value = SEARCH.right(model, state, simulations, discount)
        result = library(model, state, simulations, discount)
        assert visits.tolist() == result.visits[0].tolist() and math.isclose(value, result.value[0], abs_tol=1e-12)


def rounded_otherwise(node, bounds, discount):
    """The same scores with other roundings: terms in another order, logarithms of quotients as differences."""
    low, high = bounds
    total = float(node["visits"])
    growth = 1.25 + (math.log(total + 19653) - math.log(19652))
    result = []
    for prior, child in zip(node["prior"], node["children"], strict=True):
        value, visits = 0.0, 0
        if child:
            value, visits = discount * child["value"] + child["reward"], child["visits"]
            value = value / (high - low) - low / (high - low) if high > low else value
        result.append(growth * prior / (visits + 1) * total**0.5 + value)
    return result


def walk_down(tree, discount):
    node = ROOT
    while True:
        action = int(np.argmax(rounded_otherwise(as_node(tree, node), tree["bounds"], discount)))
        if tree["children"][node, action] < 0:
            return node, action
        node = tree["children"][node, action]


def test_no_answer_hangs_on_the_last_digit():
    for tree, discount in all_inputs(SELECT):
        assert walk_down(tree, discount) == SELECT.right(tree, discount)
    for model, state, simulations, discount in all_inputs(SEARCH):
        tree = grow(model, state, simulations, discount, choose=walk_down)
        visits, value = SEARCH.right(model, state, simulations, discount)
        children = tree["children"][ROOT]
        assert np.where(children < 0, 0, tree["visits"][children]).tolist() == visits.tolist()
        assert math.isclose(tree["value"][ROOT], value, abs_tol=1e-9)


def test_a_message_about_a_tree_names_the_place_that_is_wrong():
    *_, without_discount = (wrong for idea, wrong in BACKUP.mistakes.items() if idea.startswith("the discount"))
    with pytest.raises(Wrong, match=re.escape("afterwards root['value'] should be 1.65, but is 1.75.")):
        judge(BACKUP, call_locally(without_discount), BACKUP.inputs(False))
    *_, unvisited = (wrong for idea, wrong in EXPAND.mistakes.items() if "first visit" in idea)
    with pytest.raises(Wrong, match=re.escape("afterwards node['children'][1]['visits'] should be 1, but is 0.")):
        judge(EXPAND, call_locally(unvisited), EXPAND.inputs(False))
