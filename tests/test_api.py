"""`import mzu`: light, lazy, and everything on its page exists and runs."""

import ast
import doctest
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mzu

REPOSITORY = Path(__file__).parent.parent
HEAVY = ("tensorflow", "keras", "numba", "matplotlib", "gymnasium", "numpy")

specification = importlib.util.spec_from_file_location("api_page", REPOSITORY / ".ci" / "api_page.py")
api_page = importlib.util.module_from_spec(specification)
specification.loader.exec_module(api_page)


def run_python(code):
    """Runs code in a fresh interpreter, as a terminal of a person would: nothing is set for TensorFlow."""
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


def test_import_mzu_loads_none_of_the_heavy_libraries():
    done = run_python(f"import mzu, sys; print([name for name in {HEAVY} if name in sys.modules])")
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_import_mzu_takes_less_than_50_milliseconds():
    code = "import time; start = time.perf_counter(); import mzu; print(time.perf_counter() - start)"
    assert min(float(run_python(code).stdout) for _ in range(5)) < 0.05


def test_every_public_name_has_a_room_and_is_known_to_editors():
    assert sorted([*mzu._PLACES, *mzu._CALLABLE_PACKAGES]) == sorted(mzu.__all__)
    tree = ast.parse(inspect.getsource(mzu))
    block = next(node for node in tree.body if isinstance(node, ast.If) and node.test.id == "TYPE_CHECKING")
    imported = {
        alias.asname or alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    declared = {node.target.id for node in block.body if isinstance(node, ast.AnnAssign)}
    assert {name for name in imported if not name.startswith("_")} | declared == set(mzu.__all__)
    rooms = {name: module for name, (module, _) in mzu._PLACES.items()}
    assert {name: module for name, module in imported.items() if name in rooms} == rooms
    assert (REPOSITORY / "mzu" / "py.typed").is_file()


@pytest.mark.parametrize("name", mzu.__all__)
def test_a_public_name_can_be_called(name):
    assert callable(getattr(mzu, name))
    assert name in dir(mzu)


def test_what_is_no_public_name_is_no_attribute():
    with pytest.raises(AttributeError, match="module 'mzu' has no attribute 'serach'"):
        _ = mzu.serach


@pytest.mark.parametrize("name", ["explain", "search"])
def test_a_room_can_be_called_straight_after_the_import_and_still_is_a_package(name):
    done = run_python(f"import mzu; assert callable(mzu.{name}); import mzu.{name}; print(mzu.{name}.__path__ != [])")
    assert done.stdout == "True\n", done.stderr


def test_search_says_its_signature():
    from mzu.search.search import search

    assert inspect.signature(mzu.search) == inspect.signature(search)


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


def test_the_page_is_made_of_the_docstrings_of_today():
    assert set(api_page.public_names()) == set(mzu.__all__)
    assert api_page.PAGE.read_text() == api_page.page(), "run: python .ci/api_page.py"


@pytest.mark.parametrize("name", api_page.public_names())
def test_a_public_name_has_an_example(name):
    assert "```pycon\n>>> " in api_page.section(name)


def test_the_examples_of_the_page_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"mzu": mzu, "np": np}
    session = "\n".join(re.findall(r"```pycon\n(.*?)```", api_page.PAGE.read_text(), flags=re.DOTALL))
    example = doctest.DocTestParser().get_doctest(session, names, "api.md", "api.md", 0)
    results = doctest.DocTestRunner().run(example)
    assert results.failed == 0 and results.attempted > len(mzu.__all__)


def test_the_examples_of_the_config_run():
    tests = doctest.DocTestFinder().find(mzu.Config, "Config", globs={"mzu": mzu, "Config": mzu.Config})
    results = [doctest.DocTestRunner().run(test) for test in tests]
    assert sum(result.failed for result in results) == 0 and sum(result.attempted for result in results) >= 6
