"""The assignments of the course and their questions."""

import importlib
from dataclasses import dataclass

from mzu.classroom.question import Question, WrittenQuestion


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
