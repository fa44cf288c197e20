"""What a run leaves on the disk is whole, is kept as long as promised, and is refused in a sentence where it is not."""

import json

import numpy as np
import pytest

from mzu.config import Config, NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network
from mzu.training.run_folder import RunFolder
from mzu.training.seals import SEALS


@pytest.fixture(scope="module")
def network():
    return build_network(NetworkConfig(width=8, num_blocks=0, value_support=2, reward_support=2), Spaces((3,), 2))


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "run", Config(seed=5))


def test_a_new_folder_says_everything_that_defines_the_run(folder):
    assert RunFolder.open(folder.path).config == Config(seed=5)
    versions = json.loads((folder.path / "versions.json").read_text())
    assert versions["numpy"] == np.__version__ and {"mzu", "python", "tensorflow", "keras", "started"} <= set(versions)
    assert versions["processor"] and versions["cores"] >= 1 and versions["search threads"] >= 1


def test_a_run_that_was_made_with_other_versions_says_so_in_a_sentence(folder):
    assert folder.made_elsewhere() == ""
    versions = json.loads((folder.path / "versions.json").read_text())
    here = versions["keras"], versions["cores"]
    versions |= {"keras": "3.0.0", "cores": 99, "started": "long ago", "no longer recorded": "1"}
    del versions["processor"]  # as in the folder of a run that was made before it was recorded
    (folder.path / "versions.json").write_text(json.dumps(versions))
    (folder.path / SEALS).unlink()
    assert folder.made_elsewhere() == (
        f"This run was trained with keras 3.0.0, cores 99; here it is keras {here[0]}, cores {here[1]}: "
        "numbers may differ in the last digits"
    )


def test_a_folder_with_something_in_it_is_not_overwritten(folder, tmp_path):
    with pytest.raises(ValueError, match="exists and is not empty; choose another --out, or go on with it by --resume"):
        RunFolder.create(folder.path, Config())
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="exists and is not empty"):
        RunFolder.create(tmp_path / "file", Config())
    (tmp_path / "empty").mkdir()
    RunFolder.create(tmp_path / "empty", Config())


def test_a_folder_that_is_no_run_is_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="nothing is no run of mzu"):
        RunFolder.open(tmp_path / "nothing")
    with pytest.raises(ValueError, match=f"{tmp_path} holds the runs run; choose one of them, as {tmp_path}/run"):
        RunFolder.open(tmp_path)


def test_a_run_inside_the_folder_of_another_does_not_hide_it(folder):
    RunFolder.create(folder.path / "second", Config(seed=6))
    assert [RunFolder.open(path).config.seed for path in (folder.path, folder.path / "second")] == [5, 6]


def test_the_latest_checkpoints_stay_and_the_best_network_besides_them(folder, network):
    for step, mean in [(10, 1.0), (20, 3.0), (30, 2.0), (40, 3.0)]:
        folder.save_checkpoint(step, {"numbers": np.array([step])}, network, keep=2)
        folder.save_best(step, mean, network)
    assert folder.checkpoints() == [30, 40]
    assert folder.best() == {"step": 20, "mean": 3.0}
    assert folder.load_checkpoint(40)["numbers"] == [40]
    names = {which: folder.network_file(which).parent.name for which in ("latest", "30", "best")}
    assert names == {"latest": "00000040", "30": "00000030", "best": "best"}
    assert np.array_equal(folder.load_network().trainable_variables[0], network.trainable_variables[0])
    with pytest.raises(ValueError, match="has no checkpoint 10; there are latest, best, 30, 40"):
        folder.load_network("10")


def test_without_checkpoints_there_is_no_network(folder):
    with pytest.raises(ValueError, match="has no checkpoint yet"):
        folder.load_network()
    with pytest.raises(ValueError, match="has no best network: nothing was evaluated"):
        folder.load_network("best")


def test_a_checkpoint_that_was_being_written_does_not_count(folder, network, monkeypatch):
    folder.save_checkpoint(10, {}, network, keep=2)
    half = folder.path / "checkpoints" / ".00000020.abc.tmp" / "00000020"
    half.mkdir(parents=True)
    (half / "state.npz").write_bytes(b"PK")
    assert folder.checkpoints() == [10] and folder.network_file().parent.name == "00000010"

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mzu.networks.saving.save_network", full_disk)
    with pytest.raises(OSError):
        folder.save_checkpoint(30, {}, network, keep=1)
    assert folder.checkpoints() == [10]  # neither a new one nor one less


def test_a_damaged_checkpoint_is_named(folder, network):
    folder.save_checkpoint(10, {"numbers": np.arange(1000.0)}, network, keep=2)
    path = folder.path / "checkpoints" / "00000010" / "state.npz"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ValueError, match=r"00000010/state.npz is damaged .*remove its folder to resume from the one"):
        folder.load_checkpoint(10)
    np.savez(path, format="mzu run 0")
    with pytest.raises(ValueError, match="was written by another version of mzu; this one reads 'mzu run 2'"):
        folder.load_checkpoint(10)


def test_the_log_forgets_what_happened_after_the_checkpoint(folder):
    for step in (5, 10, 15):
        folder.log({"step": step, "loss": step / 10, "evaluation": "" if step == 5 else 1.5})
        folder.log({"step": step, "seconds": 1}, "timing.csv")
    folder.forget_after(10)
    rows = folder.read_log()
    assert [row["step"] for row in rows] == [5, 10] == [row["step"] for row in folder.read_log("timing.csv")]
    assert np.isnan(rows[0]["evaluation"]) and rows[1]["evaluation"] == 1.5
    folder.log({"step": 15, "loss": 7, "evaluation": ""})
    assert [row["loss"] for row in folder.read_log()] == [0.5, 1.0, 7.0]


@pytest.mark.parametrize(
    "text, steps", [("step,loss\n5,0.5\n10,1.0\n15,0.2", [5, 10]), ("step,loss\n", []), ("ste", [])]
)
def test_half_a_line_at_the_end_of_the_log_is_forgotten(folder, text, steps):
    (folder.path / "log.csv").write_text(text)
    folder.forget_after(100)
    assert [row["step"] for row in folder.read_log()] == steps
    folder.log({"step": 20, "loss": 3})
    assert [row["step"] for row in folder.read_log()] == [*steps, 20]


def test_reading_a_log_that_is_being_written_leaves_out_half_a_line(folder):
    (folder.path / "log.csv").write_text("step,loss,value\n5,0.5,1.0\n10,1")
    assert [row["step"] for row in folder.read_log()] == [5]


def test_the_result_marks_a_finished_run(folder):
    assert folder.result() == {}
    folder.save_result({"steps": 3})
    assert RunFolder.open(folder.path).result() == {"steps": 3}
