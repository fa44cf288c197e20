"""A verdict on a whole run: `mzu explain RUN`, `mzu.explain.verdict(run)`; tutorials/verdict.md.

The circle of data has seven parts. Checks of single targets (`checks.py`), the model report (`model_findings.py`) and
the dataset doctor each look at some of them; the first part in which something is broken is named, since what comes
after it can only suffer from it. What the model report finds counts as broken only where the run plays badly, too: many
a model that is not perfect is good enough.
"""

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple

from mzu.explain.explanation import Explanation, explain_position
from mzu.explain.model_report import report_model
from mzu.explain.play import Play, compared_networks, dataset_mean, how_it_plays
from mzu.explain.positions import choose_positions
from mzu.explain.system import System, open_system
from mzu.files import written_whole

PARTS = ("data", "values", "model", "search", "targets", "replay", "policy")
BROKEN, DOUBTFUL, FINE, UNSEEN = "broken", "doubtful", "fine", "not looked at"
SHOWN = 3  # positions


class Looked(NamedTuple):
    """Which part a check is about, and in which share of the positions it must find something to count."""

    part: str
    share: float = 0.0


# Within a part, what is the cause of others comes first.
CHECKED = {
    "action space": Looked("data", 0.25),
    "reward alignment": Looked("data", 0.25),
    "value range": Looked("values", 0.25),
    "stale target": Looked("search", 0.1),
    "repeatable": Looked("search"),
    "root prior": Looked("search"),
    "backups": Looked("search"),
    "injected action": Looked("search"),
    "tried candidates": Looked("search", 0.5),
    "collapsed range": Looked("search", 0.5),
    "uniform policy": Looked("search", 0.75),
    "twins": Looked("search"),
    "bootstrap across an end": Looked("targets"),
    "rows apart": Looked("targets"),
    "value target": Looked("targets"),
    "stored step": Looked("replay"),
    "candidate actions": Looked("replay"),
    "priority of now": Looked("replay"),
    "priorities return": Looked("replay"),
    "replay keeps": Looked("replay"),
    "weights count": Looked("policy"),
}
REPORTED = {
    "the stored rewards are one step late": "data",
    "the stored rewards are one step early": "data",
    "values lie at the end of the value head's support": "values",
    "the differences between actions are far below one bin of the value head": "values",
    "the values cannot tell actions apart": "values",
    "rewards are larger than the reward head can express": "model",
    "rewards are predicted one step late": "model",
    "rewards are predicted one step early": "model",
    "the dynamics ignores its action": "model",
    "searches go deeper than the model is good for": "model",
}


@dataclasses.dataclass(frozen=True)
class RunVerdict:
    """What is wrong with a run, part by part of the circle; `print` shows it as text, a notebook as a page.

    attribute     what it holds
    about         system, checkpoint, how many positions were looked at
    play          how the run plays: best and last evaluation, the data's returns, and whether that is bad; or None
    parts         for each of PARTS: its state, and findings with the positions that show them
    broken        the first broken part, or None
    positions     up to three positions that show it best, each with the command that explains it
    explanations  of these positions

    >>> verdict = mzu.explain.verdict(mzu.explain.bugs.planted("discount_missing"))
    >>> verdict.broken, verdict.first["name"]
    ('targets', 'value target')
    """

    about: dict
    play: dict | None
    parts: list[dict]
    broken: str | None
    positions: list[dict]
    explanations: list[Explanation] = dataclasses.field(repr=False)

    @property
    def first(self) -> dict | None:
        """The first finding of the first broken part."""
        return (
            None
            if self.broken is None
            else next(part for part in self.parts if part["part"] == self.broken)["findings"][0]
        )

    @property
    def is_wrong(self) -> bool:
        """Whether a part is broken, or the run plays badly for no reason that was found."""
        return self.broken is not None or bool(self.play and self.play["is_bad"])

    def to_json(self) -> str:
        """All but the explanations."""
        names = ("about", "play", "parts", "broken", "positions")
        return json.dumps({name: getattr(self, name) for name in names}, indent=2)

    def save(self, path: str | Path) -> None:
        """Writes the JSON."""
        with written_whole(Path(path)) as temporary:
            temporary.write_text(self.to_json() + "\n")

    def __str__(self) -> str:
        from mzu.explain.verdict_text import verdict_text

        return verdict_text(self)

    def __repr__(self) -> str:
        return f"Verdict on {self.about['system']}: {self.broken or 'nothing broken'}"

    def _repr_html_(self) -> str:
        from mzu.explain.verdict_text import verdict_html

        return verdict_html(self)

    def page(self) -> str:
        """One page that needs no network, with the explanations of the positions inside."""
        from mzu.explain.verdict_text import verdict_page

        return verdict_page(self)


