"""How far can this model be trusted? `mzu explain RUN --model`, `mzu.explain.model(run)`; tutorials/model_report.md."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mzu.environments.environment import Environment
from mzu.explain.model_depth import PICTURES, POSITIONS, by_depth, draw_positions, search_depths
from mzu.explain.model_findings import findings
from mzu.explain.model_ranking import expressible_values, ranking
from mzu.explain.model_returns import record_episodes, returns_by_simulations
from mzu.explain.system import System
from mzu.files import written_whole

FORMAT = "mzu model report 1"
SECTIONS = ("about", "depth", "searches", "head", "ranking", "returns", "findings")
EPISODES = 10  # of every way to act


@dataclasses.dataclass(frozen=True)
class ModelReport:
    """How far a model can be trusted, as plain lists and dictionaries; `print` shows it as text.

    attribute  what it holds
    about      system, checkpoint, what was compared with what
    depth      errors of reward and value after k steps of the model (`model_depth.py`)
    searches   how deep searches with the run's settings go
    head       what the value head can express (`model_ranking.py`)
    ranking    whether the model ranks actions as the world does (`model_ranking.py`), or None
    returns    returns against simulations (`model_returns.py`), empty where none were played
    findings   what is wrong, and what to do (`model_findings.py`)

    >>> trust.searches["simulations"] == config.search.num_simulations
    True
    """

    about: dict
    depth: dict
    searches: dict
    head: dict
    ranking: dict | None
    returns: list[dict]
    findings: list[dict]

    def text(self, width: int = 100) -> str:
        """All sections for a terminal, the findings first."""
        from mzu.explain.model_text import model_report_text

        return model_report_text(self, width)

    def plot(self):
        """The picture, as a matplotlib figure."""
        from mzu.explain.model_drawing import draw_model_report

        return draw_model_report(self)

    def page(self) -> str:
        """One HTML page that needs nothing else."""
        from mzu.explain.model_text import as_page

        return as_page(self)

    def to_json(self) -> str:
        """All numbers; `from_json` takes them back."""
        return json.dumps({"format": FORMAT} | {name: getattr(self, name) for name in SECTIONS}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "ModelReport":
        """A report that `to_json` wrote."""
        try:
            record = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"This is not the JSON of a model report ({error})") from None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            kind = record.get("format", "something else") if isinstance(record, dict) else "something else"
            raise ValueError(f"The record is '{kind}', but --model reads '{FORMAT}'; make the report again")
        missing = [name for name in SECTIONS if name not in record]
        if missing:
            raise ValueError(f"The record is incomplete: it lacks {', '.join(missing)}; make the report again")
        return cls(**{name: record[name] for name in SECTIONS})

    def save(self, path: str | Path) -> None:
        """Writes the JSON."""
        with written_whole(Path(path)) as temporary:
            temporary.write_text(self.to_json() + "\n")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"ModelReport of {self.about['system']}"

    def _repr_html_(self) -> str:
        from mzu.explain.model_text import model_report_html

        return model_report_html(self)


def report_model(
    system: System,
    episodes: int = EPISODES,
    ranked: bool = True,
    make_environment: Callable[[], Environment] | None = None,
) -> ModelReport:
    """The report of a system.

    episodes          played with every number of simulations; 0 leaves the returns out
    ranked            False leaves the ranking of actions out, which may have to step the environment
    make_environment  instead of the one that the config names
    """
    config, model = system.config, system.model
    if config.learning.unroll_steps == 0:
        raise ValueError(
            f"{system.name} has learning.unroll_steps=0, so its model of the world was never trained and cannot be "
            "trusted at all; train with unroll_steps of 1 or more"
        )
    if episodes < 0:
        raise ValueError(f"episodes is {episodes}, but must be 0 (no returns) or more")
    if make_environment is None and config.environment is not None:
        from mzu.training.inputs import environment_maker

        make_environment = environment_maker(config)
    rng = np.random.default_rng([config.seed, 3])
    recorded = config.data is None and make_environment is not None
    stored = record_episodes(model, config, make_environment, rng) if recorded else system.episodes
    positions = draw_positions(stored, PICTURES if system.spaces.is_image else POSITIONS, rng)
    searches = search_depths(model, positions, config, rng)
    depth = by_depth(model, positions, config, searches["deepest"])
    _, _, values = model.initial(positions.observations(0, config.network.frame_stack))
    expressed = expressible_values(
        config.network, np.asarray(values), np.concatenate([episode.rewards for episode in stored])
    )
    ranks = ranking(model, stored, config, make_environment, rng) if ranked else None
    returns = []
    if episodes and make_environment is not None and system.network is not None:
        returns = returns_by_simulations(system.network, config, make_environment, episodes)
    return ModelReport(
        about={
            "system": system.name,
            "steps": system.steps,
            "environment": config.environment,
            "data": config.data,
            "episodes": len(stored),
            "recorded": recorded,
            "discount": config.search.discount,
            "config": json.loads(config.to_json()),
        },
        depth=depth,
        searches=searches,
        head=expressed,
        ranking=ranks,
        returns=returns,
        findings=[finding._asdict() for finding in findings(depth, searches, ranks, expressed, returns)],
    )
