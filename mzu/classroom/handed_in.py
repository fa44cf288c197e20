"""Notebooks as they were handed in: whose they are, of which assignment, and what they hold. Nothing is run."""

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import nbformat

from mzu.classroom.assignments import ASSIGNMENTS
from mzu.classroom.question import Question

# What stands where students are to write, in nbgrader's own words: it is what nbgrader looks for.
CODE_STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
TEXT_STUB = "YOUR ANSWER HERE"
MOST_BYTES = 32 * 2**20  # of a notebook


@dataclass(frozen=True)
class HandedIn:
    """A file of a student; `assignment` is "" where neither its name nor its folder says which it is."""

    path: Path
    student: str
    assignment: str


def find(paths: list[Path]) -> list[HandedIn]:
    """The notebooks among files and folders, in the order of the students' names."""
    files = []
    for path in paths:
        if path.is_dir():
            files += [one for one in path.rglob("*.ipynb") if ".ipynb_checkpoints" not in one.parts]
        elif path.exists():
            files.append(path)
        else:
            raise ValueError(f"{path} does not exist; name notebooks, or folders that hold them")
    if not files:
        raise ValueError(f"There is no notebook (*.ipynb) in {', '.join(map(str, paths))}")
    return sorted(map(_named, dict.fromkeys(files)), key=lambda one: (one.student, one.assignment, one.path))


def _named(path: Path) -> HandedIn:
    """STUDENT.ipynb, STUDENT_ASSIGNMENT.ipynb, STUDENT/ASSIGNMENT.ipynb or nbgrader's STUDENT/ASSIGNMENT/*.ipynb."""
    folders = path.resolve().parts[-3:-1]
    in_name = [name for name in ASSIGNMENTS if name in path.stem]
    rest = path.stem.replace(in_name[0], "").strip(" _-.") if in_name else path.stem
    of_folder = folders[-1] if folders and folders[-1] in ASSIGNMENTS else ""
    if of_folder and (in_name or "submitted" in path.parts):
        student = folders[0]
    else:
        student = rest or folders[-1]
    return HandedIn(path, printable(student), in_name[0] if in_name else of_folder)


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """The notebook in a file; a `ValueError` says what is wrong with it."""
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"the file has {path.stat().st_size / 2**20:.0f} MiB, more than {MOST_BYTES / 2**20:.0f}")
    try:
        with warnings.catch_warnings(action="ignore"):  # an old notebook is as good as a new one
            notebook = nbformat.read(path, as_version=4)
        if not all(isinstance(cell.source, str) and isinstance(cell.metadata, dict) for cell in notebook.cells):
            raise ValueError("a cell has no text")
        return notebook
    except Exception as error:  # whatever a damaged file makes nbformat and json say
        reason = printable((str(error) or type(error).__name__).splitlines()[0][:100])
        raise ValueError(f"the file is not a valid notebook: {reason}") from error


def printable(text: str) -> str:
    """A text that neither a terminal nor a file takes offence at."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def assignment_of(notebook) -> str:
    """The assignment that most of the graded cells belong to; "" where there are none."""
    numbers = [grade_id(cell).split("-")[0] for cell in notebook.cells if grade_id(cell)]
    found = {name.split("_")[0]: name for name in ASSIGNMENTS}
    return found.get(max(numbers, key=numbers.count), "") if numbers else ""


def grade_id(cell) -> str:
    """nbgrader's name of a cell, such as "2-1-check"; "" where it has none."""
    nbgrader = cell.metadata.get("nbgrader", {})
    return str(nbgrader.get("grade_id", "")) if isinstance(nbgrader, dict) else ""


def is_check(cell) -> bool:
    """Whether it is a locked cell of nbgrader with points; its checks are made anew, not by the copy handed in."""
    nbgrader = cell.metadata.get("nbgrader", {})
    return isinstance(nbgrader, dict) and bool(nbgrader.get("locked") and nbgrader.get("grade"))


def defines(code: str, name: str) -> bool:
    """Whether a cell looks as if it defined this function."""
    return bool(re.search(rf"^\s*(def\s+{name}\b|{name}\s*=[^=])", code, flags=re.MULTILINE))


def code_of(notebook, question: Question) -> str:
    """What counts for a question: the last cell that defines its function, else the cell of its number, else ""."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    named = [cell.source for cell in cells if grade_id(cell) == question.number.replace(".", "-")]
    defining = [cell.source for cell in cells if defines(cell.source, question.name)]
    return ["", *named, *defining][-1]


def borrowed(notebook, questions: tuple[Question, ...]) -> list[str]:
    """Where a person should look: answers that seem to use the library's own. No proof, and easy to hide."""
    library = re.compile(r"\bmzu\b|\bquestion\(|\bimportlib\b|__import__")
    found = [question.number for question in questions if library.search(code_of(notebook, question))]
    notes = [f"the answer to {number} seems to use the library; look at it" for number in found]
    codes = [cell.source for cell in notebook.cells if cell.cell_type == "code" and not is_check(cell)]
    if any(re.search(r"\.right\b|classroom\.checks\b", code) for code in codes):
        notes.append("a cell reaches for the answers of the checks; look at it")
    return notes


def words_of(notebook, number: str) -> str:
    """The written answer of a question, the last one where its cell was copied; "" where there is none."""
    found = [cell.source for cell in notebook.cells if grade_id(cell) == f"{number.replace('.', '-')}-words"]
    return ["", *(text for text in found if text.strip() != TEXT_STUB)][-1]
