"""`mzu explain RUN --model`: on the command line, of runs with networks, and at the end of `mzu train`."""

import pytest
from made_models import SMALL_RUN, Drifting, made_table, offline_config, table_system

from mzu.commands.cli import main


@pytest.fixture
def asked(monkeypatch):
    """A run that needs no training: what is asked for, and its answer is always the same."""
    questions = []

    def answer(run, checkpoint):
        questions.append((str(run), checkpoint))
        return table_system(Drifting(made_table(), good=2), "learning.unroll_steps=1")[0]

    monkeypatch.setattr("mzu.explain.system.open_system", answer)
    return questions


def test_the_report_is_printed_or_written_and_read_again(asked, tmp_path, capsys):
    assert main(["explain", "runs/x", "--model", "--checkpoint", "20", "--episodes", "0"]) == 0
    assert asked == [("runs/x", "20")]
    printed = capsys.readouterr().out
    assert "searches go deeper than the model is good for" in printed and "By depth" in printed
    record, page = tmp_path / "model.json", tmp_path / "model.html"
    assert main(["explain", "runs/x", "--model", "--json", str(record), "--html", str(page)]) == 0
    assert capsys.readouterr().out == f"{record}: all numbers\n{page}: the page\n"
    assert "<svg" in page.read_text()
    assert main(["explain", str(record), "--model"]) == 0
    assert capsys.readouterr().out == printed


def test_what_does_not_go_together(asked, tmp_path, capsys):
    for words in (["--step", "1"], ["--episode", "0"], ["--simulations", "0:3"], ["--compare", "10"]):
        assert main(["explain", "runs/x", "--model", *words]) == 2
        assert f"{words[0]} is about one position, --model about the whole model" in capsys.readouterr().err
    assert main(["explain", "runs/x", "--model", "--serve"]) == 2
    assert "--serve shows positions" in capsys.readouterr().err
    record = tmp_path / "x.json"
    record.write_text('{"format": "mzu explanation 1"}')
    assert main(["explain", str(record), "--model"]) == 2
    assert "The record is 'mzu explanation 1', but --model reads 'mzu model report 1'" in capsys.readouterr().err
    assert main(["explain", str(record), "--model", "--checkpoint", "3"]) == 2
    assert "--checkpoint needs the folder of a run" in capsys.readouterr().err
    assert main(["explain", "runs/x", "--model", "--episodes", "-1"]) == 2
    assert capsys.readouterr().err == "mzu: episodes is -1, but must be 0 (no returns) or more\n"


def test_training_ends_with_the_short_form(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = offline_config(tmp_path).data
    settings = [word for one in (*SMALL_RUN, "search.num_sampled_actions=3") for word in ("--set", one)]
    assert main(["train", "--data", data, "--out", "run", *settings]) == 0
    out = capsys.readouterr().out
    assert "  Its model: the value's error stays below" in out
    assert "All of it: `mzu explain run --model`" in out
