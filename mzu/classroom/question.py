"""A question: a function that a student writes, what is right, and what is usually wrong.

A check calls the student's function and the right one with the same inputs. Where the results differ it also asks the
functions that make a known mistake: the one that gives what the student got names the idea that is missing.
"""

import ast
import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

HIDDEN_SEED = 2021  # of the hidden inputs, where a teacher gives no other
SHOWN_CHARACTERS = 200  # of an input or a result in a message
MISSING = "It looks as if an idea is missing: {}."


@dataclass(frozen=True)
class Question:
    """One function to write.

    field      meaning
    number     "2.1": assignment and question
    title      what it is about, in a few words
    points     given for passing the visible and the hidden checks, both
    name       of the student's function
    right      the function as it should be
    examples   inputs of the visible checks, each a tuple of arguments
    more       random generator -> inputs of the hidden checks, other ones than the examples
    mistakes   {idea that is missing: the function without it}; a sentence each, "the discount ..."
    in_place   whether the function is meant to change its arguments, which then count as its result
    tolerance  by which numbers may differ, relative to their size
    finding    (a wrong result, *arguments) -> what is the matter with it, in a sentence; "": nothing that it knows
    """

    kind: ClassVar[str] = "Question"

    number: str
    title: str
    points: int
    name: str
    right: Callable
    examples: tuple[tuple, ...]
    more: Callable[[np.random.Generator], list[tuple]]
    mistakes: dict[str, Callable] = field(default_factory=dict)
    in_place: bool = False
    tolerance: float = 1e-6
    finding: Callable[..., str] | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    def inputs(self, hidden: bool, seed: int = HIDDEN_SEED) -> list[tuple]:
        """The inputs of the visible or of the hidden checks."""
        if not hidden:
            return list(self.examples)
        # The question's number makes the inputs of two questions with the same generator differ.
        return self.more(np.random.default_rng([seed, *map(int, self.number.split("."))]))


@dataclass(frozen=True, kw_only=True)
class Exercise(Question):
    """A question of a notebook: its number is "06.3", it gives no points, and all its checks are visible.

    hints      the first says where to look, the last nearly everything
    because    why the solution is what it is, in a sentence or two
    uses       functions that the right one calls, to be shown with it
    """

    kind: ClassVar[str] = "Exercise"
    points: int = 0
    more: Callable[[np.random.Generator], list[tuple]] = lambda rng: []
    hints: tuple[str, ...]
    because: str
    uses: tuple[Callable, ...] = ()

    @property
    def solution(self) -> str:
        """The source of what the right function uses and its own, without the docstring, which the notebook has."""
        used = [inspect.getsource(function).strip() for function in self.uses]
        lines = inspect.getsource(self.right).splitlines()
        docstring = ast.parse("\n".join(lines)).body[0].body[0]
        return "\n\n\n".join([*used, "\n".join(lines[: docstring.lineno - 1] + lines[docstring.end_lineno :])])


def exercise(number: str, title: str, right: Callable, **fields) -> Exercise:
    """An exercise whose function has the name of the right one."""
    return Exercise(number=number, title=title, name=right.__name__, right=right, **fields)


@dataclass(frozen=True)
class WrittenQuestion:
    """An answer in words, which a person reads; it has no automatic points."""

    number: str
    title: str
    points: int


class Wrong(AssertionError):
    """A check that failed; its message is for the student. `idea` is the one that seems to be missing, if any."""

    def __init__(self, message: str, idea: str = ""):
        super().__init__(message)
        self.idea = idea

    def _render_traceback_(self):  # Jupyter shows this in place of a traceback through the library
        return [str(self)]


class NotWritten(Wrong):
    """Nobody has worked on the function yet."""


# Calls a student's function: arguments -> (result, arguments afterwards).
Call = Callable[..., tuple[object, tuple]]


