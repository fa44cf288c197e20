"""Checks of the search behind a target, and of what the replay keeps of it. `checks.py` runs them."""

import numpy as np

from mzu.explain.found_position import search_rng
from mzu.explain.rounding import TOLERANCE, furthest, short
from mzu.explain.target_terms import IN_REPLAY
from mzu.explain.wording import action_name
from mzu.games.search_games import injection_of
from mzu.search import reference
from mzu.search.tree import ROOT

STALE_POLICY = 0.5  # total variation between the replay's policy and a new one, from which on a target is stale
STALE_VALUE = 0.25  # and the relative difference of their values: where values are alike, policies differ by chance
MANY = 5  # candidates of which more than one should be tried


def repeatable(system, found, explanation):
    """The same random numbers give the same search."""
    if not found.results:
        return None
    again, first = _search_again(system, found), found.results[0]
    if all(np.array_equal(getattr(again, name), getattr(first, name)) for name in ("prior", "visits", "value")):
        return False, "searched twice with the same random numbers, the same came out"
    return True, "searched twice with the same random numbers, another tree came out: the search has some of its own"


def twins(system, found, explanation):
    """The plain search in Python objects builds the same tree, node by node."""
    if not found.results:
        return None
    injection = injection_of(system.model, [found.game], system.config)
    injection.pop("stored_values", None)  # they change what is made of the tree, not the tree
    rng = search_rng(system, found.episode, found.step)
    root = reference.search(system.model, found.game.observation[None], system.config.search, rng, **injection)[0]
    tree = found.results[0].tree
    pairs, todo = 0, [(root, ROOT)]
    while todo:
        node, index = todo.pop()
        seen = (int(tree.nodes["visits"][0, index]), float(tree.nodes["value"][0, index]))
        if seen[0] != node.visits or abs(seen[1] - node.value) > TOLERANCE * max(1.0, abs(node.value)):
            return True, (
                f"node {index} has {seen[0]} visits and value {seen[1]:.6g}, but the plain search has {node.visits} "
                f"and {float(node.value):.6g}"
            )
        pairs += 1
        for edge in node.edges:
            place = _place(tree, index, edge.action)
            prior = 0.0 if place is None else float(tree.edges["prior"][0, index, place])
            if abs(prior - edge.prior) > TOLERANCE:
                return True, (
                    f"node {index} has prior {prior:.6g} for action "
                    f"{action_name(np.asarray(edge.action).tolist(), 6)}, but the plain search has "
                    f"{float(edge.prior):.6g}"
                )
            if edge.child is not None:
                child = int(tree.edges["child"][0, index, place])
                if child != edge.child.index:
                    return True, f"node {index} leads to node {child}, but in the plain search to {edge.child.index}"
                todo.append((edge.child, child))
    return False, f"the plain search has the same {pairs} nodes"


def root_prior(system, found, explanation):
    """The priors that the search read are proposal plus noise or injection."""
    if not found.results:
        return None
    for candidate in explanation.root["candidates"]:
        if abs(candidate["prior"] - candidate["searched_prior"]) > TOLERANCE:
            return True, (
                f"action {action_name(candidate['action'], 6)} should have prior {candidate['prior']:.6g} after "
                f"noise or injection, but the search read {candidate['searched_prior']:.6g}"
            )
    return False, "the search read the priors with noise or injection"


def backups(system, found, explanation):
    """The values that were backed up, worked out again from the leaves, are the tree's."""
    if not found.results:
        return None
    last = {}
    for simulation in explanation.simulations:
        for step in simulation["backup"]:
            last[step["node"]] = (step["visits"], step["value"])
    for node, (visits, value) in sorted(last.items()):
        kept = explanation.tree["visits"][node], explanation.tree["value"][node]
        if kept[0] != visits or abs(kept[1] - value) > TOLERANCE * max(1.0, abs(value)):
            return True, (
                f"node {node} has {kept[0]} visits and value {kept[1]:.6g}, but its backups add up to {visits} and "
                f"{value:.6g}"
            )
    return False, "the backups add up to the tree's visits and values"


def tried_candidates(system, found, explanation):
    """A search with time for all of its sampled candidates has tried more than one of them."""
    if not found.results or system.config.search.num_sampled_actions is None:
        return None
    candidates = explanation.root["candidates"]
    tried = sum(candidate["visits"] > 0 for candidate in candidates)
    search = system.config.search
    blind = search.improvement == "visits" and not search.evaluates_first
    starved = blind and tried == 1 and MANY <= len(candidates) <= search.num_simulations
    why = ": the first one took all visits (search.first_evaluations=true lets the search compare them)"
    return starved, f"{tried} of {len(candidates)} candidates were tried{why if starved else ''}"


