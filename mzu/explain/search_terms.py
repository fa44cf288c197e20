"""The search of one position, number by number: the root's candidates, every simulation, and what each backup changed.

Everything here is plain Python over the tree that the search left behind, so that it can be read beside the paper; the
checks hold it against the compiled kernels.
"""

import math

import numpy as np

from mzu.config import SearchConfig
from mzu.search.history import History
from mzu.search.kernels import ALL_ACTIONS, SAMPLED_CATEGORICAL, SAMPLED_GAUSSIAN
from mzu.search.randomness import Randomness, draw_randomness
from mzu.search.reference_candidates import softmax
from mzu.search.search import SearchResult, candidate_source
from mzu.search.tree import NO_NODE, ROOT, Tree

PRIOR = {
    ALL_ACTIONS: "pi = softmax(logits)",
    SAMPLED_CATEGORICAL: "pi * beta_hat / beta, beta proportional to pi^(1 / temperature), beta_hat = drawn / K",
    SAMPLED_GAUSSIAN: "(pi / beta) * drawn / K, beta = a Gaussian sqrt(temperature) times as wide as pi",
}
NOISE = "prior = (1 - fraction) * proposed + fraction * noise, noise from Dirichlet(alpha)"
INJECTION = "prior = (1 - injected_prior) * proposed / sum(proposed), + injected_prior for the stored action"
SCORE = {
    "puct": (
        "score = value term + prior term; value term = normalise(reward + discount * value), and for a candidate that "
        "was never evaluated 0 (its node's own value where search.unvisited_value=parent); "
        "prior term = prior * sqrt(N) * (log((N + base + 1) / base) + init) / (1 + n)"
    ),
    "gumbel": (
        "score = value term + prior term; at the root value term = sigma(q) and prior term = g + log(prior), of the "
        "candidates that sequential halving considers; below it value term = the improved policy and prior term = "
        "-n / (1 + N)"
    ),
}
FIRST = (
    "first q = reward + discount * value after one step of the model: of every candidate, before the first simulation"
)
IMPROVEMENT = {
    "visits": "policy = visits / simulations",
    "advantage": (
        "policy = prior * exp(clip(advantage / (temperature * scale), -clip, clip)), normalised; "
        "advantage = q - the mean of q, weighted by the prior"
    ),
    "completed_q": "policy = softmax(log(prior) + sigma(q)), unvisited candidates completed by the mixed value",
    "one_step": "policy = prior * exp((q - value) / temperature), normalised; nothing is simulated",
}
STORED = "what really followed the stored action counts for it: advantage = reward + discount * value(next) - value"
VALUE = "value = mean of what was backed up through the root"
BACKUP = "G = reward + discount * G, from the leaf's value up; value = (value * visits + G) / (visits + 1)"


def root_section(model, observation, injection: dict, result: SearchResult, config: SearchConfig, rng) -> dict:
    """The root: what the model says, and how its candidates got their priors.

    `injection` (of `injection_of`) and `rng` as the search was given them.
    """
    _, policy, value = model.initial(observation[None])
    source = candidate_source(isinstance(policy, tuple), config)
    size = (policy[0] if isinstance(policy, tuple) else policy).shape[-1]
    count = config.num_sampled_actions or size
    nodes = result.tree.nodes.shape[1]
    numbers = draw_randomness(rng, 1, nodes, count, source, size, config.dirichlet_alpha)
    candidates = _candidates(policy, source, config, numbers)
    existing = [candidate for candidate in candidates if candidate["proposed"] > 0]
    if injection:
        _inject(existing, injection["injected_actions"][0], config.injected_prior)
    else:
        _add_noise(existing, numbers.log_gamma[0], config.noise_fraction)
    section = {"raw_value": float(np.asarray(value)[0]), "formula": PRIOR[source]}
    if source == SAMPLED_GAUSSIAN:
        section["policy"] = {"mean": policy[0][0].tolist(), "scale": policy[1][0].tolist()}
    else:
        section["policy"] = {"logits": np.float64(policy[0]).tolist(), "pi": softmax(np.float64(policy[0]).tolist())}
    section["temperature"] = config.sampling_temperature
    if injection:
        section |= {"injected_prior": config.injected_prior, "noise_formula": INJECTION}
    else:
        section |= {"noise_fraction": config.noise_fraction, "noise_formula": NOISE}
    if result.tree.first:
        section["first_formula"] = FIRST
    section["injected"] = int(result.injected[0])
    section["candidates"] = _with_results(existing, result, config.discount)
    return section


