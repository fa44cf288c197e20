"""What an explanation shows in rows and in formulas, as words: text and notebook take them from here."""

import math
from typing import NamedTuple

from mzu.explain.wording import action_name, counted, number

SHOWN = 4  # candidates of a node on a path, besides the chosen one
ACTION_WIDTH = 18  # characters; longer ones are cut
# Of a candidate of the root, and their headings; a column appears where some candidate has it.
PRIOR_COLUMNS = {
    "drawn": "drawn", "pi": "pi", "beta": "beta", "beta_hat": "beta hat", "pi_over_beta": "pi / beta",
    "proposed": "proposed", "noise": "noise", "shared": "shared",
}  # fmt: skip
SEARCH_COLUMNS = {
    "first_q": "first q", "visits": "visits", "q": "q", "advantage": "advantage", "policy": "policy",
}  # fmt: skip


class Table(NamedTuple):
    """A heading for each column, and rows of as many words."""

    header: list[str]
    rows: list[list[str]]


def candidates_table(explanation) -> Table:
    """The root's candidates: how each got its prior, and what the search made of it."""
    return _candidates(explanation, PRIOR_COLUMNS | {"prior": "prior"} | SEARCH_COLUMNS)


def candidates_in_two(explanation) -> list[Table]:
    """The same in two tables, where one would be too wide; the prior is in both."""
    both = {"prior": "prior"}
    return [_candidates(explanation, columns) for columns in (PRIOR_COLUMNS | both, both | SEARCH_COLUMNS)]


def _candidates(explanation, columns: dict[str, str]) -> Table:
    candidates = explanation.root["candidates"]
    columns = {key: name for key, name in columns.items() if any(key in candidate for candidate in candidates)}
    rows = []
    for candidate in candidates:
        cells = [_cell(candidate.get(key)) for key in columns]
        rows.append([_action(candidate["action"]), *cells, _notes(explanation, candidate)])
    return Table(["action", *columns.values(), ""], rows)


def _notes(explanation, candidate: dict) -> str:
    notes = {
        "injected": candidate.get("injected"),
        "stored": candidate["action"] == explanation.position["action"] and not candidate.get("injected"),
        "clipped": candidate.get("clipped"),
    }
    return ", ".join(name for name, holds in notes.items() if holds)


def result_lines(explanation) -> list[str]:
    """How the improved policy was made, with the operator's numbers."""
    result = explanation.result
    numbers = [f"{key} {number(result[key])}" for key in ("scale", "spread", "temperature", "clip") if key in result]
    lines = [result["formula"], *([", ".join(numbers)] if numbers else [])]
    if "stored_value" in result:
        lines.append(f"{result['stored_formula']}; reward + discount * value(next) = {number(result['stored_value'])}")
    return lines


def path_table(simulation: dict) -> Table:
    """The nodes of a simulation's path with the best scores of each; the chosen one has a mark."""
    rows = []
    for step in simulation["path"]:
        ranked = sorted(step["candidates"], key=lambda candidate: _rank(candidate["score"]))
        shown = [candidate for place, candidate in enumerate(ranked) if place < SHOWN or _is_chosen(step, candidate)]
        for place, candidate in enumerate(shown):
            here = [str(step["node"]), str(step["visits"])] if place == 0 else ["", ""]
            numbers = [candidate[key] for key in ("prior", "visits", "value_term", "prior_term", "score")]
            mark = "chosen" if _is_chosen(step, candidate) else ""
            rows.append([*here, _action(candidate["action"]), *map(_cell, numbers), mark])
        if len(ranked) > len(shown):
            rows[-1][-1] = f"{rows[-1][-1]}  +{len(ranked) - len(shown)} more".strip()
    header = ["node", "visits", "action", "prior", "taken", "value term", "prior term", "score", ""]
    return Table(header, rows)


def _rank(score: float | None) -> float:
    return math.inf if score is None else -score


