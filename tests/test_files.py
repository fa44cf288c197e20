"""No crash leaves half a file under a final name."""

import os
import signal
import subprocess
import sys
import time

import pytest

from mzu import files
from mzu.files import written_whole


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    with pytest.raises(OSError, match="disk full"), written_whole(path) as temporary:
        temporary.write_text("half of the n")
        raise OSError("disk full")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_reaches_the_disk_before_its_final_name_and_its_folder_after(tmp_path, monkeypatch):
    events = []
    monkeypatch.setattr(files, "flush_to_disk", lambda path: events.append(("flush", path.name)))
    rename = os.replace
    monkeypatch.setattr(os, "replace", lambda old, new: (events.append(("rename", new.name)), rename(old, new)))
    with written_whole(tmp_path / "file") as temporary:
        temporary.write_text("new")
    assert events == [("flush", "file"), ("rename", "file"), ("flush", tmp_path.name)]
    assert (tmp_path / "file").read_text() == "new"


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "file"
    link.symlink_to(tmp_path / "disk" / "there")
    for text in ("first", "second"):
        with written_whole(link) as temporary:
            temporary.write_text(text)
        assert link.is_symlink() and (tmp_path / "disk" / "there").read_text() == text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a system with named pipes")
def test_what_is_no_file_is_never_replaced_by_one(tmp_path):
    """As root, a file called /dev/null would take the place of the device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match=f"{pipe} is no ordinary file, and would be"), written_whole(pipe) as temporary:
        temporary.write_text("new")
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_process_killed_while_it_writes_leaves_the_old_file_whole(tmp_path):
    """A child replaces the file over and over, slowly; it is killed at a moment that it does not choose."""
    path = tmp_path / "file"
    code = """
import sys, time
from mzu.files import written_whole
for number in range(10**6):
    with written_whole(sys.argv[1]) as temporary, open(temporary, "w") as file:
        for _ in range(1000):
            file.write("line\\n"); file.flush()
    if number == 0: print("started", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"started\n"
        time.sleep(0.2)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert path.read_text() == "line\n" * 1000
