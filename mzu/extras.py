"""Packages that only a part of mzu needs, and the extra of setup.cfg that brings each."""

import importlib.util

EXTRAS = {
    "ale_py": "atari",
    "cv2": "atari",
    "minatar": "minatar",
    "dm_control": "control",
    "mujoco": "control",
    "pygame": "video",
    "moviepy": "video",
    "minari": "data",
    "pyarrow": "tables",
    "jupytext": "classroom",
    "nbclient": "classroom",
    "nbformat": "classroom",
    "jupyter_client": "classroom",
    "IPython": "classroom",
    "traitlets": "classroom",
    "threadpoolctl": "bench",
    "tensorboard": "tensorboard",
    "jax": "peers",
    "mctx": "peers",
    "torch": "recording",
    "stable_baselines3": "recording",
}


def is_installed(package: str) -> bool:
    """Whether `import package` would find something."""
    return importlib.util.find_spec(package) is not None


def require(package: str, what: str) -> None:
    """Refuses, with the command that helps, where `package` is missing; `what` needs it, such as "DM Control"."""
    if not is_installed(package):
        raise ValueError(missing_sentence(package, what))


def missing_sentence(package: str, what: str) -> str:
    """What to say where `what` needs a package of an extra."""
    return f"{what} needs {package}, which is not installed: {install_command(EXTRAS[package])}"


def install_command(extra: str) -> str:
    """The line that installs an extra; pip finds mzu itself installed, from wherever it came."""
    return f"pip install 'mzu[{extra}]'"
