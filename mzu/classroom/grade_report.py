"""What grading leaves: grades.csv, a page per student, and a summary for the teacher on the terminal."""

import csv
import html
from collections import Counter
from pathlib import Path

from mzu.classroom.grading import Answer, Grade
from mzu.classroom.handed_in import printable
from mzu.files import written_whole

STYLE = Path(__file__).with_name("report.css")
IDEA = "It looks as if an idea is missing: "


def write_grades(grades: list[Grade], path: Path) -> None:
    """A row per notebook: student, assignment, points per question, total, of how many, by hand, problem."""
    numbers = sorted({answer.question.number for grade in grades for answer in grade.answers}, key=_order)
    with written_whole(path) as temporary, open(temporary, "w", newline="", errors="replace") as file:
        table = csv.writer(file)
        table.writerow(["student", "assignment", *numbers, "points", "of", "by hand", "problem"])
        for grade in grades:
            points = {answer.question.number: answer.points for answer in grade.answers}
            of, by_hand = (grade.assignment.points, _by_hand(grade)) if grade.assignment else ("", "")
            name = grade.assignment.name if grade.assignment else ""
            row = [points.get(number, "") for number in numbers]
            table.writerow([_cell(grade.student), name, *row, grade.points, of, by_hand, _cell(_problem(grade))])


def _order(number: str) -> list[int]:
    return [int(part) for part in number.split(".")]


def _by_hand(grade: Grade) -> int:
    return sum(question.points for question in grade.assignment.written)


def _problem(grade: Grade) -> str:
    return "; ".join(grade.problems)


def _cell(text: str) -> str:
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def write_grade_page(grades: list[Grade], seed: int, folder: Path) -> Path:
    """The page of one student, with all notebooks that were graded; everything a student wrote is shown as text."""
    path = folder / f"{grades[0].student}.html"
    with written_whole(path) as temporary:
        temporary.write_text(page(grades, seed), encoding="utf-8", errors="replace")
    return path


def page(grades: list[Grade], seed: int) -> str:
    """HTML that needs no other file and may load none."""
    student = html.escape(grades[0].student)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{student}</title>
<style>
{STYLE.read_text()}</style>
</head>
<body>
<h1>{student}</h1>
{"".join(map(_section, grades))}
<footer>Graded by mzu; the hidden inputs are those of seed {seed}.{_not_isolated_note(grades)}</footer>
</body>
</html>
"""


def _not_isolated_note(grades: list[Grade]) -> str:
    missing = not_isolated(grades)
    return f" {html.escape(missing)}" if missing else ""


def not_isolated(grades: list[Grade]) -> str:
    """What the machine did not offer to keep students' code to itself, in a sentence; "" where all was there."""
    missing = dict.fromkeys(one for grade in grades for one in grade.not_isolated)
    return f"Not isolated: of the student's code, {', and '.join(missing)}." if missing else ""


def _section(grade: Grade) -> str:
    problems = "".join(f'<p class="problem">{html.escape(problem)}</p>\n' for problem in grade.problems)
    if grade.assignment is None:
        return f"<h2>{html.escape(grade.path.name)}</h2>\n{problems}"
    share = 100 * grade.points / grade.assignment.points
    by_hand = f", and up to {_by_hand(grade)} by hand" if grade.assignment.written else ""
    articles = {answer.question.number: _article(answer) for answer in grade.answers}
    for question in grade.assignment.written:
        articles[question.number] = _written(question, grade.words.get(question.number, ""))
    return f"""<h2>{html.escape(grade.assignment.name.split("_")[0])}. {html.escape(grade.assignment.title)}</h2>
<p class="total"><b>{grade.points}</b> of {grade.assignment.points} points{by_hand}</p>
<div class="bar"><div style="width: {share:.0f}%"></div></div>
{problems}{"".join(articles[number] for number in sorted(articles, key=_order))}"""


def _article(answer: Answer) -> str:
    question = answer.question
    right = answer.points == question.points
    message, _, idea = answer.message.partition(f"\n{IDEA}")
    idea = f'<p class="idea">{html.escape(IDEA + idea)}</p>\n' if idea else ""
    message = f'<pre class="message">{html.escape(message)}</pre>\n' if message else ""
    for called in answer.calls:
        idea += f"<p>It calls {called.name}, question {called.number}, which is not right either: begin there.</p>\n"
    code = html.escape(answer.code) or "(no cell of this question)"
    return f"""<article class="{"right" if right else "wrong"}">
<header><h3>{question.number} {html.escape(question.title)}</h3>
<span class="points">{answer.points} of {question.points}</span></header>
{message}{idea}<details{"" if right else " open"}><summary>the code</summary><pre>{code}</pre></details>
</article>
"""


def _written(question, words: str) -> str:
    return f"""<article class="hand">
<header><h3>{question.number} {html.escape(question.title)}</h3>
<span class="points">by hand: ___ of {question.points}</span></header>
<pre>{html.escape(words) or "(not answered)"}</pre>
</article>
"""


def summary(grades: list[Grade]) -> str:
    """For the terminal: a line per notebook, and per question how many got it and which idea is missing most often."""
    blocks = []
    for name in sorted({grade.assignment.name for grade in grades if grade.assignment}):
        of_assignment = [grade for grade in grades if grade.assignment and grade.assignment.name == name]
        blocks.append(f"{_students(of_assignment)}\n\n{_questions(of_assignment)}")
    unknown = [f"{grade.student}: {_problem(grade)}" for grade in grades if grade.assignment is None]
    return "\n\n".join([*blocks, *unknown])


def _students(grades: list[Grade]) -> str:
    assignment = grades[0].assignment
    rows = [[assignment.name, *(question.number for question in assignment.questions), "points", ""]]
    for grade in grades:
        points = [str(answer.points) for answer in grade.answers]
        rows.append([grade.student, *points, f"{grade.points}/{assignment.points}", _problem(grade)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *numbers, problem in rows:
        cells = [f"{number:>{width}}" for number, width in zip(numbers, widths[1:-1], strict=True)]
        lines.append("  ".join([f"{name:<{widths[0]}}", *cells, printable(problem)]).rstrip())
    return "\n".join(lines)


def _questions(grades: list[Grade]) -> str:
    lines = []
    for number, question in enumerate(grades[0].assignment.questions):
        answers = [grade.answers[number] for grade in grades]
        right = sum(answer.points == question.points for answer in answers)
        lines.append(f"{question.number} {question.title}: {right} of {len(answers)} got it")
        for idea, times in Counter(answer.idea for answer in answers if answer.idea).most_common(1):
            lines.append(f"    missing most often ({times}): {idea}")
    return "\n".join(lines)
