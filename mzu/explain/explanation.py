"""`Explanation`: every number of one position's targets, as plain lists and dictionaries."""

import dataclasses
import json
from pathlib import Path

import numpy as np

from mzu.explain import search_terms, target_terms
from mzu.explain.checks import run_checks
from mzu.explain.found_position import look_at, search_rng
from mzu.explain.system import System
from mzu.files import written_whole
from mzu.games.search_games import injection_of

FORMAT = "mzu explanation 2"
SECTIONS = (
    "about", "position", "root", "simulations", "tree", "result",
    "policy_target", "value_target", "priority", "loss", "change", "checks",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Every number of one position's targets; None where there is nothing to tell (no search, no replay).

    attribute      what it holds
    about          system, checkpoint, settings, random seed: enough to compute it again (`recompute`)
    position       the stored step, and where it sits in its episode and segment
    root           the model's policy and value, candidates with the parts of their priors, noise or injection, first
                   evaluations where there are any
    simulations    the path of each, all scores split into value and prior term, the leaf, the backup
    tree           the finished tree, by node
    result         visits, the improved policy and how it was made, the search value
    policy_target  where the policy is trained towards, at t + k
    value_target   the n-step sum of z at t + k, term by term, or the search value
    priority       p, P and the importance weight in the replay
    loss           of each head at t + k, predictions beside targets, and their weighted sum
    change         the targets that the replay holds, or those of another checkpoint, beside these
    checks         what is implausible, each in a sentence
    flags          the checks that found something

    `print` shows it as text, a notebook as tables and pictures.

    >>> explanation.position["step"], explanation.flags
    (4, [])
    """

    about: dict
    position: dict
    root: dict | None
    simulations: list[dict] | None
    tree: dict | None
    result: dict | None
    policy_target: dict
    value_target: dict
    priority: dict | None
    loss: dict
    change: dict | None
    checks: list[dict]

    def to_json(self) -> str:
        """All numbers, exactly; `from_json` takes them back."""
        return json.dumps({"format": FORMAT} | {name: getattr(self, name) for name in SECTIONS}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Explanation":
        """An explanation that `to_json` wrote."""
        try:
            record = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"This is not the JSON of an explanation ({error})") from None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            kind = record.get("format", "something else") if isinstance(record, dict) else "something else"
            raise ValueError(f"The record is '{kind}', but this version of mzu reads '{FORMAT}'; explain the run again")
        missing = [name for name in SECTIONS if name not in record]
        if missing:
            raise ValueError(f"The record is incomplete: it lacks {', '.join(missing)}; explain the run again")
        return cls(**{name: record[name] for name in SECTIONS})

    def save(self, path: str | Path) -> None:
        """Writes the JSON."""
        with written_whole(Path(path)) as temporary:
            temporary.write_text(self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Explanation":
        """Reads what `save` wrote."""
        return cls.from_json(Path(path).read_text())

    def recompute(self) -> "Explanation":
        """Opens the run that this explanation is about and explains the same position again."""
        from mzu.explain.system import open_system

        if not self.about["folder"]:
            raise ValueError(f"This explanation is about {self.about['system']}, not about a run's folder")
        system = open_system(self.about["system"], str(self.about["steps"]))
        other = self.about["compared_with"]
        other = None if other is None else open_system(self.about["system"], str(other))
        return explain_position(system, self.position["episode"], self.position["step"], other)

    @property
    def flags(self) -> list[dict]:
        """The checks that found something."""
        return [check for check in self.checks if check["flag"]]

    def __str__(self) -> str:
        from mzu.explain.text import explanation_text

        return explanation_text(self)

    def __repr__(self) -> str:
        # In a line: a notebook stores it beside the summary.
        position = self.position
        return f"Explanation of {self.about['system']}, episode {position['episode']}, step {position['step']}"

    def _repr_html_(self) -> str:
        from mzu.explain.notebook import explanation_html

        return explanation_html(self)

    def tree_picture(self, simulations: int | None = None):
        """The tree after its first `simulations` simulations (None: all), as a picture for a notebook."""
        from mzu.explain.drawing import tree_svg
        from mzu.explain.notebook import Picture

        return Picture(tree_svg(self, simulations))

    def root_picture(self):
        """Prior, Q and improved policy of the root's candidates, as a picture for a notebook."""
        from mzu.explain.notebook import Picture
        from mzu.explain.root_drawing import root_svg

        return Picture(root_svg(self))

    def walk(self):
        """A slider through the simulations, for a notebook."""
        from mzu.explain.notebook import walk

        return walk(self)

    def page(self):
        """All of it as the page that `mzu explain --html` writes, for a notebook."""
        from mzu.explain.notebook import embedded_page

        return embedded_page(self)


def explain_position(system: System, episode: int, step: int, other: System | None = None) -> Explanation:
    """Explains one position; `other` is the same run at another checkpoint, to compare with."""
    found = look_at(system, episode, step)
    config = system.config
    search = {"root": None, "simulations": None, "tree": None, "result": None}
    if found.results:
        result, game = found.results[0], found.game
        rng = search_rng(system, episode, step)
        injection = injection_of(system.model, [game], config)
        search = {
            "root": search_terms.root_section(system.model, game.observation, injection, result, config.search, rng),
            "simulations": search_terms.simulations_section(result.tree, result.history, config.search.discount),
            "tree": search_terms.tree_section(result.tree),
            "result": search_terms.result_section(result, config.search, system.scale, injection),
        }
    found_by_other = None if other is None else look_at(other, episode, step)
    explanation = Explanation(
        about={
            "system": system.name,
            "folder": system.folder,
            "environment": config.environment,
            "data": config.data,
            "steps": system.steps,
            "target_steps": system.target_steps,
            "compared_with": None if other is None else other.steps,
            "episodes": len(system.episodes),
            "config": json.loads(config.to_json()),
        },
        position=target_terms.position_section(system, found),
        **search,
        policy_target=target_terms.policy_target_section(system, found),
        value_target=target_terms.value_target_section(system, found),
        priority=target_terms.priority_section(system, found),
        loss=target_terms.loss_section(system, found),
        change=target_terms.change_section(found, found_by_other, other),
        checks=[],
    )
    return dataclasses.replace(explanation, checks=run_checks(system, found, explanation))


def differing_numbers(one: Explanation, other: Explanation, tolerance: float = 0.0) -> list[str]:
    """Where two explanations differ: places such as "value_target.steps[0].total: 1.5 and 1.25"."""
    found: list[str] = []
    for name in SECTIONS:
        _compare(getattr(one, name), getattr(other, name), name, tolerance, found)
    return found


def _compare(one, other, place: str, tolerance: float, found: list[str]) -> None:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            _compare(one.get(key), other.get(key), f"{place}.{key}", tolerance, found)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            _compare(left, right, f"{place}[{number}]", tolerance, found)
    elif isinstance(one, float) and isinstance(other, float):
        if not np.isclose(one, other, rtol=tolerance, atol=tolerance):
            found.append(f"{place}: {one:.6g} and {other:.6g}")
    elif one != other:
        found.append(f"{place}: {one} and {other}")
