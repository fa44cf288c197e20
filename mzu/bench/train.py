"""`mzu bench train`: where the time of a training run goes, and the learner's step against its bare matrix products."""

import json
import time

import numpy as np
import threadpoolctl

from mzu.bench.timing import best_times
from mzu.config import Config
from mzu.installation import available_cores
from mzu.presets import preset
from mzu.training.trainer import Trainer

PRESETS = ("cartpole_offline", "cartpole", "swingup_offline", "catch_offline")
STEPS = 300
COLUMNS = {
    "preset": "preset",
    "learner_steps_per_second": "learner steps/s",
    "positions_per_second": "positions/s",
    "cores_busy": "cores busy",
    "learn": "learn",
    "search": "search",
    "games": "games",
    "replay": "replay",
    "targets": "targets",
    "learner_ms": "learner ms",
    "gemm_ms": "GEMM ms",
    "times_gemm": "times GEMM",
    "times_gemm_on_one_core": "on one core",
}


def add_arguments(parser) -> None:
    parser.add_argument("--json", action="store_true", help="print a list of records instead of a table")
    parser.add_argument("--presets", nargs="+", default=PRESETS, metavar="PRESET",
                        help=f"(default {' '.join(PRESETS)})")  # fmt: skip
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C", dest="settings",
                        help="change a setting of all of them, for instance network.width=64")  # fmt: skip
    parser.add_argument("--steps", type=int, default=STEPS, help=f"learner steps that are timed (default {STEPS})")


def run(arguments) -> int:
    """Prints one line per preset: rates, the share of the time in each part, and the learner's step."""
    if arguments.steps < 1:
        raise ValueError(f"--steps is {arguments.steps}, but must be at least 1")
    configs = {name: preset(name).config.override(*arguments.settings) for name in arguments.presets}
    if not arguments.json:
        print("Shares are seconds of each part per second of the run: learning runs beside all the others.")
        print("GEMM is the matrix products of one learner step, by BLAS on all cores; in a run the learner has one.\n")
        print("  ".join(title.rjust(_width(title)) for title in COLUMNS.values()))
    records = []
    for name, config in configs.items():
        records.append(training_record(name, config, arguments.steps))
        if not arguments.json:
            print("  ".join(_cell(records[-1][key], _width(title)) for key, title in COLUMNS.items()), flush=True)
    if arguments.json:
        print(json.dumps(records, indent=2))
    return 0


def training_record(name: str, config: Config, steps: int) -> dict:
    """One record. The learner is timed alone, in turns with the matrix products of the same step."""
    trainer = Trainer(config)
    for _ in range(20):  # compiles, and fills the replay
        trainer.step()
    before = _parts(trainer)
    positions = trainer.fresh_steps + trainer.stored_steps
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        trainer.step()
    passed, cpu = time.perf_counter() - start, time.process_time() - cpu
    parts = {part: (seconds - before[part]) / passed for part, seconds in _parts(trainer).items()}
    batch = trainer.replay.sample(config.learning.batch_size, np.random.default_rng(0))
    targets = trainer.learner.targets(batch)
    multiply = matrix_products_of_step(trainer)

    def multiply_on_one_core():
        with blas.limit(limits=1):
            multiply()

    blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
    contestants = {
        "learner": lambda: trainer.learner.step(batch, targets),
        "one": multiply_on_one_core,
        "gemm": multiply,
    }
    times = best_times(contestants, repetitions=20, seconds=0.05)
    searched = trainer.fresh_steps + trainer.stored_steps - positions
    trainer.close()
    return {
        "preset": name,
        "learner_steps_per_second": steps / passed,
        "positions_per_second": searched / passed,
        "cores_busy": cpu / passed / available_cores(),
        **parts,
        "learner_ms": times["learner"],
        "gemm_ms": times["gemm"],
        "times_gemm": times["learner"] / times["gemm"],
        "times_gemm_on_one_core": times["learner"] / times["one"],
    }


def matrix_products_of_step(trainer: Trainer):
    """A function that does the matrix products of one learner step, forward and backward, by BLAS and nothing else."""
    layers = layers_of(trainer)

    def multiply():
        for x, w, needs_input_gradient in layers:
            y = x @ w
            x.T @ y
            if needs_input_gradient:
                y @ w.T

    return multiply


def layers_of(trainer: Trainer) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """Inputs x, kernel w, and whether x has a gradient, for each layer; random numbers of the right shapes.

    Layer y = x w needs x w, and on the way back x^T y' and y' w^T. The first layer of an observation or an action needs
    no gradient of its input. Convolutions are counted as the products of their unfolded inputs.
    """
    config = trainer.config.learning
    rng = np.random.default_rng(0)
    batch, unroll = config.batch_size, config.unroll_steps
    rows = {"representation": batch, "dynamics": batch * unroll, "prediction": batch * (unroll + 1)}
    layers = []
    for model in trainer.network.models:
        for layer in model.layers:
            kernel = getattr(layer, "kernel", None)
            if kernel is None:
                continue
            places = int(np.prod(layer.output.shape[1:-1]))
            inputs, outputs = int(np.prod(kernel.shape[:-1])), kernel.shape[-1]
            x = rng.normal(size=(rows.get(model.name, batch) * places, inputs)).astype(np.float32)
            w = rng.normal(size=(inputs, outputs)).astype(np.float32)
            reads_input = (model.name, layer.name) == ("representation", "first")
            layers.append((x, w, not (reads_input or layer.name == "first_of_action")))
    return layers


def _parts(trainer: Trainer) -> dict[str, float]:
    own, player = trainer.seconds, trainer.player.seconds
    return {
        "learn": own["learn"],
        "search": player["search"],
        "games": player["games"],
        "replay": own["sample"] + own["play"] - player["search"] - player["games"],
        "targets": own["targets"],
    }


def _width(title: str) -> int:
    return max(len(title), 8 if title != "preset" else 16)


def _cell(value, width: int) -> str:
    return (value if isinstance(value, str) else f"{value:.3g}").rjust(width)