def _candidates(policy, source: int, config: SearchConfig, numbers: Randomness) -> list[dict]:
    """The candidates as proposed, before noise or injection: in the order of the tree's."""
    if source == SAMPLED_GAUSSIAN:
        return _gaussian_candidates(policy, config.sampling_temperature, numbers.normals[0, ROOT])
    pi = softmax(np.float64(policy[0]).tolist())
    if source == ALL_ACTIONS:
        return [{"action": action, "pi": share, "proposed": share} for action, share in enumerate(pi)]
    uniforms, beta = numbers.uniforms[0, ROOT], softmax((np.float64(policy[0]) / config.sampling_temperature).tolist())
    drawn = np.minimum(np.searchsorted(np.cumsum(beta), uniforms, side="right"), len(beta) - 1).tolist()
    return [
        {
            "action": action,
            "drawn": drawn.count(action),
            "pi": pi[action],
            "beta": beta[action],
            "beta_hat": drawn.count(action) / len(drawn),
            "proposed": pi[action] * (drawn.count(action) / len(drawn)) / beta[action],
        }
        for action in sorted(set(drawn))
    ]


def _gaussian_candidates(policy, temperature: float, normals: np.ndarray) -> list[dict]:
    mean, scale = np.float64(policy[0][0]), np.float64(policy[1][0])
    candidates: list[dict] = []
    for normal in np.float64(normals):
        unclipped = mean + scale * math.sqrt(temperature) * normal
        action = np.clip(unclipped, -1, 1).astype(np.float32).tolist()
        ratio = temperature ** (len(normal) / 2) * math.exp(float(sum(normal**2)) * (1 - temperature) / 2)
        same = next((candidate for candidate in candidates if candidate["action"] == action), None)
        if same is None:
            candidates.append({"action": action, "drawn": 0, "pi_over_beta": [], "proposed": 0.0})
            same = candidates[-1]
        same["drawn"] += 1
        same["pi_over_beta"].append(ratio)
        same["clipped"] = bool((np.abs(unclipped) > 1).any())
        same["proposed"] += max(ratio, 1e-300) / len(normals)
    return candidates


def _inject(candidates: list[dict], action, injected_prior: float) -> None:
    action = np.asarray(action).tolist()
    share = (1 - injected_prior) / sum(candidate["proposed"] for candidate in candidates)
    for candidate in candidates:
        candidate["shared"] = candidate["prior"] = share * candidate["proposed"]
    same = next((candidate for candidate in candidates if candidate["action"] == action), None)
    if same is None:
        same = {"action": action, "drawn": 0, "proposed": 0.0, "shared": 0.0, "prior": 0.0}
        candidates.append(same)
    same["prior"] += injected_prior
    same["injected"] = True


def _add_noise(candidates: list[dict], log_gamma: np.ndarray, fraction: float) -> None:
    # The draws belong to the tree's places; these are the candidates' own, unless actions are masked.
    for candidate, noise in zip(candidates, softmax(log_gamma[: len(candidates)].tolist()), strict=True):
        candidate["noise"] = noise
        candidate["prior"] = (1 - fraction) * candidate["proposed"] + fraction * noise


def _with_results(candidates: list[dict], result: SearchResult, discount: float) -> list[dict]:
    """What the search made of each candidate: the places of the tree, matched by action."""
    actions, edges = result.actions[0].tolist(), result.tree.edges[0, ROOT]
    exists = edges["prior"] > 0
    rows = []
    for candidate in candidates:
        places = [place for place in range(len(actions)) if exists[place] and actions[place] == candidate["action"]]
        place = places[0] if places else None
        found = None if place is None else edges[place]
        visits = 0 if place is None else int(found["visits"])
        evaluated = place is not None and found["child"] != NO_NODE
        entry = {"candidate": place, "searched_prior": 0.0 if place is None else float(found["prior"])}
        if result.tree.first:
            raw_value = result.tree.nodes["raw_value"][0, 1 + place] if evaluated else None
            entry["first_q"] = float(found["reward"] + discount * raw_value) if evaluated else None
        entry |= {"visits": visits, "q": float(found["reward"] + discount * found["value"]) if evaluated else None}
        if result.advantage is not None:
            entry["advantage"] = None if place is None else float(result.advantage[0, place])
        rows.append(candidate | entry | {"policy": 0.0 if place is None else float(result.policy[0, place])})
    return rows


def result_section(result: SearchResult, config: SearchConfig, scale: float | None, injection: dict) -> dict:
    """What the search found, and how its improved policy is made."""
    section = {
        "visits": result.visits[0].tolist(),
        "policy": result.policy[0].tolist(),
        "actions": result.actions[0].tolist(),
        "value": float(result.value[0]),
        "improvement": config.improvement,
        "formula": f"{IMPROVEMENT[config.improvement]}; {VALUE}",
    }
    if config.improvement == "advantage":
        spread = float(result.spread[0])
        # Before a run has a scale, every root is measured by its own spread.
        section |= {"clip": config.advantage_clip, "spread": spread, "scale": spread if scale is None else scale}
    if config.improvement in ("advantage", "one_step"):
        section["temperature"] = config.advantage_temperature
        if "stored_values" in injection:
            section |= {"stored_value": float(injection["stored_values"][0]), "stored_formula": STORED}
    return section


