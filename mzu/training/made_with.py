"""What a run was made with: the libraries and the processor that decide its last digits (its `versions.json`).

The same seed gives the same run where these are the same. With another version, processor or number of cores a sum may
be added in another order; a long run may then end elsewhere.
"""

import datetime
import importlib.metadata
import platform

import llvmlite.binding
import numba

import mzu
from mzu.installation import available_cores

LIBRARIES = ("numpy", "numba", "tensorflow", "keras", "tensorflow-probability", "gymnasium", "dm-control", "mujoco")
# The name of the system changes with every update, and a search gives the same numbers on any number of threads.
_NOT_COMPARED = ("started", "machine", "search threads")


def made_with() -> dict[str, str | int]:
    """The versions and the processor of this moment, to be kept with a run."""
    versions = {"mzu": mzu.__version__, "python": platform.python_version()}
    installed = {distribution.name for distribution in importlib.metadata.distributions()}
    versions |= {name: importlib.metadata.version(name) for name in LIBRARIES if name in installed}
    processor = {
        "processor": f"{_processor_name()} ({llvmlite.binding.get_host_cpu_name()})",
        "cores": available_cores(),  # those that this process may use, and TensorFlow does
        "search threads": numba.config.NUMBA_NUM_THREADS,
    }
    started = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    return {**versions, **processor, "machine": platform.platform(), "started": started}


def difference_words(then: dict, now: dict) -> str:
    """A sentence that says how two of them differ; empty where they do not. What one of them lacks is not compared."""
    names = [name for name in then if name in now and name not in _NOT_COMPARED and then[name] != now[name]]
    if not names:
        return ""
    was, here = (", ".join(f"{name} {made[name]}" for name in names) for made in (then, now))
    return f"This run was trained with {was}; here it is {here}: numbers may differ in the last digits"


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()
