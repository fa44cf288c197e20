"""The notebooks of an assignment, from one source: the student's, the solved one, and nbgrader's course folder.

source/N_name.py         texts, solutions, visible and hidden checks (jupytext percent, with nbgrader's cell metadata)
N_name.ipynb             for students: solutions replaced by nbgrader's stub, hidden checks removed, no outputs
solutions/N_name.ipynb   everything, executed
"""

import re
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError

from mzu.classroom.handed_in import CODE_STUB, TEXT_STUB
from mzu.classroom.notebooks import disagreements, execute, read_source
from mzu.files import written_whole

SOLUTION = re.compile(r"^([ \t]*)[^\n]*BEGIN SOLUTION.*?END SOLUTION[^\n]*", flags=re.DOTALL | re.MULTILINE)
HIDDEN_TESTS = re.compile(r"\n?^[^\n]*BEGIN HIDDEN TESTS.*?END HIDDEN TESTS[^\n]*", flags=re.DOTALL | re.MULTILINE)
MARKS = re.compile(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS)")
SECONDS = 600  # for the solutions of one assignment

NBGRADER_CONFIG = '''"""The settings of nbgrader for this course; see tutorials/teaching.md of mzu."""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "mzu"
c.ExecutePreprocessor.timeout = 120  # seconds for one cell
'''


def source_notebook(source: Path) -> nbformat.NotebookNode:
    """The notebook of a source, with solutions and hidden checks, as nbgrader's `source` folder wants it."""
    notebook = read_source(source)
    for cell in notebook.cells:
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", cell.id)
        if problem := _problem_of_marks(cell):
            raise ValueError(f"{source.name}: {problem}, in\n{cell.source}")
    return notebook


def _problem_of_marks(cell) -> str:
    marks = MARKS.findall(cell.source)
    nbgrader = cell.metadata.get("nbgrader", {})
    if marks and not nbgrader:
        return "a cell with a solution or hidden tests needs nbgrader's metadata"
    for (first, kind), second in zip(marks[::2], [*marks[1::2], None], strict=False):
        if (first, second) != ("BEGIN", ("END", kind)):
            return f"{first} {kind} stands alone"
        if kind == "SOLUTION" and not nbgrader.get("solution"):
            return "a solution stands in a cell that nbgrader's metadata calls none"
    return ""


def student_notebook(source: Path) -> nbformat.NotebookNode:
    """The notebook of a source without solutions and hidden checks."""
    notebook = source_notebook(source)
    for cell in notebook.cells:
        cell.source = HIDDEN_TESTS.sub("", cell.source)
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = without_solution(cell.source, CODE_STUB if cell.cell_type == "code" else TEXT_STUB)
    return notebook


def without_solution(text: str, stub: str) -> str:
    """A cell with the stub in place of its solutions, or of everything where no solution is marked."""
    if not SOLUTION.search(text):
        return stub
    return SOLUTION.sub(lambda found: "\n".join(found[1] + line for line in stub.split("\n")), text)


def build(source: Path, folder: Path) -> list[Path]:
    """Writes the student's notebook and the executed solution into `folder`; a solution that fails writes nothing."""
    student, solution = student_notebook(source), source_notebook(source)
    try:
        execute(solution, SECONDS)
    except (CellExecutionError, TimeoutError) as error:
        raise ValueError(f"The solution of {source.name} fails:\n{error}") from error
    paths = student_path(source, folder), solution_path(source, folder)
    for path, notebook in zip(paths, (student, solution), strict=True):
        with written_whole(path) as temporary:
            nbformat.write(notebook, temporary)
    return list(paths)


def out_of_date(source: Path, folder: Path) -> list[str]:
    """What makes the stored notebooks of a source differ from what `build` would write."""
    path = student_path(source, folder)
    found = disagreements(student_notebook(source), path)
    if not found and path.read_text() != nbformat.writes(student_notebook(source)) + "\n":
        found = ["holds outputs or other things that are not in the source"]
    problems = [f"{path.name}: {one}" for one in found]
    path = solution_path(source, folder)
    return problems + [f"solutions/{path.name}: {one}" for one in disagreements(source_notebook(source), path)]


def student_path(source: Path, folder: Path) -> Path:
    return folder / f"{source.stem}.ipynb"


def solution_path(source: Path, folder: Path) -> Path:
    return folder / "solutions" / f"{source.stem}.ipynb"


def write_nbgrader_course(sources: list[Path], folder: Path) -> None:
    """A course folder for nbgrader: its settings, and one assignment per source."""
    with written_whole(folder / "nbgrader_config.py") as temporary:
        temporary.write_text(NBGRADER_CONFIG)
    for source in sources:
        with written_whole(folder / "source" / source.stem / f"{source.stem}.ipynb") as temporary:
            nbformat.write(source_notebook(source), temporary)
