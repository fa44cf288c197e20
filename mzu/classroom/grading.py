"""Points for handed-in notebooks: every question's visible and hidden checks, one notebook after the other.

The checks, the right answers and the grades are in this process; the student's code is in another (`submission.py`).
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mzu.classroom import handed_in
from mzu.classroom.assignments import ASSIGNMENTS, Assignment
from mzu.classroom.handed_in import HandedIn
from mzu.classroom.question import Question, Wrong, call_locally, judge
from mzu.classroom.submission import Limits, Submission

CHECKS = Path(__file__).parent
CHECK_FAILED = "An answer stops the check of question"


@dataclass
class Answer:
    """What a question got, and why; `calls` are wrong functions of other questions that its code mentions."""

    question: Question
    points: int = 0
    message: str = ""
    idea: str = ""
    code: str = ""
    calls: list[Question] = field(default_factory=list)


@dataclass
class Grade:
    """The result of one notebook; `assignment` is None where nobody can tell which it is."""

    student: str
    path: Path
    assignment: Assignment | None = None
    answers: list[Answer] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)  # written answers, by number
    problems: list[str] = field(default_factory=list)
    not_isolated: list[str] = field(default_factory=list)

    @property
    def points(self) -> int:
        return sum(answer.points for answer in self.answers)


def grade_all(files: list[HandedIn], assignment: str, seed: int, limits: Limits) -> Iterator[Grade]:
    """Grades notebook after notebook; `assignment` is "" where each file says its own."""
    before = fingerprint()
    prepared = set()
    for file in files:
        grade = Grade(file.student, file.path)
        notebook = _read(file, assignment, grade)
        if notebook is not None:
            if grade.assignment.name not in prepared:
                _prepare(grade.assignment, seed)
                prepared.add(grade.assignment.name)
            _grade(notebook, grade, seed, limits)
            if fingerprint() != before:
                raise ValueError(
                    f"The checks in {CHECKS} changed while {file.path} was graded, so trust no grade from it on; "
                    "look at that notebook, restore the files and grade again"
                )
        yield grade


def fingerprint() -> str:
    """Of all files that grading consists of."""
    digest = hashlib.sha256()
    for path in sorted(CHECKS.rglob("*.py")):
        digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


def _read(file: HandedIn, assignment: str, grade: Grade):
    """The notebook; None where it cannot be graded, and then the grade says why."""
    try:
        notebook = handed_in.read_notebook(file.path)
    except (ValueError, OSError) as error:
        grade.problems.append(str(error))
        grade.assignment = ASSIGNMENTS.get(assignment or file.assignment)
        _give_nothing(grade, str(error))
        return None
    looks_like = handed_in.assignment_of(notebook)
    name = assignment or file.assignment or looks_like
    if not name:
        grade.problems.append("it does not say which assignment it is; give --assignment")
        return None
    if looks_like and looks_like != name:
        grade.problems.append(f"its cells are of {looks_like}, not of {name}")
    grade.assignment = ASSIGNMENTS[name]
    return notebook


def _give_nothing(grade: Grade, message: str) -> None:
    if grade.assignment is not None:
        grade.answers = [Answer(question, message=message) for question in grade.assignment.questions]


def _prepare(assignment: Assignment, seed: int) -> None:
    """Sees that the right functions pass their own checks. That also compiles what students' processes will use."""
    for question in assignment.questions:
        for hidden in (False, True):
            judge(question, call_locally(question.right), question.inputs(hidden, seed))


def _grade(notebook, grade: Grade, seed: int, limits: Limits) -> None:
    with Submission(notebook, limits) as submission:
        for question in grade.assignment.questions:
            answer = Answer(question, code=handed_in.code_of(notebook, question))
            if all(_passes(submission, answer, hidden, seed) for hidden in (False, True)):
                answer.points = question.points
            grade.answers.append(answer)
    _note_calls([answer for answer in grade.answers if not answer.points])
    grade.words = {one.number: handed_in.words_of(notebook, one.number) for one in grade.assignment.written}
    grade.not_isolated = submission.not_isolated
    grade.problems += submission.problems + handed_in.borrowed(notebook, grade.assignment.questions)
    grade.problems += [answer.message for answer in grade.answers if answer.message.startswith(CHECK_FAILED)]


def _note_calls(wrong: list[Answer]) -> None:
    """One wrong function makes all wrong that call it: whoever gives points by hand will want to know."""
    for answer in wrong:
        others = [other.question for other in wrong if other is not answer]
        answer.calls = [other for other in others if re.search(rf"\b{other.name}\(", answer.code)]


def _passes(submission: Submission, answer: Answer, hidden: bool, seed: int) -> bool:
    """Whether a question's function is right on its visible or hidden inputs; the answer says what it is if not."""
    call = submission.caller(answer.question)
    try:
        judge(answer.question, call, answer.question.inputs(hidden, seed))
        return True
    except Wrong as wrong:
        answer.idea = wrong.idea
        answer.message = f"The visible checks pass, the hidden ones do not. {wrong}" if hidden else str(wrong)
    except Exception as error:  # an answer that nobody thought of must not cost the others their grades
        answer.message = f"{CHECK_FAILED} {answer.question.number} with {type(error).__name__}: {error}"
    return False
