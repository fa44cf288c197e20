"""One sentence for each mistake, which names the thing, what was expected and what to do; none a traceback."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from made_runs import tiny_config, train

from mzu.commands.cli import main
from mzu.config import NetworkConfig
from mzu.environments.make import make
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.explain.explanation import explain_position
from mzu.explain.toy import toy_system
from mzu.files import written_whole
from mzu.networks.network import build_network
from mzu.networks.size import least_parameters
from mzu.training.run_folder import RunFolder

ROOT = Path(__file__).parents[2]


def refused(capsys, *arguments):
    """The sentence with which the command line refuses: one line behind "mzu: "."""
    assert main(list(map(str, arguments))) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("mzu: ")
    return lines[0]


class Nonsense(gymnasium.Env):
    """A world that does one thing wrong."""

    observation_space, action_space = spaces.Box(-1, 1, (2,), np.float32), spaces.Discrete(2)

    def __init__(self, wrong):
        self.wrong = wrong
        if wrong == "constructor":
            raise KeyError("no such key")

    def reset(self, seed=None, options=None):
        answers = {"reset of one": np.zeros(3, np.float32), "NaN at reset": (np.float32([0, np.nan]), {})}
        return answers.get(self.wrong, (np.zeros(2, np.float32), {}))

    def step(self, action):
        seen = np.zeros(2, np.float32)
        answers = {
            "four values": (seen, 0.0, False, {}),
            "nothing": None,
            "info None": (seen, 0.0, False, False, None),
            "NaN seen": (np.float32([np.inf, 0]), 0.0, False, False, {}),
            "text seen": ("here", 0.0, False, False, {}),
        }
        rewards = {"NaN reward": np.nan, "text reward": "1.0", "array reward": np.zeros(3), "no reward": None}
        return answers.get(self.wrong, (seen, rewards.get(self.wrong, 0.0), False, False, {}))


SENTENCES = {
    "constructor": "cannot be made: its constructor raised KeyError: 'no such key'",
    "reset of one": r"reset\(\) must return two values: observation, info, but returned something else",
    "NaN at reset": r"reset\(\) returned an observation with nan at \[1\], but all numbers must be finite",
    "four values": r"step\(\) must return five values: observation, reward, terminated, truncated, info",
    "nothing": r"step\(\) must return five values",
    "info None": r"the info of reset\(\) and step\(\) must be a dictionary, but is None; use \{\}",
    "NaN seen": r"step\(\) returned an observation with inf at \[0\]",
    "text seen": "returned an observation that does not fit its space Box",
    "NaN reward": r"step\(\) returned the reward nan, but it must be a finite number",
    "text reward": r"step\(\) returned the reward '1.0', but it must be one number",
    "array reward": r"step\(\) returned the reward \[0.0, 0.0, 0.0\], but it must be one number",
    "no reward": r"step\(\) returned the reward None, but it must be one number",
}


@pytest.mark.parametrize("wrong", SENTENCES)
@pytest.mark.parametrize("limit", [None, 5])  # Gymnasium's own wrappers take the values apart first
def test_a_world_that_returns_nonsense_is_named(wrong, limit, request):
    gymnasium.register("Nonsense-v0", Nonsense, max_episode_steps=limit)
    request.addfinalizer(lambda: gymnasium.registry.pop("Nonsense-v0"))
    with (
        pytest.raises(ValueError, match=rf"Nonsense-v0:? {SENTENCES[wrong]}"),
        make("Nonsense-v0", wrong=wrong) as world,
    ):
        world.reset(seed=0)
        world.step(0)


def test_a_missing_package_of_an_environment_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.mujoco")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(
        ValueError, match=r"Ant-v5 needs a package that is not installed, mujoco: pip install 'mzu\[con"
    ):
        make("Ant-v5")
    with pytest.raises(ValueError, match="nowhere:Env-v0 asks for the module nowhere, which Python does not find"):
        make("nowhere:Env-v0")


def test_a_full_disk_is_named_with_the_file(tmp_path):
    for error in (OSError(errno.ENOSPC, "No space left on device"), OSError("write failed: errno = 28, no space")):
        with pytest.raises(OSError, match="No space left on device") as caught, written_whole(tmp_path / "a.npz"):
            raise error
        assert caught.value.filename == str(tmp_path / "a.npz") and list(tmp_path.iterdir()) == []
        assert caught.value.__notes__ == ["make room there, or choose another place"]
    with pytest.raises(PermissionError) as caught, written_whole(tmp_path / "a.npz"):
        raise PermissionError(errno.EACCES, "Permission denied", "source.npz")
    assert caught.value.filename == "source.npz"


@pytest.mark.parametrize("bytes_left", [0, 100, 5000])
def test_a_command_on_a_full_disk_ends_in_a_sentence(tmp_path, bytes_left):
    """A limit on the size of files stands in for the disk, in the command's own process."""
    pytest.importorskip("resource")
    program = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes_left}, {bytes_left}));"
        "from mzu.commands.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "collect", "catch", "--episodes", "200", "--out", str(tmp_path / "a.npz")]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.strip().endswith(f"{tmp_path / 'a.npz'}: File too large")
    assert "Traceback" not in done.stderr and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["train"], ["collect", "catch", "--out", "a.npz"]])
