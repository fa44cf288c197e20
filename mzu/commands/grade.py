"""`mzu grade`: points for handed-in notebooks, as a table and as a page per student (tutorials/teaching.md)."""

import os
import time
from pathlib import Path

from mzu.classroom.assignments import ASSIGNMENTS
from mzu.classroom.question import HIDDEN_SEED

MOST = 1_000_000  # seconds, or GiB: what a system still counts


def add_arguments(parser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="NOTEBOOK_OR_FOLDER",
                        help="STUDENT.ipynb, STUDENT/ASSIGNMENT.ipynb, or a folder of such files")  # fmt: skip
    parser.add_argument("--assignment", choices=list(ASSIGNMENTS), default="", metavar="NAME",
                        help=f"default: from names and cells; one of {', '.join(ASSIGNMENTS)}")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("grades"), metavar="FOLDER",
                        help="for grades.csv and STUDENT.html (default grades)")  # fmt: skip
    parser.add_argument("--replace", action="store_true", help="replace the grades.csv that is in this folder")
    parser.add_argument(
        "--seed", type=int, default=HIDDEN_SEED, help="of the hidden inputs; a number of your own is better"
    )
    parser.add_argument("--time-limit", type=float, default=60, metavar="S",
                        help="seconds for one cell, and for the calls of one check (default 60)")  # fmt: skip
    parser.add_argument("--memory-limit", type=float, default=4, metavar="GIB",
                        help="memory of a student's process, TensorFlow alone takes 2 (default 4)")  # fmt: skip


def run(arguments) -> int:
    """Grades all, writing as it goes; a notebook that fails is a row like any other."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from mzu.classroom import handed_in
    from mzu.classroom.grade_report import not_isolated, summary, write_grade_page, write_grades
    from mzu.classroom.grading import grade_all
    from mzu.classroom.submission import Limits

    limits = Limits(
        _positive(arguments.time_limit, "--time-limit"), _positive(arguments.memory_limit, "--memory-limit")
    )
    table = arguments.out / "grades.csv"
    if table.exists() and not arguments.replace:
        raise ValueError(f"{table} exists; choose another folder with --out, or replace it with --replace")
    files = handed_in.find(arguments.paths)
    grades, start = [], time.monotonic()
    for grade in grade_all(files, arguments.assignment, arguments.seed, limits):
        grades.append(grade)
        write_grades(grades, table)
        write_grade_page([one for one in grades if one.student == grade.student], arguments.seed, arguments.out)
        of = f" of {grade.assignment.points}" if grade.assignment else ""
        print(f"{len(grades)}/{len(files)} {grade.student}: {grade.points}{of}", flush=True)
    print(f"\n{summary(grades)}\n")
    if missing := not_isolated(grades):
        for student in {grade.student for grade in grades}:  # somebody's code may have changed somebody's page
            write_grade_page([grade for grade in grades if grade.student == student], arguments.seed, arguments.out)
        print(missing)
    print(f"{table} and a page per student, in {time.monotonic() - start:.0f} s")
    return 0


def _positive(value: float, name: str) -> float:
    if not 0 < value <= MOST:
        raise ValueError(f"{name} is {value:g}, but must be greater than 0 and at most {MOST:,}")
    return value
