"""The sum tree finds what the definition finds, forgets nothing and invents nothing."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mzu.replay.priorities import Priorities, find_by_definition, position_priority

EXAMPLES = 30 if os.environ.get("NUMBA_DISABLE_JIT") else 200


def test_a_priority_is_the_distance_of_search_value_and_target_or_of_prediction_where_they_are_one():
    search_value, target, prediction = np.float32([1, -2]), np.float32([4, -2.5]), np.float32([1.25, 0])
    assert position_priority(search_value, target, prediction, td_steps=5).tolist() == [3, 0.5]
    assert position_priority(search_value, search_value, prediction, td_steps=0).tolist() == [0.25, 2]


def tree_of(values):
    tree = Priorities(len(values))
    tree.set(np.arange(len(values)), np.array(values, np.float64))
    return tree


def test_a_mass_finds_the_leaf_whose_stretch_it_falls_into():
    tree = tree_of([1, 0, 3, 2, 0])  # stretches 0..1, -, 1..4, 4..6, -
    assert tree.total == 6
    masses = [0, 0.999, 1, 3.5, 4, 5.999, 6, 100]
    assert tree.find(masses).tolist() == [0, 0, 2, 2, 3, 3, 3, 3]
    assert find_by_definition(np.array([1.0, 0, 3, 2, 0]), masses).tolist() == [0, 0, 2, 2, 3, 3, 3, 3]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_whole_numbers_are_found_exactly_as_by_the_definition(data):
    values = np.array(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=40).filter(any)), np.float64)
    total = values.sum()
    masses = np.array(data.draw(st.lists(st.floats(0, total + 2), max_size=20)) + list(np.arange(total + 1)))
    tree = tree_of(values)
    assert tree.total == total
    np.testing.assert_array_equal(tree.find(masses), find_by_definition(values, masses))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_any_numbers_are_found_as_by_the_definition_up_to_rounding(data):
    sizes = st.one_of(st.just(0.0), st.floats(1e-9, 1e9), st.floats(1e-300, 1e-290), st.floats(0.1, 1.0))
    values = np.array(data.draw(st.lists(sizes, min_size=1, max_size=70).filter(any)))
    tree = tree_of(values)
    shares = np.array(data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=20)))
    masses = shares * tree.total
    found = tree.find(masses)
    # Sums of n numbers in another order differ by less than n roundings of the total.
    rounding = len(values) * np.finfo(np.float64).eps * values.sum()
    ends = np.cumsum(values)
    assert (values[found] > 0).all()
    assert (ends[found] - values[found] <= masses + rounding).all()
    last = np.flatnonzero(values)[-1]
    assert ((masses < ends[found] + rounding) | (found == last)).all()


@pytest.mark.parametrize("leaves", [1, 2, 3, 7, 8, 9])
def test_masses_at_and_over_the_end_go_to_the_last_leaf_that_has_a_priority(leaves):
    values = np.zeros(leaves)
    values[leaves // 2] = 0.1
    tree = tree_of(values)
    assert tree.find([0, 0.05, 0.1, 7.0, np.nextafter(0.1, 1)]).tolist() == [leaves // 2] * 5


def test_rounding_never_leads_to_a_leaf_without_priority():
    # The small ones vanish in the sum, so that a mass can be what is left over after all of them.
    tree = tree_of([1e-17, 0, 1.0, 0, 0, 1e-17, 0, 0])
    masses = np.array([0, 1e-18, 1e-17, 0.5, np.nextafter(1, 0), 1.0])
    assert set(tree.find(masses).tolist()) <= {0, 2, 5}
    assert set(tree_of([0, 0, 1.0, 0]).find([-1.0, 0, 1, 2]).tolist()) == {2}


def test_of_an_index_that_comes_twice_the_last_value_wins():
    tree = Priorities(4)
    tree.set(np.array([2, 0, 2]), np.array([5.0, 1.0, 3.0]))
    assert tree.get(np.arange(4)).tolist() == [1, 0, 3, 0]
    assert tree.total == 4


def test_the_tree_depends_on_its_leaves_alone_however_often_they_changed():
    rng = np.random.default_rng(0)
    values = rng.random(37) * 10.0 ** rng.integers(-8, 8, 37)
    changed = Priorities(37)
    for _ in range(300):
        indices = rng.integers(0, 37, 5)
        changed.set(indices, rng.random(5) * 1e12)
    changed.set(np.arange(37), values)
    assert changed.total == tree_of(values).total
    changed.set(np.arange(37), np.zeros(37))
    assert changed.total == 0.0


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, -np.inf, 1e300])
def test_an_impossible_priority_is_named_and_changes_nothing(wrong):
    tree = tree_of([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"priorities\[1\] is"):
        tree.set(np.array([0, 1]), np.array([7.0, wrong]))
    assert tree.get([0, 1, 2]).tolist() == [1, 2, 3] and tree.total == 6


@pytest.mark.parametrize("index", [-1, 3, 4])
def test_a_leaf_outside_of_the_tree_is_an_error(index):
    tree = tree_of([1.0, 2.0, 3.0])  # the tree has room for 4 leaves, but only 3 exist
    with pytest.raises(IndexError, match=r"There are leaves 0\.\.2"):
        tree.set(np.array([index]), np.array([1.0]))
    with pytest.raises(IndexError, match=r"There are leaves 0\.\.2"):
        tree.get(np.array([index]))


def test_nothing_can_be_found_where_all_priorities_are_0():
    with pytest.raises(ValueError, match="All priorities are 0"):
        Priorities(3).find([0.0])


@pytest.mark.parametrize("variable", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_the_kernels_pass_these_tests_with(variable):
    if os.environ.get("NUMBA_DISABLE_JIT") or os.environ.get("NUMBA_BOUNDSCHECK"):
        pytest.skip("this is that run")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    folder = pathlib.Path(__file__).parents[2]
    done = subprocess.run(command, env=os.environ | {variable: "1"}, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
