"""Every assignment: its notebooks are up to date, its solution is right, and each known mistake is caught and named."""

import functools
import importlib.util
import pickle
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from mzu.classroom import build, grading, handed_in
from mzu.classroom.assignments import ASSIGNMENTS
from mzu.classroom.question import HIDDEN_SEED, Wrong, call_locally, judge
from mzu.classroom.submission import Limits

FOLDER = Path(__file__).parents[2] / "tutorials" / "assignments"
SEED = 5  # of the hidden inputs, where a test asks for those of a teacher

every_assignment = pytest.mark.parametrize("assignment", ASSIGNMENTS.values(), ids=list(ASSIGNMENTS))
every_question = pytest.mark.parametrize(
    "question",
    [question for assignment in ASSIGNMENTS.values() for question in assignment.questions],
    ids=lambda question: f"{question.number}-{question.name}",
)


def source_of(assignment):
    return FOLDER / "source" / f"{assignment.name}.py"


@functools.cache
def graded(name, solved):
    path = FOLDER / ("solutions" if solved else "") / f"{name}.ipynb"
    [grade] = grading.grade_all(handed_in.find([path]), name, SEED, Limits(seconds=120))
    return grade


@every_assignment
def test_its_notebooks_are_up_to_date(assignment):
    found = build.out_of_date(source_of(assignment), FOLDER)
    assert not found, f"run: mzu classroom build {assignment.name}"


@every_assignment
def test_the_solution_gets_all_points(assignment):
    grade = graded(assignment.name, solved=True)
    assert [answer.message for answer in grade.answers if answer.message] == []
    assert grade.points == assignment.points and not grade.problems


@every_assignment
def test_the_notebook_as_students_get_it_has_no_points(assignment):
    grade = graded(assignment.name, solved=False)
    for answer in grade.answers:
        assert answer.message == f"Question {answer.question.number}: {answer.question.name} is not written yet."
    assert grade.points == 0 and not grade.problems
    assert not any(grade.words.values())


@every_assignment
def test_cells_points_and_numbers_are_those_of_the_questions(assignment):
    cells = build.source_notebook(source_of(assignment)).cells
    number = assignment.name.split("_")[0]
    assert re.match(rf"# Assignment {number}\. \S", cells[0].source)
    marked = {cell.id: cell.metadata.nbgrader for cell in cells if "nbgrader" in cell.metadata}
    points = {name: marks.get("points") for name, marks in marked.items() if marks.grade or marks.solution}
    wanted = {}
    for question in assignment.questions:
        name = question.number.replace(".", "-")
        assert question.number.startswith(f"{number}.")
        wanted |= {name: None, f"{name}-check": question.points}
        [check] = [cell for cell in cells if cell.id == f"{name}-check"]
        for call in (
            f'check("{question.number}", {question.name})',
            f'check("{question.number}", {question.name}, hidden=True)',
        ):
            assert call in check.source
    wanted |= {f"{one.number.replace('.', '-')}-words": one.points for one in assignment.written}
    assert points == wanted


@every_assignment
def test_headings_say_the_points(assignment):
    notebook = build.student_notebook(source_of(assignment))
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    said = dict(re.findall(r"^## Question (\d\.\d+):.*\((\d+) points?\)$", text, flags=re.MULTILINE))
    questions = [*assignment.questions, *assignment.written]
    points = {}
    for question in questions:
        points[question.number] = points.get(question.number, 0) + question.points
    assert said == {number: str(total) for number, total in points.items()}


@every_assignment
def test_there_are_four_to_six_functions_and_the_points_of_a_week(assignment):
    assert 4 <= len(assignment.questions) <= 6
    assert 10 <= assignment.points + sum(question.points for question in assignment.written) <= 30


@every_question
def test_at_least_three_mistakes_are_caught_and_named(question):
    assert len(question.mistakes) >= 3
    for idea, mistaken in question.mistakes.items():
        for hidden in (False, True):
            try:
                judge(question, call_locally(mistaken), question.inputs(hidden))
            except Wrong as wrong:
                assert wrong.idea == idea
                assert f"It looks as if an idea is missing: {idea}." in str(wrong)
                break
        else:
            pytest.fail(f"no check notices that this is missing: {idea}")


