"""Whenever a run is killed, and whenever the disk is full: it goes on as if nothing had happened (lives.py)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LIVES = Path(__file__).parent / "lives.py"


def lives(*arguments):
    """What lives.py found; in a process of its own, which kills and limits only those that it starts itself."""
    command = [sys.executable, LIVES, *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


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


def test_a_run_that_is_killed_twice_and_a_disk_that_is_full_once(tmp_path):
    assert lives("kills", "online", tmp_path / "kills", 2)["same"]
    found = lives("sizes", "online", tmp_path / "sizes", 1)
    assert found["refused"] == 1 and found["half files"] == [] and found["different"] == []