def tree_section(tree: Tree) -> dict:
    """The finished tree as plain lists, by node: enough to draw any of its prefixes."""
    nodes, edges = tree.nodes[0], tree.edges[0]
    children = []
    for node in range(len(nodes)):
        exists = np.flatnonzero(edges[node]["prior"] > 0)
        children.append([_edge(tree, node, int(candidate)) for candidate in exists])
    return {
        "first": tree.first,
        "parent": nodes["parent"].tolist(),
        "parent_candidate": [int(node["parent_candidate"]) if node["parent"] != NO_NODE else None for node in nodes],
        "visits": nodes["visits"].tolist(),
        "value": nodes["value"].tolist(),
        "raw_value": nodes["raw_value"].tolist(),
        "edges": children,
    }


def _edge(tree: Tree, node: int, candidate: int) -> dict:
    edge = tree.edges[0, node, candidate]
    evaluated = edge["child"] != NO_NODE
    return {
        "candidate": candidate,
        "action": np.asarray(tree.actions[0, node, candidate]).tolist(),
        "prior": float(edge["prior"]),
        "visits": int(edge["visits"]),
        "reward": float(edge["reward"]) if evaluated else None,
        "child": int(edge["child"]) if evaluated else None,
    }


def simulations_section(tree: Tree, history: History, discount: float) -> list[dict]:
    """Every simulation: the path with all scores, the leaf, and the backup, from the leaf up to the root."""
    raw_values = tree.nodes["raw_value"][0].tolist()
    before_all = range(1 + tree.first)  # the root and what was evaluated first
    visits = [int(node in before_all) for node in range(len(raw_values))]
    values = [value if node in before_all else None for node, value in enumerate(raw_values)]
    taken: dict[tuple[int, int], int] = {}  # visits of each edge so far
    simulations = []
    for number in range(history.depth.shape[1]):
        leaf, depth = int(tree.ends[0, number]), int(history.depth[0, number])
        nodes = history.nodes[0, number, :depth].tolist()
        chosen = history.candidates[0, number, :depth].tolist()
        path = [
            {
                "node": node,
                "visits": visits[node],
                "chosen": candidate,
                "candidates": _scores(tree, history, number, place, node, taken),
            }
            for place, (node, candidate) in enumerate(zip(nodes, chosen, strict=True))
        ]
        # A leaf that was there before ends the path at the greatest depth: its value goes up once more.
        visits[leaf], values[leaf] = visits[leaf] + 1, raw_values[leaf]
        backup, upward = [], raw_values[leaf]
        below = leaf
        for node, candidate in zip(reversed(nodes), reversed(chosen), strict=True):
            reward = float(tree.edges[0, node, candidate]["reward"])
            upward = reward + discount * upward
            before, visits_before = values[node], visits[node]
            values[node] = (before * visits_before + upward) / (visits_before + 1)
            visits[node] += 1
            taken[node, candidate] = taken.get((node, candidate), 0) + 1
            backup.append(
                {
                    "node": node,
                    "reward": reward,
                    "return": upward,
                    "visits": visits[node],
                    "value_before": before,
                    "value": values[node],
                    "q": reward + discount * values[below],
                }
            )
            below = node
        low, high = history.bounds[0, number].tolist()
        simulations.append(
            {
                "number": number,
                "bounds": None if low > high else [low, high],
                "path": path,
                "leaf": {
                    "node": leaf,
                    "visits": visits[leaf],
                    "action": np.asarray(tree.actions[0, nodes[-1], chosen[-1]]).tolist(),
                    "reward": float(history.rewards[0, number]),
                    "value": raw_values[leaf],
                    "policy": _priors(tree, leaf),
                },
                "backup": backup,
                "root_value": values[ROOT],
            }
        )
    return simulations


def _scores(tree: Tree, history: History, number: int, place: int, node: int, taken: dict) -> list[dict]:
    value_terms, prior_terms = history.value_terms[0, number, place], history.prior_terms[0, number, place]
    return [
        {
            "candidate": int(candidate),
            "action": np.asarray(tree.actions[0, node, candidate]).tolist(),
            "prior": float(tree.edges[0, node, candidate]["prior"]),
            "visits": taken.get((node, int(candidate)), 0),
            "value_term": float(value_terms[candidate]),
            # Sequential halving no longer considers what has minus infinity.
            "prior_term": _finite(prior_terms[candidate]),
            "score": _finite(value_terms[candidate] + prior_terms[candidate]),
        }
        for candidate in np.flatnonzero(~np.isnan(prior_terms))
    ]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _priors(tree: Tree, node: int) -> list[dict]:
    exists = np.flatnonzero(tree.edges[0, node]["prior"] > 0)
    return [
        {
            "action": np.asarray(tree.actions[0, node, candidate]).tolist(),
            "prior": float(tree.edges[0, node, candidate]["prior"]),
        }
        for candidate in exists
    ]
