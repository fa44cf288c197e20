"""A handed-in notebook at work: run in a process of its own, and asked for the results of its functions.

Nothing of the student runs in this process: code is only sent, and answers are plain values (`plain_values.py`).
"""

import contextlib
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mzu.classroom.handed_in import defines, is_check
from mzu.classroom.plain_values import from_bytes
from mzu.classroom.question import Question, Wrong, shown_inputs
from mzu.classroom.student_process import LENGTH_BYTES

MOST_BYTES = 32 * 2**20  # of an answer
START_SECONDS = 120  # for an interpreter to start; only a machine in trouble needs so long
INTERRUPT_SECONDS = 1  # to react to an interruption before the process is ended
NOTEBOOK_CELLS = 10  # all cells together, those run again counted again, may take as long as so many single ones


@dataclass(frozen=True)
class Limits:
    """What a submission may use: seconds for one cell and for the calls of one check, and memory in GiB."""

    seconds: float = 60
    memory: float = 4


class Lost(Exception):
    """The process of the student ended, or cannot be talked to any more; the message says how."""


class TooLate(Lost):
    """It did not answer in time."""


class Submission:
    """A notebook that answers calls of its functions. Use as a context: at its end the process is gone."""

    def __init__(self, notebook, limits: Limits):
        self.cells = [cell.source for cell in notebook.cells if cell.cell_type == "code" and not is_check(cell)]
        self.limits = limits
        self.failed: dict[int, str] = {}  # cell -> how it ended, if not well
        self.not_isolated: list[str] = []
        self._stopped: set[int] = set()  # cells that did not come to an end
        self._fatal: set[int] = set()  # those that take the process with them: left out from then on
        self._process: StudentProcess | None = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self) -> None:
        """Ends the process; the next call starts another."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    @property
    def problems(self) -> list[str]:
        """What a teacher may want to know: cells that did not come to an end."""
        return [f"code cell {number + 1} {how}" for number, how in self.failed.items() if number in self._stopped]

    def caller(self, question: Question) -> Callable:
        """`Call` of a question for `judge`, once; all its calls together may take as long as the limit says."""
        self._prepare()
        deadline = None

        def call(*arguments):
            nonlocal deadline
            deadline = deadline or time.monotonic() + self.limits.seconds
            try:
                found = self._process.ask("call", (question.name, pickle.dumps(arguments)), deadline)
            except Lost as lost:
                self.stop()
                inputs = shown_inputs(question, arguments)
                raise Wrong(f"{question}: {question.name} {lost}. It was called with\n{inputs}") from lost
            if "missing" in found:
                raise Wrong(self._missing(question))
            if "error" in found:
                raise _student_error(found["error"])
            return found["result"], tuple(found["arguments"])

        return call

    def _missing(self, question: Question) -> str:
        text = f"{question}: {question.name} is not defined"
        defining = [number for number, code in enumerate(self.cells) if defines(code, question.name)]
        failed = [self.failed[number] for number in defining if number in self.failed]
        if failed:
            return f"{text}: its cell {failed[-1]}."
        return f"{text}; its cell is missing." if not defining else f"{text}, although a cell looks as if it did it."

    def _prepare(self) -> None:
        """Starts a process and executes the cells, without those that end it, until all others have run."""
        spent = 0.0
        while self._process is None:
            self._process = StudentProcess(self.limits)
            self.not_isolated = self._process.not_isolated
            for number, code in enumerate(self.cells):
                if number in self._fatal:
                    continue
                if spent > NOTEBOOK_CELLS * self.limits.seconds:
                    self.failed[number] = f"was not run: the cells took more than {NOTEBOOK_CELLS} times the limit"
                    continue
                start = time.monotonic()
                try:
                    self._execute(number, code)
                except Lost as lost:
                    self.failed[number] = str(lost)
                    self._fatal.add(number)
                    self._stopped.add(number)
                    self.stop()
                    break
                finally:
                    spent += time.monotonic() - start

    def _execute(self, number: int, code: str) -> None:
        found = self._process.ask("cell", code, time.monotonic() + self.limits.seconds, interrupt=True)
        if "error" in found:
            self.failed[number] = "stops with {}: {}".format(*_error(found["error"]))
        if "interrupted" in found:
            self.failed[number] = self._process.too_long
            self._stopped.add(number)


def _error(described) -> tuple[str, str]:
    """The name and the text of an error; they come from the student's process and may be anything."""
    name, text = described if isinstance(described, list) and len(described) == 2 else ("an error", described)
    return str(name)[:100], str(text)[:2000]


def _student_error(described) -> Exception:
    """An exception of the student's function, raised again for `judge`, which shows its type and its text."""
    name, text = _error(described)
    if name == "NotImplementedError":
        return NotImplementedError(text)
    return type(name, (Exception,), {})(text)