def test_a_negative_seed(capsys, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    assert "seed is -1, but must be at least 0" in refused(capsys, *command, "--seed", "-1")


def test_empty_names(capsys):
    assert "data is empty; name one, or leave it out" in refused(capsys, "train", "--data", "")
    assert "environment is empty" in refused(capsys, "train", "--env", "")
    assert "The name of the dataset is empty; give a path" in refused(capsys, "data", "info", "")


def test_the_command_line_speaks_of_its_own_options(capsys):
    assert "--root FOLDER" in refused(capsys, "data", "info", "rlu:cartpole_swingup")
    assert "--set data_root=FOLDER" in refused(capsys, "train", "--data", "rlu:cartpole_swingup")


def episode(**changes):
    parts = {"observations": np.zeros((4, 2), np.float32), "actions": [0, 1, 1], "rewards": np.zeros(3, np.float32)}
    return Episode(**(parts | changes), truncated=True)


def test_odd_actions_are_taken_as_numbers_or_refused():
    taken = episode(actions=np.array([0, 1, 1], np.uint64))
    assert taken.actions.dtype == np.int64 and taken.actions.tolist() == [0, 1, 1]
    for wrong in (np.array(3), np.array(["a", "b", "c"]), np.zeros((3, 0), np.float32), np.array([1j, 0, 0])):
        with pytest.raises(ValueError, match=r"The episode has .*actions of"):
            episode(actions=wrong)
    with pytest.raises(ValueError, match=r"has rewards of the form .*must have numbers, a row for every step"):
        episode(rewards=["a", "b", "c"])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(tiny_config("online", folder.parent), folder)
    return folder


@pytest.mark.parametrize("content", ["", "{", "[]", '"text"', '{"mean": 3}', "\xff", "[" * 100_000])
def test_an_unreadable_result_is_named(run, content):
    (run / "result.json").write_text(content, encoding="latin-1")
    with pytest.raises(ValueError, match=r"result.json (cannot be read|is not what mzu writes|is incomplete).*move it"):
        RunFolder(run).result()
    (run / "result.json").unlink()


@pytest.mark.parametrize("content", ["step,loss\n1,abc\n", "step,loss\n1,2,3\n", "\xff\xfe\n1\n"])
def test_an_unreadable_log_is_named(run, content):
    before = (run / "log.csv").read_bytes()
    (run / "log.csv").write_text(content, encoding="latin-1")
    with pytest.raises(ValueError, match=r"log.csv is not a log of mzu .*; move it away"):
        RunFolder(run).read_log()
    (run / "log.csv").write_bytes(before)


def test_an_unreadable_config_is_named(run, tmp_path, capsys):
    (tmp_path / "config.json").write_text("[" * 100_000)
    assert f"{tmp_path / 'config.json'}: The config is not valid JSON" in refused(capsys, "evaluate", tmp_path)
    (tmp_path / "config.json").write_bytes(b"\xff\xfe")
    for option in ((), ("--trust",)):
        assert f"{tmp_path / 'config.json'}: " in refused(capsys, "evaluate", tmp_path, *option)


@pytest.fixture(scope="module")
def record():
    return json.loads(explain_position(toy_system(), 0, 0).to_json())


def test_an_incomplete_record_is_named(record, tmp_path, capsys):
    path = tmp_path / "record.json"
    path.write_text(json.dumps({name: part for name, part in record.items() if name not in ("root", "loss")}))
    assert "The record is incomplete: it lacks root, loss; explain the run again" in refused(capsys, "explain", path)
    for name in ("root", "result", "value_target", "loss", "simulations", "position", "about"):
        path.write_text(json.dumps(record | {name: {}}))
        assert "record.json is incomplete or was changed" in refused(capsys, "explain", path)
    path.write_text("[" * 100_000)
    assert "This is not the JSON of an explanation" in refused(capsys, "explain", path)
    path.write_bytes(b"\xff\xfe")
    for option in ((), ("--model",)):
        assert f"{path} is no record of mzu, not even a text" in refused(capsys, "explain", path, *option)
    path.unlink()
    path.mkdir()
    assert "record.json is no run of mzu: it has no config.json" in refused(capsys, "explain", path, "--model")


def test_a_network_too_large_for_the_memory_is_refused_before_it_is_built(capsys):
    size = ("--observation", 4, "--actions", 2, "--set")
    assert "needs at least 16,400 TB" in refused(capsys, "network", *size, "network.width=10000000")
    assert "network.num_blocks is 100,000, but must be at most 1,000" in refused(
        capsys, "network", *size, "network.num_blocks=100000"
    )
    assert "make it smaller" in refused(capsys, "train", "cartpole", "--set", "network.width=1000000")


@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        ((5,), {"width": 64, "num_blocks": 2}),
        ((400,), {"width": 32, "num_blocks": 2, "prediction_blocks": 1}),
        ((84, 84, 4), {"width": 16, "num_blocks": 2}),
        ((10, 5, 1), {"width": 8, "num_blocks": 0, "value_support": 3000}),
    ],
)
def test_the_size_that_is_foretold_is_nearly_the_size_that_it_has(shape, settings):
    config, its_spaces = NetworkConfig(**settings), Spaces(shape, 3)
    parameters = sum(variable.numpy().size for variable in build_network(config, its_spaces).trainable_variables)
    assert 0.9 * parameters < least_parameters(config, its_spaces) <= parameters


def test_a_terminal_that_knows_ascii_only_shows_a_tree(record, tmp_path):
    (tmp_path / "record.json").write_text(json.dumps(record))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C"}
    command = [sys.executable, "-m", "mzu", "explain", str(tmp_path / "record.json")]
    done = subprocess.run(command, env=environment, capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and b"`- " in done.stdout


def test_what_takes_more_memory_than_there_is_ends_in_a_sentence(capsys, monkeypatch):
    def greedy(arguments):
        raise MemoryError("Unable to allocate 7 PiB")

    monkeypatch.setattr("mzu.commands.presets.run", greedy)
    assert "memory ran out (Unable to allocate 7 PiB)" in refused(capsys, "presets")