def judge_run(run, checkpoint: str = "latest") -> RunVerdict:
    """The verdict on a run's folder, a `Config`, a `Trainer` or a `System`."""
    system = open_system(run, checkpoint)
    folder = Path(system.name) if system.folder else None
    best = _best_model(folder)
    play = None if folder is None else how_it_plays(folder, dataset_mean(system))
    places = choose_positions(system, best)
    explained = [explain_position(system, place.episode, place.step) for place in places]
    parts = {part: [] for part in PARTS}
    seen = set()
    _note_checks(parts, seen, explained)
    _note_data(parts, seen, folder, system)
    report = _note_report(parts, seen, system, play)
    if play is not None and play.is_bad:
        parts_of_play(parts, play, None if best is None else compared_networks(system, best))
    listed = [_listed(part, parts[part], part in seen) for part in PARTS]
    broken = next((part for part in listed if part["state"] == BROKEN), None)
    shown = _shown(explained, broken)
    return RunVerdict(
        about={
            "system": system.name,
            "steps": system.steps,
            "positions": len(places),
            "reasons": sorted({place.reason for place in places}),
            "environment": system.config.environment,
            "data": system.config.data,
            "reported": report,
        },
        play=None if play is None else play._asdict(),
        parts=listed,
        broken=None if broken is None else broken["part"],
        positions=[_position(system, explanation, says) for explanation, says in shown],
        explanations=[explanation for explanation, _ in shown],
    )


def parts_of_play(parts: dict[str, list], play: Play, compared: list[dict] | None) -> None:
    """Where a run plays badly: doubts of values, model and search count, and after a collapse what changed."""
    for part, findings in parts.items():
        if part != "data":
            for finding in findings:
                finding["is_broken"] = True
    if play.collapsed and compared:
        worst = compared[0]
        parts[worst["part"]].append(
            _finding(f"{worst['name']}: best against last", worst["says"], worst["advice"], True)
        )


def _note_checks(parts: dict, seen: set, explained: list[Explanation]) -> None:
    for name, (part, share) in CHECKED.items():
        rows = [(e, check) for e in explained for check in e.checks if check["name"] == name]
        if not rows:
            continue
        seen.add(part)
        flagged = [(explanation, check) for explanation, check in rows if check["flag"]]
        if not flagged:
            continue
        places = [[e.position["episode"], e.position["step"]] for e, _ in flagged]
        is_broken = len(flagged) > share * len(rows)
        finding = _finding(name, flagged[0][1]["says"], ADVICE.get(name, ""), is_broken)
        parts[part].append(finding | {"positions": places, "of": len(rows)})


def _note_data(parts: dict, seen: set, folder: Path | None, system: System) -> None:
    """What the dataset doctor found before the run, or finds now."""
    if folder is None or system.config.data is None:
        return
    from mzu.training.data_check import checked_data, comes_along, is_checked

    if not is_checked(folder) and not comes_along(system.config):
        return
    seen.add("data")
    for found in checked_data(folder):
        says = f"{found['what']} ({found['where']}); {found['why']}"
        parts["data"].append(_finding("dataset doctor", says, found["advice"], found["severity"] == "wrong"))


def _note_report(parts: dict, seen: set, system: System, play: Play | None) -> bool:
    """The model report, where there is a trained model and something to compare it with -> whether there was."""
    learning = system.config.learning
    if system.network is None or learning.unroll_steps == 0 or learning.policy_loss != "reanalyse":
        return False
    if not len(system.episodes):
        return False
    seen |= {"values", "model"}
    for found in report_model(system, episodes=0).findings:
        part = REPORTED.get(found["name"], "model")
        parts[part].append(_finding(found["name"], found["says"], found["advice"], part == "data"))
    return True