def judge(question: Question, call: Call, inputs: list[tuple]) -> None:
    """Raises `Wrong` with a message that teaches, unless the function is right on all inputs."""
    answers, stopped = [], None
    for arguments in inputs:
        try:
            answers.append(_answer(question, call, arguments))
        except NotWritten:
            raise
        except Wrong as error:
            stopped = error
            break
    inputs = inputs[: len(answers)]
    wanted = [_outcome(question, *call_locally(question.right)(*arguments)) for arguments in inputs]
    wrong = [number for number, answer in enumerate(answers) if not same(answer, wanted[number], question.tolerance)]
    if not wrong and stopped is None:
        return
    if not wrong:
        raise stopped
    # A wrong answer teaches more than the exception that the same mistake leads to with a later input.
    first = wrong[0]
    lines = [
        f"{question}: {question.name} is not right yet. For",
        shown_inputs(question, inputs[first]),
    ]
    if question.in_place:
        lines.append(difference_in_place(question, answers[first], wanted[first]))
    else:
        lines.append(difference(answers[first], wanted[first]))
    lines += _findings(question, answers[first], inputs[first])
    idea = _missing_idea(question, inputs, answers, wanted, wrong)
    if idea:
        lines.append(MISSING.format(idea))
    raise Wrong("\n".join(lines), idea)


def call_locally(function: Callable) -> Call:
    """Calls a function of this process with copies of the arguments."""

    def call(*arguments):
        arguments = copy.deepcopy(arguments)
        return function(*arguments), arguments

    return call


def same(got, wanted, tolerance: float = 1e-6) -> bool:
    """Whether two results are equal: numbers up to the tolerance, lists, tuples and arrays as the same, by content."""
    if isinstance(wanted, dict):
        return (
            isinstance(got, dict)
            and got.keys() == wanted.keys()
            and all(same(got[key], wanted[key], tolerance) for key in wanted)
        )
    if wanted is None or isinstance(wanted, str):
        return type(got) is type(wanted) and got == wanted
    if isinstance(wanted, list | tuple) and not _is_numeric(wanted):
        return (
            isinstance(got, list | tuple | np.ndarray)
            and len(got) == len(wanted)
            and all(same(one, other, tolerance) for one, other in zip(got, wanted, strict=True))
        )
    if not (_is_numeric(got) and _is_numeric(wanted)):
        return False
    got, wanted = np.asarray(got), np.asarray(wanted)
    return got.shape == wanted.shape and np.allclose(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


def difference(got, wanted) -> str:
    """What was expected and what came, in a sentence or two."""
    if got is None:
        return f"it should give {shown(wanted)}, but it gives nothing; is the `return` missing?"
    if isinstance(wanted, tuple) and isinstance(got, tuple) and len(got) != len(wanted):
        return f"it should give {len(wanted)} results, {shown(wanted)}, but gives {len(got)}: {shown(got)}."
    if not isinstance(wanted, tuple) and _is_numeric(got) and _is_numeric(wanted) and np.shape(got) != np.shape(wanted):
        return (
            f"it should give an array of shape {np.shape(wanted)}, but gives one of shape {np.shape(got)}: "
            f"expected {shown(wanted)}, got {shown(got)}."
        )
    if _is_numeric(got) and np.isnan(np.asarray(got, float)).any():
        return f"it should give {shown(wanted)}, but gives {shown(got)}; is something divided by zero?"
    return f"it should give {shown(wanted)}, but gives {shown(got)}."


def difference_in_place(question: Question, got: tuple, wanted: tuple) -> str:
    """The first place of the arguments that is not as it should be after the call; they are too large to show whole."""
    pairs = zip(_names(question), got, wanted, strict=False)
    name, got, wanted = next(one for one in pairs if not same(*one[1:], question.tolerance))
    place, got, wanted = _first_difference(got, wanted, question.tolerance, name)
    return f"afterwards {place} should be {shown(wanted)}, but is {shown(got)}."


def _first_difference(got, wanted, tolerance: float, place: str) -> tuple[str, object, object]:
    """Goes down into dictionaries and lists -> an expression such as node['children'][0], and both values there."""
    if isinstance(wanted, dict) and isinstance(got, dict) and got.keys() == wanted.keys():
        keys = list(wanted)
    elif isinstance(wanted, list) and isinstance(got, list) and len(got) == len(wanted) and not _is_numeric(wanted):
        keys = range(len(wanted))
    else:
        return place, got, wanted
    key = next(key for key in keys if not same(got[key], wanted[key], tolerance))
    return _first_difference(got[key], wanted[key], tolerance, f"{place}[{key!r}]")


def shown(value) -> str:
    """A value as a short text."""
    if inspect.isfunction(value):
        text = value.__name__  # its repr has an address in memory
    elif isinstance(value, np.ndarray):
        text = np.array2string(value, precision=5, suppress_small=True, separator=", ", threshold=40)
    else:
        text = f"{value:.6g}" if isinstance(value, float | np.floating) else repr(_short_numbers(value))
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]} ..."


