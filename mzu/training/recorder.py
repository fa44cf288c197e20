"""`Recorder`: what happens around the steps of a run: log, evaluation, checkpoints, interruption.

It never changes what is learned: a run without a folder gives the same network.
"""

import signal
import time

import numpy as np

from mzu.games.player import temperature_at
from mzu.learning.learner import Diverged
from mzu.nested_arrays import inside, under
from mzu.training.run_folder import RunFolder
from mzu.training.tensorboard import open_tensorboard


class Recorder:
    """Follows a Trainer; a context manager, since Ctrl-C is turned into an orderly end while it is open."""

    def __init__(self, trainer, folder: RunFolder | None):
        self.trainer, self.folder = trainer, folder
        self.interrupted = False
        self._metrics: list[dict[str, float]] = []
        self._evaluation = None
        self._started = time.perf_counter()
        self._tensorboard = open_tensorboard(folder)
        self._handler = None

    def __enter__(self):
        if self.folder is not None:
            self._resume(self.folder.checkpoints())
        try:
            self._handler = signal.signal(signal.SIGINT, self._interrupt)
        except ValueError:
            self._handler = None  # only the main thread may ask for signals; elsewhere Ctrl-C stays as it is
        return self

    def __exit__(self, kind, error, traceback):
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        if self.folder is not None and kind is None:
            self._save()
        elif self.folder is not None and isinstance(error, Diverged):
            arrays = under("batch", error.lesson.batch._asdict()) | under("targets", error.lesson.targets._asdict())
            path = self.folder.save_arrays("diverged_batch.npz", arrays)
            error.args = (f"{error.args[0]}; the batch is in {path}",)
        self._tensorboard.close()

    def after_step(self, metrics: dict[str, float]) -> dict[str, float]:
        """Logs, evaluates and saves when it is time -> the figures that matter: loss, value, returns where known.

        A whole row is made only when it is written: asking Keras for its learning rate takes a tenth of a step.
        """
        self._metrics.append(metrics)
        config, step = self.trainer.config, self.trainer.steps
        last = step == config.learning.training_steps
        evaluates = config.environment is not None and config.evaluation.period > 0
        if evaluates and (step % config.evaluation.period == 0):
            self._evaluation = self.trainer.evaluate(config.evaluation.period_episodes)
            if self.folder is not None:
                network, scale = self.trainer.learner.evaluated_network, self.trainer.player.advantage_scale
                self.folder.save_best(step, self._evaluation.mean, network, scale)
        figures = {"step": step, "loss": metrics["loss"], "value": metrics["value"]} | self._returns()
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
        passed = time.perf_counter() - self._started
        shares = {name: round(value, 3) for name, value in self.trainer.seconds.items()}
        self.folder.log({"step": row["step"], "seconds": round(passed, 3)} | shares, "timing.csv")
        self._tensorboard.write(row)

    def _save(self) -> None:
        state = self.trainer.state()
        # The steps since the last line of the log, so that the next line is the same after resuming.
        for name in self._metrics[0] if self._metrics else ():
            state[f"metrics/{name}"] = np.array([metrics[name] for metrics in self._metrics])
        keep = self.trainer.config.run.keep_checkpoints
        network, scale = self.trainer.learner.evaluated_network, self.trainer.player.advantage_scale
        self.folder.save_checkpoint(self.trainer.steps, state, network, keep, scale)

    def _resume(self, checkpoints: list[int]) -> None:
        # A run that was killed before its first checkpoint begins again, and so does its log.
        self.folder.forget_after(checkpoints[-1] if checkpoints else 0)
        if not checkpoints:
            return
        state = self.folder.load_checkpoint(checkpoints[-1])
        self.trainer.restore(state)
        timing = self.folder.read_log("timing.csv")
        self._started -= timing[-1]["seconds"] if timing else 0.0  # the sessions before count, too
        columns = inside(state, "metrics")
        rows = zip(*columns.values(), strict=True)
        self._metrics = [dict(zip(columns, (float(value) for value in row), strict=True)) for row in rows]

    def _interrupt(self, *_) -> None:
        """The first Ctrl-C ends the run after this step, with a checkpoint; the second one ends it at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
