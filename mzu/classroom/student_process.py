"""The process that runs a student's code: executes cells, then calls the functions that they defined.

`submission.py` starts it and asks; the answers are plain values. It knows inputs only: what would be right, the checks'
messages and the grades stay in the process that asks.
"""

import contextlib
import os
import pickle
import signal
import sys
from pathlib import Path

LENGTH_BYTES = 8  # before each message
TEXT_CHARACTERS = 2000  # of an error


def main(descriptor: int, folder: Path, memory_bytes: int, processor_seconds: int) -> None:
    from mzu.classroom.isolation import isolate  # Windows cannot import it

    missing = isolate(folder, memory_bytes, processor_seconds)
    channel = open(descriptor, "r+b", buffering=0)  # noqa: SIM115  it stays open as long as the process lives
    student = Student()
    answer(channel, 0, {"not isolated": missing})
    # Until here errors are ours and stand in a file that `submission.py` shows; from here on they are the student's.
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    while True:
        number, kind, content = pickle.loads(read_message(channel))
        answer(channel, number, student.execute(content) if kind == "cell" else student.call(*content))


class Student:
    """The names that the cells define, in a shell that knows IPython's magics."""

    def __init__(self):
        from traitlets.config import Config

        config = Config()
        config.HistoryManager.enabled = False  # it is a database in the user's home
        self.shell = _forgiving_shell().instance(config=config)
        self.busy = False
        signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_) -> None:
        if self.busy:  # an interruption that comes too late must not hit the loop above
            raise KeyboardInterrupt

    def execute(self, code: str) -> dict:
        """Runs one cell -> {} or {"error": [type, text]}."""
        self.busy = True
        try:
            result = self.shell.run_cell(code, store_history=False, silent=True)
            error = result.error_before_exec or result.error_in_exec
        except BaseException as raised:  # what escapes the shell
            error = raised
        self.busy = False
        return {} if error is None else described(error)

    def call(self, name: str, arguments: bytes) -> dict:
        """Calls one function -> {"result": ..., "arguments": afterwards}, {"error": ...} or {"missing": True}."""
        function = self.shell.user_ns.get(name)
        if not callable(function):
            return {"missing": True}
        try:
            arguments = pickle.loads(arguments)
            return {"result": function(*arguments), "arguments": arguments}
        except BaseException as error:  # SystemExit and KeyboardInterrupt are answers too
            return described(error)


def _forgiving_shell() -> type:
    """IPython's shell, in which a line with `%` or `!` that does not work here leaves the rest of its cell alone."""
    from IPython.core.interactiveshell import InteractiveShell

    class Shell(InteractiveShell):
        def run_line_magic(self, *arguments, **options):
            with contextlib.suppress(Exception):
                return super().run_line_magic(*arguments, **options)

        def system(self, command):
            """There are no other processes."""

        def getoutput(self, *arguments, **options):
            return []

        def enable_gui(self, gui=None):
            """There is no screen; `%matplotlib` asks for one."""

        def ask_exit(self):
            """`exit` in a cell."""

        def _tee(self, channel):
            """IPython would keep all that is printed, and a flood of it would fill the memory."""
            return contextlib.nullcontext()

        def showtraceback(self, *arguments, **options):
            """Nobody reads it, and one of a thousand calls takes seconds to write."""

    return Shell


def described(error: BaseException) -> dict:
    try:
        text = str(error)
    except Exception:  # the student's own class of errors
        text = ""
    return {"error": [type(error).__name__, text[:TEXT_CHARACTERS]]}


def answer(channel, number: int, content: dict) -> None:
    from mzu.classroom.plain_values import to_bytes

    try:
        data = to_bytes({"number": number, **content})
    except BaseException as error:  # a result whose own code fails, or one too large for the memory
        data = to_bytes({"number": number, **described(error)})
    data = len(data).to_bytes(LENGTH_BYTES) + data
    while data:
        data = data[channel.write(data) :]


def read_message(channel) -> bytes:
    length = int.from_bytes(_read(channel, LENGTH_BYTES))
    return _read(channel, length)


def _read(channel, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        piece = channel.read(length - len(data))
        if not piece:  # the other side is gone
            os._exit(0)
        data += piece
    return bytes(data)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
