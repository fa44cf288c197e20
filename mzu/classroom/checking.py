"""`check` is what a notebook calls: the checks, hints and solutions of its exercises, and an assignment's checks."""

import html
from collections.abc import Callable
from dataclasses import dataclass

from mzu.classroom import assignments, exercises
from mzu.classroom.question import HIDDEN_SEED, NotWritten, Question, call_locally, judge

METHOD = "exercise_"  # check.exercise_06_3


class Checker:
    """Compares what a student wrote with what is right; remembers which hints it has given."""

    def __init__(self):
        self._hints_given = {}

    def __call__(self, number: str, function: Callable, hidden: bool = False, seed: int = HIDDEN_SEED) -> None:
        """The visible or the hidden inputs of an assignment's question; raises `Wrong`, which says what is missing."""
        _judge(assignments.question(number), function, hidden, seed)

    def __getattr__(self, name: str) -> Callable[[Callable], None]:
        """`check.exercise_06_3(function)`: one sentence where nothing is written yet, `Wrong` where it is not right."""
        if not name.startswith(METHOD):
            raise AttributeError(f"check has no attribute {name!r}; it has {', '.join(dir(self)[:3])}, ...")
        try:
            asked = exercises.find_exercise(name.removeprefix(METHOD).replace("_", "."))
        except ValueError as error:
            raise AttributeError(str(error)) from None

        def check_exercise(function: Callable) -> None:
            try:
                _judge(asked, function)
            except NotWritten as unwritten:
                hint = f'check.hint("{asked.number}") gives a hint'
                print(f"{unwritten} Write it above and run this cell again; {hint}.")

        return check_exercise

    def __dir__(self) -> list[str]:
        return ["hint", "solution", *(METHOD + number.replace(".", "_") for number in exercises.numbers())]

    def hint(self, number: str) -> None:
        """One hint more at each call, until all have been given."""
        hints = exercises.find_exercise(number).hints
        asked = self._hints_given[number] = self._hints_given.get(number, 0) + 1
        for place, hint in enumerate(hints[:asked], start=1):
            print(f"Hint {place} of {len(hints)}: {hint}")
        if asked > len(hints):
            print(f'These are all. check.solution("{number}") shows the solution, folded.')

    def solution(self, number: str) -> "Folded":
        """The worked solution, folded: a notebook shows it at a click."""
        asked = exercises.find_exercise(number)
        return Folded(f"Solution of exercise {number}", asked.solution, asked.because)


@dataclass(frozen=True, repr=False)
class Folded:
    """Code and a few words that a notebook hides until somebody asks for them."""

    title: str
    code: str
    words: str

    def __repr__(self) -> str:
        return f"{self.title}\n\n{self.code}\n\n{self.words}"

    def _repr_html_(self) -> str:
        title, code, words = map(html.escape, (self.title, self.code, self.words))
        code = f'<pre style="font-family: monospace; line-height: 1.25">{code}</pre>'
        return f"<details><summary>{title}</summary>{code}<p>{words}</p></details>"


def _judge(asked: Question, function: Callable, hidden: bool = False, seed: int = HIDDEN_SEED) -> None:
    inputs = asked.inputs(hidden, seed)
    judge(asked, call_locally(function), inputs)
    print(f"{asked}: {asked.name} is right on all {len(inputs)} {'hidden' if hidden else 'visible'} inputs.")


check = Checker()
