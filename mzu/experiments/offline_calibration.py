"""Is an estimate without an environment worth anything? Policies of very different quality are judged by held-out
episodes, and then played (tutorials/offline_judgement.md).

    python -m mzu.experiments.offline_calibration --out runs/offline     # trains, judges, plays what is missing
    python -m mzu.experiments.offline_calibration                        # tables and picture of the CSV in the package

The policies are checkpoints of short runs of behaviour cloning, CRR and Unplugged. What is estimated and what is played
are the same: discounted returns, of the policy's mode, from the start of an episode.
"""

import argparse
import csv
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mzu.acting.evaluation import bootstrap_interval
from mzu.experiments.figures import DIGEST
from mzu.experiments.offline_statistics import calibration_tables, chosen_words, draw_calibration, judgements_digest
from mzu.files import written_whole
from mzu.training.run_folder import RunFolder

if TYPE_CHECKING:  # the tables need no TensorFlow
    from mzu.learning.fitted_q import FitSettings

PROOF = Path(__file__).with_suffix(".csv")
PICTURE = Path(__file__).parents[2] / "tutorials" / "pictures" / "offline_judgement.png"
COLUMNS = (
    "task", "method", "seed", "step", "estimate", "low", "high", "agrees", "likelihood", "played", "played_low",
    "played_high", "undiscounted", "episodes", "data", "data_estimated",
)  # fmt: skip


class Judged(NamedTuple):
    """What is looked at of a preset: these checkpoints of these runs; `episodes` are played with each."""

    checkpoints: tuple[int, ...]
    runs: tuple[tuple[str, int], ...]  # method and seed, others than the seed 201 that fitted_q.py was set up with
    episodes: int


COPIES = (("behaviour_cloning", 101), ("crr", 101), ("behaviour_cloning", 102), ("crr", 102))
# The first checkpoints are bad policies: without those there would be little to rank.
TASKS = {
    "cartpole_offline": Judged((20, 40, 80, 160, 240), (*COPIES, ("unplugged", 101), ("unplugged", 102)), episodes=100),
    "swingup_offline": Judged((40, 200, 400, 600, 1000), COPIES, episodes=10),
}
HELD_OUT = 0.2
LOOKED_AT = 2048  # steps, for their likelihood


def train_policies(task: str, method: str, seed: int, out: Path, further: dict | None = None) -> RunFolder:
    """A run that leaves its checkpoints; one that is finished is not trained again."""
    from mzu.training.train import train

    checkpoints = TASKS[task].checkpoints
    steps, period = checkpoints[-1], math.gcd(*checkpoints)
    home = out / f"{task}-{method}-{seed}"
    folder = home / method
    if not (folder / "config.json").is_file():
        settings = {
            "learning.training_steps": steps,
            "reanalyse.held_out": HELD_OUT,
            "evaluation.period": 0,
            "evaluation.episodes": 1,  # the checkpoints are played afterwards
            "run.checkpoint_period": period,
            "run.keep_checkpoints": steps // period,
        }
        train(task, only=method, seed=seed, out=home, **settings, **(further or {}))
    elif not RunFolder(folder).result():
        train(out=home, resume=True)
    return RunFolder(folder)


def judge_policies(
    task: str, run: RunFolder, settings: "FitSettings | None" = None, say: Callable[[str], None] = print
) -> list[dict]:
    """A row for each checkpoint of a run: judged by its held-out episodes, and played."""
    from mzu.acting.agreement import agreement, likelihoods
    from mzu.acting.evaluation import evaluate_selection
    from mzu.acting.selection import make_selection
    from mzu.learning.fitted_q import QFit, fit_settings, interval_of_members, stored_steps
    from mzu.training.held_out import judged_episodes
    from mzu.training.inputs import environment_maker

    config, rows, episodes = run.config, [], TASKS[task].episodes
    rng = np.random.default_rng([config.seed, 9])
    _, held_out = judged_episodes(run)
    discount = config.search.discount
    data = np.mean([episode.rewards @ discount ** np.arange(len(episode)) for episode in held_out])
    fit, again = None, math.nan
    for step in TASKS[task].checkpoints:
        network, scale = run.load_network(str(step)), run.load_scale(str(step))
        if fit is None:
            fit = QFit(network.spaces, discount, settings or fit_settings(network.spaces))
            again = interval_of_members(fit.values(stored_steps(held_out, None), rng))["mean"]
        choose = make_selection(network, config, "policy", scale)
        stored = stored_steps(held_out, lambda observations, choose=choose: choose(observations, rng))
        estimate = interval_of_members(fit.values(stored, rng))
        make_environment = environment_maker(config)
        played = evaluate_selection(network, config, make_environment, episodes, choose, config.seed, scale=scale)
        low, high = bootstrap_interval(played.discounted)
        drawn = np.sort(rng.choice(len(stored.actions), min(LOOKED_AT, len(stored.actions)), replace=False))
        known = likelihoods(network, stored.observations[stored.here[drawn]], stored.actions[drawn], rng)
        numbers = {
            "estimate": estimate["mean"], "low": estimate["low"], "high": estimate["high"],
            "agrees": agreement(stored.policy_actions[stored.here], stored.actions), "likelihood": known["likelihood"],
            "played": played.discounted.mean(), "played_low": low, "played_high": high,
            "undiscounted": played.mean, "data": data, "data_estimated": again,
        }  # fmt: skip
        names = {"task": task, "method": run.path.name, "seed": config.seed, "step": step, "episodes": episodes}
        rows.append(names | {name: round(float(value), 3) for name, value in numbers.items()})
        say(", ".join(f"{name} {rows[-1][name]}" for name in ("task", "method", "seed", "step", "estimate", "played")))
    return rows


def read_judgements(path: Path = PROOF) -> list[dict]:
    """The rows of a CSV, numbers as numbers."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [{key: text if key in ("task", "method") else float(text) for key, text in row.items()} for row in rows]


def write_judgements(rows: list[dict], path: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with written_whole(path) as temporary:
        temporary.write_text(text.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder of the runs; what is finished there is not done again")
    arguments = parser.parse_args()
    rows = read_judgements() if arguments.out is None else []
    picture = PICTURE if arguments.out is None else arguments.out / PICTURE.name
    for task in TASKS if arguments.out else ():
        for method, seed in TASKS[task].runs:
            cell = arguments.out / f"{task}-{method}-{seed}.csv"
            if not cell.is_file():
                write_judgements(judge_policies(task, train_policies(task, method, seed, arguments.out / "runs")), cell)
            rows += read_judgements(cell)
    if arguments.out is not None:
        write_judgements(rows, arguments.out / PROOF.name)
    print(calibration_tables(rows))
    print("\n".join(chosen_words(rows)))
    with written_whole(picture) as temporary:
        draw_calibration(rows).savefig(temporary, format="png", metadata={DIGEST: judgements_digest(rows)})


if __name__ == "__main__":
    main()
