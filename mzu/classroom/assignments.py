"""The assignments of the course and their questions; `check` is what a notebook calls."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from mzu.classroom.question import HIDDEN_SEED, Question, WrittenQuestion, call_locally, judge


@dataclass(frozen=True)
class Assignment:
    """One notebook to hand in; `checks` is the module of its questions."""

    name: str
    title: str
    checks: str

    @property
    def questions(self) -> tuple[Question, ...]:
        return self._module.QUESTIONS

    @property
    def written(self) -> tuple[WrittenQuestion, ...]:
        """Questions that are answered in words."""
        return getattr(self._module, "WRITTEN", ())

    @property
    def points(self) -> int:
        """What the automatic checks can give."""
        return sum(question.points for question in self.questions)

    @property
    def _module(self):
        return importlib.import_module(f"mzu.classroom.checks.{self.checks}")


ASSIGNMENTS = {
    assignment.name: assignment
    for assignment in (
        Assignment("1_planning", "Values and better policies", "planning"),
        Assignment("2_search", "A tree search", "search"),
        Assignment("3_targets", "Targets, and how episodes end", "targets"),
        Assignment("4_sampled_actions", "Sampled and injected actions", "sampled_actions"),
        Assignment("5_learning", "Prioritised replay and the unrolled loss", "learning"),
        Assignment("6_find_the_bug", "Find the bug", "find_the_bug"),
    )
}


def question(number: str) -> Question:
    """The question of this number, such as "2.1"."""
    of_assignment = [one for one in ASSIGNMENTS.values() if one.name.split("_")[0] == number.split(".")[0]]
    found = [one for assignment in of_assignment for one in assignment.questions if one.number == number]
    if not found:
        known = [one.number for assignment in of_assignment for one in assignment.questions]
        advice = f"this assignment has {', '.join(known)}" if known else f"assignments are {', '.join(ASSIGNMENTS)}"
        raise ValueError(f"There is no question {number!r}; {advice}")
    return found[0]


def check(number: str, function: Callable, hidden: bool = False, seed: int = HIDDEN_SEED) -> None:
    """Compares a student's function with the right one, on the visible or on the hidden inputs of its question."""
    asked = question(number)
    inputs = asked.inputs(hidden, seed)
    judge(asked, call_locally(function), inputs)
    print(f"Question {number}: {asked.name} is right on all {len(inputs)} {'hidden' if hidden else 'visible'} inputs.")
