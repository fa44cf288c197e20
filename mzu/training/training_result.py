"""What training comes to: `TrainingResult` of a run, `Comparison` of behaviour cloning, CRR and Unplugged."""

import functools
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mzu.config import Config
from mzu.files import written_whole
from mzu.training.curves import Curve, draw_curves
from mzu.training.data_check import checked_data, data_finding_words
from mzu.training.plan import Plan, runs_in
from mzu.training.reference import find_reference, standing_of_log
from mzu.training.results import (
    cut_off_words,
    evaluated_rows,
    fallen_words,
    result_row,
    results_csv,
    results_html,
    results_table,
    shown_time,
    spoken,
)
from mzu.training.run_folder import RunFolder


@dataclass(frozen=True)
class TrainingResult:
    """A trained run. Everything is read from its folder when it is asked for.

    attribute   what it is
    folder      the run's folder
    config      its settings
    network     the final network
    curves      the columns of log.csv, {name: [lines]}, NaN where a cell is empty (tutorials/metrics.md)
    evaluation  {"policy": Evaluation, "value": ..., "search": ...} of the final network: returns [E], lengths [E]
    rows        the rows of the table: dataset, and the final evaluation by each way of selecting actions
    notes       what is to be said about them
    doubts      what the dataset doctor found in the data, which stands above the table

    >>> [row["name"] for row in result.rows]
    ['dataset', 'Unplugged, by policy', 'Unplugged, by value', 'Unplugged, by search']
    >>> result.curves["step"].tolist()
    [3.0]
    """

    folder: Path
    name: str = ""
    rows: list[dict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def config(self) -> Config:
        return RunFolder(self.folder).config

    @functools.cached_property
    def network(self):
        return RunFolder(self.folder).load_network()

    @functools.cached_property
    def curves(self) -> dict[str, np.ndarray]:
        rows = RunFolder(self.folder).read_log()
        return {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}

    @property
    def evaluation(self) -> dict:
        from mzu.acting.evaluation import Evaluation

        result = RunFolder(self.folder).result()
        ways = result.get("selections") or ({result["select"]: result} if "mean" in result else {})
        return {
            way: Evaluation(np.array(row["returns"]), np.array(row["lengths"]), row.get("cut_off", 0))
            for way, row in ways.items()
        }

    @property
    def doubts(self) -> list[str]:
        """What the dataset doctor found in the data, sentence by sentence."""
        return [data_finding_words(finding) for finding in checked_data(self.folder)]

    def plot(self):
        """Learning curves as a matplotlib figure."""
        return _draw([self], self.rows)

    def __str__(self) -> str:
        return "\n".join([*self.doubts, results_table(self.rows, _world(self.config)), *self.notes])

    def __repr__(self) -> str:
        return f"TrainingResult of {self.folder}\n{self}"

    def _repr_html_(self) -> str:
        return results_html(self.rows, _world(self.config), self.notes, self.doubts)


@dataclass(frozen=True)
class Comparison:
    """Behaviour cloning, CRR and Unplugged on the same data and network.

    attribute   what it is
    folder      the folder that holds those of the runs, result.csv and curve.png
    runs        {"behaviour_cloning": TrainingResult, "crr": ..., "unplugged": ...}, those that are finished
    failed      {name: sentence} of those that failed
    rows        the rows of the table: dataset, and the final evaluations
    notes       what is to be said about them
    doubts      what the dataset doctor found in the data, which stands above the table
    unplugged   the run that the comparison is about; `network`, `curves` and `evaluation` are its

    >>> comparison.runs["crr"].config.learning.policy_loss, comparison.failed
    ('crr', {})
    """

    folder: Path
    runs: dict[str, TrainingResult]
    rows: list[dict]
    notes: list[str]
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def unplugged(self) -> TrainingResult:
        """The run that the comparison is about."""
        if "unplugged" not in self.runs:
            raise ValueError(f"There is no finished run unplugged in {self.folder}: {self.failed.get('unplugged', '')}")
        return self.runs["unplugged"]

    @property
    def network(self):
        """Of the Unplugged run, like `curves` and `evaluation`."""
        return self.unplugged.network

    @property
    def curves(self) -> dict[str, np.ndarray]:
        return self.unplugged.curves

    @property
    def evaluation(self) -> dict:
        return self.unplugged.evaluation

    @property
    def doubts(self) -> list[str]:
        """What the dataset doctor found in the data, sentence by sentence."""
        return [data_finding_words(finding) for finding in checked_data(self.folder)]

    def plot(self):
        """The learning curves of all runs as a matplotlib figure."""
        return _draw(list(self.runs.values()), self.rows)

    def __str__(self) -> str:
        return "\n".join([*self.doubts, results_table(self.rows, self._title), *self.notes])

    def __repr__(self) -> str:
        return f"Comparison in {self.folder}\n{self}"

    def _repr_html_(self) -> str:
        return results_html(self.rows, self._title, self.notes, self.doubts)

    @property
    def _title(self) -> str:
        return _world(next(iter(self.runs.values())).config)


def collect_results(plan: Plan, episodes: list, failed: dict[str, str], seconds: float) -> TrainingResult | Comparison:
    """What the runs of the plan came to. result.csv and curve.png get all finished runs that are in its folder.

    `episodes` is the dataset; what failed was `failed` for these reasons, and all of it took `seconds`.
    """
    folders = {name: folder for name, folder in runs_in(plan.out).items() if folder.result()}
    dataset = []
    if episodes:
        dataset = [result_row("dataset", [one.total_reward for one in episodes], list(map(len, episodes)))]
    runs = {}
    for name, folder in folders.items():
        rows = dataset + evaluated_rows(name, folder.result())
        runs[name] = TrainingResult(folder.path, name, rows, _notes({name: folder}, {}, seconds))
    rows = dataset + [row for run in runs.values() for row in run.rows[len(dataset) :]]
    with written_whole(plan.out / "result.csv") as temporary:
        temporary.write_text(results_csv(rows))
    with written_whole(plan.out / "curve.png") as temporary:
        _draw(list(runs.values()), rows).savefig(temporary, format="png")
    if len(plan.runs) == 1:
        return runs[plan.runs[0].name]
    return Comparison(plan.out, runs, rows, _notes(folders, failed, seconds), failed)


def _notes(folders: dict[str, RunFolder], failed: dict[str, str], seconds: float) -> list[str]:
    """Sentences below the table: what failed, which final network is worse than one before it, and times."""
    notes = [f"{spoken(name)} failed: {sentence}" for name, sentence in failed.items()]
    results = {name: folder.result() for name, folder in folders.items()}
    if not any("mean" in result for result in results.values()):
        notes.append("Nothing was evaluated, since there is no environment (--env).")
    for name, folder in folders.items():
        place = standing_of_log(folder.config, folder.read_log())
        if place is not None:
            notes.append(f"{spoken(name)[0].upper()}{spoken(name)[1:]}: {place.says}.")
    fallen = (fallen_words(name, folder.path, results[name], folder.best()) for name, folder in folders.items())
    notes += [sentence for sentence in fallen if sentence]
    for name, result in results.items():
        for row in evaluated_rows(name, result):
            if row.get("cut_off"):
                limit = folders[name].config.acting.max_episode_steps
                notes.append(cut_off_words(f"{row['name']}: {row['cut_off']} of {row['episodes']} episodes", limit))
    times = {name: shown_time(result["seconds"]) for name, result in results.items() if "seconds" in result}
    each = ", ".join(f"{spoken(name)} {took}" if len(times) > 1 else took for name, took in times.items())
    if each:
        notes.append(f"Time of training: {each}; all of this command: {shown_time(seconds)}.")
    return notes


def _draw(results: list[TrainingResult], rows: list[dict]):
    curves = []
    for result in results:
        folder = RunFolder(result.folder)
        final = folder.result()
        curves.append(Curve(spoken(result.name), folder.read_log(), final if "mean" in final else None))
    config = results[0].config
    source = f" from {Path(config.data).name}" if config.data and config.environment else ""
    mean = next((row["mean"] for row in rows if row["name"] == "dataset"), None)
    # Of the run that the picture is about: the only one, or Unplugged, which is the last.
    return draw_curves(
        curves, f"{_world(config)}{source}, seed {config.seed}", mean, find_reference(results[-1].config)
    )


def _world(config: Config) -> str:
    return config.environment or config.data
