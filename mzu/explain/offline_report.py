"""Is a policy any good, where there are data and nothing to play? `mzu evaluate RUN --offline`,
`mzu.evaluate_offline(run)`; tutorials/offline_judgement.md.

Looked at are the episodes that the run has held out (`reanalyse.held_out`): how likely the policy finds their actions
(`acting/agreement.py`), how far values and model miss what happened there, and what the policy would earn
(`learning/fitted_q.py`). The same numbers on episodes that were learned from stand beside them, and the same estimate
of the stored actions, whose truth is known.
"""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mzu.acting.agreement import agreement, likelihoods
from mzu.acting.evaluation import bootstrap_interval
from mzu.acting.selection import SELECTIONS, make_selection
from mzu.config import Config
from mzu.episodes.episode import Episode
from mzu.explain.model_depth import PICTURES, Positions, by_depth, draw_positions, errors
from mzu.files import written_whole
from mzu.learning.fitted_q import FitSettings, QFit, fit_settings, interval_of_members, stored_steps
from mzu.networks.compiled.compile_model import model_for_search
from mzu.networks.network import Network
from mzu.training.evaluate_run import ALL
from mzu.training.example_runs import ExampleName
from mzu.training.held_out import judged_episodes
from mzu.training.run_folder import RunFolder

POSITIONS = 2048  # of states; of pictures PICTURES
MOST_STEPS, MOST_PICTURES = 50_000, 5_000  # that an estimate is made of; of more, whole episodes are drawn
SECTIONS = ("about", "values", "actions", "errors", "findings")


@dataclasses.dataclass(frozen=True)
class OfflineReport:
    """What can be said of a policy by data alone; `print` shows tables and what to conclude.

    attribute  what it holds
    about      run, checkpoint, discount, which episodes, and whether nothing was ever learned from them
    values     rows of discounted returns: the data's real one, its estimate, and that of each way of selecting actions
    actions    likelihood and rank of stored actions under the policy: "held_out", "learned"
    errors     of values (one step) and model: "held_out", "learned"
    findings   what to conclude, in sentences

    >>> judged.about["episodes"], judged.about["held_out"]
    (1000, False)
    """

    about: dict
    values: list[dict]
    actions: dict[str, dict]
    errors: dict[str, dict]
    findings: list[str]

    @property
    def estimate(self) -> float:
        """The discounted return of the policy; of the last way of selecting actions, where there are several."""
        return self.values[-1]["mean"]

    def to_json(self) -> str:
        """All numbers."""
        return json.dumps({name: getattr(self, name) for name in SECTIONS}, indent=2)

    def save(self, path: str | Path) -> None:
        """Writes the JSON."""
        with written_whole(Path(path)) as temporary:
            temporary.write_text(self.to_json() + "\n")

    def __str__(self) -> str:
        from mzu.explain.offline_text import offline_text

        return offline_text(self)

    def __repr__(self) -> str:
        return f"OfflineReport of {self.about['run']}"

    def _repr_html_(self) -> str:
        from mzu.explain.offline_text import offline_html

        return offline_html(self)