def _is_chosen(step: dict, candidate: dict) -> bool:
    return candidate["candidate"] == step["chosen"]


def backup_table(simulation: dict) -> Table:
    """What went up from the leaf, node by node."""
    keys = ("reward", "return", "visits", "value_before", "value")
    rows = [[str(step["node"]), *(_cell(step[key]) for key in keys)] for step in simulation["backup"]]
    return Table(["node", "reward", "return G", "visits", "value before", "value"], rows)


def leaf_words(simulation: dict) -> str:
    """The new leaf in a sentence."""
    leaf = simulation["leaf"]
    return (
        f"leaf: node {leaf['node']} by action {_action(leaf['action'])}, reward {number(leaf['reward'])}, "
        f"value {number(leaf['value'])}, {len(leaf['policy'])} candidates"
    )


def bounds_words(explanation, simulation: dict) -> str:
    """The range that values are normalised by."""
    search, bounds = explanation.about["config"]["search"], simulation["bounds"]
    if search.get("normaliser") == "siblings" or search.get("selection") == "gumbel":
        return "values are normalised among the candidates of each node"
    if bounds is None or bounds[0] == bounds[1]:
        return "there is no range of values yet: value terms are not normalised"
    return f"values are normalised by {number(bounds[0])} .. {number(bounds[1])}"


def policy_table(explanation) -> Table:
    """The policy target at t + k: actions and weights, those with weight 0 left out."""
    rows = []
    for step in explanation.policy_target["steps"]:
        pairs = sorted(zip(step["weights"], step["actions"], strict=True), key=lambda pair: -pair[0])
        words = [f"{_action(action)}: {number(weight, 4)}" for weight, action in pairs if weight > 0]
        more = f", +{len(words) - SHOWN}" if len(words) > SHOWN else ""
        weights = ", ".join(words[:SHOWN]) + more if step["mask"] else "-"
        rows.append([str(step["k"]), weights, step["why"] if step["mask"] else f"masked; {step['why']}"])
    return Table(["k", "action: weight", "why"], rows)


def value_sum(entry: dict, td_steps: int) -> str:
    """z as a sum: "z = 1 + 0.97 * 1 + 0.9409 * 12.3 = 13.5"."""
    if not entry["mask"]:
        return "z = -"
    if not td_steps:
        return f"z = {number(entry['target'])}"
    words = [_product(term["factor"], term["reward"]) for term in entry["terms"]]
    bootstrap = entry["bootstrap"]
    if not bootstrap["masked"]:
        words.append(_product(bootstrap["factor"], bootstrap["value"]))
    equal = [" + ".join(words), number(entry["target"])]
    return " = ".join(["z", *(equal if len(words) > 1 else equal[1:])])


def value_words(entry: dict) -> str:
    """Why z ends as it does."""
    words = entry["why"] if entry["mask"] else entry["why"].removesuffix(": masked") + ", masked"
    if entry["mask"] and entry["bootstrap"] and not entry["bootstrap"]["masked"]:
        words += f", v = {number(entry['bootstrap']['value'])}"
    return words


def _product(factor: float, value: float) -> str:
    return _bracketed(value) if factor == 1 else f"{number(factor)} * {_bracketed(value)}"


def loss_table(explanation) -> Table:
    """What each head adds to the loss at t + k, predictions beside targets."""
    steps = explanation.loss["steps"]
    heads = ["policy", "value", "reward", "action_value"]
    heads = [head for head in heads if any(head in step["adds"] for step in steps)]
    header = ["k", "counts"]
    header += [f"{head.replace('_', ' ')} adds" for head in heads] + ["value", "target", "reward", "target"]
    rows = []
    for step in steps:
        predicted = [step.get(head, {}).get(key) for head in ("value", "reward") for key in ("predicted", "target")]
        adds = [step["adds"].get(head) for head in heads]
        rows.append([str(step["k"]), *map(_cell, [step["factor"], *adds, *predicted])])
    return Table(header, rows)


