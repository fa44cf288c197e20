"""SIGTERM and SIGHUP end a run like the first Ctrl-C: with a checkpoint, which is said; nothing is left running.

Every signal goes to a process that the test has started itself.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_runs import TINY, write_data

from mzu.config import Config
from mzu.training.comparison import METHODS
from mzu.training.interruption import SIGNALS, on_interruption
from mzu.training.run_folder import RunFolder
from mzu.training.run_lock import LOCK

REPOSITORY = Path(__file__).parents[2]
LONG = (
    *TINY,
    "learning.training_steps=1000000",
    "evaluation.period=0",
    "run.log_period=1",
    "run.checkpoint_period=1000000",
)


def listen():
    """In a child, before it becomes Python: the suite itself may run under `nohup`, which children inherit."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(arguments, folder, *before):
    """`mzu train` in a process of its own, with what it says in the file `said`."""
    command = [*before, sys.executable, "-m", "mzu", "train", *arguments]
    with open(folder / "said", "w") as said:
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(command, cwd=folder, stdout=said, stderr=said, env=environment, preexec_fn=listen)


def wait_until(condition, seconds=900):  # a busy machine is no fault
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def has_learned(folder):
    return len(folder.read_log()) >= 2


def words(settings):
    return [word for setting in settings for word in ("--set", setting)]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_saves_a_checkpoint_and_says_so(name, tmp_path):
    if not hasattr(signal, name):
        pytest.skip(f"this system has no {name}")
    folder = RunFolder(tmp_path / "run")
    settings = words([*LONG, "reanalyse.fraction=0.5"])
    process = start(["--env", "identity", *settings, "--out", "run"], tmp_path)
    try:
        wait_until(lambda: has_learned(folder))
        process.send_signal(getattr(signal, name))
        status = process.wait(timeout=120)
    finally:
        process.kill()
    said = (tmp_path / "said").read_text()
    assert status == 130, said
    (step,) = folder.checkpoints()
    assert f"{name}: a checkpoint after learner step {step} is saved\n" in said
    assert said.endswith("Interrupted; go on with `mzu train --resume --out run`\n")
    assert folder.load_checkpoint(step)["learner/steps"] == step == folder.read_log()[-1]["step"]
    assert not (folder.path / LOCK).exists()


@pytest.mark.slow
def test_a_signal_to_a_comparison_reaches_its_runs_and_none_is_left(tmp_path):
    data = write_data(tmp_path / "data.npz", "identity")
    settings = words([*LONG, "reanalyse.fraction=1"])
    process = start(
        ["--env", "identity", "--data", str(data), "--compare", "--jobs", "2", *settings, "--out", "out"], tmp_path
    )
    folders = [RunFolder(tmp_path / "out" / name) for name in METHODS]
    try:
        wait_until(lambda: sum(map(has_learned, folders)) == 2)
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=120)
    finally:
        process.kill()
    said = (tmp_path / "said").read_text()
    assert status == 130 and "SIGTERM: stopping with checkpoints" in said, said
    # The parent has waited for its runs: they have let go of their folders, and the third was never begun.
    assert sorted(len(folder.checkpoints()) for folder in folders) == [0, 1, 1]
    assert not any((folder.path / LOCK).exists() for folder in folders)
    assert said.count("a checkpoint after learner step") == 2
    assert said.endswith("Interrupted; go on with `mzu train --resume --out out`\n")


HANGING = """
import itertools, os, sys, threading
import gymnasium
from mzu.commands.cli import main
count = itertools.count()
class Hanging(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Box(0, 1, (2,)), gymnasium.spaces.Discrete(2)
    def reset(self, seed=None, options=None):
        return self.observation_space.sample(), {}
    def step(self, action):
        if os.path.exists("run/checkpoints") and next(count) == 50:
            open("hangs", "w").close()
            threading.Event().wait()
        return self.observation_space.sample(), 0.0, False, False, {}
gymnasium.register("Hanging-v0", Hanging)
sys.exit(main(sys.argv[1:]))
"""


def test_a_second_signal_ends_a_run_whose_world_hangs_in_a_step(tmp_path):
    """The first one would wait for the step, and for ever."""
    settings = words([*LONG, "reanalyse.fraction=0", "run.checkpoint_period=1", "acting.max_episode_steps=9"])
    command = [sys.executable, "-c", HANGING, "train", "--env", "Hanging-v0", *settings, "--out", "run"]
    with open(tmp_path / "said", "w") as said:
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=said, stderr=said, env=environment, preexec_fn=listen
        )  # fmt: skip
    try:
        wait_until((tmp_path / "hangs").exists)
        process.send_signal(signal.SIGTERM)
        time.sleep(1)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=60)
    finally:
        process.kill()
    said, folder = (tmp_path / "said").read_text(), RunFolder(tmp_path / "run")
    assert status == 130 and said.endswith("Interrupted; go on with `mzu train --resume --out run`\n"), said
    assert "Traceback" not in said and folder.checkpoints() and not (folder.path / LOCK).exists()


HANDLERS = """
import os, signal
from mzu.training.interruption import on_interruption
heard = []
with on_interruption(heard.append):
    for name in ("SIGHUP", "SIGTERM"):
        os.kill(os.getpid(), getattr(signal, name))
print(*heard)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_a_signal_that_was_ignored_stays_ignored_as_under_nohup():
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # of the child, before it becomes Python

    heard = [
        subprocess.run([sys.executable, "-c", HANDLERS], capture_output=True, text=True, preexec_fn=before).stdout
        for before in (listen, ignore)
    ]
    assert heard == ["SIGHUP SIGTERM\n", "SIGTERM\n"]


def test_afterwards_the_handlers_are_what_they_were():
    before = [signal.getsignal(one) for one in SIGNALS]
    with on_interruption(print):
        assert [signal.getsignal(one) for one in SIGNALS] != before
    assert [signal.getsignal(one) for one in SIGNALS] == before


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal that can be closed")
def test_a_closed_terminal_leaves_a_checkpoint(tmp_path):
    """The run is the leader of a session on a terminal of its own; closing that sends SIGHUP, and printing fails."""
    ours, theirs = os.openpty()
    config = Config().override(*LONG, "environment=identity", "reanalyse.fraction=0.5")
    folder = RunFolder.create(tmp_path / "run", config)
    code = "import fcntl, termios, sys; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from mzu.commands.cli import main; "
    code += "sys.exit(main(['train', '--resume', '--out', 'run']))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)}, preexec_fn=listen,
    )  # fmt: skip
    os.close(theirs)
    try:
        os.set_blocking(ours, False)
        wait_until(lambda: drained(ours) or has_learned(folder))
        os.close(ours)
        process.wait(timeout=120)
    finally:
        process.kill()
    assert len(folder.checkpoints()) == 1 and not (folder.path / LOCK).exists()


def drained(descriptor) -> bool:
    """Reads what the run shows, so that it never waits for a reader; always False."""
    with contextlib.suppress(OSError):
        os.read(descriptor, 65536)
    return False
