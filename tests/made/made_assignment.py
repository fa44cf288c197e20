"""A small assignment for the tests of building and grading: three functions and an answer in words."""

import contextlib
import copy
import subprocess
import sys
import types
from pathlib import Path

import nbformat
import numpy as np

from mzu.classroom.assignments import ASSIGNMENTS, Assignment
from mzu.classroom.question import Question, WrittenQuestion

NAME = "9_made"

SOURCE = '''# %% [markdown]
# # Assignment 9. Sums

# %%
from mzu.classroom import check

# %% [markdown]
# ## Question 9.1: Twice (2 points)

# %% nbgrader={"grade": false, "grade_id": "9-1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(number):
    """Twice the number."""
    ### BEGIN SOLUTION
    return 2 * number
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "9-1-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
assert double(2) == 4
### BEGIN HIDDEN TESTS
assert double(3) == 6
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "9-2", "locked": false, "schema_version": 3, "solution": true, "task": false}
def discounted(rewards, discount):
    """rewards[0] + discount * rewards[1] + ..."""
    ### BEGIN SOLUTION
    total = 0.0
    for reward in reversed(rewards):
        total = reward + discount * total
    return total
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "9-2-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
assert discounted([1.0, 2.0], 0.5) == 2.0

# %% nbgrader={"grade": false, "grade_id": "9-3", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_up(counts):
    """Adds 1 to every count, in place."""
    ### BEGIN SOLUTION
    counts += 1
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "9-3-check", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
pass

# %% [markdown]
# ## Question 9.4: In words (4 points)

# %% [markdown] nbgrader={"grade": true, "grade_id": "9-4-words", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# Because what comes later counts less.
'''  # noqa: E501


def double(number):
    return 2 * number


def discounted(rewards, discount):
    return float(sum(discount**step * reward for step, reward in enumerate(rewards)))


def count_up(counts):
    counts += 1


QUESTIONS = (
    Question(
        *("9.1", "Twice", 2, "double", double),
        examples=((1,), (2.5,)),
        more=lambda rng: [(float(number),) for number in rng.normal(size=3)],
        mistakes={"twice means two times, not a square": lambda number: number**2},
    ),
    Question(
        *("9.2", "A discounted sum", 3, "discounted", discounted),
        examples=(([1.0, 2.0, 4.0], 0.5), ([3.0], 0.9), ([], 0.9)),
        more=lambda rng: [(list(rng.normal(size=size)), float(rng.uniform(0.5, 1))) for size in (2, 5)],
        mistakes={
            "the discount makes later rewards count less": lambda rewards, discount: float(sum(rewards)),
            "the first reward is not discounted": lambda *given: given[1] * discounted(*given),
        },
    ),
    Question(
        *("9.3", "Counting", 1, "count_up", count_up),
        examples=((np.zeros(3),),),
        more=lambda rng: [(rng.integers(9, size=4),)],
        in_place=True,
    ),
)


def install(monkeypatch) -> None:
    """Makes it one of the assignments, for one test."""
    module = types.ModuleType("mzu.classroom.checks.made")
    module.QUESTIONS = QUESTIONS
    module.WRITTEN = (WrittenQuestion("9.4", "In words", 4),)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(ASSIGNMENTS, NAME, Assignment(NAME, "Sums", "made"))


def write_source(folder: Path) -> Path:
    path = folder / "source" / f"{NAME}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SOURCE)
    return path


def changed(notebook, answers: dict[str, str | None], before: str = "", after: str = ""):
    """A copy with other cells: {grade_id: code, or None for a deleted cell}, and cells before and after all others."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = answers.get(name, cell.source)
    notebook.cells = [cell for cell in notebook.cells if cell.source is not None]
    for place, code in ((0, before), (len(notebook.cells) + 1, after)):
        if code:
            notebook.cells.insert(place, nbformat.v4.new_code_cell(code))
    return notebook


def with_a_copy(notebook, grade_id: str, code: str):
    """A copy with one cell twice, as copy and paste make it; the second one holds `code`."""
    notebook = copy.deepcopy(notebook)
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    place = names.index(grade_id)
    pasted = copy.deepcopy(notebook.cells[place])
    pasted.source, pasted.id = code, f"{pasted.id}-copy"
    notebook.cells.insert(place + 1, pasted)
    return notebook


@contextlib.contextmanager
def victim():
    """A process that does nothing, for hostile code to act on: nobody else is to be harmed where nothing stops it."""
    with subprocess.Popen(["sleep", "3600"], start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()
