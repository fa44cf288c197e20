"""Thirty-two notebooks in one run of `mzu grade`, half of them hostile: every other one gets exactly its points."""

import contextlib
import csv
import html
import io

import made_assignment
import nbformat
import pytest

from mzu.classroom import build, grading
from mzu.commands import cli

TIME_LIMIT = 2

WRONG_SUM = "def discounted(rewards, discount):\n    {}"
# Answers to all requests that may come, on whatever is open; the form is that of `plain_values.py`.
FORGED = """import json, os
    for number in range(1, 200):
        answer = {"dict": [["number", number], ["result", 2], ["arguments", {"tuple": [1]}], ["points", 99]]}
        data = json.dumps(answer).encode()
        for descriptor in range(3, 20):
            try: os.write(descriptor, len(data).to_bytes(8) + data)
            except OSError: pass
    return 2 * number"""


def submissions(solved, student, out, folder, victim):
    """{student: (notebook or text, points of 9.1, 9.2 and 9.3, words of the page)}"""

    def with_cells(answers=None, **cells):
        return made_assignment.changed(solved, answers or {}, **cells)

    def double(body):
        return with_cells({"9-1": f"def double(number):\n    {body}"})

    grades, neighbour = str(out / "grades.csv"), str(folder / "anna.ipynb")
    cheat = "import mzu.classroom.question as checks\nchecks.judge = checks.same = lambda *given: True\n"
    other = made_assignment.changed(solved, {})
    for cell in other.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.grade_id = cell.metadata.nbgrader.grade_id.replace("9-", "3-")
            cell.source = "pass"
    return {
        # handed in as it should be
        "anna": (solved, (2, 3, 1), "Because what comes later counts less."),
        "ben": (student, (0, 0, 0), "is not written yet"),
        "cleo": (with_cells({"9-1-check": None, "9-2-check": None}), (2, 3, 1), ""),
        "dora": (with_cells(before="%matplotlib inline\n!ls"), (2, 3, 1), ""),
        "emil": (double("return number ** 2"), (0, 3, 1), "twice means two times, not a square"),
        "fay": (with_cells({"9-2": WRONG_SUM.format("return sum(rewards)")}), (2, 0, 1), "later rewards count less"),
        "gus": (
            with_cells({"9-2": WRONG_SUM.format("return sum(discount**(i+1) * r for i, r in enumerate(rewards))")}),
            *((2, 0, 1), "the first reward is not discounted"),
        ),
        "hal": (
            with_cells({"9-2": WRONG_SUM.format("rewards.append(0); return 0")}),
            (2, 0, 1),
            "changes its argument",
        ),
        "ida": (with_cells({"9-2": "def discounted(rewards discount)"}), (2, 0, 1), "SyntaxError"),
        "jan": (with_cells({"9-1": None}), (0, 3, 1), "double is not defined; its cell is missing"),
        "kim": (
            double("return {1: 2, 2.5: 5.0}[number]"),
            (0, 3, 1),
            "The visible checks pass, the hidden ones do not",
        ),
        "leo": (with_cells({"9-4-words": "<script>alert(1)</script>"}), (2, 3, 1), html.escape("<script>alert(1)")),
        # what goes wrong by itself
        "mia": (with_cells(before="while True: pass"), (2, 3, 1), "did not end within 2 seconds"),
        "ned": (double("while True: pass"), (0, 3, 1), "did not end within 2 seconds"),
        "olga": (
            with_cells({"9-1": None}, after="def double(number):\n    return number + number  # typed again"),
            *((2, 3, 1), "# typed again"),
        ),
        "paul": (double("import os; os._exit(0)"), (0, 3, 1), "ends its process"),
        "quinn": (with_cells(before="import ctypes; ctypes.string_at(0)"), (2, 3, 1), "SIGSEGV"),
        "rosa": (with_cells(before="held = [bytearray(2**28) for _ in range(12)]"), (2, 3, 1), ""),
        "sam": (
            made_assignment.with_a_copy(solved, "9-1", "def double(number):\n    return number ** 2  # pasted"),
            *((0, 3, 1), "# pasted"),
        ),
        "udo": (double("print('flood ' * 10**6); return 2 * number"), (2, 3, 1), ""),
        "vera": ('{"cells": [', (0, 0, 0), "not a valid notebook"),
        "will": (
            made_assignment.with_a_copy(student, "9-1", "def double(number):\n    return 2 * number  # pasted"),
            *((2, 0, 0), "# pasted"),
        ),
        "xenia": (nbformat.v4.new_notebook(), (0, 0, 0), "double is not defined; its cell is missing"),
        "yuri": (other, (0, 0, 0), "its cells are of 3_targets, not of 9_made"),
        # what is meant badly
        "zoe": (with_cells(before=f"open({grades!r}, 'w').write('zoe,9_made,99')"), (2, 3, 1), ""),
        "ward": (double(f"open({grades!r}, 'a').write('ward,9_made,99'); return 0"), (0, 3, 1), "PermissionError"),
        "bea": (double(f"return len(open({neighbour!r}).read())"), (0, 3, 1), "PermissionError"),
        "carl": (
            # Opened and not written to: nothing would change where nothing stops it.
            with_cells({"9-1": f"{cheat}def double(number):\n    open(checks.__file__, 'r+').close(); return 0"}),
            *((0, 3, 1), "PermissionError"),
        ),
        "dirk": (
            double("import urllib.request as u; return u.urlopen('http://127.0.0.1:9')"),
            *((0, 3, 1), "Operation not permitted"),  # refused by the filter, not by an empty port
        ),
        "tara": (double(FORGED), (0, 0, 0), "is not right yet"),
        "eva": (with_cells(before="import os\nif os.fork() == 0: os._exit(0)"), (2, 3, 1), ""),
        "finn": (double(f"import os; os.kill({victim.pid}, 9); return 2 * number"), (0, 3, 1), "PermissionError"),
    }


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    folder, out = tmp_path_factory.mktemp("handed_in"), tmp_path_factory.mktemp("out") / "grades"
    with pytest.MonkeyPatch.context() as monkeypatch, made_assignment.victim() as victim:
        made_assignment.install(monkeypatch)
        source = made_assignment.write_source(tmp_path_factory.mktemp("assignments"))
        handed = submissions(build.source_notebook(source), build.student_notebook(source), out, folder, victim)
        for name, (content, *_) in handed.items():
            text = content if isinstance(content, str) else nbformat.writes(content)
            (folder / f"{name}.ipynb").write_text(text)
        before = grading.fingerprint()
        command = ["grade", str(folder), "--assignment", "9_made", "--out", str(out)]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = cli.main([*command, "--time-limit", str(TIME_LIMIT), "--memory-limit", "1"])
        assert status == 0 and grading.fingerprint() == before and victim.poll() is None
    return handed, out, printed.getvalue()


