"""How far a model can be trusted: perfect models pass, and each planted mistake is the one that is found."""

import dataclasses
import json

import pytest
from made_models import (
    RETURNS,
    Drifting,
    made_table,
    names,
    point_system,
    report_of,
    table_system,
)  # fmt: skip

from mzu.explain.model_findings import NOTHING
from mzu.explain.model_report import ModelReport, report_model

# Perfect models.


@pytest.mark.parametrize("made", [table_system, point_system])
def test_a_perfect_model_has_no_error_and_no_regret(made):
    report = report_of(*made())
    assert len(report.depth["rows"]) >= 11  # 0..10: at least ten steps, though only three are unrolled in training
    for row in report.depth["rows"][1:]:
        assert row["value"]["rmse"] < 1e-5 and row["value"]["correlation"] == pytest.approx(1)
        assert row["reward"]["rmse"] < 1e-5 and row["reward"]["correlation"] == pytest.approx(1)
    assert report.ranking["evidence"] == "world"
    for group in report.ranking["groups"]:
        assert group["correlation"] == pytest.approx(1) and group["regret"] == pytest.approx(0, abs=1e-6)
        assert group["world_spread"] == pytest.approx(group["model_spread"], rel=1e-4)
    assert names(report) == [] and NOTHING in report.text()


# Planted mistakes.


# The numbers, by hand.


# The report as a whole.


def test_a_report_is_text_json_picture_and_page():
    report = report_of(*point_system())
    assert ModelReport.from_json(report.to_json()) == report
    assert json.loads(report.to_json())["format"] == "mzu model report 1"
    text = str(report)
    for words in ("By depth", "Ranking of actions", "uniform:", "from the policy:", "Value head", "regression"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 110
    full = dataclasses.replace(report, returns=RETURNS)
    titles = [panel.get_title() for panel in full.plot().axes]
    assert len(titles) == 5 and "mean return, 95 % interval" in titles
    assert len(report.plot().axes) == 4
    assert "<svg" in full._repr_html_() and "mean return" in full._repr_html_()
    page = full.page()
    assert page.startswith("<!doctype html>") and "http" not in page.replace("http://www.w3.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "").replace("https://matplotlib.org", "")


def test_the_short_form_needs_no_environment():
    system, _ = table_system(Drifting(made_table(), good=2), "learning.unroll_steps=1")
    report = report_of(system, None, ranked=False)
    assert report.ranking is None and report.returns == []
    assert names(report) == ["searches go deeper than the model is good for"]
    assert len(report.plot().axes) == 3


def test_reports_that_cannot_be_made():
    system, make_environment = table_system(None, "learning.unroll_steps=0")
    with pytest.raises(ValueError, match="its model of the world was never trained"):
        report_of(system, make_environment)
    system, make_environment = table_system()
    with pytest.raises(ValueError, match="episodes is -1, but must be 0"):
        report_model(system, episodes=-1)
    with pytest.raises(ValueError, match="no stored episodes"):
        report_of(dataclasses.replace(system, episodes=[]), make_environment)
    with pytest.raises(ValueError, match="not the JSON of a model report"):
        ModelReport.from_json("{")
