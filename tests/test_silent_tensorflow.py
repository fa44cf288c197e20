"""TensorFlow is imported in one place, in silence, and its errors are still seen."""

import ast
from pathlib import Path

from made_processes import run_python

REPOSITORY = Path(__file__).parent.parent


def test_tensorflow_greets_nobody_and_an_error_is_still_seen():
    code = (
        "import sys, mzu; from mzu.silent_tensorflow import tf; mzu.Trainer; "
        "tf.function(lambda x: x @ x, jit_compile=True)(tf.ones((2, 2))); print('seen', file=sys.stderr)"
    )
    assert run_python(code).stderr == "seen\n"


def test_an_import_that_fails_shows_what_was_written_meanwhile():
    code = (
        "import os, sys, types\n"
        "class Broken:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'keras':\n"
        "            os.write(2, b'the processor lacks AVX'); raise ImportError('broken')\n"
        "sys.meta_path.insert(0, Broken())\n"
        "import mzu.silent_tensorflow"
    )
    done = run_python(code)
    assert done.returncode == 1 and "the processor lacks AVX" in done.stderr and "ImportError: broken" in done.stderr


def test_only_one_module_imports_tensorflow_and_keras():
    importers = []
    for path in (REPOSITORY / "mzu").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {name.split(".")[0] for name in names} & {"tensorflow", "keras", "tensorflow_probability"}:
                importers.append(path.name)
    assert set(importers) == {"silent_tensorflow.py"}
