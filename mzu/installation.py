"""What mzu stands on: which packages it needs, and whether they load and work on this machine (`mzu doctor`).

Each check is a few lines of Python that run in a process of their own: a library built for another processor does not
raise an error, it kills the interpreter, and the doctor must live to say so.
"""

import importlib.metadata
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import mzu
from mzu.extras import install_command

INSTALL_EVERYTHING = "pip install -r requirements.txt -e ."
PYTHON_VERSIONS = ((3, 11), (3, 12))


class Requirement(NamedTuple):
    """A package that setup.cfg asks for, such as `minari[hdf5]>=0.5.3,<0.6`; without an `extra` it is always needed."""

    name: str
    specification: str
    extra: str = ""

    @property
    def command(self) -> str:
        return f'pip install "{self.specification}"'


class Check(NamedTuple):
    """Python code that ends without an error when `name` works, and the packages to install when it does not.

    Those of an `extra` need not be there; then there is nothing to check.
    """

    name: str
    code: str
    packages: tuple[str, ...]
    extra: str = ""

    @property
    def is_due(self) -> bool:
        return not self.extra or all(installed_version(package) for package in self.packages)


class CheckOutcome(NamedTuple):
    """One line of the report; `advice` is what to do about it, and empty exactly when all is well."""

    name: str
    detail: str
    advice: str = ""


TENSORFLOW = """
import tensorflow as tf
total = tf.function(lambda x: tf.reduce_sum(x @ x), jit_compile=True)(tf.ones((2, 2)))
assert float(total) == 8, f"a sum that should be 8 is {float(total)}"
"""

KERAS = """
import keras
assert keras.backend.backend() == "tensorflow", f"Keras runs on {keras.backend.backend()}, not on TensorFlow"
outputs = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])(keras.ops.ones((2, 4)))
assert tuple(outputs.shape) == (2, 3), f"a shape that should be (2, 3) is {tuple(outputs.shape)}"
"""

# The package itself is imported lazily: only using a distribution shows whether it works.
TENSORFLOW_PROBABILITY = """
import tensorflow_probability as tfp
density = float(tfp.distributions.Normal(0.0, 1.0).prob(0.0))
assert abs(density - 0.39894) < 1e-4, f"a density that should be 0.39894 is {density}"
"""

NUMBA = """
import numba, numpy
@numba.njit(parallel=True)
def count(n):
    counts = numpy.zeros(n, numpy.int64)
    for i in numba.prange(n):
        counts[i] += 1
    return counts.sum()
assert count(1000) == 1000, f"a count that should be 1000 is {count(1000)}"
"""

# The first search on a machine compiles the kernels; whoever has asked the doctor finds them in the cache.
SEARCH = """
import numpy
from mzu.config import SearchConfig
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import random_weights
from mzu.search.search import search
rng = numpy.random.default_rng(0)
model = CompiledModel(random_weights(rng, observation_size=3, actions=2, width=16, num_blocks=1))
visits = search(model, rng.normal(size=(2, 3)), SearchConfig(num_simulations=8), rng).visits
assert visits.sum() == 16, f"visits that should add up to 16 add up to {visits.sum()}"
"""

KERNEL_CACHE = """
from mzu.compilation import cache_trouble
assert not cache_trouble(), cache_trouble()
"""

ATARI = """
import ale_py, gymnasium
gymnasium.register_envs(ale_py)
environment = gymnasium.make("ALE/Pong-v5")
environment.reset(seed=0)
observation = environment.step(0)[0]
assert observation.shape == (210, 160, 3), f"a shape that should be (210, 160, 3) is {observation.shape}"
"""

CONTROL = """
from dm_control import suite
environment = suite.load({domain!r}, {task!r})
environment.reset()
reward = environment.step(environment.action_spec().generate_value()).reward
assert 0 <= reward <= 1, f"a reward that should lie in [0, 1] is {{reward}}"
"""

# The nine tasks of RL Unplugged's DM Control data that the paper reports.
CONTROL_TASKS = [
    ("cartpole", "swingup"),
    ("finger", "turn_hard"),
    ("fish", "swim"),
    ("manipulator", "insert_ball"),
    ("manipulator", "insert_peg"),
    ("walker", "stand"),
    ("walker", "walk"),
    ("cheetah", "run"),
    ("humanoid", "run"),
]

CONTROL_PACKAGES = ("dm-control", "mujoco")
CHECKS = [
    Check("TensorFlow", TENSORFLOW, ("tensorflow",)),
    Check("Keras", KERAS, ("keras", "tensorflow")),
    Check("TensorFlow Probability", TENSORFLOW_PROBABILITY, ("tensorflow-probability", "tf-keras")),
    Check("Numba", NUMBA, ("numba",)),
    Check("mzu's compiled search", SEARCH, ("numba",)),
    Check("mzu's kernel cache", KERNEL_CACHE, ("numba",)),
    Check("Atari: Pong", ATARI, ("ale-py",), "atari"),
    *(
        Check(
            f"DM Control: {domain}-{task}",
            CONTROL.format(domain=domain, task=task),
            ("dm-control", "mujoco"),
            "control",
        )
        for domain, task in CONTROL_TASKS
    ),
]

