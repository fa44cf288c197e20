"""MuZero Unplugged to read, teach, debug and run: online and offline, discrete and continuous, on a CPU.

The front door: every name of `__all__` is imported from its room when it is first used, so that `import mzu` takes no
time and needs neither TensorFlow nor Numba. `tutorials/api.md` shows each of them with an example.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "ActingConfig",
    "Config",
    "Episode",
    "EvaluationConfig",
    "LearningConfig",
    "NetworkConfig",
    "ReanalyseConfig",
    "ReplayConfig",
    "RunConfig",
    "SearchConfig",
    "TabularModel",
    "Trainer",
    "check",
    "collect",
    "compare",
    "episodes_from_table",
    "evaluate",
    "evaluate_offline",
    "explain",
    "load",
    "load_episodes",
    "make",
    "preset",
    "search",
    "train",
]

if TYPE_CHECKING:  # for editors and type checkers, which cannot follow `__getattr__`
    from mzu.acting.collect import collect
    from mzu.config import (
        ActingConfig,
        Config,
        EvaluationConfig,
        LearningConfig,
        NetworkConfig,
        ReanalyseConfig,
        ReplayConfig,
        RunConfig,
        SearchConfig,
    )
    from mzu.environments.make import make
    from mzu.episodes.dataset import load_episodes
    from mzu.episodes.doctor.check import check
    from mzu.episodes.episode import Episode
    from mzu.episodes.readers.tables import episodes_from_table
    from mzu.explain import _Callable as _Explain
    from mzu.explain.offline_report import evaluate_offline
    from mzu.networks.model import TabularModel
    from mzu.presets import preset
    from mzu.search.search import search
    from mzu.training.agent import load
    from mzu.training.evaluate_run import evaluate_run as evaluate
    from mzu.training.train import compare, train
    from mzu.training.trainer import Trainer

    explain: _Explain

_ROOMS = {
    "mzu.acting.collect": ("collect",),
    "mzu.config": tuple(name for name in __all__ if name.endswith("Config")),
    "mzu.environments.make": ("make",),
    "mzu.episodes.dataset": ("load_episodes",),
    "mzu.episodes.doctor.check": ("check",),
    "mzu.episodes.episode": ("Episode",),
    "mzu.episodes.readers.tables": ("episodes_from_table",),
    "mzu.explain.offline_report": ("evaluate_offline",),
    "mzu.networks.model": ("TabularModel",),
    "mzu.presets": ("preset",),
    "mzu.training.agent": ("load",),
    "mzu.training.train": ("compare", "train"),
    "mzu.training.trainer": ("Trainer",),
}
_PLACES = {name: (module, name) for module, names in _ROOMS.items() for name in names}
_PLACES["evaluate"] = ("mzu.training.evaluate_run", "evaluate_run")
_CALLABLE_PACKAGES = ("explain", "search")  # rooms that can be called: `mzu.search(...)`, `mzu.search.tree`


def __getattr__(name: str):
    """The public name, from its room; afterwards it is an ordinary attribute."""
    if name in _CALLABLE_PACKAGES:
        return importlib.import_module(f"mzu.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module 'mzu' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    globals()[name] = getattr(importlib.import_module(module), attribute)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
