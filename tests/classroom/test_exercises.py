"""Every exercise of the notebooks: the solution is accepted, each known mistake is refused and named, kindly."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

from mzu.classroom import check, exercises
from mzu.classroom.checking import Checker
from mzu.classroom.question import NotWritten, Wrong, call_locally, judge

EXERCISES = [one for notebook in exercises.NOTEBOOKS for one in exercises.of_notebook(notebook)]
every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: f"{one.number}-{one.name}")
every_mistake = pytest.mark.parametrize(
    ("exercise", "idea"),
    [(one, idea) for one in EXERCISES for idea in one.mistakes],
    ids=lambda value: value[:40] if isinstance(value, str) else value.number,
)


def refused(exercise, function):
    with pytest.raises(Wrong) as caught:
        judge(exercise, call_locally(function), exercise.inputs(hidden=False))
    return caught.value


def test_the_exercises_of_a_notebook_are_numbered_from_1_on():
    for notebook in exercises.NOTEBOOKS:
        found = [one.number for one in exercises.of_notebook(notebook)]
        assert found == [f"{notebook}.{place}" for place in range(1, len(found) + 1)]


@every_exercise
def test_the_solution_is_accepted(exercise, capsys):
    getattr(check, f"exercise_{exercise.number.replace('.', '_')}")(exercise.right)
    assert f"{exercise.name} is right on all" in capsys.readouterr().out


@every_mistake
def test_a_known_mistake_is_refused_and_the_missing_idea_named(exercise, idea):
    wrong = refused(exercise, exercise.mistakes[idea])
    assert wrong.idea == idea
    assert f"It looks as if an idea is missing: {idea}." in str(wrong)


@every_exercise
def test_at_least_three_mistakes_are_known_and_no_two_are_the_same(exercise):
    assert len(exercise.mistakes) >= 3
    for idea in exercise.mistakes:
        assert not idea.endswith(".") and "\n" not in idea and len(idea) < 250


@every_exercise
def test_what_nobody_has_written_yet_is_refused_in_a_sentence(exercise, capsys):
    def untouched(*arguments):
        raise NotImplementedError

    def dots(*arguments):
        return ...

    for function in (untouched, dots):
        getattr(check, f"exercise_{exercise.number.replace('.', '_')}")(function)
        said = capsys.readouterr().out
        assert said.startswith(f"Exercise {exercise.number}: {exercise.name} is not written yet.")
        assert f'check.hint("{exercise.number}")' in said and said.count("\n") == 1
        assert isinstance(refused(exercise, function), NotWritten)


@every_exercise
def test_a_function_that_forgets_to_return_is_told_so(exercise):
    if not exercise.in_place:
        assert "is the `return` missing?" in str(refused(exercise, lambda *arguments: None))


@every_exercise
def test_the_hints_come_one_by_one_and_the_last_stays(exercise, capsys):
    student = Checker()
    assert 2 <= len(exercise.hints) <= 4
    for given in range(1, len(exercise.hints) + 1):
        student.hint(exercise.number)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == given
        assert lines[-1] == f"Hint {given} of {len(exercise.hints)}: {exercise.hints[given - 1]}"
    student.hint(exercise.number)
    *again, no_more = capsys.readouterr().out.splitlines()
    assert again == lines and f'check.solution("{exercise.number}")' in no_more


@every_exercise
def test_the_solution_is_shown_folded_and_fits_on_a_screen(exercise):
    shown = check.solution(exercise.number)
    page = shown._repr_html_()
    assert page.startswith("<details><summary>") and f"def {exercise.name}(" in page
    assert exercise.right.__doc__ not in repr(shown), "the notebook has it already"
    assert exercise.because in repr(shown) and exercise.because.endswith(".")
    assert len(inspect.getsource(exercise.right).splitlines()) < 40


@every_exercise
def test_the_docstring_says_what_comes_in_and_fits_a_notebook(exercise):
    written = inspect.getsource(exercise.right)
    assert exercise.right.__doc__
    assert max(map(len, written.split('"""')[0].splitlines() + written.split('"""')[1].splitlines())) <= 100


@pytest.mark.parametrize("notebook", exercises.NOTEBOOKS)
def test_the_examples_of_the_docstrings_are_right(notebook):
    module = importlib.import_module(f"mzu.classroom.exercises.notebook_{notebook}")
    outcome = doctest.testmod(module)
    assert outcome.attempted >= 3 and not outcome.failed


def test_priors_that_do_not_sum_to_1_are_named_with_their_sum():
    exercise = exercises.find_exercise("06.3")
    [idea] = [one for one in exercise.mistakes if "need not sum to 1" in one]
    said = str(refused(exercise, exercise.mistakes[idea]))
    assert "the priors sum to 0.856: the sampled ones must share what the injected one leaves" in said


def test_an_action_that_is_listed_twice_is_named():
    exercise = exercises.find_exercise("06.3")
    [idea] = [one for one in exercise.mistakes if "one candidate, not two" in one]
    assert "action 17 is listed twice" in str(refused(exercise, exercise.mistakes[idea]))


def test_a_finding_that_cannot_read_the_answer_says_nothing():
    said = str(refused(exercises.find_exercise("06.3"), lambda *arguments: 17))
    assert "Look at it" not in said and "should give" in said


def test_a_coarse_step_is_refused_at_any_fineness_that_one_would_type():
    exercise = exercises.find_exercise("01.2")
    for step in (0.01, 0.003, 0.001):
        grid = np.arange(step, 1, step)
        wrong = refused(exercise, lambda rest, meal, g=grid: float(g[meal * g**3 / (1 - g**4) > rest / (1 - g)][0]))
        assert "a grid finds the discount only up to its step" in str(wrong)


def test_check_lists_its_exercises_and_knows_which_there_are():
    names = dir(check)
    assert {"hint", "solution", "exercise_01_1", "exercise_11_1"} <= set(names)
    assert len([name for name in names if re.fullmatch(r"exercise_\d\d_\d", name)]) == len(EXERCISES)
    with pytest.raises(AttributeError, match=r"no exercise '06\.9'; notebook 06 has 06\.1, 06\.2"):
        check.exercise_06_9(print)
    with pytest.raises(ValueError, match=r"no exercise '17\.1'; notebooks are 01 to 11"):
        check.hint("17.1")
    with pytest.raises(AttributeError, match="no attribute 'hints'"):
        check.hints("06.3")


def test_the_checks_of_the_notebooks_need_no_tensorflow():
    code = "import sys, mzu.classroom.exercises as e; e.numbers(); sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
