"""The page of results is renewed between its markers, from the CSVs."""

import pytest
from made_experiments import EXPERIMENT, ROWS, TASK

from mzu.commands import reproduce
from mzu.commands.cli import main
from mzu.experiments import catalogue, page, tasks
from mzu.experiments.figures import data_digest, read_digest
from mzu.experiments.page import replace_section, write_results_page
from mzu.experiments.running import write_rows


def test_only_what_stands_between_the_markers_is_replaced():
    text = "before\n<!-- results of a -->\nold\n<!-- end of a -->\nafter \\1\n"
    assert replace_section(text, "a", "new \\1") == (
        "before\n<!-- results of a -->\n\nnew \\1\n\n<!-- end of a -->\nafter \\1\n"
    )
    with pytest.raises(ValueError, match="no place for b; add the lines <!-- results of b -->"):
        replace_section(text, "b", "new")


@pytest.fixture
def only_made(monkeypatch):
    monkeypatch.setitem(tasks.TASKS, "tiny", TASK)
    for module in (catalogue, page, reproduce):
        monkeypatch.setattr(module, "EXPERIMENTS", {"made": EXPERIMENT})


def test_the_page_is_renewed_from_the_csvs(tmp_path, only_made, capsys):
    file = tmp_path / "page.md"
    file.write_text("# Results\n<!-- results of made -->\n<!-- end of made -->\nWhat we think.\n")
    write_rows(tmp_path / "results" / "made.csv", ROWS)
    command = ["reproduce", "--report", "--results", str(tmp_path / "results"), "--page", str(file)]
    assert main(command) == 0
    text = file.read_text()
    assert "| Tiny | discrete |" in text and text.endswith("What we think.\n") and "pictures/results_made.png" in text
    assert read_digest(tmp_path / "pictures" / "results_made.png") == data_digest(EXPERIMENT, ROWS)
    assert "made" in capsys.readouterr().out
    assert main(command) == 0 and file.read_text() == text


def test_a_page_that_does_not_exist_is_said(tmp_path):
    with pytest.raises(ValueError, match="is no file; run this at the top of a clone"):
        write_results_page(tmp_path / "nothing.md")