def uniform_policy(system, found, explanation):
    """A policy target that prefers nothing."""
    if not explanation.policy_target["steps"][0]["mask"] or explanation.policy_target["loss"] != "reanalyse":
        return None
    weights = found.learned[0].search_policy[0, 0]  # without the behaviour term, which is no preference of the search
    flat = len(weights) > 1 and np.ptp(weights) < 0.02
    return flat, f"the policy target is {'uniform: the search preferred nothing' if flat else 'not uniform'}"


def collapsed_range(system, found, explanation):
    """The min-max range that values are normalised by."""
    if not found.results or system.config.search.simulations < 2:
        return None
    low, high = found.results[0].tree.bounds[0]
    flat = high - low < 1e-6
    seen = f"the tree's values lie in {low:.4g} .. {high:.4g}"
    return flat, f"{seen}: the range has collapsed, normalised values say nothing" if flat else seen


def injected_action(system, found, explanation):
    """The injected action was looked at."""
    if not found.results or not system.config.injects:
        return None
    place = int(found.results[0].injected[0])
    visits = int(found.results[0].visits[0, place]) if place >= 0 else 0
    if place < 0:
        return True, "the stored action was not injected"
    if np.isnan(found.results[0].q[0, place]):
        return True, "the injected action was visited 0 times and never evaluated"
    return False, f"the injected action was evaluated, and visited {visits} times"


def candidate_actions(system, found, explanation):
    """The candidates that the replay holds are actions, the injected one among them, and each has its own weight."""
    if found.given is None or not system.config.injects or not found.given[0].searched[0, 0]:
        return None
    if system.config.search.num_sampled_actions is None:
        return None  # all actions are candidates: the replay keeps none of them
    stored = np.asarray(system.episodes[found.episode].actions[found.step])
    kept = found.given[0].search_actions[0, 0]
    if all(furthest(candidate, stored) for candidate in kept):
        return True, (
            f"the stored action {action_name(stored.tolist(), 6)} was injected, but is not among the candidates "
            f"{short(kept)} in the replay: are these numbers of candidates rather than actions?"
        )
    weights = found.given[0].search_policy[0, 0]
    for slot in np.flatnonzero(weights):
        for before in range(slot):
            if not furthest(kept[slot], kept[before]):
                # A slot behind the last candidate repeats some action, and must weigh nothing.
                return True, (
                    f"the target gives {weights[slot]:.2f} to slot {slot}, whose action "
                    f"{action_name(kept[slot].tolist(), 6)} stands in slot {before} already: the weights of a search "
                    "stand in other slots than its actions"
                )
    return False, "the replay's candidates hold the stored action, and none of them twice"


def stale_target(system, found, explanation):
    """The search has seen the network of now, and the replay's search is not far from it."""
    if not found.results:
        return None
    kept, now = float(found.results[0].tree.nodes["raw_value"][0, ROOT]), explanation.root["raw_value"]
    if abs(kept - now) > TOLERANCE * max(1.0, abs(now)):
        return True, (
            f"the search was told value {kept:.6g} by the network, which says {now:.6g} now: an older network was "
            "searched, and never again"
        )
    change = explanation.change
    if change is None or change["old"] != IN_REPLAY or not found.given[0].searched[0, 0]:
        return None
    old, new = change["old_search_value"], change["new_search_value"]
    largest_reward = float(np.abs(system.episodes[found.episode].rewards).max())
    apart = abs(old - new) > STALE_VALUE * max(abs(old), abs(new), largest_reward)
    # Sampled candidates differ from search to search, whatever the network says.
    comparable = system.config.search.num_sampled_actions is None
    stale = comparable and apart and change["total_variation"] > STALE_POLICY
    return stale, (
        f"the replay's policy differs from a new search's by {change['total_variation']:.2f} (total variation), its "
        f"search value is {old:.4g} and now {new:.4g}{': an older network was searched' if stale else ''}"
    )


def _search_again(system, found):
    return system.search(found.game, search_rng(system, found.episode, found.step))


def _place(tree, node: int, action) -> int | None:
    exists = np.flatnonzero(tree.edges["prior"][0, node] > 0)
    return next((int(k) for k in exists if np.array_equal(tree.actions[0, node, k], action)), None)
