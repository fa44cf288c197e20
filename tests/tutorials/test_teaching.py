"""The teacher's kit: a page for each notebook that fits it, and exam solutions that are right and kept apart."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
KIT = REPOSITORY / "tutorials" / "teaching"
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("[0-9]*.py"))
SOLUTIONS = REPOSITORY / "tutorials" / "exam_solutions.md"
PARTS = ["After this, students can", "In class", "Questions for class"]

every_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def parts_of(notebook):
    """{heading: text} of the notebook's page."""
    text = (KIT / f"{notebook.stem}.md").read_text()
    assert text.startswith(f"# Teaching notebook {notebook.stem[:2]}: ")
    assert f"`notebooks/{notebook.stem}.ipynb`" in text
    return dict(part.split("\n", 1) for part in text.split("\n## ")[1:])


def rows_of(text):
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]


@every_notebook
def test_a_page_has_objectives_time_questions_and_an_exam_question(notebook):
    parts = parts_of(notebook)
    *first, exam = parts
    assert first == PARTS and re.fullmatch(r"An exam question \(\d+ points\)", exam)
    assert len(re.findall(r"^- ", parts[PARTS[0]], flags=re.MULTILINE)) >= 3
    asked = re.findall(r"^\d\. .+\?(?: .+)?\n   \*Listen for:\* .+$", parts[PARTS[2]], flags=re.MULTILINE)
    listed = re.findall(r"^\d\. ", parts[PARTS[2]], flags=re.MULTILINE)
    assert len(asked) == len(listed) >= 3
    points = [int(number) for number in re.findall(r"^\d\. \((\d)\) ", parts[exam], flags=re.MULTILINE)]
    assert sum(points) == int(re.search(r"\d+", exam)[0]), "the points of the parts are those of the whole"


@every_notebook
def test_a_page_names_sections_that_exist_in_their_order(notebook):
    text = notebook.read_text()
    headings = re.findall(r"^# ## (\d+\. .+)$", text, flags=re.MULTILINE)
    sections, minutes, stress = zip(*rows_of(parts_of(notebook)[PARTS[1]]), strict=True)
    assert [heading for heading in headings if heading in sections] == list(sections)
    assert all(stress)
    total = sum(map(int, minutes))
    assert f"In class {total} minutes" in (KIT / f"{notebook.stem}.md").read_text() and 45 <= total <= 90


@every_notebook
def test_an_exam_question_has_its_solution_on_another_page(notebook):
    solutions = dict(part.split("\n", 1) for part in SOLUTIONS.read_text().split("\n## ")[1:])
    solution = solutions[f"Notebook {notebook.stem[:2]}"]
    [exam] = [text for heading, text in parts_of(notebook).items() if heading.startswith("An exam")]
    asked = re.findall(r"^(\d)\. \(", exam, flags=re.MULTILINE)
    prose = solution.split("```python")[0]
    assert re.findall(r"^(\d)\. ", prose, flags=re.MULTILINE) == asked
    assert "assert " in solution and "assert" not in exam


def test_there_is_no_page_without_its_notebook():
    assert sorted(path.stem for path in KIT.glob("[0-9]*.md")) == [path.stem for path in NOTEBOOKS]


def test_the_numbers_of_the_exam_solutions_are_right():
    blocks = re.findall(r"^```python\n(.*?)^```$", SOLUTIONS.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == len(NOTEBOOKS) + 1
    names = {}
    for block in blocks:
        exec(block, names)


def test_students_pages_do_not_lead_to_the_exam_solutions():
    for page in [
        REPOSITORY / "notebooks" / "README.md",
        *NOTEBOOKS,
        *(REPOSITORY / "tutorials" / "solutions").glob("*.md"),
    ]:
        assert "exam_solutions" not in page.read_text() and "tutorials/teaching/" not in page.read_text()