def loss_words(explanation) -> str:
    """The sum of all that is added, times the importance weight."""
    loss = explanation.loss
    return f"loss = weight * sum = {number(loss['weight'])} * {number(loss['unweighted'])} = {number(loss['total'])}"


def priority_lines(explanation) -> list[str]:
    """The formulas of p, P and the weight with their numbers."""
    part = explanation.priority
    share, powers, total = number(part["uniform_share"]), number(part["to_the_alpha"]), number(part["total"])
    probability, positions = number(part["probability"]), part["positions"]
    nu, other = number(part["search_value"]), _bracketed(part["compared_with"])
    name = "z" if explanation.value_target["td_steps"] else "v"
    return [
        f"p = |nu - {name}| = |{nu} - {other}| = {number(part['now'])} now",
        f"p^alpha = {powers} in the replay, alpha = {number(part['alpha'])}",
        "P = (1 - s) p^alpha / sum + s / N = "
        f"(1 - {share}) * {powers} / {total} + {share} / {positions} = {probability}",
        f"weight = (1 / (N P))^beta = (1 / ({positions} * {probability}))^{number(part['beta'])} = "
        f"{number(part['weight'])}",
    ]


def _bracketed(value: float) -> str:
    return f"({number(value)})" if value < 0 else number(value)


def change_table(explanation) -> Table:
    """Old targets beside new ones."""
    change = explanation.change
    shares: dict[str, list[float]] = {}
    for place, name in enumerate(("old", "new")):
        for action, share in zip(change[f"{name}_actions"], change[f"{name}_policy"], strict=True):
            shares.setdefault(_action(action), [0.0, 0.0])[place] += share
    rows = [[f"policy of {action}", *map(_cell, both)] for action, both in shares.items() if any(both)]
    for key, name in (("search_value", "search value"), ("value_target", "z")):
        rows.append([name, _cell(change[f"old_{key}"]), _cell(change[f"new_{key}"])])
    return Table(["", change["old"], change["new"]], rows)


def observation_words(observation: dict) -> str:
    """The observation's numbers, or what kind of picture it is."""
    shape = " x ".join(map(str, observation["shape"]))
    if "base64" in observation:
        return f"a picture, {shape}"
    values = observation["values"]
    return ", ".join(number(value, 4) for value in values) if len(observation["shape"]) == 1 else f"numbers, {shape}"


def position_words(explanation) -> list[str]:
    """Where the position is, and what was stored there."""
    position = explanation.position
    first, behind = position["segment"]
    end = next((f"; {end}" for end in ("terminated", "truncated") if position[end]), "")
    return [
        f"episode {position['episode']} ({counted(position['episode_steps'], 'step')}, "
        f"return {number(position['episode_return'])}, {position['episode_ends']}), step {position['step']}, "
        f"in the segment {first}..{behind - 1}",
        f"observation: {observation_words(position['observation'])}",
        f"action {_action(position['action'])}, reward {number(position['reward'])}{end}, "
        f"{counted(position['steps_to_the_end'], 'step')} to the end; the replay has {position['in_replay'] or 'no'} "
        f"{'copy' if position['in_replay'] == 1 else 'copies'}",
    ]


def explanation_words(explanation) -> str:
    """What was explained, in a line."""
    about = explanation.about
    parts = [about["environment"], about["data"], f"learner step {about['steps']}"]
    parts.append(f"target network of step {about['target_steps']}")
    return f"{about['system']}: {', '.join(filter(None, parts))}"


def _action(action) -> str:
    name = action_name(action)
    return name if len(name) <= ACTION_WIDTH else name[: ACTION_WIDTH - 1] + "…"


def _cell(value) -> str:
    if isinstance(value, list):
        return " ".join(number(part, 4) for part in value[:2]) + (" …" if len(value) > 2 else "")
    return str(value) if isinstance(value, int) else number(value, 4)
