"""Whether a preset shows what it promises, with several seeds (`mzu presets NAME --check`).

An offline one trains its comparison: in every seed MuZero Unplugged, acting by search, must earn more than behaviour
cloning and than CRR, not less than by its own policy, and its final network not much less than the best one on the way.
An online one must earn its goal by search in every seed. `presets/NAME.csv` has the runs behind README.
"""

import csv
import dataclasses
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from mzu.config import ActingConfig, Config
from mzu.files import written_whole
from mzu.presets import preset
from mzu.training.results import evaluated_rows
from mzu.training.run_folder import RunFolder
from mzu.training.train import train
from mzu.training.training_result import Comparison

PROOFS = Path(__file__).parent / "presets"  # the CSVs that come with the package
COLUMNS = (
    "preset", "settings", "seed", "name", "mean", "low", "high", "episodes", "best", "seconds", "processor_seconds",
    "world_steps",
)  # fmt: skip
CLONING, CRR = "behaviour cloning, by policy", "CRR, by policy"
POLICY, VALUE, SEARCH = (f"Unplugged, by {way}" for way in ("policy", "value", "search"))
TRAINED = "trained, by search"  # of an online preset
MAY_FALL = 0.1  # share of the best network's return that the final one may be below it


def prove(name: str, seeds: Sequence[int], out: Path, say: Callable[[str], None] = print) -> list[dict]:
    """Trains it with every seed, in folders of their own, and writes `out`/NAME.csv -> its rows.

    Seeds that are finished in `out` are not trained again.
    """
    chosen = preset(name)
    if not chosen.compare and chosen.goal is None:
        raise ValueError(f"{name} promises nothing that could be checked here; choose another preset")
    rows = []
    for seed in seeds:
        folder = out / f"{name}-{seed}"
        first = folder / "behaviour_cloning" if chosen.compare else folder
        is_begun = (first / "config.json").is_file()
        trained = train(out=folder, resume=True) if is_begun else train(name, seed=seed, out=folder)
        known = {"preset": name, "settings": settings_digest(chosen.config), "seed": seed}
        found = [known | row for row in (_compared(trained) if chosen.compare else _run_rows("", trained.folder))]
        say(f"seed {seed}: " + ", ".join(f"{row['name']} {row['mean']:.1f}" for row in found))
        rows += found
        with written_whole(out / f"{name}.csv") as temporary:
            temporary.write_text(proof_csv(rows))
    return rows


def broken_claims(rows: list[dict], goal: float | None = None) -> list[str]:
    """A sentence for each seed and claim that does not hold; `goal` is that of an online preset."""
    broken = []
    for seed in sorted({row["seed"] for row in rows}):
        of = {row["name"]: row for row in rows if row["seed"] == seed}
        claims = _offline_claims(of) if goal is None else _online_claims(of, goal)
        broken += [f"seed {seed}: {sentence}" for sentence in claims]
    return broken


def _online_claims(of: dict[str, dict], goal: float) -> list[str]:
    mean = float(of[TRAINED]["mean"])
    return [f"search earns {mean:.1f}, and the goal is {goal:g}"] if mean < goal else []


def _offline_claims(of: dict[str, dict]) -> list[str]:
    mean = {name: float(row["mean"]) for name, row in of.items()}
    broken = [
        f"search earns {mean[SEARCH]:.1f}, {words} {mean[other]:.1f}"
        for other, words in ((CLONING, "behaviour cloning"), (CRR, "CRR"))
        if mean[SEARCH] <= mean[other]
    ]
    # The intervals are over episodes; search may be below the policy by chance only.
    if float(of[SEARCH]["high"]) < mean[POLICY]:
        broken.append(f"search earns {mean[SEARCH]:.1f}, the policy alone {mean[POLICY]:.1f}")
    best = float(of[SEARCH]["best"] or "-inf")
    if mean[SEARCH] < best - MAY_FALL * abs(best):
        broken.append(f"the final network earns {mean[SEARCH]:.1f}, the best on the way {best:.1f}")
    return broken


def settings_digest(config: Config) -> str:
    """Tells whether runs were made with these settings; how much memory they may take is none that counts."""
    settings = dataclasses.asdict(config)
    del settings["run"]["data_memory"]
    if config.acting.max_episode_steps == ActingConfig().max_episode_steps:
        del settings["acting"]["max_episode_steps"]  # it came after the runs that are kept here
    if config.reanalyse.held_out == 0:
        del settings["reanalyse"]["held_out"]  # so did this
    return hashlib.sha256(json.dumps(settings, indent=2).encode()).hexdigest()[:12]


