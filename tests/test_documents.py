"""The Python in README, tutorials and solutions runs, what README tells a newcomer to type exists, tables are whole."""

import re
from pathlib import Path

import matplotlib
import pytest

from mzu.commands import cli

matplotlib.use("Agg")  # a solution that shows a figure must not wait for someone to close its window

REPOSITORY = Path(__file__).parent.parent
SOLUTIONS = sorted((REPOSITORY / "tutorials" / "solutions").glob("*.md"))
WRITTEN = [("", "README.md"), ("notebooks", "*.md"), ("tutorials", "**/*.md")]
WRITTEN += [("notebooks", "*.py"), ("tutorials/assignments/source", "*.py")]  # notebooks are made from these
PAGES = [path for folder, pattern in WRITTEN for path in sorted((REPOSITORY / folder).glob(pattern))]
DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "tutorials").glob("*.md")), *SOLUTIONS]


def python_blocks(document: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", document.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_code_blocks_of_a_document_run_from_top_to_bottom(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MZU_FAST", "1")  # a solution is as long as its notebook in the test suite
    blocks = python_blocks(document)
    assert bool(blocks) == ("```python" in document.read_text())
    names = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(document), "exec"), names)


def test_readme_has_code_and_its_commands_exist():
    text = (REPOSITORY / "README.md").read_text()
    assert python_blocks(REPOSITORY / "README.md")
    known = {command.name for command in cli.COMMANDS}
    assert set(re.findall(r"`mzu (\w+)", text)) <= known
    assert set(re.findall(r"&& mzu (\w+)", text)) <= known


def uneven_rows(text: str) -> list[str]:
    """Rows of Markdown tables with another number of cells than their heads: a | within a formula makes a cell, too."""
    text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
    found = []
    for table in re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE):
        rows = table.splitlines()
        cells = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
        found += [row for row, count in zip(rows, cells, strict=True) if count != cells[0]]
    return found


@pytest.mark.parametrize("document", PAGES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_tables_have_even_rows(document):
    assert uneven_rows(document.read_text()) == []


def test_an_uneven_row_is_found():
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| $|x|$ | 3 |\n| $\\|x\\|$ | 4 |\n"
    assert uneven_rows(table) == ["| $|x|$ | 3 |"]
    assert uneven_rows(re.sub("^", "# ", table, flags=re.MULTILINE)) == ["| $|x|$ | 3 |"]
