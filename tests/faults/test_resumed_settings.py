"""A run goes on under the settings it has learned with; where one may change, `--resume --set` records that."""

import json
import re

import pytest
from made_runs import TINY, train

from mzu.commands.cli import main
from mzu.config import Config
from mzu.config_fields import named_fields
from mzu.training.changes import MAY_CHANGE, check_unchanged
from mzu.training.run_folder import RunFolder
from mzu.training.seals import SEALS

# A search at every step, fresh games, and nothing evaluated: a second of training.
SETTINGS = (*TINY, "environment=identity", "reanalyse.fraction=0.5", "learning.training_steps=6", "evaluation.period=0")
WORDS = {  # other values of settings that are words or lists
    "search.normaliser": "siblings",
    "search.unvisited_value": "parent",
    "search.selection": "gumbel",
    "search.improvement": "advantage",
    "search.stored_value": "data",
    "network.width": "auto",
    "network.scalar_head": "regression",
    "acting.temperatures": "1.0,0.5,0.1",
    "acting.temperature_ends": "0.5,0.7",
    "learning.policy_loss": "crr",
    "learning.crr_weight": "indicator",
    "evaluation.select": "policy",
    "environment": "catch",
    "data": "embedded:catch",
    "data_root": "elsewhere",
    "search.num_sampled_actions": "5",
    "search.first_evaluations": "false",
    "search.injected_prior": "0.5",
}
LEARNED = [name for name, _ in named_fields(Config()) if not name.startswith(("evaluation.", "run."))]


def other_value(name, value):
    if name in WORDS:
        return WORDS[name]
    if isinstance(value, bool):
        return str(not value).lower()
    if isinstance(value, int):
        return value + 1
    return value / 2 if value else 0.5


@pytest.fixture
def stopped(tmp_path):
    """A run that was interrupted after step 4 of 6, with a checkpoint of that step."""

    def stop(trainer, _):
        if trainer.steps == 4:
            raise KeyboardInterrupt

    config = Config().override(*SETTINGS, "run.checkpoint_period=2", "run.log_period=1")
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "run", stop)
    return RunFolder(tmp_path / "run")


@pytest.mark.parametrize("name", LEARNED)
def test_every_setting_that_changes_what_is_learned_is_compared(name, tmp_path):
    folder = RunFolder.create(tmp_path / "run", Config())
    value = dict(named_fields(Config()))[name]
    edited = Config().override(f"{name}={other_value(name, value)}")
    with pytest.raises(ValueError, match=f"^{name} was .* and is now .* in the config.json of {folder.path}"):
        check_unchanged(folder, edited, learned_with=Config())


def test_what_is_measured_and_kept_may_change_freely(tmp_path):
    folder = RunFolder.create(tmp_path / "run", Config())
    edited = Config().override("evaluation.episodes=3", "evaluation.period=7", "run.log_period=3")
    check_unchanged(folder, edited, learned_with=Config())


def test_a_config_edited_by_hand_is_refused(stopped, capsys):
    original = stopped.config
    (stopped.path / "config.json").write_text(original.override("search.num_simulations=5").to_json())
    for command in (["train", "--resume", "--out", str(stopped.path)], ["evaluate", str(stopped.path)]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "config.json is not as mzu wrote it: search.num_simulations was 4 and is now 5; put it back" in said
        assert "NAME=VALUE` changes and records a setting" in said and said.count("\n") == 1
    # Who removes the seals takes the file as it is, but what was learned with other settings does not go on.
    (stopped.path / SEALS).unlink()
    assert main(["train", "--resume", "--out", str(stopped.path)]) == 2
    said = capsys.readouterr().err
    assert "search.num_simulations was 4 and is now 5 in the config.json" in said
    assert "put that back, or train anew with another --out" in said and said.count("\n") == 1
    edited = original.override("learning.learning_rate=0.5")
    (stopped.path / "config.json").write_text(edited.to_json())
    assert main(["train", "--resume", "--out", str(stopped.path)]) == 2
    assert "change it by --resume --set learning.learning_rate=0.5, which records it" in capsys.readouterr().err


def test_a_lower_learning_rate_and_more_steps_are_taken_up_and_recorded(stopped):
    words = ["--set", "learning.learning_rate=1e-3", "--set", "learning.training_steps=8"]
    assert main(["train", "--resume", "--out", str(stopped.path), *words]) == 0
    assert stopped.config.learning.learning_rate == 1e-3 and stopped.result()["steps"] == 8
    (entry,) = json.loads((stopped.path / "changes.json").read_text())
    assert entry["after_step"] == 4
    assert entry["settings"] == {
        "learning.learning_rate": ["0.01", "0.001"],
        "learning.training_steps": ["6", "8"],
    }
    rates = {row["step"]: row["learning_rate"] for row in stopped.read_log()}
    assert rates[4] > 1e-3 > rates[5] > rates[8]
    # A second time, from the end: the finished run goes on, and its result is kept.
    assert main(["train", "--resume", "--out", str(stopped.path), "--set", "learning.training_steps=10"]) == 0
    assert stopped.result()["steps"] == 10 and (stopped.path / "result_after_8.json").exists()
    assert len(json.loads((stopped.path / "changes.json").read_text())) == 2


@pytest.mark.parametrize(
    "words, sentence",
    [
        (
            "search.num_simulations=16",
            "search.num_simulations was 4 and is now 16: what .* has learned would no",
        ),
        ("seed=1", "seed was 0 and is now 1: what .* has learned would no longer fit"),
        ("learning.training_steps=3", "learning.training_steps is 3, but .* has learned 4 steps already"),
        ("learning.learning_rate=0.01", "has ended or has these settings already"),
        ("learning.learning_rat=1", "'learning.learning_rat' is not a setting; did you mean"),
    ],
)
def test_other_changes_are_refused_and_nothing_is_changed(stopped, words, sentence, capsys):
    before = (stopped.path / "config.json").read_text()
    assert main(["train", "--resume", "--out", str(stopped.path), "--set", words]) == 2
    said = capsys.readouterr().err
    assert re.search(sentence, said), said
    assert (stopped.path / "config.json").read_text() == before and not (stopped.path / "changes.json").exists()


@pytest.mark.parametrize(
    "text", ["", '{"a": 1}', "[1]", "[{}]", '[{"settings": 3}]', '[{"settings": {"seed": 1}}]', "3"]
)
def test_a_damaged_record_of_changes_is_named(text, tmp_path):
    folder = RunFolder.create(tmp_path / "run", Config())
    (folder.path / "changes.json").write_text(text)
    with pytest.raises(ValueError, match=r"changes.json is damaged \(.*\); put it back from a copy, or remove it"):
        check_unchanged(folder, Config(seed=1), learned_with=Config())


def test_a_finished_run_is_only_given_more_steps(stopped, capsys):
    assert main(["train", "--resume", "--out", str(stopped.path)]) == 0
    assert main(["train", "--resume", "--out", str(stopped.path), "--set", "learning.learning_rate=1"]) == 2
    assert "give it more with --set learning.training_steps=N" in capsys.readouterr().err
    assert stopped.result()["steps"] == 6


def test_the_list_of_what_may_change_names_settings_that_exist():
    assert set(MAY_CHANGE) <= {name for name, _ in named_fields(Config())}