# What a known failure says, as a regular expression, and what helps. The first match counts; without any, the advice is
# to install the packages of the check.
KNOWN_PROBLEMS = [
    ("kernel cache is damaged", "remove that file; it is made again"),
    ("kernel cache .* cannot be written", "make room there, or export NUMBA_CACHE_DIR=a folder with room"),
    ("kernel cache has no folder", "export NUMBA_CACHE_DIR=a folder of your own that nobody else may write to"),
    ("flex_vertedge", 'pip install "mujoco>=3.17,<4" (dm-control does not work with mujoco 4)'),
    ("tf[-_]keras", 'pip install "tf-keras>=2.21,<2.22" (TensorFlow Probability needs it under Keras 3)'),
    (
        "Keras runs on|No module named '(torch|jax|openvino)'",
        "export KERAS_BACKEND=tensorflow, and remove any other backend from ~/.keras/keras.json",
    ),
    (
        r"MUJOCO_GL|\bEGL|\begl[A-Z]|OSMesa|GLFW|OpenGL|glGetError|DISPLAY",
        "export MUJOCO_GL=disable (training draws nothing, so no screen is needed)",
    ),
    ("SIGILL|AVX", "use a computer, or a virtual machine setting, whose processor has AVX instructions"),
    ("SIGKILL", "close other programs: the check was killed, most likely because the memory was full"),
    ("longer than", "close other programs, then run mzu doctor --timeout 600"),
]


def system_outcomes() -> Iterator[CheckOutcome]:
    """Which Python and machine this is, and whether mzu itself is installed rather than only lying in this folder."""
    supported = " or ".join(f"{major}.{minor}" for major, minor in PYTHON_VERSIONS)
    advice = "" if sys.version_info[:2] in PYTHON_VERSIONS else f"make the virtual environment with Python {supported}"
    yield CheckOutcome("python", platform.python_version(), advice)
    yield CheckOutcome("platform", platform.platform())
    yield CheckOutcome("cores", str(available_cores()))
    yield CheckOutcome("mzu", mzu.__version__, "" if installed_version("mzu") else INSTALL_EVERYTHING)


def available_cores() -> int:
    """The cores that this process may use, which in a container can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def installed_requirements() -> list[Requirement]:
    """What setup.cfg asked for when mzu was installed; empty if it is not installed."""
    try:
        requirements = [parse_requirement(line) for line in importlib.metadata.requires("mzu") or []]
    except importlib.metadata.PackageNotFoundError:
        return []
    return [requirement for requirement in requirements if requirement.name != "mzu"]  # an extra made of others


def parse_requirement(line: str) -> Requirement:
    """`'ruff>=0.12; extra == "dev"'` as a Requirement; the packaging library may be among the missing ones."""
    specification, _, marker = (part.strip() for part in line.partition(";"))
    name = re.match(r"[\w.-]+", specification).group()
    extra = re.search(r"extra == ['\"]([^'\"]+)", marker)
    return Requirement(name, specification, extra.group(1) if extra else "")


def installed_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def package_outcome(requirement: Requirement) -> CheckOutcome:
    """Whether a package is installed, in a version that mzu works with."""
    version = installed_version(requirement.name)
    if version is None:
        return CheckOutcome(requirement.name, "not installed", requirement.command)
    try:
        from packaging.requirements import Requirement as Specification
    except ImportError:  # reported as missing in its own line; without it versions cannot be compared
        return CheckOutcome(requirement.name, version)
    allowed = Specification(requirement.specification).specifier
    if not allowed.contains(version, prereleases=True):
        return CheckOutcome(requirement.name, f"{version} is installed, {allowed} is needed", requirement.command)
    return CheckOutcome(requirement.name, version)


def check_outcomes(
    checks: Sequence[Check], requirements: Sequence[Requirement], timeout: float = 120
) -> Iterator[CheckOutcome]:
    """The outcome of every check, in order, two of them at a time."""
    executor = ThreadPoolExecutor(max_workers=2)
    try:
        yield from executor.map(lambda check: check_outcome(check, requirements, timeout), checks)
    finally:
        # After Ctrl-C the checks that have not begun must not hold up the end.
        executor.shutdown(cancel_futures=True)


def check_outcome(check: Check, requirements: Sequence[Requirement], timeout: float = 120) -> CheckOutcome:
    """Run one check in a fresh interpreter, and say what to do if it does not end well."""
    begin = time.monotonic()
    try:
        process = subprocess.run(
            # -P: a file in the current folder that happens to be called numba.py must not be taken for Numba.
            [sys.executable, "-P", "-c", check.code],
            env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        problem = f"took longer than {timeout:g} seconds"
    else:
        if process.returncode == 0:
            return CheckOutcome(check.name, f"{time.monotonic() - begin:.1f} s")
        problem = problem_of(process.returncode, process.stderr)
    return CheckOutcome(check.name, problem, advice_for(problem, check, requirements))


def problem_of(status: int, output: str) -> str:
    """The line of `output` that says what went wrong: the error's if there is one, otherwise the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit)\b", line)]
    line = (errors or lines or [f"exit status {status}"])[-1]
    # A negative status is the signal that ended the process; there is no error message for it.
    return f"stopped by {signal.Signals(-status).name}: {line}" if status < 0 else line


def advice_for(problem: str, check: Check, requirements: Sequence[Requirement]) -> str:
    """What to do about a check that failed with `problem`."""
    for pattern, advice in KNOWN_PROBLEMS:
        if re.search(pattern, problem):
            return advice
    needed = [requirement for requirement in requirements if requirement.name in check.packages]
    if not needed:
        return INSTALL_EVERYTHING
    specifications = " ".join(f'"{requirement.specification}"' for requirement in needed)
    # pip leaves a package alone that is there in the right version, even if files of it are damaged or gone.
    if "No module named" in problem or any(package_outcome(requirement).advice for requirement in needed):
        return install_command(check.extra) if check.extra else f"pip install {specifications}"
    return f"pip install --force-reinstall --no-deps {specifications}"
