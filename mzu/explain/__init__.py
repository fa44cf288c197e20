"""One target, taken apart: where every number of it comes from.

    explanation = mzu.explain("runs/cartpole", episode=3, step=137)
    report = mzu.explain.model("example:cartpole")   # how far can its model be trusted?
    verdict = mzu.explain.verdict("runs/cartpole")   # what is wrong with the whole run?

`mzu.explain` is this package, and can be called. `explanation.py` says what an explanation holds, `system.py` what can
be explained, `checks.py` what is looked at for mistakes, `bugs.py` has a gallery of real ones; `model_report.py` says
what a model report holds, `run_verdict.py` how a run is judged.
"""

import importlib
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mzu.config import Config
    from mzu.explain.explanation import Explanation
    from mzu.explain.model_report import ModelReport
    from mzu.explain.run_verdict import RunVerdict
    from mzu.training.example_runs import ExampleName
    from mzu.training.trainer import Trainer

    Run = ExampleName | str | Path | Config | Trainer


class _Callable(types.ModuleType):
    if TYPE_CHECKING:  # for editors, which cannot follow `__getattr__`
        from mzu.explain import bugs

    def __call__(
        self,
        run: "Run",
        episode: int | None = None,
        step: int | None = None,
        checkpoint: str = "latest",
        compare: str | None = None,
    ) -> "Explanation":
        """Explains the targets of one position of a run (its folder or an example), a `Config` or a `Trainer` ->
        `Explanation`.

        `compare` names another checkpoint, whose targets stand beside this one's. Which position must be said, but
        for an example, which has one of its own.

        >>> explanation = mzu.explain(trainer, episode=0, step=4)
        >>> sum(explanation.result["visits"]) == config.search.num_simulations
        True
        """
        from mzu.explain.explanation import explain_position
        from mzu.explain.system import open_system
        from mzu.training.example_runs import chosen_position

        episode, step = chosen_position(run, episode, step)
        if episode is None or step is None:
            raise ValueError("Which position? Give an episode and a step, such as mzu.explain(run, 3, 40)")
        other = None if compare is None else open_system(run, compare)
        return explain_position(open_system(run, checkpoint), episode, step, other)

    def model(self, run: "Run", checkpoint: str = "latest", episodes: int = 10) -> "ModelReport":
        """How far the model of a run (its folder or an example), a `Config` or a `Trainer` can be trusted ->
        `ModelReport`.

        `episodes` are played with every number of simulations; 0 leaves the returns out.

        >>> trust = mzu.explain.model(trainer, episodes=0)
        >>> "By depth" in str(trust)
        True
        """
        from mzu.explain.model_report import report_model
        from mzu.explain.system import open_system

        return report_model(open_system(run, checkpoint), episodes)

    def verdict(self, run, checkpoint: str = "latest") -> "RunVerdict":
        """What is wrong with a run (its folder), a `Config` or a `Trainer`: the first broken part -> `RunVerdict`.

        >>> mzu.explain.verdict(mzu.explain.bugs.planted("row_leak")).broken
        'targets'
        """
        from mzu.explain.run_verdict import judge_run

        return judge_run(run, checkpoint)


def __getattr__(name: str):
    if name == "bugs":  # `mzu.explain.bugs` without an import of its own
        return importlib.import_module("mzu.explain.bugs")
    raise AttributeError(f"module 'mzu.explain' has no attribute {name!r}")


sys.modules[__name__].__class__ = _Callable
