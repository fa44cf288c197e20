"""`Recorder`: what happens around the steps of a run: log, evaluation, checkpoints, interruption, errors.

It never changes what is learned: a run without a folder gives the same network.
"""

import contextlib
import time
from collections.abc import Callable

import numpy as np

from mzu.config import Config
from mzu.games.player import temperature_at
from mzu.learning.learner import Diverged
from mzu.nested_arrays import inside, under
from mzu.training.changes import check_unchanged
from mzu.training.collapse import is_collapse
from mzu.training.held_out import record_held_out
from mzu.training.interruption import on_interruption
from mzu.training.reference import evaluated, find_reference, standing
from mzu.training.results import error_words, shown_path, shown_return
from mzu.training.run_folder import Damaged, RunFolder
from mzu.training.tensorboard import open_tensorboard

LOWER = "learning.learning_rate=..."  # what a sentence advises after a divergence


class NotFinite(ValueError):
    """Weights are not finite, and nothing can be learned from there on."""


class Recorder:
    """Follows a Trainer; a context manager, since the folder is this run's alone while it is open, and Ctrl-C is turned
    into an orderly end. `say` is told what a person should know about how the run goes on or ends.
    """

    def __init__(self, trainer, folder: RunFolder | None, say: Callable[[str], None]):
        self.trainer, self.folder, self.say = trainer, folder, say
        self.interrupted = ""  # the name of the signal
        self._metrics: list[dict[str, float]] = []
        self._evaluation = None
        self._reference, self._evaluated = find_reference(trainer.config), []
        self._fallen_from: int | None = None  # the step of the best network below which a collapse was noticed
        self._started, self._processor_started = time.perf_counter(), time.process_time()
        self._tensorboard = open_tensorboard(folder)
        self._open = contextlib.ExitStack()

    def __enter__(self):
        with self._open as opened:
            opened.callback(self._tensorboard.close)
            if self.folder is not None:
                opened.enter_context(self.folder.locked())
                record_held_out(self.folder, self.trainer.inputs.held_out)
                self._resume(self.folder.checkpoints())
            opened.enter_context(on_interruption(self._interrupt))
            self._open = opened.pop_all()  # what was opened stays open, unless something went wrong
        return self

    def __exit__(self, kind, error, traceback):
        with self._open:
            if self.folder is None:
                return
            if error is None:
                self._save()
                if self.interrupted:
                    self.say(f"{self.interrupted}: a checkpoint after learner step {self.trainer.steps} is saved")
            elif isinstance(error, Diverged):
                arrays = under("batch", error.batch._asdict()) | under("targets", error.targets._asdict())
                path = self.folder.save_arrays("diverged_batch.npz", arrays)
                error.args = (f"{error.args[0]}; the batch is in {path}{self._way_back(LOWER)}",)
            elif isinstance(error, Exception) and not isinstance(error, NotFinite) and self.trainer.steps > 0:
                self._save_despite(error)

    def after_step(self, metrics: dict[str, float]) -> dict[str, float]:
        """Logs, evaluates and saves when it is time -> the figures that matter: loss, value, returns where known.

        A whole row is made only when it is written: asking Keras for its learning rate takes a tenth of a step.
        """
        self._metrics.append(metrics)
        for sentence in self.trainer.head_range.take_news():
            self.say(f"learner step {self.trainer.steps}: {sentence}")
        config, step = self.trainer.config, self.trainer.steps
        last = step == config.learning.training_steps
        evaluates = config.environment is not None and config.evaluation.period > 0
        if evaluates and (step % config.evaluation.period == 0):
            self._check_finite()
            self._evaluation = self.trainer.evaluate(config.evaluation.period_episodes)
            if self.folder is not None:
                self._notice_collapse()
                network, scale = self.trainer.learner.evaluated_network, self.trainer.player.advantage_scale
                self.folder.save_best(step, self._evaluation.mean, network, scale)
        figures = {"step": step, "loss": metrics["loss"], "value": metrics["value"]} | self._returns()
        if self._evaluation is not None and self._reference is not None:
            self._evaluated.append((step, self._evaluation.mean, self._evaluation.interval()[1]))
            figures["standing"] = standing(self._reference, self._evaluated).says
        if step % config.run.log_period == 0 or last or self._evaluation is not None:
            self._write(self.row())
        if self.folder is not None and step % config.run.checkpoint_period == 0:
            self._save()
        return figures

    def row(self) -> dict[str, float]:
        """One line of log.csv: means over the steps since the last line, and where the run stands."""
        trainer = self.trainer
        row = {"step": trainer.steps}
        row |= {name: float(np.mean([metrics[name] for metrics in self._metrics])) for name in self._metrics[-1]}
        row |= {
            "fresh_steps": trainer.fresh_steps,
            "stored_steps": trainer.stored_steps,
            "fraction": trainer.player.fraction.actual,
            "fresh_episodes": trainer.fresh_episodes,
            "fresh_return": self._returns()["fresh_return"],
            "replay_positions": len(trainer.replay),
            "temperature": temperature_at(trainer.config, trainer.steps - 1),
            "learning_rate": trainer.learner.optimiser.current_rate(),
        }
        low, high = ("", "") if self._evaluation is None else self._evaluation.interval()
        return row | {"evaluation": self._returns()["evaluation"], "low": low, "high": high}

    def _notice_collapse(self) -> None:
        """Says, once for each best network, that the evaluation of this step lies far below it."""
        best, found = self.folder.best(), self._evaluation
        if best and best["step"] != self._fallen_from and is_collapse(found.mean, found.interval()[1], best["mean"]):
            self._fallen_from = best["step"]
            self.say(
                f"learner step {self.trainer.steps}: the run has collapsed: it earns {shown_return(found.mean)}, at "
                f"step {best['step']} it earned {shown_return(best['mean'])}; best/ keeps that network, and "
                f"`mzu explain {shown_path(self.folder.path)}` compares the two"
            )

    def _returns(self) -> dict:
        """The mean return of the latest fresh games, and of the evaluation at this step; "" where there is none."""
        recent, evaluation = self.trainer.recent_returns, self._evaluation
        return {
            "fresh_return": float(np.mean(recent)) if recent else "",
            "evaluation": "" if evaluation is None else evaluation.mean,
        }

    def _write(self, row: dict) -> None:
        self._metrics, self._evaluation = [], None
        if self.folder is None:
            return
        self.folder.log(row)
        timing = {
            "seconds": time.perf_counter() - self._started,
            "processor": time.process_time() - self._processor_started,
        } | self.trainer.seconds
        timing = {name: round(value, 3) for name, value in timing.items()}
        self.folder.log({"step": row["step"]} | timing, "timing.csv")
        self._tensorboard.write(row)

    def _save(self) -> None:
        self._check_finite()
        state = self.trainer.state() | {"config": np.array(self.trainer.config.to_json())}
        # The steps since the last line of the log, so that the next line is the same after resuming.
        for name in self._metrics[0] if self._metrics else ():
            state[f"metrics/{name}"] = np.array([metrics[name] for metrics in self._metrics])
        keep = self.trainer.config.run.keep_checkpoints
        network, scale = self.trainer.learner.evaluated_network, self.trainer.player.advantage_scale
        self.folder.save_checkpoint(self.trainer.steps, state, network, keep, scale)

    def _save_despite(self, error: Exception) -> None:
        """After an error, which says then what can be gone on from."""
        try:
            self._save()
        except Exception as second:
            reason = "" if str(second) == str(error) else f" ({error_words(second)})"
            error.add_note(f"no checkpoint could be saved{reason}{self._way_back()}")
        else:
            error.add_note(f"a checkpoint after learner step {self.trainer.steps} is saved{self._way_back()}")

    def _check_finite(self) -> None:
        if not self.trainer.learner.is_finite:
            raise NotFinite(
                f"The weights are not finite since learner step {self.trainer.steps}, and no checkpoint is made of them"
                f"{self._way_back(LOWER)}"
            )

    def _way_back(self, change: str = "") -> str:
        """The end of a sentence: how to go on from the latest checkpoint, where there is one."""
        checkpoints = [] if self.folder is None else self.folder.checkpoints()
        if not checkpoints:
            return ""
        option = f" --set {change}" if change else ""
        return (
            f"; `mzu train --resume --out {shown_path(self.folder.path)}{option}` goes on from learner step "
            f"{checkpoints[-1]}"
        )

    def _resume(self, checkpoints: list[int]) -> None:
        if not checkpoints:
            self._begin_again()
            return
        state = self._newest_whole(checkpoints)
        if "config" in state:  # checkpoints of older versions do not say what they were learned with
            check_unchanged(self.folder, self.trainer.config, Config.from_json(str(state["config"])))
        if notice := self.trainer.restore(state):
            self.say(notice)
        self.folder.forget_after(self.trainer.steps)
        timing = self.folder.read_log("timing.csv")
        if timing:  # the sessions before count, too
            self._started -= timing[-1]["seconds"]
            self._processor_started -= timing[-1].get("processor", 0.0)
        columns = inside(state, "metrics")
        rows = zip(*columns.values(), strict=True)
        self._evaluated = [(row["step"], row["evaluation"], row["high"]) for row in evaluated(self.folder.read_log())]
        self._metrics = [dict(zip(columns, (float(value) for value in row), strict=True)) for row in rows]

    def _begin_again(self) -> None:
        """A run that was killed before its first checkpoint begins again, and so does its log."""
        log = self.folder.read_log()
        if log and log[-1]["step"] > self.folder.config.run.checkpoint_period:
            raise ValueError(
                f"{self.folder.path} has learned {log[-1]['step']:.0f} steps, but its checkpoints are gone; put them "
                "back from a copy, or train anew with another --out"
            )
        if log:
            self.say("there is no checkpoint yet: the run begins again")
        self.folder.forget_after(0)

    def _newest_whole(self, checkpoints: list[int]) -> dict[str, np.ndarray]:
        """The state of the newest checkpoint that can be read; those after it are set aside, and that is said."""
        damaged = {}
        for step in reversed(checkpoints):
            try:
                state = self.folder.load_checkpoint(step)
            except Damaged as error:
                damaged[step] = error
                continue
            for other, error in damaged.items():
                self.folder.set_aside(other)
                self.say(
                    f"{str(error).partition(';')[0]}; the run goes on from the one before it, of learner step {step}"
                )
            return state
        raise ValueError(
            f"No checkpoint of {self.folder.path} can be read: {str(damaged[checkpoints[-1]]).partition(';')[0]}; put "
            "one back from a copy, or train anew with another --out"
        )

    def _interrupt(self, name: str) -> None:
        """The first signal ends the run after this step, with a checkpoint; the second one ends it at once."""
        if self.interrupted:
            raise KeyboardInterrupt(name)
        self.interrupted = name
