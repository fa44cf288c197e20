"""TensorFlow without its greetings, which it writes past Python into the terminal, where a progress bar is."""

import os
import sys
import tempfile


def import_tensorflow() -> None:
    """Imports TensorFlow; what it writes meanwhile is shown only where the import fails."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            import tensorflow  # noqa: F401
        except BaseException:
            caught.seek(0)
            os.write(terminal, caught.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)
