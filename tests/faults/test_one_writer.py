"""One run has one writer: a second one is refused, and what a killed process left is recognised and removed."""

import json
import os
import platform
import subprocess
import sys
import time

import pytest

from mzu.commands.cli import main
from mzu.config import Config
from mzu.training import run_lock
from mzu.training.run_folder import RunFolder
from mzu.training.run_lock import LOCK, locked


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "run", Config())


@pytest.fixture
def ended_process():
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def write_lock(folder, **changes):
    """The lock of this process, but for `changes`."""
    with locked(folder.path):
        owner = json.loads((folder.path / LOCK).read_text())
    (folder.path / LOCK).write_text(json.dumps(owner | changes))


def test_a_second_resume_is_refused_and_the_first_goes_on(folder, capsys):
    with folder.locked():
        assert main(["train", "--resume", "--out", str(folder.path)]) == 2
        said = capsys.readouterr().err
        assert f"mzu: {folder.path} is in use by process {os.getpid()} on {platform.node()} since " in said
        assert f"or remove {folder.path / LOCK} if that process is gone" in said and said.count("\n") == 1
        assert (folder.path / LOCK).exists()
    assert not (folder.path / LOCK).exists()


def test_the_same_object_may_lock_again_and_another_may_not(folder):
    with folder.locked():
        with folder.locked():
            pass
        assert (folder.path / LOCK).exists()
        with pytest.raises(ValueError, match="is in use by process"), RunFolder(folder.path).locked():
            pass


def test_a_lock_held_by_another_process_is_respected_until_that_is_killed(folder):
    code = f"""
from pathlib import Path
from mzu.training.run_lock import locked
with locked(Path({str(folder.path)!r})):
    print("held", flush=True)
    input()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(ValueError, match=f"in use by process {child.pid} "), folder.locked():
            pass
        child.kill()
        child.wait()
        assert (folder.path / LOCK).exists()
        with folder.locked():
            assert json.loads((folder.path / LOCK).read_text())["process"] == os.getpid()


def test_a_lock_whose_process_is_gone_is_taken_over(folder, ended_process):
    write_lock(folder, process=ended_process)
    with folder.locked():
        pass


@pytest.mark.parametrize("changes", [{"boot": "another"}, {"began": "1"}, {"process": 0}, {"process": -1}])
def test_a_lock_of_another_boot_or_of_an_earlier_process_of_the_same_number_is_taken_over(folder, changes):
    if changes.keys() & {"boot", "began"} and not run_lock._boot():
        pytest.skip("this system does not tell its boots apart")
    write_lock(folder, **changes)
    with folder.locked():
        pass


def test_a_lock_of_another_host_is_not_taken_over(folder, ended_process):
    write_lock(folder, host="elsewhere", process=ended_process)
    with pytest.raises(ValueError, match=f"in use by process {ended_process} on elsewhere"), folder.locked():
        pass


@pytest.mark.parametrize("text", ["", "{", "5", '{"process": "many"}'])
def test_a_lock_without_an_owner_is_being_written_or_was_left_by_a_kill_in_between(folder, text):
    (folder.path / LOCK).write_text(text)
    with pytest.raises(ValueError, match="is just being taken by another process"), folder.locked():
        pass
    long_ago = time.time() - 100
    os.utime(folder.path / LOCK, (long_ago, long_ago))
    with folder.locked():
        pass


def test_a_lock_that_a_full_disk_has_no_room_for_is_not_left_behind_empty(folder):
    """In a process of its own, whose files may have no byte."""
    resource = pytest.importorskip("resource")
    code = f"""
import resource, signal
from pathlib import Path
from mzu.training.run_lock import locked
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
with locked(Path({str(folder.path)!r})):
    pass
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 0
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert child.returncode == 1 and "File too large" in child.stderr, child.stderr
    assert not (folder.path / LOCK).exists()


def test_looking_whether_a_process_runs_sends_it_nothing(monkeypatch):
    def refuse(*_):
        raise AssertionError("a signal was sent")

    monkeypatch.setattr(os, "kill", refuse)
    assert run_lock._is_running(os.getpid()) and run_lock._is_running(os.getppid())
    assert not run_lock._is_running(0) and not run_lock._is_running(-1)


def test_what_killed_processes_left_half_written_is_removed_at_the_next_start(folder):
    left = [folder.path / where for where in (".log.csv.x.tmp", "checkpoints/.00000020.abc.tmp", "best/.a.keras.y.tmp")]
    for path in left:
        path.mkdir(parents=True)
        (path / "half").write_text("ha")
    with folder.locked():
        assert not any(path.exists() for path in left)
