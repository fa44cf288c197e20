"""The kernels also hold as plain Python, with bounds checked, and after an edit."""

import ast
import os
import pathlib
import shutil
import subprocess
import sys

import numba
import pytest

from mzu.compilation import kernel_sources

TESTS = pathlib.Path(__file__).parent
OPTIONS = ("test_first_evaluations.py", "test_gumbel.py", "../networks/compiled/test_picture_pass.py")
PACKAGE = TESTS.parent / "mzu"


def run_tests(environment: dict[str, str], *files: str) -> str:
    """Runs test files of the search in a fresh process; returns what pytest printed."""
    paths = [str(TESTS / "search" / file) for file in files]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, cwd=TESTS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("variable", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_the_search_passes_its_tests_with(variable):
    if os.environ.get("NUMBA_DISABLE_JIT") or os.environ.get("NUMBA_BOUNDSCHECK"):
        pytest.skip("this is that run")
    printed = run_tests({variable: "1"}, "test_reference.py", "test_history.py", "test_golden_tree.py", *OPTIONS)
    assert "passed" in printed


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled without the compiler")
def test_an_edited_helper_is_never_run_from_the_cache(tmp_path):
    """The mistake Numba's own cache makes: `add_node` is cached, `backup` in another file is edited."""
    shutil.copytree(PACKAGE, tmp_path / "mzu", ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    program = (
        "import numpy as np, mzu; from mzu.config import SearchConfig; from mzu.networks.model import TabularModel;"
        "from mzu.search.search import search; model = TabularModel([[0]], [[1.0]]);"
        "config = SearchConfig(num_simulations=1, discount=0.5);"
        "print(mzu.__file__, search(model, np.array([0]), config, np.random.default_rng(0)).value[0])"
    )

    def value():
        # In a folder of its own: Python looks for packages where it is started before it looks in PYTHONPATH.
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        file, number = done.stdout.split()
        assert file.startswith(str(tmp_path))
        return float(number)

    assert value() == 0.5  # the root's own 0 and one simulation's 1
    kernels = tmp_path / "mzu" / "search" / "kernels.py"
    before = "value = edge.reward + settings.discount * value"
    assert kernels.read_text().count(before) == 1
    kernels.write_text(kernels.read_text().replace(before, "value = 7.0 + settings.discount * value"))
    assert value() == 3.5


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled without the compiler")
def test_kernels_from_the_cache_give_the_same_digits_as_those_just_compiled(tmp_path):
    program = (
        "import hashlib, numpy as np; from mzu.networks.compiled.forward_pass import CompiledModel, _evaluate;"
        "from mzu.networks.compiled.picture_weights import random_picture_weights;"
        "from mzu.networks.compiled.weights import random_weights;"
        "rng = np.random.default_rng(0); digest = hashlib.md5()\n"
        "states = [(random_weights(rng, 4, 2, width, support=20), (4,)) for width in (128, 63)]\n"
        "pictures = [(random_picture_weights(rng, (5, 7, 3), 2, width, support=20), (5, 7, 3)) for width in (16, 33)]\n"
        "for weights, shape in states + pictures:\n"
        "    model = CompiledModel(weights)\n"
        "    hidden, policy, value = model.initial(rng.normal(size=(96, *shape)))\n"
        "    for array in (hidden, policy, value, *model.recurrent(hidden, rng.integers(2, size=96))):\n"
        "        digest.update(array.tobytes())\n"
        "print(digest.hexdigest(), sum(_evaluate.stats.cache_hits.values()))"
    )
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    (compiled, none), (cached, hits) = run(), run()
    assert (none, hits) == ("0", "2")
    assert cached == compiled


def test_every_file_with_kernels_counts_in_the_hash():
    with_kernels = {path for path in PACKAGE.rglob("*.py") if kernels_in(path)}
    assert PACKAGE / "search" / "improvement" / "root.py" in with_kernels
    assert with_kernels <= set(kernel_sources())


def test_every_file_that_kernels_take_constants_or_parts_from_counts_in_the_hash():
    used = {}
    for path in PACKAGE.rglob("*.py"):
        names = {node.id for kernel in kernels_in(path) for node in ast.walk(kernel) if isinstance(node, ast.Name)}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and names & {alias.asname or alias.name for alias in node.names}:
                used[node.module] = path
    assert {"mzu.networks.constants", "mzu.search.tree"} <= used.keys()
    listed = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in kernel_sources()}
    assert {module for module in used if module.startswith("mzu.")} <= listed


def kernels_in(path: pathlib.Path) -> list[ast.FunctionDef]:
    """The functions of a file that are compiled: decorated with `kernel` or `kernel_part`, in any spelling."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    return [function for function in functions if any(map(is_kernel_decorator, function.decorator_list))]


def is_kernel_decorator(node: ast.expr) -> bool:
    node = node.func if isinstance(node, ast.Call) else node
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)) in ("kernel", "kernel_part")