@every_question
def test_ideas_are_parts_of_a_sentence(question):
    for idea in question.mistakes:
        assert not idea.endswith(".") and "\n" not in idea and len(idea) < 250


@every_question
def test_the_right_function_passes_on_the_hidden_inputs_of_any_seed(question):
    for seed in (HIDDEN_SEED, SEED, 17, 18):
        judge(question, call_locally(question.right), question.inputs(True, seed))


@every_question
def test_hidden_inputs_are_others_than_the_visible_ones_and_depend_on_the_seed(question):
    visible = {pickle.dumps(one) for one in question.inputs(False)}
    hidden = [pickle.dumps(one) for one in question.inputs(True, SEED)]
    assert len(visible & set(hidden)) <= len(hidden) / 4
    assert hidden == [pickle.dumps(one) for one in question.inputs(True, SEED)]
    assert hidden != [pickle.dumps(one) for one in question.inputs(True, SEED + 1)]


@every_question
def test_a_table_of_the_visible_answers_fails_the_hidden_checks(question):
    table = {pickle.dumps(one): call_locally(question.right)(*one) for one in question.inputs(False)}

    def known(*arguments):
        return table.get(pickle.dumps(arguments), next(iter(table.values())))

    judge(question, known, question.inputs(False))
    with pytest.raises(Wrong):
        judge(question, known, question.inputs(True, SEED))


@every_question
def test_the_function_to_write_fits_on_a_screen_and_its_mistakes_keep_the_arguments(question):
    assignment = next(one for one in ASSIGNMENTS.values() if question in one.questions)
    cells = build.source_notebook(source_of(assignment)).cells
    [solution] = [cell.source for cell in cells if cell.id == question.number.replace(".", "-")]
    body = solution.split("### BEGIN SOLUTION\n")[1].split("### END SOLUTION")[0].strip().splitlines()
    assert len(body) <= 25
    assert f"def {question.name}(" in solution


@every_assignment
def test_code_fits_into_100_columns(assignment):
    for cell in build.source_notebook(source_of(assignment)).cells:
        if cell.cell_type == "code":
            assert not [line for line in cell.source.splitlines() if len(line) > 100]


@every_assignment
def test_the_solved_notebook_ran_from_top_to_bottom_and_shows_no_machine(assignment):
    notebook = nbformat.read(FOLDER / "solutions" / f"{assignment.name}.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for output in (output for cell in cells for output in cell.outputs):
        assert output.output_type != "error" and output.get("name") != "stderr"
        text = output.get("text", "") + output.get("data", {}).get("text/plain", "")
        assert not re.search(r"(?<![\w.:/])/(home|root|tmp|usr|work)/|\bat 0x[0-9a-f]{6,}|Warning\b", text)


@every_assignment
def test_the_list_of_assignments_says_its_points(assignment):
    rows = [
        line.split("|")
        for line in (FOLDER / "README.md").read_text().splitlines()
        if f"({assignment.name}.ipynb)" in line
    ]
    [row] = rows
    by_hand = sum(question.points for question in assignment.written)
    assert f"[{assignment.title}]" in row[2]
    assert (int(row[-3]), int(row[-2])) == (assignment.points, by_hand)


def test_the_mistakes_in_the_teachers_guide_are_those_of_the_checks():
    text = (FOLDER.parent / "teaching.md").read_text().split("## What students usually get wrong")[1]
    quoted = re.findall(r'^- (\d\.\d+) "(.+?)"', text, flags=re.MULTILINE | re.DOTALL)
    assert len(quoted) > 12
    mistakes = {one.number: one.mistakes for assignment in ASSIGNMENTS.values() for one in assignment.questions}
    for number, idea in quoted:
        assert " ".join(idea.split()) in mistakes[number], f"{number} has no such mistake"


def test_every_source_is_an_assignment():
    assert sorted(path.stem for path in (FOLDER / "source").glob("*.py")) == sorted(ASSIGNMENTS)
    for folder in (FOLDER, FOLDER / "solutions"):
        assert sorted(path.stem for path in folder.glob("*.ipynb")) == sorted(ASSIGNMENTS)


def test_a_notebook_starts_at_once_because_the_checks_need_no_tensorflow():
    code = "import sys, mzu.classroom; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert importlib.util.find_spec("tensorflow")
