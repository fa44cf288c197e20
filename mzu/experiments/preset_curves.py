"""The reference curves of a preset, made of the folders that `mzu presets NAME --check` left.

`mzu presets NAME --curves` does it. Written beside the proofs, they are the band in which `curve.png`, the progress
and `mzu explain RUN` place a run (`training/reference.py`).
"""

import csv
import io
import re
from pathlib import Path

from mzu.files import written_whole
from mzu.presets import preset
from mzu.training.plan import runs_in
from mzu.training.reference import COLUMNS, FOLDER, curve_digest, evaluated

LEAST_SEEDS = 5  # of a reference that comes with the package


def write_curves(name: str, runs: str | Path, target: str | Path = FOLDER) -> Path:
    """Reads the finished runs NAME-SEED in the folder `runs`, all seeds, and writes `target`/NAME.csv -> its path."""
    rows = curve_rows(name, runs)
    path = Path(target) / f"{name}.csv"
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with written_whole(path) as temporary:
        temporary.write_text(text.getvalue())
    return path


def curve_seeds(path: Path) -> list[int]:
    """The seeds whose curves are in a file of `write_curves`."""
    with path.open(newline="", encoding="utf-8") as file:
        return sorted({int(row["seed"]) for row in csv.DictReader(file)})


def curve_rows(name: str, runs: str | Path) -> list[dict]:
    """A row for each evaluation on the way of each run; runs that are not finished are refused by name."""
    preset(name)  # a mistyped name is a better message than missing folders
    folders = {
        int(path.name.removeprefix(f"{name}-")): path
        for path in Path(runs).glob(f"{name}-*")
        if re.fullmatch(re.escape(name) + r"-\d+", path.name) and path.is_dir()
    }
    if not folders:
        raise ValueError(
            f"There are no runs {name}-SEED in {runs}; `mzu presets {name} --check --out {runs}` makes them"
        )
    rows = []
    for seed, path in sorted(folders.items()):
        for method, folder in runs_in(path).items():
            if not folder.result():
                raise ValueError(f"{folder.path} is not finished; `mzu train --resume --out {path}` goes on with it")
            known = {"preset": name, "run": method, "settings": curve_digest(folder.config), "seed": seed}
            for row in evaluated(folder.read_log()):
                rows.append(known | {"step": int(row["step"]), "evaluation": round(row["evaluation"], 2)})
    if not rows:
        raise ValueError(f"The runs {name}-SEED in {runs} were not evaluated on the way (evaluation.period)")
    digests = {(row["run"], row["settings"]) for row in rows}
    if len(digests) > len({row["run"] for row in rows}):
        raise ValueError(f"The runs {name}-SEED in {runs} were made with different settings; keep those of one version")
    return rows
