"""What ends a run in good order: Ctrl-C, and the signals of a scheduler, a shutdown or a closed terminal."""

import concurrent.futures
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

# Windows has no SIGHUP.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_left: list[concurrent.futures.Future] = []


@contextlib.contextmanager
def on_interruption(handler: Callable[[str], None]) -> Iterator[None]:
    """Meanwhile `handler` is called with the name of such a signal. Only the main thread may ask for them."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for one in SIGNALS:
            # `nohup` has a process ignore SIGHUP, and that is to stay so.
            if one == signal.SIGINT or signal.getsignal(one) is not signal.SIG_IGN:
                before[one] = signal.signal(one, lambda number, _: handler(signal.Signals(number).name))
    try:
        yield
    finally:
        for one, previous in before.items():
            signal.signal(one, previous or signal.SIG_DFL)


def interrupt(name: str) -> None:
    """A handler that ends what is being done at once, as Ctrl-C does by itself."""
    raise KeyboardInterrupt(name)


def leave_behind(work: concurrent.futures.Future) -> None:
    """Notes that nobody waits any longer for what another thread does, in a world that does not answer."""
    _left.append(work)


def end_despite_what_is_left(status: int) -> None:
    """Ends the process where such work still goes on: at its own end Python would wait for that thread for ever."""
    if not all(work.done() for work in _left):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