def _short_numbers(value):
    """The same with Python's numbers in the place of NumPy's, six digits of each."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return type(value)(map(_short_numbers, value)) if type(value) in (list, tuple) else value


def shown_inputs(question: Question, arguments: tuple) -> str:
    """The arguments of a call, a line each."""
    lines = zip(_names(question), arguments, strict=False)
    return "\n".join(f"    {name} = {shown(argument)}" for name, argument in lines)


def _answer(question: Question, call: Call, arguments: tuple):
    try:
        result, afterwards = call(*arguments)
    except NotImplementedError:
        raise NotWritten(f"{question}: {question.name} is not written yet.") from None
    except Wrong:
        raise
    except Exception as error:
        idea = _idea_that_stops(question, type(error).__name__, arguments)
        raise Wrong(
            f"{question}: {question.name} stops with {type(error).__name__}: {error}. It was called with\n"
            f"{shown_inputs(question, arguments)}" + (f"\n{MISSING.format(idea)}" if idea else ""),
            idea,
        ) from error
    if result is ...:
        raise NotWritten(f"{question}: {question.name} is not written yet.")
    pairs = zip(_names(question), arguments, afterwards, strict=False)
    changed = [name for name, before, after in pairs if _is_plain(before) and not same(after, before)]
    if changed and not question.in_place:
        raise Wrong(
            f"{question}: {question.name} changes its argument {' and '.join(changed)}; work on a copy, since the "
            "caller still needs it."
        )
    return _outcome(question, result, afterwards)


def _outcome(question: Question, result, afterwards: tuple):
    return afterwards if question.in_place else result


def _findings(question: Question, answer, arguments: tuple) -> list[str]:
    """What is the matter with a wrong answer by itself, whichever mistake led to it: no or one sentence."""
    if question.finding is None:
        return []
    try:
        found = question.finding(answer, *arguments)
    except Exception:  # an answer of another kind or shape than the finding is about
        return []
    return [f"Look at it: {found}."] if found else []


def _missing_idea(question: Question, inputs, answers, wanted, wrong: list[int]) -> str:
    """The mistake that gives what the student got, on as many inputs as possible; "" where none does.

    It must explain at least half of what is wrong: on a single input two mistakes can agree by chance.
    """
    best, most = "", 0
    for idea, mistaken in question.mistakes.items():
        given = [_attempt(question, mistaken, arguments) for arguments in inputs]
        explains = [number for number in wrong if same(given[number], answers[number], question.tolerance)]
        explains = [number for number in explains if not same(given[number], wanted[number], question.tolerance)]
        agrees = sum(same(one, other, question.tolerance) for one, other in zip(given, answers, strict=True))
        if 2 * len(explains) >= len(wrong) and agrees > most:
            best, most = idea, agrees
    return best


def _idea_that_stops(question: Question, error: str, arguments: tuple) -> str:
    """The first mistake that stops with an error of this name, too; "" where none does."""
    for idea, mistaken in question.mistakes.items():
        try:
            call_locally(mistaken)(*arguments)
        except Exception as other:
            if type(other).__name__ == error:
                return idea
    return ""


def _attempt(question: Question, mistaken: Callable, arguments: tuple):
    try:
        return _outcome(question, *call_locally(mistaken)(*arguments))
    except Exception:  # a mistake may well stop on some inputs
        return Exception


def _names(question: Question) -> list[str]:
    return list(inspect.signature(question.right).parameters)


def _is_plain(value) -> bool:
    """Whether it is made of numbers, texts, lists and dictionaries only; a model or a function is not."""
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple) and not _is_numeric(value):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str) or _is_numeric(value)


def _is_numeric(value) -> bool:
    """Whether it is a number or can be an array of numbers."""
    if isinstance(value, str | bytes | dict) or value is None:
        return False
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except (ValueError, TypeError):  # ragged lists, foreign objects
        return False
