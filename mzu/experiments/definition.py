"""What an experiment is: tasks and variants, what is measured of each, and the claims that the measurements decide.

A *run* is one training: a task, a variant and a seed make one `Config`. A *cell* is a run and a measure: the returns of
evaluation episodes. Experiments share runs: `run_name` names a run by what it learns, not by who asks for it.
"""

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field

from mzu.config import Config


@dataclass(frozen=True)
class Measure:
    """How a trained run is played: actions by "policy", "value" or "search", network of the "final" or "best" step.

    `simulations`: those of the search, where they are not as many as in training. "steps" plays nothing: it counts the
    steps in the world until an evaluation on the way earned the task's goal, and is infinite where none did.
    """

    select: str
    checkpoint: str = "final"
    simulations: int | None = None

    @property
    def name(self) -> str:
        """As tables and files write it."""
        return self.select if self.simulations is None else f"{self.select} {self.simulations}"


POLICY, VALUE, SEARCH = Measure("policy"), Measure("value"), Measure("search")
STEPS = Measure("steps")


@dataclass(frozen=True)
class Task:
    """A world, its data, and the settings that all variants share.

    field        meaning
    name         short, without spaces
    title        as tables write it
    settings     as `--set` takes them; `data=recipe:NAME` or `data=recipe:NAME:EPISODES` (datasets.py)
    episodes     evaluation episodes of a cell
    random       mean return of random play: normalised 0
    behaviour    mean return of whoever played the data: normalised 1 (figure "Atari performance improvement")
    dimensions   of the action, 0 where actions are discrete
    reference    what `behaviour` is called in figures
    base         what the settings are a difference to
    goal         the return of an evaluation on the way that `STEPS` waits for
    """

    name: str
    title: str
    settings: tuple[str, ...]
    episodes: int
    random: float
    behaviour: float
    dimensions: int = 0
    reference: str = "data"
    base: Config = field(default_factory=Config)
    goal: float | None = None

    def normalised(self, score: float) -> float:
        """0 for random play, 1 for the behaviour that the data show."""
        return (score - self.random) / (self.behaviour - self.random)


@dataclass(frozen=True)
class Variant:
    """One way to train, as a difference to the task's settings, and what is measured of it."""

    name: str
    title: str
    settings: tuple[str, ...]
    measures: tuple[Measure, ...]


@dataclass(frozen=True)
class Side:
    """One side of a claim: these cells of one variant, or of several that are taken together."""

    variants: tuple[str, ...]
    measure: Measure


@dataclass(frozen=True)
class Claim:
    """`sentence` says that `better` is above `worse` in these tasks (none named: in all of the experiment).

    Without a worse side it is above the data: the normalised score is above 1. Where steps are counted, `better` needs
    fewer than `share` of the steps of `worse`.
    """

    sentence: str
    better: Side
    worse: Side | None
    tasks: tuple[str, ...] = ()
    share: float = 1.0

    @property
    def counts_steps(self) -> bool:
        return self.better.measure == STEPS


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper in miniature.

    field      meaning
    name       what `mzu reproduce` calls it
    title      its headline
    mirrors    the table or figure of the paper, and its section; empty where there is none
    tasks      names of tasks.py
    variants   what is compared
    claims     what is said to come of it
    layout     how the table is laid out, a function of report.py by its name
    figure     how it is drawn, a function of figures.py by its name
    note       what a reader has to know to judge the numbers
    """

    name: str
    title: str
    mirrors: str
    tasks: tuple[str, ...]
    variants: tuple[Variant, ...]
    claims: tuple[Claim, ...] = ()
    layout: str = "by_task"
    figure: str = "points"
    note: str = ""

    def variant(self, name: str) -> Variant:
        return next(variant for variant in self.variants if variant.name == name)


def run_config(task: Task, variant: Variant, seed: int) -> Config:
    """The config of one training."""
    return task.base.override(*task.settings, *variant.settings, f"seed={seed}")


def run_name(task: str, config: Config) -> str:
    """A folder's name that is the same exactly where the same is learned: task, seed, digest of the other settings.

    Settings that equal the defaults are left out, so that a new setting of a later version does not change the names.
    What a run leaves on the disk, and how many episodes it is evaluated with in the end, is no part of what is learned;
    how it is evaluated on the way is, since that decides which network is the best.
    """
    other = dataclasses.replace(config.evaluation, episodes=Config().evaluation.episodes)
    config = dataclasses.replace(config, run=Config().run, data_root=None, evaluation=other)
    settings = _differences(dataclasses.asdict(config), dataclasses.asdict(Config()))
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    return f"{task}-{config.seed}-{digest[:10]}"


def _differences(settings: dict, defaults: dict) -> dict:
    """The settings that are not the defaults, section by section."""
    different = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            value = _differences(value, defaults[name])
            if value:
                different[name] = value
        elif value != defaults[name]:
            different[name] = value
    return different
