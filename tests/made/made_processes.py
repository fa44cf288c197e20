"""Python in a process of its own."""

import os
import subprocess
import sys


def run_python(code):
    """Runs code in a fresh interpreter, as a terminal of a person would: nothing is set for TensorFlow."""
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
