"""What a teacher gets: a table that spreadsheets read, pages safe to open, a summary that says what to teach."""

import csv
from pathlib import Path

import made_assignment
import pytest

from mzu.classroom import grade_report
from mzu.classroom.assignments import ASSIGNMENTS
from mzu.classroom.grading import Answer, Grade
from mzu.commands import cli

TWICE, SUM, COUNT = made_assignment.QUESTIONS
IDEA = "the discount makes later rewards count less"


@pytest.fixture(autouse=True)
def made(monkeypatch):
    made_assignment.install(monkeypatch)


def made_grade(student, points=(2, 3, 1), idea="", message="", code="", words="", problems=()):
    answers = [
        Answer(question, got, "" if got else message, "" if got else idea, code)
        for question, got in zip(made_assignment.QUESTIONS, points, strict=True)
    ]
    assignment = ASSIGNMENTS[made_assignment.NAME]
    return Grade(student, Path(f"{student}.ipynb"), assignment, answers, {"9.4": words}, list(problems))


def rows(grades, tmp_path):
    grade_report.write_grades(grades, tmp_path / "grades.csv")
    with open(tmp_path / "grades.csv", newline="") as file:
        return list(csv.reader(file))


def test_the_table_has_a_row_per_notebook_and_a_column_per_question(tmp_path):
    lost = Grade("ben", Path("ben.ipynb"), problems=["it does not say which assignment it is"])
    assert rows([made_grade("anna", (2, 0, 1)), lost], tmp_path) == [
        ["student", "assignment", "9.1", "9.2", "9.3", "points", "of", "by hand", "problem"],
        ["anna", "9_made", "2", "0", "1", "3", "6", "4", ""],
        ["ben", "", "", "", "", "0", "", "", "it does not say which assignment it is"],
    ]


@pytest.mark.parametrize("name", ["=cmd|'/C calc'!A0", "+1", "-1", "@SUM(A1)"])
def test_a_spreadsheet_takes_no_name_for_a_formula(tmp_path, name):
    assert rows([made_grade(name)], tmp_path)[1][0] == f"'{name}"


def test_everything_that_a_student_wrote_is_text_on_the_page():
    evil = "</pre><script>alert('x')</script><img src=x onerror=alert(1)>"
    grade = made_grade(evil, (0, 0, 0), evil, f"{evil}\nIt looks as if an idea is missing: {evil}", evil, evil, [evil])
    page = grade_report.page([grade], seed=1)
    assert "<script" not in page and "<img" not in page
    assert page.count("&lt;script&gt;") == 2 + 1 + 3 * 3 + 1  # name twice, problem, three answers, words
    assert "default-src 'none'" in page


def test_the_page_shows_points_messages_code_words_and_the_missing_idea():
    message = f"it should give 3, but gives 7.\nIt looks as if an idea is missing: {IDEA}."
    page = grade_report.page([made_grade("anna", (2, 0, 1), IDEA, message, "return sum(rewards)", "Because.")], seed=77)
    assert "<b>3</b> of 6 points, and up to 4 by hand" in page
    assert f'<p class="idea">It looks as if an idea is missing: {IDEA}.</p>' in page
    for words in ("but gives 7.", "return sum(rewards)", "Because.", "by hand: ___ of 4", "seed 77"):
        assert words in page
    assert "Not isolated" not in page


def test_the_page_has_the_questions_in_order_and_says_where_to_begin():
    grade = made_grade("anna", (0, 0, 1))
    grade.answers[1].calls = [TWICE]
    page = grade_report.page([grade], seed=1)
    places = [page.index(f"<h3>{number} ") for number in ("9.1", "9.2", "9.3", "9.4")]
    assert places == sorted(places)
    assert "It calls double, question 9.1, which is not right either: begin there." in page


def test_what_was_not_isolated_is_said():
    grade = made_grade("anna")
    grade.not_isolated = ["it may start processes"]
    assert "Not isolated: of the student's code, it may start processes." in grade_report.not_isolated([grade])
    assert "it may start processes" in grade_report.page([grade], seed=1)


def test_the_summary_counts_and_names_the_most_frequent_missing_idea():
    grades = [made_grade("anna"), made_grade("ben", (2, 0, 1), IDEA), made_grade("cleo", (2, 0, 1), IDEA)]
    grades += [made_grade("dora", (0, 0, 0), "another"), Grade("ed\x1b[2J", Path("ed.ipynb"), problems=["unknown"])]
    lines = grade_report.summary(grades).splitlines()
    assert "9.2 A discounted sum: 1 of 4 got it" in lines
    assert f"    missing most often (2): {IDEA}" in lines
    assert "9.3 Counting: 3 of 4 got it" in lines
    assert "ben       2    0    1     3/6" in lines


def test_grades_are_not_overwritten_by_accident(tmp_path, capsys):
    (tmp_path / "grades.csv").write_text("by hand")
    (tmp_path / "anna.ipynb").write_text("")
    command = ["grade", str(tmp_path), "--assignment", made_assignment.NAME, "--out", str(tmp_path)]
    assert cli.main(command) == 2
    assert "exists; choose another folder with --out" in capsys.readouterr().err
    assert (tmp_path / "grades.csv").read_text() == "by hand"
    assert cli.main([*command, "--replace"]) == 0
    assert "anna" in (tmp_path / "grades.csv").read_text()


@pytest.mark.parametrize("option", ["--time-limit", "--memory-limit"])
def test_limits_are_positive(tmp_path, capsys, option):
    (tmp_path / "anna.ipynb").write_text("")
    assert cli.main(["grade", str(tmp_path), option, "0"]) == 2
    assert f"{option} is 0, but must be greater than 0" in capsys.readouterr().err