def _finding(name: str, says: str, advice: str, is_broken: bool) -> dict:
    return {"name": name, "says": says, "advice": advice, "is_broken": is_broken, "positions": [], "of": 0}


def _listed(part: str, findings: list[dict], is_seen: bool) -> dict:
    findings = sorted(findings, key=lambda finding: not finding["is_broken"])  # stable: causes stay first
    state = FINE if is_seen else UNSEEN
    if findings:
        state = BROKEN if findings[0]["is_broken"] else DOUBTFUL
    return {"part": part, "state": state, "findings": findings}


def _shown(explained: list[Explanation], broken: dict | None) -> list[tuple[Explanation, str]]:
    """The positions that show the first finding best: the fewest other flags, different episodes first."""
    if broken is None:
        return []
    finding = next((one for one in broken["findings"] if one["positions"]), None)
    if finding is None:  # seen in no single position: some that were looked at show what follows from it
        return [(explanation, "one of the positions that were looked at") for explanation in explained[:SHOWN]]
    by_place = {(e.position["episode"], e.position["step"]): e for e in explained}
    flagged = [by_place[tuple(place)] for place in finding["positions"]]
    flagged.sort(key=lambda explanation: len(explanation.flags))
    episodes: set[int] = set()
    first, others = [], []
    for explanation in flagged:
        (others if explanation.position["episode"] in episodes else first).append(explanation)
        episodes.add(explanation.position["episode"])
    chosen = (first + others)[:SHOWN]
    says = {id(e): next(check["says"] for check in e.flags if check["name"] == finding["name"]) for e in chosen}
    return [(explanation, says[id(explanation)]) for explanation in chosen]


def _position(system: System, explanation: Explanation, says: str) -> dict:
    episode, step = explanation.position["episode"], explanation.position["step"]
    command = f"mzu.explain(system, episode={episode}, step={step})"
    if system.folder:
        command = f"mzu explain {system.name} --episode {episode} --step {step} --checkpoint {system.steps}"
    return {"episode": episode, "step": step, "says": says, "command": command}


def _best_model(folder: Path | None):
    """The model of the best network, where one was kept."""
    if folder is None:
        return None
    from mzu.networks.compiled.compile_model import model_for_search
    from mzu.training.run_folder import RunFolder

    run = RunFolder(folder)
    return model_for_search(run.load_network("best")) if run.best() else None


ADVICE = {
    "action space": "compare the meanings of the action numbers in the data and in the environment",
    "reward alignment": "see `mzu data check`; load the data with another reward_shift",
    "value range": "let values settle: a smaller learning rate, or look at discount and ends of episodes",
    "stale target": "search stored positions again with the network of now (reanalyse)",
    "repeatable": "let the search draw from the generator that it is given",
    "root prior": "let the scores read the priors to which noise or injection was added",
    "backups": "walk from the leaf back to the root, with reward and discount of every edge",
    "twins": "compare the search with search/reference.py, node by node",
    "injected action": "let the stored action be a candidate of the root (reanalyse.inject_actions)",
    "tried candidates": "let all candidates be evaluated first (search.first_evaluations=true)",
    "collapsed range": "the model gives all actions the same value: train longer, or look at the rewards",
    "uniform policy": "the search prefers nothing: train longer, or look at values and rewards",
    "bootstrap across an end": "multiply the bootstrap by 0 behind a terminal end",
    "rows apart": "clear what one row of a batch leaves for the next",
    "value target": "compare the targets with their definition, term by term",
    "stored step": "let the replay keep what happened: observation, action and reward of the stored step",
    "candidate actions": "record actions and weights of a search in the same order",
    "priority of now": "compare search values with the value targets of now when new priorities are made",
    "priorities return": "write priorities back in the order of their positions",
    "replay keeps": "let sampling read, and not take out",
    "weights count": "multiply the loss of each position by its importance weight",
}
