"""The example runs are what their presets train, play as well as they say, can be explained, and stay as they are."""

import json

import numpy as np
import pytest

import mzu
from mzu.acting.selection import SELECTIONS
from mzu.commands.cli import main
from mzu.config import Config
from mzu.explain.system import open_system
from mzu.training.example_runs import EXAMPLES, FOLDER, chosen_position, example_words
from mzu.training.plan import plan_new
from mzu.training.run_folder import RunFolder

RECORDED = [name for name in EXAMPLES if (FOLDER / name).is_dir()]
every_example = pytest.mark.parametrize("name", RECORDED)
KNOWN = "the finished runs of the package are example:cartpole, example:swingup and example:catch"


@every_example
def test_an_example_has_the_settings_of_its_preset(name):
    example = EXAMPLES[name]
    preset = plan_new(example.preset, seed=example.seed, only=example.only).runs[0].config
    assert RunFolder.open(f"example:{name}").config == preset, (
        f"{example.preset} has other settings now: python -m mzu.explain.record_examples {name}"
    )


@every_example
def test_an_example_plays_as_well_as_its_result_says(name):
    """Three episodes lie within four standard errors of the mean of the recorded ones."""
    result, agent = RunFolder(f"example:{name}").result(), mzu.load(f"example:{name}")
    assert result["steps"] == agent.config.learning.training_steps
    for way in SELECTIONS:
        recorded = np.array(result["selections"][way]["returns"])
        played = agent.evaluate(3, select=way).mean
        assert abs(played - recorded.mean()) <= 4 * recorded.std() / np.sqrt(3) + 1e-6, way


@every_example
def test_the_position_of_an_example_is_explained_from_its_replay(name):
    system = open_system(f"example:{name}")
    episode, step = chosen_position(f"example:{name}", None, None)
    explanation = mzu.explain(system, episode, step)
    assert system.name == f"example:{name}" and system.folder
    assert explanation.position["episode"] == episode and explanation.position["step"] == step
    assert explanation.position["in_replay"] > 0 and explanation.priority is not None
    assert sum(explanation.result["visits"]) == system.config.search.num_simulations
    for one, other in zip(system.network.trainable_variables, open_network(name).trainable_variables, strict=True):
        assert np.array_equal(one, other)


def open_network(name):
    return RunFolder(f"example:{name}").load_network()


def test_every_example_is_there():
    missing = [name for name in EXAMPLES if name not in RECORDED]
    assert not missing, f"make it: python -m mzu.explain.record_examples {' '.join(missing)}"
    assert {path.name for path in FOLDER.iterdir()} == EXAMPLES.keys()


def test_the_examples_are_small_and_hold_what_they_should():
    for name in RECORDED:
        files = [path for path in (FOLDER / name).rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in files) < 1e6
        assert {path.suffix for path in files} == {".json", ".csv", ".npz", ".keras"}
        assert not {"processor", "machine"} & json.loads((FOLDER / name / "versions.json").read_text()).keys()


def test_only_an_example_has_a_position_of_its_own():
    episode, step = chosen_position("example:cartpole", None, None)
    assert chosen_position("example:cartpole", None, 3) == (episode, 3)
    assert chosen_position("example:cartpole", 0, None) == (0, step)
    assert chosen_position("runs/mine", None, 3) == (None, 3) and example_words("runs/mine") == ""
    with pytest.raises(ValueError, match="Which position"):
        mzu.explain(Config(), step=3)


def test_an_unknown_example_and_no_run_at_all_are_answered_with_those_that_there_are(tmp_path):
    with pytest.raises(ValueError, match=f"There is no run example:cartpool; {KNOWN}"):
        mzu.load("example:cartpool")
    with pytest.raises(ValueError, match=f"nothing is no run of mzu: .* makes one, and {KNOWN}"):
        mzu.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="example:cartpole has no best network: an example keeps the last"):
        mzu.load("example:cartpole", "best")
    with pytest.raises(ValueError, match="example:cartpole has no checkpoint 7; there are latest, 1500"):
        mzu.load("example:cartpole", "7")


@pytest.mark.parametrize("words", [["--resume"], ["cartpole"], ["cartpole_offline", "--only", "crr"]])
def test_nothing_is_written_into_an_example(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in FOLDER.rglob("*")}
    assert main(["train", *words, "--out", "example:cartpole"]) == 2
    assert capsys.readouterr().err.endswith(
        "is part of the package and stays as it is; `mzu train cartpole_offline --only unplugged` trains a run of your "
        "own\n"
    )
    assert {path: path.stat().st_mtime_ns for path in FOLDER.rglob("*")} == before and not list(tmp_path.iterdir())


def test_the_commands_take_an_example_where_they_take_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "example:cartpole", "--step", "30", "--json", "target.json"]) == 0
    assert capsys.readouterr().err.startswith("example:cartpole: a finished run of `mzu train cartpole_offline --only")
    assert json.loads((tmp_path / "target.json").read_text())["position"]["step"] == 30
    assert main(["evaluate", "example:cartpole", "--episodes", "1", "--select", "policy", "--video", "x.gif"]) == 0
    shown = capsys.readouterr().out
    assert "of its replay the newest" in shown and "500.0" in shown
    assert (tmp_path / "x.gif").read_bytes()[:3] == b"GIF"
    assert main(["collect", "--run", "example:cartpole", "--episodes", "1", "--out", "own.npz"]) == 0
    assert "own.npz: 1 episodes of CartPole-v1?repeat=2" in capsys.readouterr().out