def evaluate_offline(
    run: ExampleName | str | Path,
    select: str | None = None,
    checkpoint: str = "latest",
    *,
    seed: int | None = None,
    settings: FitSettings | None = None,
) -> OfflineReport:
    """Judges a run's policy by episodes of its data, without playing -> `OfflineReport`.

    select      "policy", "value", "search", or "all" of them (default: as the run says)
    checkpoint  "latest", "best" or a learner step
    seed        of the estimate's random numbers (default: the run's)
    settings    of the estimate (`FitSettings`)

    >>> from mzu.learning.fitted_q import FitSettings
    >>> quick = FitSettings(members=2, iterations=3, jit_compile=False)
    >>> judged = mzu.evaluate_offline("runs/mine/unplugged", select="policy", settings=quick)
    >>> [row["name"] for row in judged.values]
    ['the data', 'the data, estimated', 'by policy, estimated']
    """
    folder = RunFolder.open(run)
    config = folder.config
    wanted = select or config.evaluation.select
    if wanted not in (*SELECTIONS, ALL):
        raise ValueError(f"select is {wanted!r}, but must be one of {', '.join((*SELECTIONS, ALL))}")
    if seed is not None and seed < 0:
        raise ValueError(f"seed is {seed}, but must be at least 0")
    learned, held_out = judged_episodes(folder)
    checkpoint = str(checkpoint)
    network, scale = folder.load_network(checkpoint), folder.load_scale(checkpoint)
    rng = np.random.default_rng([config.seed if seed is None else seed, 8])
    judged = some_episodes(held_out or learned, MOST_PICTURES if network.spaces.is_image else MOST_STEPS, rng)
    groups = {"held_out": held_out, "learned": learned} if held_out else {"learned": learned}
    count = PICTURES if network.spaces.is_image else POSITIONS
    positions = {name: draw_positions(episodes, count, rng) for name, episodes in groups.items()}
    fit = QFit(network.spaces, config.search.discount, settings or fit_settings(network.spaces))
    ways = SELECTIONS if wanted == ALL else (wanted,)
    values = estimated_rows(fit, network, config, judged, ways, scale, rng)
    report = OfflineReport(
        about={
            "run": str(run),
            "checkpoint": checkpoint,
            "data": config.data,
            "discount": config.search.discount,
            "episodes": len(judged),
            "of": len(held_out or learned),
            "steps": sum(map(len, judged)),
            "held_out": bool(held_out),
        },
        values=values,
        actions={
            name: likelihoods(network, one.observations(0, config.network.frame_stack), one.actions(0), rng)
            for name, one in positions.items()
        },
        errors={name: value_and_model_errors(network, one, config) for name, one in positions.items()},
        findings=[],
    )
    from mzu.explain.offline_text import conclusions

    return dataclasses.replace(report, findings=conclusions(report))


def some_episodes(episodes: Sequence[Episode], steps: int, rng: np.random.Generator) -> list[Episode]:
    """All episodes, or as many, drawn anew, as have about so many steps together."""
    lengths = np.array([len(episode) for episode in episodes])
    order = rng.permutation(len(lengths)) if lengths.sum() > steps else np.arange(len(lengths))
    count = max(1, np.searchsorted(np.cumsum(lengths[order]), steps, side="right"))
    return [episodes[int(number)] for number in order[:count]]


def estimated_rows(
    fit: QFit,
    network: Network,
    config: Config,
    episodes: Sequence[Episode],
    ways: Sequence[str],
    scale: float | None,
    rng: np.random.Generator,
) -> list[dict]:
    """What the data earned, what fitted Q evaluation says of it, and of the network by each way of selecting actions.

    The second beside the first shows how far the method itself is to be trusted on these data.
    """
    discount, stack = config.search.discount, config.network.frame_stack
    earned = np.array([episode.rewards @ discount ** np.arange(len(episode)) for episode in episodes], float)
    low, high = bootstrap_interval(earned)
    rows = [{"name": "the data", "mean": float(earned.mean()), "low": low, "high": high, "agrees": None}]
    again = interval_of_members(fit.values(stored_steps(episodes, None, stack), rng))
    rows.append({"name": "the data, estimated", **again, "agrees": None})
    for way in ways:
        choose = make_selection(network, config, way, scale)
        stored = stored_steps(episodes, lambda observations, choose=choose: choose(observations, rng), stack)
        found = interval_of_members(fit.values(stored, rng))
        does_so = agreement(stored.policy_actions[stored.here], stored.actions)
        rows.append({"name": f"by {way}, estimated", **found, "agrees": does_so})
    return rows


def value_and_model_errors(network: Network, positions: Positions, config: Config) -> dict:
    """How far V(o) misses u + discount * V(o') of the stored step, and the model the steps that followed.

    "model" has the errors after 1 and after all unrolled steps, and is empty where no model was trained.
    """
    model, stack = model_for_search(network), config.network.frame_stack
    values, following = (np.asarray(model.initial(positions.observations(step, stack))[2]) for step in (0, 1))
    ended = np.array([episode.terminated for episode in positions.episodes]) & (positions.steps_left() == 1)
    target = positions.rewards(0) + config.search.discount * np.where(ended, 0, following)
    rows, unrolled = [], config.learning.unroll_steps
    if unrolled > 0:
        rows = [row for row in by_depth(model, positions, config)["rows"] if row["depth"] in (1, unrolled)]
    return {"values": errors(values, target), "model": rows}
