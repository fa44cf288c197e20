"""The committed tables and figures are those of the committed CSVs."""

from pathlib import Path

import pytest

from mzu.experiments.catalogue import EXPERIMENTS
from mzu.experiments.definition import run_config, run_name
from mzu.experiments.figures import data_digest, read_digest
from mzu.experiments.page import RESULTS, experiment_section, replace_section
from mzu.experiments.running import read_rows
from mzu.experiments.tasks import TASKS

PAGE = Path(__file__).parent.parent.parent / "tutorials" / "results.md"
COMMITTED = sorted(file.stem for file in RESULTS.glob("*.csv"))


def test_every_experiment_has_its_place_on_the_page():
    text = PAGE.read_text()
    for name, experiment in EXPERIMENTS.items():
        assert replace_section(text, name, "") and experiment.title in text


def test_every_csv_belongs_to_an_experiment():
    assert set(COMMITTED) <= EXPERIMENTS.keys()


@pytest.mark.parametrize("name", COMMITTED)
def test_the_page_says_what_the_csv_says(name):
    rows = read_rows(RESULTS / f"{name}.csv")
    content = experiment_section(EXPERIMENTS[name], TASKS, rows, f"pictures/results_{name}.png")
    text = PAGE.read_text()
    assert replace_section(text, name, content) == text, "renew the page with `mzu reproduce --report`"


@pytest.mark.parametrize("name", COMMITTED)
def test_the_figure_shows_what_the_csv_says(name):
    picture = PAGE.parent / "pictures" / f"results_{name}.png"
    rows = read_rows(RESULTS / f"{name}.csv")
    assert read_digest(picture) == data_digest(EXPERIMENTS[name], rows), "renew it with `mzu reproduce --report`"


@pytest.mark.parametrize("name", COMMITTED)
def test_the_csv_is_of_the_runs_that_the_definition_asks_for(name):
    """A definition that was changed after its runs were made would show their results under another name."""
    for row in read_rows(RESULTS / f"{name}.csv"):
        config = run_config(TASKS[row["task"]], EXPERIMENTS[name].variant(row["variant"]), row["seed"])
        assert row["run"] == run_name(row["task"], config)
