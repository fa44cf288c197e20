"""Damaged files of every format and of a run: the same content or one sentence, no traceback, no other numbers.

A share of the mutations is tried on every run, all of them with `pytest -m slow`.
"""

import shutil

import numpy as np
import pytest
from made_episodes import FIELDS, atari_episodes, control_episodes, write_replay_logs
from made_mutations import mutated, mutated_json
from made_runs import tiny_config, train

from mzu import load_episodes
from mzu.environments.spaces import Spaces
from mzu.episodes.readers.minari_format import write_minari
from mzu.episodes.readers.npz import write_npz
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, write_control
from mzu.networks.saving import load_network
from mzu.training.results import evaluated_rows, result_row, results_table
from mzu.training.run_folder import RunFolder

ALL, SHARE = 2000, 60


def write_dqn_replay(folder):
    rng = np.random.default_rng(0)
    frames = np.repeat(rng.integers(1, 256, (12, 84, 1)), 84, axis=2)
    write_replay_logs(folder, frames, rng.integers(0, 6, 12), rng.integers(-1, 2, 12), [0, 0, 0, 0, 0, 1] * 2)


def write_plain_npz(folder):
    rng = np.random.default_rng(0)
    arrays = {
        "observations": rng.normal(size=(20, 3)),
        "actions": rng.integers(0, 2, 20),
        "rewards": rng.normal(size=20),
    }
    folder.mkdir()
    np.savez(folder / "plain.npz", **arrays, terminals=np.arange(20) % 5 == 4, notes=np.ones(3))


def write_own_npz(folder):
    folder.mkdir()
    write_npz(folder / "own.npz", control_episodes(3))


FORMATS = {
    "npz": write_own_npz,
    "plain_npz": write_plain_npz,
    "rlu": lambda folder: write_control(folder, control_episodes(3), control_task("cartpole_swingup")),
    "rlu_atari": lambda folder: write_atari(folder, atari_episodes(2, steps=4)),
    "dqn_replay": write_dqn_replay,
    "minari": lambda folder: write_minari(folder, control_episodes(3), Spaces((5,), 1, continuous=True)),
}
NAMES = {"rlu": "cartpole_swingup", "rlu_atari": "Asterix", "dqn_replay": "Pong"}
SHARES = [pytest.param(SHARE, id="share"), pytest.param(ALL, id="all", marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", SHARES)
@pytest.mark.parametrize("format", FORMATS)
def test_a_damaged_dataset_gives_its_own_episodes_or_a_sentence(tmp_path, format, count):
    folder = tmp_path / NAMES.get(format, format)
    FORMATS[format](folder)
    whole = [digest(episode) for episode in load_episodes(folder)]
    contents = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(count):
        path = list(contents)[int(rng.integers(len(contents)))]
        path.write_bytes(mutated(contents[path], rng))
        found, sentence = read_strictly(folder)
        assert sentence or found == whole, f"{path} was read as something else"
        assert "\n" not in sentence
        refused += bool(sentence)
        left, faults = read_on(folder)
        assert [one for one in whole if one in left] == left, f"{path} gives an episode that was never stored"
        assert faults or left == whole, f"{path} lost an episode, and nobody said so"
        path.write_bytes(contents[path])
    assert refused > count / 2


def read_strictly(folder):
    """The episodes' digests, or the sentence that refuses them."""
    try:
        return [digest(episode) for episode in load_episodes(folder)], ""
    except ValueError as error:
        return None, str(error)


def read_on(folder):
    """What is left with skip_bad, and how many faults were counted; what cannot even be opened is one."""
    try:
        dataset = load_episodes(folder, skip_bad=True)
        return [digest(episode) for episode in dataset], dataset.skipped
    except ValueError:
        return [], 1


def digest(episode):
    values = [getattr(episode, field) for field in FIELDS]
    return tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in values)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run of a few steps, as `mzu train` leaves it."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(tiny_config("online", folder.parent), folder)
    row = result_row("trained", np.array([1.0, 2.0]), [3, 4]) | {"returns": [1.0, 2.0], "lengths": [3, 4]}
    RunFolder(folder).save_result(
        {"steps": 13, "seconds": 1.5, "select": "search", **row, "selections": {"search": row}}
    )
    return folder


def look_at(folder):
    """All that evaluating, explaining and showing read of a run, but the network, which takes longest."""
    run = RunFolder.open(folder)
    result = run.result()
    parts = (
        run.config.to_json(),
        run.made_elsewhere(),
        [sorted(row.items()) for row in run.read_log()],
        results_table(evaluated_rows("", result)) if result else "",
        run.best(),
        str(run.network_file("latest")),
    )
    return repr(parts)  # NaN is not itself


@pytest.mark.parametrize("count", [pytest.param(100, id="share"), pytest.param(ALL, id="all", marks=pytest.mark.slow)])
def test_a_damaged_text_of_a_run_is_named_in_a_sentence(run, tmp_path, count):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    texts = [*folder.glob("*.json"), folder / "log.csv", *(folder / "best").glob("*.json")]
    contents = {path: path.read_bytes() for path in sorted(texts)}
    expected = look_at(folder)
    rng = np.random.default_rng(2)
    refused = 0
    for number in range(count):
        path = list(contents)[number % len(contents)]
        if path.suffix == ".json" and rng.random() < 0.5:
            path.write_text(mutated_json(contents[path].decode(), rng))
        else:
            path.write_bytes(mutated(contents[path], rng))
        try:
            assert look_at(folder) == expected, f"{path} was read as something else"
        except ValueError as error:
            assert path.name in str(error) and "\n" not in str(error)
            refused += 1
        path.write_bytes(contents[path])
    assert refused > count / 2


@pytest.mark.parametrize("count", [pytest.param(20, id="share"), pytest.param(ALL, id="all", marks=pytest.mark.slow)])
def test_a_damaged_checkpoint_or_network_is_refused_or_the_same(run, tmp_path, count):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    step = RunFolder(folder).checkpoints()[-1]
    place = folder / "checkpoints" / f"{step:08d}"
    rng = np.random.default_rng(3)
    weights, state = load_network(place / "network.keras").read_weights(), RunFolder(folder).load_checkpoint(step)
    for name, read, expected in (
        ("network.keras", lambda: load_network(place / "network.keras").read_weights(), weights),
        ("state.npz", lambda: RunFolder(folder).load_checkpoint(step), state),
    ):
        content = (place / name).read_bytes()
        for _ in range(count // 2):
            (place / name).write_bytes(mutated(content, rng))
            try:
                found = read()
            except ValueError as error:
                assert name in str(error) and "\n" not in str(error)
                continue
            assert found.keys() == expected.keys(), f"{name} lost an array, and nobody said so"
            assert all(np.array_equal(found[key], expected[key]) for key in expected), f"{name} has other numbers"
        (place / name).write_bytes(content)
