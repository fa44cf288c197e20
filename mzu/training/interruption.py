"""What ends a run in good order: Ctrl-C, and the signals of a scheduler, a shutdown or a closed terminal."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

# Windows has no SIGHUP.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


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
