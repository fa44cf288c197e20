"""The exercises of the notebooks, a module for each notebook: what is right, what is usually wrong, and hints.

One exercise is a function with a docstring (which the notebook repeats), inputs on which the usual mistakes show, and
these mistakes, each under the idea that it lacks. tests/classroom/test_exercises.py plays all of them.
"""

import importlib

from mzu.classroom.question import Exercise

NOTEBOOKS = tuple(f"{number:02}" for number in range(1, 12))


def of_notebook(notebook: str) -> tuple[Exercise, ...]:
    """The exercises of a notebook, "06", in their order."""
    return importlib.import_module(f"mzu.classroom.exercises.notebook_{notebook}").EXERCISES


def numbers() -> list[str]:
    """Of all exercises: "01.1", "01.2", ..."""
    return [one.number for notebook in NOTEBOOKS for one in of_notebook(notebook)]


def find_exercise(number: str) -> Exercise:
    """The exercise of this number, such as "06.3"."""
    notebook = number.split(".")[0]
    if notebook not in NOTEBOOKS:
        raise ValueError(f"There is no exercise {number!r}; notebooks are {NOTEBOOKS[0]} to {NOTEBOOKS[-1]}")
    found = {one.number: one for one in of_notebook(notebook)}
    if number not in found:
        raise ValueError(f"There is no exercise {number!r}; notebook {notebook} has {', '.join(found)}")
    return found[number]
