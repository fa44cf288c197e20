"""`mzu data convert table.csv out.npz`: as a newcomer types it, and as it asks."""

import sys

import pytest

import mzu
from mzu.commands import convert_table
from mzu.commands.cli import main
from mzu.episodes.readers.tables import read_table

ROWS = "".join(f"{run},{t},{t / 10},{t % 2},{t + 1},{int(t == 4)}\n" for run in (7, 8) for t in range(5))
TEXT = "episode,t,angle,action,reward,done\n" + ROWS
OPTIONS = ["--observations", "angle", "--action", "action", "--reward", "reward", "--episode", "episode"]
OPTIONS += ["--terminated", "done"]


@pytest.fixture(autouse=True)
def steps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steps.csv").write_text(TEXT)


def test_a_table_becomes_a_dataset_and_its_first_episode_is_shown(capsys):
    assert main(["data", "convert", "steps.csv", "out.npz", *OPTIONS]) == 0
    out = capsys.readouterr().out
    assert "The first episode: 5 steps, discrete actions, return 15" in out
    assert "step  angle  action action  reward" in out and "terminated" in out
    assert "wrote out.npz: 2 episodes, 10 steps, 2 terminated" in out
    first, second = mzu.load_episodes("out.npz")
    assert first.rewards.tolist() == [1, 2, 3, 4, 5] and second.terminated


def test_without_a_terminal_it_says_what_is_missing_and_guesses(capsys):
    assert main(["data", "convert", "steps.csv", "out.npz", "--reward", "reward"]) == 2
    error = capsys.readouterr().err
    assert "steps.csv has the columns episode, t, angle, action, reward, done: say which are what" in error
    assert "--observations, --action, --episode" in error
    assert "perhaps --observations angle --action action --reward reward --episode episode" in error


def test_on_a_terminal_it_asks(monkeypatch, capsys):
    asked, answers = [], iter(["angel", "angle", "", "", "-"])

    def answer(question):
        asked.append(question)
        return next(answers)

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(convert_table.ask_roles, "__defaults__", (answer,))
    assert main(["data", "convert", "steps.csv", "out.npz", "--action", "action", "--terminated", "done"]) == 0
    assert "There is no column 'angel'." in capsys.readouterr().out
    assert asked[-1] == "column that is 1 where an episode was cut off (- for none) [-]: "
    assert len(mzu.load_episodes("out.npz")) == 2


def test_columns_are_guessed_by_their_names():
    guessed = convert_table.guessed_roles(read_table("steps.csv"))
    assert guessed == {
        "observations": "angle", "action": "action", "reward": "reward", "episode": "episode", "terminated": "done",
        "truncated": None,
    }  # fmt: skip


def test_nothing_half_written_is_left(tmp_path, capsys):
    (tmp_path / "steps.csv").write_text(TEXT.replace("0.3", "nan", 1))
    assert main(["data", "convert", "steps.csv", "out.npz", *OPTIONS]) == 2
    assert "line 5: column angle is empty" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["steps.csv"]
    (tmp_path / "out.npz").write_text("mine")
    assert main(["data", "convert", "steps.csv", "out.npz", *OPTIONS]) == 2
    assert (tmp_path / "out.npz").read_text() == "mine"


def test_options_of_tables_say_nothing_about_other_sources(capsys):
    assert main(["data", "convert", "embedded:catch", "out.npz", "--reward", "r"]) == 2
    assert "--reward is about tables (.csv, .tsv, .parquet)" in capsys.readouterr().err
    assert main(["data", "convert", "steps.csv", "o.npz", *OPTIONS, "--action-bounds", "1"]) == 2
    assert "must be two numbers" in capsys.readouterr().err


LAB = ",trial,tick,angle,torque,rwd,finished\n" + "".join(
    f"{10 * trial + t},T{trial},{t},{t / 10},{t / 2 - 1},{t + 1},{int(t == 4)}\n"
    for trial in range(3)
    for t in range(5)
)


def test_a_log_that_pandas_wrote_is_understood_by_its_names(tmp_path):
    (tmp_path / "lab.csv").write_text(LAB)
    assert convert_table.guessed_roles(read_table("lab.csv")) == {
        "observations": "angle", "action": "torque", "reward": "rwd", "episode": "trial", "terminated": "finished",
        "truncated": None,
    }  # fmt: skip


def test_on_a_terminal_bounds_of_actions_are_asked_for_where_they_are_needed(tmp_path, monkeypatch, capsys):
    (tmp_path / "lab.csv").write_text(LAB.replace(",-1.0,", ",-2.0,"))
    table, asked = read_table("lab.csv"), []

    def answer(question):
        asked.append(question)
        return ""

    assert convert_table.ask_bounds(table, ["torque"], answer) == (-2, 1)
    assert asked == ["lowest and highest action that there can be, with a comma between [-2,1]: "]
    assert convert_table.ask_bounds(table, ["angle"], answer) is None  # within [-1, 1]
    assert convert_table.ask_bounds(read_table("steps.csv"), ["action"], answer) is None  # numbers of actions


def test_a_column_without_a_name_is_said_to_be_one(tmp_path, capsys):
    (tmp_path / "lab.csv").write_text(LAB)
    assert main(["data", "convert", "lab.csv", "out.npz"]) == 2
    error = capsys.readouterr().err
    assert "lab.csv has the columns (one without a name), trial, tick" in error
    assert "perhaps --observations angle --action torque --reward rwd --episode trial" in error