@pytest.mark.parametrize(
    "student",
    [
        *("anna", "ben", "cleo", "dora", "emil", "fay", "gus", "hal", "ida", "jan", "kim", "leo", "mia", "ned", "olga"),
        *("paul", "quinn", "rosa", "sam", "tara", "udo", "vera", "will", "xenia", "yuri", "zoe", "ward", "bea", "carl"),
        *("dirk", "eva", "finn"),
    ],
)
def test_points_and_page_of(batch, student):
    handed, out, _ = batch
    _, points, words = handed[student]
    with open(out / "grades.csv", newline="") as file:
        [row] = [row for row in csv.DictReader(file) if row["student"] == student]
    assert tuple(int(row[number]) for number in ("9.1", "9.2", "9.3")) == points
    assert (int(row["points"]), row["of"], row["by hand"], row["assignment"]) == (sum(points), "6", "4", "9_made")
    page = (out / f"{student}.html").read_text()
    assert words in page or html.escape(words) in page
    assert "<script" not in page


def test_the_folder_holds_the_table_and_the_pages_and_nothing_else(batch):
    handed, out, _ = batch
    assert len(handed) == 32
    assert {path.name for path in out.iterdir()} == {"grades.csv", *(f"{name}.html" for name in handed)}


def test_the_summary_says_who_got_what_and_what_is_missing_most_often(batch):
    _, _, printed = batch
    lines = printed.splitlines()
    assert "emil      0    3    1     4/6" in lines
    assert "9.2 A discounted sum: 22 of 32 got it" in lines
    assert "    missing most often (2): twice means two times, not a square" in lines
    assert any(line.startswith("yuri ") and line.endswith("not of 9_made") for line in lines)


def test_problems_of_a_notebook_stand_in_the_table(batch):
    _, out, _ = batch
    with open(out / "grades.csv", newline="") as file:
        problems = {row["student"]: row["problem"] for row in csv.DictReader(file)}
    assert problems["mia"] == "code cell 1 did not end within 2 seconds"
    assert problems["quinn"] == "code cell 1 ends its process (SIGSEGV)"
    assert problems["anna"] == problems["ben"] == ""
