"""Judging a function: what counts as right, and that the message says what is missing."""

import made_assignment
import numpy as np
import pytest

from mzu.classroom import check
from mzu.classroom.question import Question, Wrong, call_locally, difference, judge, same, shown

TWICE, SUM, COUNT = made_assignment.QUESTIONS


def message(question, function, hidden=False):
    with pytest.raises(Wrong) as caught:
        judge(question, call_locally(function), question.inputs(hidden))
    return str(caught.value)


@pytest.mark.parametrize("question", made_assignment.QUESTIONS, ids=lambda question: question.name)
def test_the_right_function_passes_the_visible_and_the_hidden_checks(question):
    for hidden in (False, True):
        judge(question, call_locally(question.right), question.inputs(hidden))


def test_a_wrong_answer_says_the_input_what_was_expected_and_what_came():
    assert message(TWICE, lambda number: number + 0.25).splitlines() == [
        "Question 9.1: double is not right yet. For",
        "    number = 1",
        "it should give 2, but gives 1.25.",
    ]


def test_a_known_mistake_is_named_by_its_idea():
    assert "an idea is missing: the discount makes later" in message(SUM, lambda rewards, discount: sum(rewards))
    with pytest.raises(Wrong) as caught:
        judge(TWICE, call_locally(lambda number: number**2), TWICE.inputs(False))
    assert caught.value.idea == "twice means two times, not a square"


def test_the_mistake_that_explains_most_of_the_answers_is_named():
    # On a single reward both mistakes may agree with the student; on the others only one does.
    found = message(SUM, lambda rewards, discount: discount * SUM.right(rewards, discount))
    assert "the first reward is not discounted" in found


def test_an_unknown_mistake_names_no_idea():
    assert "idea" not in message(SUM, lambda rewards, discount: 17.0)


def test_a_mistake_that_agrees_by_chance_is_not_named():
    # 7 is what the first of the three inputs gives without the discount, and wrong for the others in any way.
    assert "idea" not in message(SUM, lambda rewards, discount: 7.0)


def test_a_function_that_is_not_written_yet_an_error_and_a_forgotten_return_are_told_apart():
    def unwritten(number):
        raise NotImplementedError

    assert message(TWICE, unwritten) == "Question 9.1: double is not written yet."
    assert "stops with ZeroDivisionError: division by zero. It was called with\n    number = 1" in message(
        TWICE, lambda number: number / 0
    )
    assert "is the `return` missing?" in message(TWICE, lambda number: None)


def test_a_function_must_leave_its_arguments_alone_unless_changing_them_is_its_task():
    def emptying(rewards, discount):
        total = SUM.right(rewards, discount)
        rewards.clear()
        return total

    assert "changes its argument rewards" in message(SUM, emptying)
    assert "is not right yet" in message(COUNT, lambda counts: counts + 1)


def test_hidden_inputs_are_random_differ_by_seed_and_come_again_with_the_same_seed():
    assert TWICE.inputs(True, 1) == TWICE.inputs(True, 1)
    assert TWICE.inputs(True, 1) != TWICE.inputs(True, 2)
    assert TWICE.inputs(True) != TWICE.inputs(False)


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (1, 1.0),
        (np.float32(0.1), 0.1),
        ([1, 2], (1.0, 2.0)),
        (np.array([1, 2]), [1, 2]),
        ([[1, 2], [3]], [[1, 2], [3]]),
        (([0], 3.0), [np.array([0]), 3]),
        ({"a": [1]}, {"a": np.array([1.0])}),
        (np.nan, float("nan")),
        (True, 1),
        (None, None),
        ("left", "left"),
        (np.zeros(0), []),
    ],
)
def test_equal_by_content(got, wanted):
    assert same(got, wanted)


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (1.001, 1.0),
        ([1, 2], [1, 2, 3]),
        ([1], 1),
        (np.zeros((2, 1)), np.zeros(2)),
        ({"a": 1}, {"b": 1}),
        ({"a": 1, "b": 2}, {"a": 1}),
        (None, 0),
        (0, None),
        ("1", 1),
        (1, "1"),
        (float("nan"), 0.0),
        (object(), 1),
        (1, object()),
        ([[1, 2], [4]], [[1, 2], [3]]),
    ],
)
def test_different(got, wanted):
    assert not same(got, wanted)


def test_results_that_are_missing_are_counted():
    wanted = (np.array([4, 7]), np.array([0.4, 0.6]), 1)
    assert difference(wanted[:2], wanted).startswith("it should give 3 results, (array([4, 7]), ")
    assert "but gives 2: (array([4, 7]), " in difference(wanted[:2], wanted)


def test_a_function_among_the_inputs_is_shown_by_its_name():
    assert shown(test_results_that_are_missing_are_counted) == "test_results_that_are_missing_are_counted"


def test_a_wrong_shape_and_a_division_by_zero_are_said():
    assert "of shape (2,), but gives one of shape (1, 2)" in difference(np.zeros((1, 2)), np.zeros(2))
    assert "divided by zero" in difference(np.array([np.nan, 1]), np.zeros(2))


def test_a_long_value_is_shown_short():
    assert len(shown(np.arange(10000) ** 3)) < 250
    assert len(shown(["word"] * 1000)) < 250


def test_numbers_of_numpy_and_many_digits_are_shown_as_a_person_would_write_them():
    assert shown(np.int64(1)) == "1" and shown(np.float64(0.1) + 0.2) == "0.3"
    assert shown([np.float64(8.39), 6.390000000000001, 2]) == "[8.39, 6.39, 2]"
    assert shown((0.175, np.int32(3), "word", None)) == "(0.175, 3, 'word', None)"


def test_a_wrong_answer_is_said_before_the_exception_of_a_later_input():
    inverse = Question("1.1", "", 1, "inverse", lambda x: 1 / x, ((2.0,), (4.0,)), lambda rng: [])
    with pytest.raises(Wrong, match="gives 1000") as caught:
        judge(inverse, call_locally(lambda x: 1e3 if x == 2 else 1 / 0), list(inverse.examples))
    assert "ZeroDivisionError" not in str(caught.value)
    with pytest.raises(Wrong, match="stops with ZeroDivisionError"):
        judge(inverse, call_locally(lambda x: 0.5 if x == 2 else 1 / 0), list(inverse.examples))


def test_check_speaks_of_success_and_knows_its_questions(monkeypatch, capsys):
    made_assignment.install(monkeypatch)
    check("9.1", made_assignment.double)
    check("9.1", made_assignment.double, hidden=True)
    assert capsys.readouterr().out.splitlines() == [
        "Question 9.1: double is right on all 2 visible inputs.",
        "Question 9.1: double is right on all 3 hidden inputs.",
    ]
    with pytest.raises(ValueError, match=r"no question '9\.7'; this assignment has 9\.1, 9\.2, 9\.3"):
        check("9.7", made_assignment.double)
    with pytest.raises(ValueError, match=r"no question '77\.1'; assignments are 1_planning"):
        check("77.1", made_assignment.double)
