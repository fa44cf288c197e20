"""TensorFlow and Keras without TensorFlow's greetings, which go past Python into the terminal, where a progress bar is.

All modules of mzu import them from here, and only from here: `import keras` alone would import TensorFlow, and let it
greet. What it writes meanwhile is shown where the import fails; errors that it writes later are always shown.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

__all__ = ["initializers", "keras", "layers", "ops", "random", "tf", "tfp"]


@contextlib.contextmanager
def _stderr_held_back() -> Iterator[None]:
    """What any library writes to the file descriptor of stderr meanwhile is dropped, unless an exception ends it."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield
        except BaseException:
            caught.seek(0)
            os.write(terminal, caught.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
with _stderr_held_back():
    import keras
    import tensorflow as tf
    import tensorflow_probability as tfp
    from keras import initializers, layers, ops, random

    tf.config.list_physical_devices()  # looks for a GPU now: where there is none, that is an error message of its own
