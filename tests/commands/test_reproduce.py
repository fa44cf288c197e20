"""`mzu reproduce` lists the experiments and says mistakes in a sentence."""

import pytest
from made_experiments import EXPERIMENT, TASK

from mzu.commands.cli import main
from mzu.experiments import catalogue, tasks


@pytest.fixture(autouse=True)
def made(monkeypatch):
    monkeypatch.setitem(tasks.TASKS, "tiny", TASK)
    monkeypatch.setitem(catalogue.EXPERIMENTS, "made", EXPERIMENT)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["made", "--cell", "tiny/fast/9"], "made has no cell tiny/fast/9; they are named like tiny/slow/100"),
        (["mad"], "There is no experiment 'mad'; did you mean 'made'?"),
        (["made", "--seeds", "0"], "--seeds is 0, but must be at least 1"),
        ([], "Name an experiment: "),
    ],
)
def test_mistakes_are_said_in_a_sentence(arguments, sentence, tmp_path, capsys):
    assert main(["reproduce", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert sentence in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_the_list_names_every_experiment(capsys):
    assert main(["reproduce", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}: " in shown for name in catalogue.EXPERIMENTS)
