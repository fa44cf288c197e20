"""Whether an offline preset shows what it promises: its comparison with several seeds (`mzu presets NAME --check`).

In every seed MuZero Unplugged, acting by search, must earn more than behaviour cloning and than CRR, not less than by
its own policy, and its final network not much less than the best one on the way. `presets/NAME.csv` has the runs behind
README.
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
COLUMNS = ("preset", "settings", "seed", "name", "mean", "low", "high", "episodes", "best", "seconds")
CLONING, CRR = "behaviour cloning, by policy", "CRR, by policy"
POLICY, VALUE, SEARCH = (f"Unplugged, by {way}" for way in ("policy", "value", "search"))
MAY_FALL = 0.1  # share of the best network's return that the final one may be below it


def prove(name: str, seeds: Sequence[int], out: Path, say: Callable[[str], None] = print) -> list[dict]:
    """Trains the comparison with every seed, in folders of their own, and writes `out`/NAME.csv -> its rows.

    Seeds that are finished in `out` are not trained again.
    """
    chosen = preset(name)
    if not chosen.compare:
        raise ValueError(f"{name} compares nothing, so there is nothing to check; choose an offline preset")
    rows = []
    for seed in seeds:
        folder = out / f"{name}-{seed}"
        is_begun = (folder / "behaviour_cloning" / "config.json").is_file()
        comparison = train(out=folder, resume=True) if is_begun else train(name, seed=seed, out=folder)
        if comparison.failed:
            raise ValueError("; ".join(comparison.failed.values()))
        found = _rows(name, chosen.config, seed, comparison)
        say(f"seed {seed}: " + ", ".join(f"{row['name']} {row['mean']:.1f}" for row in found))
        rows += found
        with written_whole(out / f"{name}.csv") as temporary:
            temporary.write_text(proof_csv(rows))
    return rows


def broken_claims(rows: list[dict]) -> list[str]:
    """A sentence for each seed and claim that does not hold."""
    broken = []
    for seed in sorted({row["seed"] for row in rows}):
        of = {row["name"]: row for row in rows if row["seed"] == seed}
        mean = {name: float(row["mean"]) for name, row in of.items()}
        broken += [
            f"seed {seed}: search earns {mean[SEARCH]:.1f}, {words} {mean[other]:.1f}"
            for other, words in ((CLONING, "behaviour cloning"), (CRR, "CRR"))
            if mean[SEARCH] <= mean[other]
        ]
        # The intervals are over episodes; search may be below the policy by chance only.
        if float(of[SEARCH]["high"]) < mean[POLICY]:
            broken.append(f"seed {seed}: search earns {mean[SEARCH]:.1f}, the policy alone {mean[POLICY]:.1f}")
        best = float(of[SEARCH]["best"] or "-inf")
        if mean[SEARCH] < best - MAY_FALL * abs(best):
            broken.append(f"seed {seed}: the final network earns {mean[SEARCH]:.1f}, the best on the way {best:.1f}")
    return broken


def settings_digest(config: Config) -> str:
    """Tells whether runs were made with these settings; how much memory they may take is none that counts."""
    settings = dataclasses.asdict(config)
    del settings["run"]["data_memory"]
    if config.acting.max_episode_steps == ActingConfig().max_episode_steps:
        del settings["acting"]["max_episode_steps"]  # it came after the runs that are kept here
    return hashlib.sha256(json.dumps(settings, indent=2).encode()).hexdigest()[:12]


def read_csv(path: Path) -> list[dict]:
    """The rows of `prove`, as text but for the seed."""
    with path.open(newline="") as file:
        return [row | {"seed": int(row["seed"])} for row in csv.DictReader(file)]


def proof_csv(rows: list[dict]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(name: str, config: Config, seed: int, comparison: Comparison) -> list[dict]:
    known = {"preset": name, "settings": settings_digest(config), "seed": seed}
    rows = [known | _figures(comparison.rows[0]) | {"best": "", "seconds": ""}]  # the dataset
    for method, run in comparison.runs.items():
        folder = RunFolder(run.folder)
        result = folder.result()
        further = {"best": round(folder.best()["mean"], 2), "seconds": round(result["seconds"], 1)}
        rows += [known | _figures(row) | further for row in evaluated_rows(method, result)]
    return rows


def _figures(row: dict) -> dict:
    return {"name": row["name"], "episodes": row["episodes"]} | {
        column: round(row[column], 2) for column in ("mean", "low", "high")
    }


def readme_table(proofs: dict[str, list[dict]]) -> str:
    """One column for each preset {name: rows}: the mean over its seeds, and in brackets the lowest and the highest."""
    names = ("dataset", CLONING, CRR, POLICY, VALUE, SEARCH)
    lines = [f"| | {' | '.join(f'`{name}`' for name in proofs)} |", "|---" * (len(proofs) + 1) + "|"]
    for name in names:
        cells = []
        for rows in proofs.values():
            means = [float(row["mean"]) for row in rows if row["name"] == name]
            spread = "" if name == "dataset" else f" ({min(means):.0f} .. {max(means):.0f})"
            cells.append(f"{sum(means) / len(means):.0f}{spread}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)
