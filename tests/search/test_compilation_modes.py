"""The kernels also hold as plain Python, with bounds checked, and after an edit."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numba
import pytest

from mzu.compilation import kernel_sources

HERE = pathlib.Path(__file__).parent
OPTIONS = ("test_first_evaluations.py", "test_gumbel.py")
PACKAGE = HERE.parent.parent / "mzu"


def run_tests(environment: dict[str, str], *files: str) -> str:
    """Runs test files of this folder in a fresh process; returns what pytest printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(HERE / file) for file in files)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, cwd=HERE.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("variable", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_the_search_passes_its_tests_with(variable):
    if os.environ.get("NUMBA_DISABLE_JIT") or os.environ.get("NUMBA_BOUNDSCHECK"):
        pytest.skip("this is that run")
    printed = run_tests({variable: "1"}, "test_twins.py", "test_history.py", "test_golden_tree.py", *OPTIONS)
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
        "import hashlib, numpy as np; from mzu.networks.compiled import CompiledModel, _evaluate;"
        "from mzu.networks.weights import random_weights; rng = np.random.default_rng(0); digest = hashlib.md5()\n"
        "for width in (128, 63):\n"
        "    model = CompiledModel(random_weights(rng, 4, 2, width, support=20))\n"
        "    hidden, policy, value = model.initial(rng.normal(size=(96, 4)))\n"
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
    assert (none, hits) == ("0", "1")
    assert cached == compiled


def test_every_file_with_kernels_counts_in_the_hash():
    imports = re.compile(r"^from mzu\.compilation import .*kernel", re.MULTILINE)
    with_kernels = {path for path in PACKAGE.rglob("*.py") if imports.search(path.read_text())}
    assert with_kernels and with_kernels <= set(kernel_sources())
    constants = {PACKAGE / "networks" / "constants.py", PACKAGE / "search" / "tree.py"}
    assert constants <= set(kernel_sources())