class StudentProcess:
    """One fresh interpreter in an empty folder, which it cannot leave."""

    def __init__(self, limits: Limits):
        if sys.platform == "win32":
            raise ValueError(
                "Students' code is kept apart by means that Windows does not have; grade under Linux, WSL or macOS"
            )
        self.folder = Path(tempfile.mkdtemp(prefix="mzu-grade-"))
        self._socket, theirs = socket.socketpair()
        self._process: subprocess.Popen | None = None
        self._number = 0
        self.too_long = f"did not end within {limits.seconds:g} seconds"
        try:
            with theirs:
                _copy_caches(self.folder)
                self._process = self._start(theirs.fileno(), limits)
            self.not_isolated = self._receive(0, time.monotonic() + START_SECONDS)["not isolated"]
        except Lost as lost:
            words = (self.folder / "start").read_text(errors="replace").strip().splitlines()[-1:]
            raise OSError(f"The process for a student's code {lost}: {' '.join(words) or 'no message'}") from lost
        finally:
            if not hasattr(self, "not_isolated"):
                self.kill()

    def _start(self, descriptor: int, limits: Limits) -> subprocess.Popen:
        # Of processor time it may use what all cells and all questions could; time is limited from here anyway.
        numbers = [round(limits.memory * 2**30), round(100 * limits.seconds)]
        command = [sys.executable, "-P", "-m", "mzu.classroom.student_process", descriptor, self.folder, *numbers]
        with open(self.folder / "start", "wb") as errors:
            return subprocess.Popen(
                list(map(str, command)),
                cwd=self.folder,
                env=_environment(self.folder),
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=[descriptor],
                start_new_session=True,
            )

    def ask(self, kind: str, content, deadline: float, interrupt: bool = False) -> dict:
        """Sends a request and waits for its answer; `Lost` where none comes before the deadline."""
        self._number += 1
        data = pickle.dumps((self._number, kind, content))
        try:
            self._socket.settimeout(max(0.01, deadline - time.monotonic()))
            self._socket.sendall(len(data).to_bytes(LENGTH_BYTES) + data)
        except TimeoutError:
            raise TooLate(self.too_long) from None
        except OSError:
            raise Lost(self._how_it_ended()) from None
        try:
            return self._receive(self._number, deadline)
        except TooLate:
            if not interrupt:
                raise
        self._process.send_signal(signal.SIGINT)
        return {**self._receive(self._number, time.monotonic() + INTERRUPT_SECONDS), "interrupted": True}

    def _receive(self, number: int, deadline: float) -> dict:
        while True:
            length = int.from_bytes(self._read(LENGTH_BYTES, deadline))
            if length > MOST_BYTES:
                raise Lost(f"gives a result of more than {MOST_BYTES / 2**20:.0f} MiB")
            try:
                found = from_bytes(self._read(length, deadline))
            except ValueError:
                raise Lost("disturbs the process it runs in") from None
            if isinstance(found, dict) and isinstance(found.get("number"), int) and found["number"] == number:
                return found

    def _read(self, length: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < length:
            try:
                self._socket.settimeout(max(0.01, deadline - time.monotonic()))
                piece = self._socket.recv(min(length - len(data), 2**20))
            except TimeoutError:
                raise TooLate(self.too_long) from None
            except OSError:
                piece = b""
            if not piece:
                raise Lost(self._how_it_ended())
            data += piece
        return bytes(data)

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(INTERRUPT_SECONDS)
        code = self._process.returncode
        if code is not None and code < 0:
            return f"ends its process ({_signal_name(-code)})"
        return "ends its process"

    def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):  # the group holds what it may have started
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
        self._socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _signal_name(number: int) -> str:
    known = {one.value: one.name for one in signal.Signals}
    return known.get(number, f"signal {number}")  # most of the real-time signals have no name


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the caller's environment but where programs and packages are: no keys, no settings."""
    mzu = str(Path(__file__).resolve().parents[2])
    packages = [path for path in sys.path if path.endswith("-packages")]
    return {
        **{name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ},
        "PYTHONPATH": os.pathsep.join([mzu, *packages]),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        **dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR", "NUMBA_CACHE_DIR"), str(folder)),
        "MPLBACKEND": "Agg",
        "MUJOCO_GL": "disable",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
        # Threads and their heaps count as memory, and they are as many as the machine has cores.
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"), "1"),
    }


def _copy_caches(folder: Path) -> None:
    """What this process keeps between runs: compiled kernels, the list of fonts. It may change its copy only."""
    import matplotlib
    import matplotlib.font_manager  # makes the list where there is none

    from mzu.compilation import cache_folder

    if cache_folder() is not None:
        kernels = folder / "mzu" / "kernels"
        shutil.copytree(cache_folder(), kernels / cache_folder().name)
        kernels.chmod(0o700)
    for fonts in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
        shutil.copy(fonts, folder)
