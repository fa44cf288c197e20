"""A damaged checkpoint is noticed; the one before it is taken, and that is said; without one nothing begins anew."""

import shutil
import struct
import zipfile

import numpy as np
import pytest
from made_runs import TINY, assert_same_state, train, write_data

from mzu.commands.cli import main
from mzu.config import Config
from mzu.episodes.dataset import load_episodes
from mzu.files import remove_whole, seal
from mzu.training.run_folder import Damaged, RunFolder

SETTINGS = (*TINY, "environment=identity", "reanalyse.fraction=0.5", "evaluation.period=0", "run.keep_checkpoints=9")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of 13 steps with checkpoints of the steps 5, 10 and 13, and its final state."""
    path = tmp_path_factory.mktemp("damage") / "run"
    state, _ = train(Config().override(*SETTINGS), path)
    return path, state


@pytest.fixture
def folder(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "run")
    return RunFolder(tmp_path / "run")


def state_file(folder, step):
    return folder.path / "checkpoints" / f"{step:08d}" / "state.npz"


def damage(folder, *steps):
    for step in steps:
        file = state_file(folder, step)
        file.write_bytes(file.read_bytes()[:5000])


def test_the_checkpoint_before_a_damaged_one_is_taken_and_that_is_said(folder, finished, capsys):
    damage(folder, 10, 13)
    assert main(["train", "--resume", "--out", str(folder.path)]) == 0
    said = capsys.readouterr().out
    for step in (10, 13):
        assert f"{state_file(folder, step)} is damaged (" in said
    assert said.count("the run goes on from the one before it, of learner step 5") == 2
    # What was learned again is what had been learned, and is saved under its step although the damaged one was there.
    assert folder.checkpoints() == [5, 10, 13]
    state = folder.load_checkpoint(13)
    state.pop("config")
    assert_same_state({name: state[name] for name in finished[1]}, finished[1])
    assert sorted(path.name for path in (folder.path / "checkpoints").glob("*.damaged")) == [
        "00000010.damaged",
        "00000013.damaged",
    ]


def test_without_a_checkpoint_that_can_be_read_the_run_is_refused(folder, capsys):
    damage(folder, 5, 10, 13)
    log = (folder.path / "log.csv").read_text()
    assert main(["train", "--resume", "--out", str(folder.path)]) == 2
    said = capsys.readouterr().err
    assert f"No checkpoint of {folder.path} can be read: {state_file(folder, 13)} is damaged (" in said
    assert "put one back from a copy, or train anew with another --out" in said and said.count("\n") == 1
    assert (folder.path / "log.csv").read_text() == log and folder.checkpoints() == [5, 10, 13]


def test_a_run_whose_checkpoints_are_gone_does_not_begin_anew_silently(folder, capsys):
    shutil.rmtree(folder.path / "checkpoints")
    log = (folder.path / "log.csv").read_text()
    assert main(["train", "--resume", "--out", str(folder.path)]) == 2
    assert "has learned 13 steps, but its checkpoints are gone; put them back" in capsys.readouterr().err
    assert (folder.path / "log.csv").read_text() == log


def rewrite(path, keep, sealed=None):
    """The archive with those of its entries only whose names `keep` accepts; its seal stays, unless it is `sealed`."""
    with zipfile.ZipFile(path) as archive:
        entries, comment = {name: archive.read(name) for name in archive.namelist()}, archive.comment
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            if keep(name):
                archive.writestr(name, content)
        archive.comment = comment if sealed is None else sealed


def test_an_entry_missing_from_a_checkpoint_is_noticed(folder):
    names = [name for name in np.load(state_file(folder, 13)).files if name != "format"]
    assert len(names) > 50
    for missing in names[:: len(names) // 8]:
        shutil.copy(state_file(folder, 13), folder.path / "copy")
        rewrite(state_file(folder, 13), lambda name, missing=missing: name != f"{missing}.npy")
        with pytest.raises(Damaged, match="but was written with others"):
            folder.load_checkpoint(13)
        shutil.move(folder.path / "copy", state_file(folder, 13))
    folder.load_checkpoint(13)


def test_a_checkpoint_without_a_seal_is_an_older_one_and_is_read(folder):
    before = folder.load_checkpoint(13)
    rewrite(state_file(folder, 13), lambda name: name != "config.npy", sealed=b"")
    after = folder.load_checkpoint(13)
    assert_same_state({name: array for name, array in before.items() if name != "config"}, after)
    assert main(["train", "--resume", "--out", str(folder.path)]) == 0


def test_an_entry_missing_from_a_network_is_noticed(folder):
    path = folder.network_file()
    rewrite(path, lambda name: name != "metadata.json")
    with pytest.raises(ValueError, match=r"network.keras is damaged or no network .*but was written with others"):
        folder.load_network()


def test_an_entry_missing_from_a_dataset_is_noticed_and_others_files_are_read(tmp_path):
    path = write_data(tmp_path / "data.npz", "identity", episodes=3)
    assert len(list(load_episodes(path))) == 3
    for missing in ("000001/seed.npy", "000002/"):  # what an episode need not have, and a whole episode
        shutil.copy(path, tmp_path / "copy.npz")
        rewrite(tmp_path / "copy.npz", lambda name, missing=missing: not name.startswith(missing))
        with pytest.raises(ValueError, match=r"copy.npz.* is cut off or damaged \(it has \d+ entries, but was written"):
            list(load_episodes(tmp_path / "copy.npz"))
        rewrite(tmp_path / "copy.npz", lambda name: True, sealed=b"somebody else's comment")
        assert len(list(load_episodes(tmp_path / "copy.npz"))) in (2, 3)


def test_a_flipped_bit_in_the_table_of_contents_is_never_believed(tmp_path):
    """Every byte of the directory of a small archive: what is read is the same, or it is refused."""
    path = tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("first", "second", "third"):
            archive.writestr(f"{name}.npy", name * 10)
        seal(archive)
    data = path.read_bytes()
    begin = data.index(b"PK\x01\x02")
    for place in range(begin, len(data)):
        for bit in (1, 16, 128):
            changed = bytearray(data)
            changed[place] ^= bit
            path.write_bytes(changed)
            assert read_sealed(path) in ("refused", ["first" * 10, "second" * 10, "third" * 10]), (place - begin, bit)


def read_sealed(path):
    from mzu.files import check_seal

    try:
        with zipfile.ZipFile(path) as archive:
            check_seal(archive)
            return [archive.read(name).decode() for name in archive.namelist()]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, struct.error, OSError, ValueError):
        return "refused"


def test_a_checkpoint_that_is_being_removed_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    (tmp_path / "00000005").mkdir()
    (tmp_path / "00000005" / "state.npz").write_text("")

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_whole(tmp_path / "00000005")
    assert not (tmp_path / "00000005").exists()
