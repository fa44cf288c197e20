"""nbgrader's own commands on one assignment, from the course folder that `mzu classroom build --nbgrader` makes."""

import os
import sys
from pathlib import Path

import nbformat
import pytest

from mzu.classroom import build
from mzu.classroom.assignments import ASSIGNMENTS
from mzu.commands import cli

pytest.importorskip("nbgrader", reason="needs nbgrader: pip install mzu[classroom]")
pytestmark = pytest.mark.filterwarnings("ignore:Object of type")  # nbgrader's own use of its database

FOLDER = Path(__file__).parents[2] / "tutorials" / "assignments"
NAME = "1_planning"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    assert cli.main(["classroom", "build", NAME, "--nbgrader", str(folder)]) == 0
    with pytest.MonkeyPatch.context() as monkeypatch:
        # nbgrader starts `alembic`, which an activated environment has on its path.
        monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
        monkeypatch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def nbgrader(course):
    from nbgrader.apps import NbGraderAPI
    from traitlets.config.loader import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    config.CourseDirectory.root = str(course)
    return NbGraderAPI(config=config)


@pytest.fixture(scope="module")
def released(course, nbgrader):
    found = nbgrader.generate_assignment(NAME)
    assert found["success"], found
    return course / "release" / NAME / f"{NAME}.ipynb"


def test_what_nbgrader_releases_is_the_students_notebook(released):
    ours = build.student_notebook(FOLDER / "source" / f"{NAME}.py").cells
    theirs = nbformat.read(released, as_version=4).cells
    assert [(cell.cell_type, cell.source) for cell in theirs] == [(cell.cell_type, cell.source) for cell in ours]


def test_autograde_gives_the_points_of_the_questions(course, nbgrader, released):
    assignment = ASSIGNMENTS[NAME]
    first = assignment.questions[0]
    handed_in = {
        "anna": nbformat.read(FOLDER / "solutions" / f"{NAME}.ipynb", as_version=4),
        "ben": nbformat.read(released, as_version=4),
        "carl": nbformat.read(FOLDER / "solutions" / f"{NAME}.ipynb", as_version=4),
    }
    [cell] = [cell for cell in handed_in["carl"].cells if cell.id == first.number.replace(".", "-")]
    cell.source = f"def {first.name}(*arguments):\n    return 0"
    for student, notebook in handed_in.items():
        path = course / "submitted" / student / NAME / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
        found = nbgrader.autograde(NAME, student)
        assert found["success"], found
    points = {student: nbgrader.get_submission(NAME, student)["score"] for student in handed_in}
    assert points["anna"] == assignment.points and points["ben"] == 0
    with nbgrader.gradebook as gradebook:
        [notebook] = gradebook.find_submission(NAME, "carl").notebooks
        of_first = {grade.name: grade.auto_score for grade in notebook.grades}
    assert of_first[f"{first.number.replace('.', '-')}-check"] == 0
    assert 0 < points["carl"] < assignment.points
