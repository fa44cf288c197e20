"""A writer leaves a whole file or none, and refuses episodes that do not fit."""

import signal
import subprocess
import sys

import pytest
from made_episodes import atari_episodes, control_episodes

from mzu import load_episodes
from mzu.environments.spaces import Spaces
from mzu.episodes.readers.npz import write_npz
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, own_task, write_control
from mzu.files import written_whole


def test_episodes_that_do_not_fit_a_format_are_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(ValueError, match="cheetah_run has 17 observed numbers and 6 action dimensions"):
        write_control(tmp_path / "a", control_episodes(1), control_task("cheetah_run"))
    with pytest.raises(ValueError, match=r"Atari has uint8 \[84, 84, 1\]"):
        write_atari(tmp_path / "b", control_episodes(1))
    with pytest.raises(ValueError, match="There is no episode to write"):
        write_npz(tmp_path / "c.npz", [])
    with pytest.raises(ValueError, match="states and continuous actions"):
        own_task("own", Spaces((5,), 2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("write", [write_npz, write_atari])
def test_a_writer_that_is_interrupted_leaves_nothing_under_the_final_name(write, tmp_path):
    def episodes():
        yield atari_episodes(1)[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "data.npz", episodes())
    assert list(tmp_path.iterdir()) == []


def test_an_older_file_stays_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, control_episodes(1))
    before = path.read_bytes()
    with pytest.raises(RuntimeError), written_whole(path) as temporary:
        temporary.write_bytes(b"half")
        raise RuntimeError
    assert path.read_bytes() == before
    write_npz(path, control_episodes(1))
    assert path.read_bytes() == before  # the same episodes, the same bytes
    folder = tmp_path / "full"
    write_atari(folder, atari_episodes(1))
    with pytest.raises(ValueError, match="exists and is not empty"):
        write_atari(folder, atari_episodes(1))


def test_kill_in_the_middle_of_writing_leaves_nothing_under_the_final_name(tmp_path):
    code = """
import os, signal, sys
from mzu.files import written_whole
with written_whole(sys.argv[1]) as temporary:
    temporary.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    process = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.npz")])
    assert process.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".a.npz.") and left.name.endswith(".tmp")
    with pytest.raises(ValueError, match=r"holds no \.npz"):
        load_episodes(tmp_path)
