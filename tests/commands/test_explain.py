"""`mzu explain` on the command line."""

import json
from pathlib import Path

import pytest
from made_systems import made_system

import mzu.explain
from mzu.commands.cli import main
from mzu.commands.explain import parse_simulations
from mzu.config import Config
from mzu.explain import server
from mzu.explain.explanation import Explanation, explain_position
from mzu.explain.text import explanation_text
from mzu.training.run_folder import RunFolder


@pytest.fixture(scope="module")
def explanation():
    return explain_position(made_system("tabular"), 0, 3)


@pytest.fixture
def record(explanation, tmp_path):
    explanation.save(tmp_path / "record.json")
    return str(tmp_path / "record.json")


@pytest.fixture
def asked(monkeypatch, explanation):
    """A run that needs no training: what `mzu.explain` is asked for, and its answer is always the same."""
    questions = []

    def answer(run, checkpoint):
        questions.append((str(run), checkpoint))
        return made_system("tabular")

    monkeypatch.setattr("mzu.explain.system.open_system", answer)
    return questions


def test_a_record_is_printed(record, explanation, capsys):
    assert main(["explain", record]) == 0
    assert capsys.readouterr().out == explanation_text(explanation)
    assert main(["explain", record, "--simulations", "4:5"]) == 0
    assert capsys.readouterr().out == explanation_text(explanation, range(4, 5))


def test_a_run_is_explained_at_a_checkpoint_beside_another(asked, capsys):
    words = ["explain", "runs/x", "--episode", "0", "--step", "3", "--checkpoint", "20"]
    assert main(words) == 0
    assert asked == [("runs/x", "20")]
    assert "step 3, in the segment 0..3" in capsys.readouterr().out
    assert main([*words, "--compare", "10"]) == 0
    assert sorted(asked[1:]) == [("runs/x", "10"), ("runs/x", "20")]
    assert "checkpoint 30" in capsys.readouterr().out  # the made system's own number


def test_files_are_written_instead_of_text_unless_simulations_are_asked_for(record, explanation, tmp_path, capsys):
    page, copy = tmp_path / "page.html", tmp_path / "copy.json"
    assert main(["explain", record, "--json", str(copy), "--html", str(page)]) == 0
    assert capsys.readouterr().out == f"{copy}: all numbers\n{page}: the page\n"
    assert Explanation.load(copy) == explanation and "<html" in page.read_text()
    assert main(["explain", record, "--json", str(copy), "--simulations", "0"]) == 0
    assert explanation_text(explanation, range(1)) in capsys.readouterr().out


def test_the_page_is_served_from_the_position(monkeypatch):
    calls = []
    monkeypatch.setattr(server, "serve", lambda *arguments, **named: calls.append((arguments, named)))
    assert main(["explain", "runs/x", "--serve", "--port", "9", "--step", "5", "--compare", "10"]) == 0
    ((run, port, checkpoint), named) = calls[0]
    assert (str(run), port, checkpoint) == ("runs/x", 9, "latest")
    assert named == {"compare": "10", "episode": 0, "step": 5}


@pytest.mark.parametrize(
    ("text", "chosen"), [("0:5", range(5)), ("2:4", range(2, 4)), (":3", range(3)), ("6", range(6, 7))]
)
def test_simulations_are_chosen_as_in_a_slice(text, chosen):
    assert parse_simulations(text) == chosen
    assert 10_000 in parse_simulations("3:") and 2 not in parse_simulations("3:")


@pytest.mark.parametrize("text", ["x", "", "1:x", "-1:3", "1:2:3", "1.5"])
def test_simulations_that_are_none(text, record, capsys):
    assert main(["explain", record, f"--simulations={text}"]) == 2
    assert capsys.readouterr().err == (
        f"mzu: --simulations is '{text}', but must be FROM:TO, such as 0:5 for the first five, or a number\n"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--episode", "3", "--step", "0"], "There is no episode 3: tabular has 3, counted from 0"),
        (["--episode", "1", "--step", "6"], "There is no step 6: episode 1 has 6 steps, counted from 0"),
        (
            ["--episode", "1"],
            "Which position? Give both --episode N and --step N, or neither for a verdict on the whole run",
        ),
        (["--episode", "0", "--step", "0", "--simulations", "7:"], "The search had 7 simulations, 0..6; none of them"),
    ],
)
def test_positions_that_do_not_exist(words, sentence, asked, capsys):
    assert main(["explain", "runs/x", *words]) == 2
    assert capsys.readouterr().err.startswith(f"mzu: {sentence}")


def test_runs_that_cannot_be_explained(tmp_path, capsys):
    position = ["--episode", "0", "--step", "0"]
    assert main(["explain", str(tmp_path), *position]) == 2
    assert f"{tmp_path} is no run of mzu" in capsys.readouterr().err
    RunFolder.create(tmp_path / "run", Config())
    assert main(["explain", str(tmp_path / "run"), *position]) == 2
    assert capsys.readouterr().err == f"mzu: {tmp_path / 'run'} has no checkpoint yet\n"


def test_records_that_cannot_be_explained(record, tmp_path, capsys):
    old = tmp_path / "old.json"
    old.write_text(json.dumps(json.loads(Path(record).read_text()) | {"format": "mzu explanation 0"}))
    assert main(["explain", str(old)]) == 2
    assert capsys.readouterr().err == (
        "mzu: The record is 'mzu explanation 0', but this version of mzu reads 'mzu explanation 2'; explain the run "
        "again\n"
    )
    for words in (["--step", "1"], ["--compare", "2"], ["--checkpoint", "2"], ["--serve"]):
        assert main(["explain", record, *words]) == 2
        assert "is the record of one position" in capsys.readouterr().err
    assert main(["explain", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err == f"mzu: {tmp_path / 'none.json'}: No such file or directory\n"


def test_the_package_can_be_called():
    explanation = mzu.explain(made_system("tabular"), 0, 3)
    assert isinstance(explanation, Explanation) and explanation.position["step"] == 3