def read_csv(path: Path) -> list[dict]:
    """The rows of `prove`, as text but for the seed."""
    with path.open(newline="") as file:
        return [row | {"seed": int(row["seed"])} for row in csv.DictReader(file)]


def proof_csv(rows: list[dict]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _compared(comparison: Comparison) -> list[dict]:
    if comparison.failed:
        raise ValueError("; ".join(comparison.failed.values()))
    rows = [_figures(comparison.rows[0])]  # the dataset
    for method, run in comparison.runs.items():
        rows += _run_rows(method, run.folder)
    return rows


def _run_rows(method: str, path: Path) -> list[dict]:
    """One row for each way to act."""
    folder = RunFolder(path)
    result, best = folder.result(), folder.best()
    further = {"best": round(best["mean"], 2), "world_steps": result["world_steps"]}
    further |= {column: round(result[column], 1) for column in ("seconds", "processor_seconds")}
    return [_figures(row) | further for row in evaluated_rows(method, result)]


def _figures(row: dict) -> dict:
    return {"name": row["name"], "episodes": row["episodes"]} | {
        column: round(row[column], 2) for column in ("mean", "low", "high")
    }


def comparison_table(proofs: dict[str, list[dict]]) -> str:
    """Offline presets {name: rows}, a column for each: the mean over seeds, in brackets the lowest and the highest."""
    names = ("dataset", CLONING, CRR, POLICY, VALUE, SEARCH)
    lines = [f"| | {' | '.join(f'`{name}`' for name in proofs)} |", "|---" * (len(proofs) + 1) + "|"]
    for name in names:
        cells = [_mean_and_ends(rows, name) for rows in proofs.values()]
        if name == "dataset":
            cells = [cell.partition(" ")[0] for cell in cells]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def online_table(proofs: dict[str, list[dict]]) -> str:
    """Online presets {name: rows}, a line for each: its goal, and what its seeds earn."""
    lines = ["| preset | goal | seeds | by policy | by value | by search |", "|---" * 6 + "|"]
    for name, rows in proofs.items():
        ways = [_mean_and_ends(rows, f"trained, by {way}") for way in ("policy", "value", "search")]
        seeds = len({row["seed"] for row in rows})
        lines.append(f"| `{name}` | {preset(name).goal:g} | {seeds} | {' | '.join(ways)} |")
    return "\n".join(lines)


def cost_table(proofs: dict[str, list[dict]]) -> str:
    """Presets {name: rows}, a line for each: what one seed takes. A comparison has three runs, which are added up."""
    lines = ["| preset | runs | learner steps | steps in the world | processor seconds |", "|---" * 5 + "|"]
    for name, rows in proofs.items():
        runs = [row for row in rows if row["name"] in ((CLONING, CRR, SEARCH) if preset(name).compare else (TRAINED,))]
        count = len(runs) // len({row["seed"] for row in rows})
        steps = f"{count} x " * (count > 1) + f"{preset(name).config.learning.training_steps:,}"
        world = "none" if preset(name).compare else _shown_range(_per_seed(runs, "world_steps"))
        processor = _per_seed(runs, "processor_seconds")
        lines.append(f"| `{name}` | {count} | {steps} | {world} | {_shown_range(processor) if processor else '-'} |")
    return "\n".join(lines)


def _per_seed(runs: list[dict], column: str) -> list[float]:
    """The sum over the runs of each seed; empty where a run does not have it."""
    if not all(row.get(column) for row in runs):
        return []
    return [sum(float(row[column]) for row in runs if row["seed"] == seed) for seed in {row["seed"] for row in runs}]


def _mean_and_ends(rows: list[dict], name: str) -> str:
    """Over the seeds: the mean return, and in brackets the lowest and the highest."""
    return _shown_range([float(row["mean"]) for row in rows if row["name"] == name], always=True)


def _shown_range(numbers: list[float], always: bool = False) -> str:
    """The mean, and in brackets the lowest and the highest where they differ, or always."""
    digits = 0 if max(map(abs, numbers)) >= 10 else 2
    mean, low, high = (f"{number:,.{digits}f}" for number in (sum(numbers) / len(numbers), min(numbers), max(numbers)))
    return mean if low == high and not always else f"{mean} ({low} .. {high})"
