"""One run, from its folder to its result: trained, evaluated in the end, result.json written."""

import contextlib
import dataclasses
from collections.abc import Callable

from mzu.acting.selection import SELECTIONS
from mzu.available_memory import peak_memory
from mzu.config import Config
from mzu.training.calibration import LEAST_STEPS, Calibration, calibrate
from mzu.training.clock import Time, now
from mzu.training.results import cut_off_words, error_words, result_row, shown_path, spoken
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer


def train_run(
    folder: RunFolder,
    name: str,
    on_figures: Callable[[dict], None],
    say: Callable[[str], None],
    inputs=None,
    on_calibration: Callable[[Calibration], None] | None = None,
    began: Time | None = None,
) -> bool:
    """Trains the run in `folder` to its end, from its latest checkpoint where it has one, and evaluates it.

    `on_figures` is shown the figures of every learner step, and in the end {"evaluating": way of selecting actions};
    `say` is told what a person should know. `inputs`: environment and data, where they are loaded already.
    `on_calibration` is told, before the first step, what the parts of the run will take, unless it is very short;
    `began`: when its clocks started. -> whether the end was reached; Ctrl-C leaves a checkpoint.
    """
    config, began = folder.config, began or now()
    inputs = None if inputs is None else dataclasses.replace(inputs, config=config)
    with folder.locked(), contextlib.closing(Trainer(config, inputs)) as trainer:
        left = steps_left(folder)
        if on_calibration and left >= LEAST_STEPS:
            try:
                on_calibration(calibrate(trainer, final_selections(config), began, left))
            except Exception as error:  # what stops the run, too, is said by the run, which leaves a checkpoint
                say(f"no forecast: {error_words(error)}")
        if not trainer.run(folder, lambda _, figures: on_figures(figures), say):
            return False
        if trainer.cut_off:
            say(cut_off_words(f"{trainer.cut_off} fresh games", config.acting.max_episode_steps))
        timing = folder.read_log("timing.csv")
        last = timing[-1] if timing else {}
        result = {"steps": trainer.steps, "seconds": last.get("seconds", 0.0)}
        result |= {"processor_seconds": last.get("processor", 0.0), "world_steps": trainer.fresh_steps}
        try:
            result |= _final_evaluation(trainer, name, on_figures)
            folder.save_result(result | {"memory": peak_memory()})
        except Exception as error:
            again = f"`mzu train --resume --out {shown_path(folder.path)}` evaluates again"
            error.add_note(f"all {trainer.steps} steps are learned and saved; {again}")
            raise
    return True


def measure_run(folder: RunFolder, inputs=None, began: Time | None = None) -> Calibration:
    """What the parts of the run in `folder` will take from here on; nothing is written."""
    config, began = folder.config, began or now()
    inputs = None if inputs is None else dataclasses.replace(inputs, config=config)
    with contextlib.closing(Trainer(config, inputs)) as trainer:
        return calibrate(trainer, final_selections(config), began, steps_left(folder))


def steps_left(folder: RunFolder) -> int:
    """Learner steps behind the latest checkpoint."""
    return folder.config.learning.training_steps - max(folder.checkpoints(), default=0)


def final_selections(config: Config) -> tuple[str, ...]:
    """How actions are selected when the final network is evaluated: where a model was searched, in all three ways."""
    return SELECTIONS if config.learning.policy_loss == "reanalyse" else (config.evaluation.select,)


def _final_evaluation(trainer: Trainer, name: str, on_figures: Callable[[dict], None]) -> dict:
    """The row of `evaluation.select`, which is the run's own, and under "selections" the rows of all ways."""
    config = trainer.config
    if config.environment is None:
        return {}
    rows = {}
    for select in final_selections(config):
        on_figures({"evaluating": select})
        evaluation = trainer.evaluate(config.evaluation.episodes, select)
        rows[select] = result_row(spoken(name), evaluation.returns, evaluation.lengths)
        rows[select] |= {"returns": evaluation.returns.tolist(), "lengths": evaluation.lengths.tolist()}
        if evaluation.cut_off:
            rows[select]["cut_off"] = evaluation.cut_off
    own = config.evaluation.select
    return {"select": own, **rows[own], "selections": rows}
