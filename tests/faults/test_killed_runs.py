"""Whenever a run is killed, and whenever the disk is full: it goes on as if nothing had happened (lives.py)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LIVES = Path(__file__).parent / "lives.py"
IN_A_NAMESPACE = ("unshare", "--map-root-user", "--mount")


def lives(*arguments, before=()):
    """What lives.py found; in a process of its own, which kills and limits only those that it starts itself."""
    command = [*before, sys.executable, LIVES, *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    *said, found = process.stdout.splitlines()
    return json.loads(found) | {"said": said}


def on_small_disks(folder, count):
    """What was found on disks that are full, each of which only the process that fills it can see."""
    try:
        subprocess.run([*IN_A_NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a mount namespace of its own, which this system does not allow: {error}")
    found = lives("disks", "online", folder, count, before=IN_A_NAMESPACE)
    full = [line for line in found["said"] if f"No space left on device: '{folder}/disk/run/" in line]
    assert found["refused"] == len(full) and found["half files"] == [] and found["different"] == []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["online", "offline", "images", "compiled by XLA"])
def test_a_run_that_is_killed_16_times_learns_what_it_would_have_learned(kind, tmp_path):
    found = lives("kills", kind, tmp_path, 16)
    assert found["kills"] == 16 and found["same"] and found["left behind"] == []
    assert found["while writing"] > 0


@pytest.mark.slow
def test_a_disk_that_is_full_at_25_sizes_leaves_whole_files_and_a_run_that_goes_on(tmp_path):
    found = lives("sizes", "online", tmp_path, 25)
    assert found["sizes"] == 25 and found["half files"] == [] and found["different"] == []
    assert found["refused"] >= 20


@pytest.mark.slow
def test_25_small_disks_that_are_full_leave_whole_files_and_a_run_that_goes_on(tmp_path):
    assert on_small_disks(tmp_path, 25)["refused"] >= 20


def test_a_small_disk_that_is_full(tmp_path):
    assert on_small_disks(tmp_path, 1)["refused"] == 1


def test_a_run_that_is_killed_twice_and_a_disk_that_is_full_once(tmp_path):
    assert lives("kills", "online", tmp_path / "kills", 2)["same"]
    found = lives("sizes", "online", tmp_path / "sizes", 1)
    assert found["refused"] == 1 and found["half files"] == [] and found["different"] == []
