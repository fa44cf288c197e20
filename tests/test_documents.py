"""The Python in README, tutorials and solutions runs, and what README tells a newcomer to type exists."""

import re
from pathlib import Path

import matplotlib
import pytest

from mzu import cli

matplotlib.use("Agg")  # a solution that shows a figure must not wait for someone to close its window

REPOSITORY = Path(__file__).parent.parent
SOLUTIONS = sorted((REPOSITORY / "tutorials" / "solutions").glob("*.md"))
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
