"""Runs side by side, each in a process of its own (`run_process.py`), so that none influences another.

A process is started afresh, never forked: TensorFlow's threads do not survive that, and a script or a notebook need
not guard its main part.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading

from mzu.training.calibration import Calibration
from mzu.training.interruption import on_interruption
from mzu.training.plan import PlannedRun
from mzu.training.results import finished_words
from mzu.training.run_folder import RunFolder
from mzu.training.run_process import FINISHED, INTERRUPTED

# Ctrl-C reaches the parent alone, which then says stop.
if os.name == "nt":
    _OWN_GROUP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _OWN_GROUP = {"process_group": 0}


class RunProcess:
    """A run's process, as its parent sees it; what it says arrives in `events` as (its run, event)."""

    def __init__(self, run: PlannedRun, events: queue.SimpleQueue, task: str = "train"):
        self.run, self.task, self.ended = run, task, None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        # -P and PYTHONPATH: the same modules as here, wherever this process has found them.
        command = [sys.executable, "-P", "-m", "mzu.training.run_process", str(run.path), run.name, task]
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=os.environ | {"PYTHONPATH": paths},
            **_OWN_GROUP,
        )
        self._reader = threading.Thread(target=self._read, args=(events,), daemon=True)
        self._reader.start()

    def stop(self) -> None:
        """Asks the process to leave a checkpoint and end."""
        self._process.stdin.close()

    def kill(self) -> None:
        """Ends the process at once, without a checkpoint."""
        self._process.kill()

    def close(self) -> None:
        """Waits for the end of the process, which has been stopped, killed, or has said all it had to say."""
        self.stop()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        self._stderr.close()

    def trouble(self) -> str:
        """What went wrong, in a sentence."""
        trouble = self.ended
        if trouble == INTERRUPTED:
            trouble = "its process was told to end and has left a checkpoint; --resume goes on from there"
        if trouble is None:
            status = self._process.wait()
            how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
            trouble = f"its process {how}"
            if "SIGKILL" in how:
                trouble += " (perhaps memory ran out; --jobs 1 needs less)"
        self._stderr.seek(0)
        said = self._stderr.read()
        if self.ended is None or b"Traceback" in said:
            file = RunFolder(self.run.path).save_text("crash.txt", said.decode(errors="replace"))
            trouble += f"; what it said last is in {file}"
        return trouble

    def _read(self, events: queue.SimpleQueue) -> None:
        for line in self._process.stdout:
            events.put((self, json.loads(line)))
        events.put((self, None))


def run_side_by_side(runs: list[PlannedRun], jobs: int, display, on_calibration=None, task="train") -> dict[str, str]:
    """Trains the runs, at most `jobs` at once -> {name: sentence} of those that failed, while the others went on.

    `on_calibration` is told the name of a run and what its parts will take; with the task "measure" that is all.
    After Ctrl-C, SIGTERM or SIGHUP it raises KeyboardInterrupt, once all that were at work have left their checkpoints;
    after a second one it does not wait for these. Whatever else ends it, they leave checkpoints, too.
    """
    events: queue.SimpleQueue = queue.SimpleQueue()  # unlike Queue, a signal's handler may put something into it
    waiting, working, failures, signals = list(runs), [], {}, []

    def interrupt(name: str) -> None:
        signals.append(name)
        if len(signals) > 1:
            raise KeyboardInterrupt(name)
        events.put((None, name))

    with on_interruption(interrupt):
        try:
            while working or (waiting and not signals):
                while waiting and len(working) < jobs and not signals:
                    run = waiting.pop(0)
                    display.begin(run.label, run.config.learning.training_steps)
                    working.append(RunProcess(run, events, task))
                process, event = events.get()
                if process is None:
                    for process in working:
                        process.stop()
                    display.say(f"{event}: stopping with checkpoints; a second Ctrl-C does not wait for them")
                elif event is None:
                    working.remove(process)
                    _note_end(process, failures, display, bool(signals))
                elif "ended" in event:
                    process.ended = event["ended"]
                elif "calibration" in event:
                    if on_calibration:
                        on_calibration(process.run.name, Calibration.from_json(event["calibration"]))
                elif "said" in event:
                    display.say(f"{process.run.label}: {event['said']}")
                else:
                    display.show(process.run.label, event)
        finally:
            for process in working:
                process.kill() if len(signals) > 1 else process.stop()
            for process in working:
                process.close()
    if signals:
        raise KeyboardInterrupt(signals[0])
    return failures


def _note_end(process: RunProcess, failures: dict[str, str], display, interrupted: bool) -> None:
    """Says how a run has ended, and notes it where it failed."""
    run = process.run
    if process.ended == FINISHED and process.task == "train":
        display.say(finished_words(run.label, RunFolder(run.path).result()))
    elif process.ended != FINISHED and not (interrupted and process.ended == INTERRUPTED):
        failures[run.name] = process.trouble()
        display.say(f"{run.label} failed: {failures[run.name]}")
    process.close()
