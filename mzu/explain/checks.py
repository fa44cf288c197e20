"""What is implausible about a target. Every check looks for one kind of mistake and says in a sentence what it saw.

A check never trusts the code that it looks at: it takes the definition, or does the same thing twice, and compares.
"""

import copy

import numpy as np

from mzu.search import reference
from mzu.search.tree import ROOT

TOLERANCE = 1e-4  # numbers go through float32
STALE = 0.5  # total variation between the replay's policy and a new one


def run_checks(system, found, explanation) -> list[dict]:
    """All checks that apply -> {"name", "flag", "says"}, flag: something is wrong."""
    checks = []
    for name, check in CHECKS.items():
        says = check(system, found, explanation)
        if says is not None:
            flag, sentence = says
            checks.append({"name": name, "flag": bool(flag), "says": sentence})
    return checks


def stored_step(system, found, explanation):
    """The replay's copy of the step is the episode's."""
    if found.given is None:
        return None
    batch, stored = found.given[0], system.episodes[found.episode]
    picture = np.asarray(batch.observations[0], float) - np.asarray(found.observation, float)
    if np.abs(picture).max() > TOLERANCE:
        return True, f"the replay's observation differs from the episode's by up to {np.abs(picture).max():.4g}"
    kept, taken = batch.actions[0, 0], stored.actions[found.step]
    if np.abs(np.asarray(kept, float) - np.asarray(taken, float)).max() > TOLERANCE:
        return True, (
            f"the replay has action {np.asarray(kept).tolist()}, but the episode took {np.asarray(taken).tolist()}: "
            "reward and next observation belong to another action"
        )
    if abs(float(batch.rewards[0, 0]) - float(stored.rewards[found.step])) > TOLERANCE:
        return True, f"the replay has reward {batch.rewards[0, 0]:.6g}, the episode {stored.rewards[found.step]:.6g}"
    return False, "the replay holds the episode's observation, action and reward"


def action_space(system, found, explanation):
    """The stored action is one of the actions."""
    action, spaces = np.asarray(system.episodes[found.episode].actions[found.step]), system.spaces
    if spaces.continuous:
        outside = np.abs(action).max() > 1 + TOLERANCE
        return outside, f"the stored action {action.tolist()} is {'outside' if outside else 'inside'} [-1, 1]"
    outside = not 0 <= int(action) < spaces.num_actions
    says = f"the stored action {int(action)} is {'not ' if outside else ''}one of the {spaces.num_actions} actions"
    return outside, says


def reward_alignment(system, found, explanation):
    """The model's rewards along the episode fit the stored ones best where they stand, not a step off."""
    stored = system.episodes[found.episode]
    rewards = np.asarray(stored.rewards, float)
    inner = np.arange(1, len(stored) - 1)  # steps that have one before and one behind
    if len(inner) < 3 or np.ptp(rewards[inner]) == 0:
        return None
    predicted = []
    for step in inner:
        hidden, _, _ = system.model.initial(system.observation(found.episode, int(step))[None])
        predicted.append(float(np.asarray(system.model.recurrent(hidden, stored.actions[step : step + 1])[1])[0]))
    errors = {shift: float(np.mean(np.abs(predicted - rewards[inner + shift]))) for shift in (-1, 0, 1)}
    best = min(errors, key=errors.get)
    if best != 0 and errors[best] < 0.5 * errors[0]:
        where = "one step later" if best > 0 else "one step earlier"
        return True, (
            f"the model's rewards fit the ones stored {where} (mean error {errors[best]:.4g}, in place "
            f"{errors[0]:.4g}): rewards and actions are misaligned"
        )
    return False, f"the model's rewards fit best where they stand (mean error {errors[0]:.4g})"


def repeatable(system, found, explanation):
    """The same random numbers give the same search."""
    if not found.results:
        return None
    again = _search(system, found)
    same = np.array_equal(again.visits, found.results[0].visits) and np.array_equal(again.value, found.results[0].value)
    if same:
        return False, "searched twice with the same random numbers, the same visits came out"
    return (
        True,
        "searched twice with the same random numbers, other visits came out: the search has randomness of its own",
    )


def twins(system, found, explanation):
    """The plain search in Python objects builds the same tree, node by node."""
    if not found.results:
        return None
    injection = {}
    if system.injects:
        injection = {"injected_actions": np.asarray(system.episodes[found.episode].actions[found.step])[None]}
    rng = _rng(system, found)
    root = reference.search(system.model, found.observation[None], system.config.search, rng, **injection)[0]
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
                    f"node {index} has prior {prior:.6g} for action {np.asarray(edge.action).tolist()}, but the plain "
                    f"search has {float(edge.prior):.6g}"
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
                f"action {candidate['action']} should have prior {candidate['prior']:.6g} after noise or injection, "
                f"but the search read {candidate['searched_prior']:.6g}"
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


def uniform_policy(system, found, explanation):
    """A policy target that prefers nothing."""
    entry = explanation.policy_target["steps"][0]
    weights = np.array([weight for weight in entry["weights"] if weight > 0])
    if not entry["mask"] or system.config.learning.policy_loss != "reanalyse" or len(entry["weights"]) < 2:
        return None
    flat = len(weights) == len(entry["weights"]) and np.ptp(weights) < 0.02
    return flat, f"the policy target is {'all but uniform: the search preferred nothing' if flat else 'not uniform'}"


def collapsed_range(system, found, explanation):
    """The min-max range that values are normalised by."""
    if not found.results:
        return None
    low, high = found.results[0].tree.bounds[0]
    flat = high - low < 1e-6
    seen = f"the tree's values lie in {low:.4g} .. {high:.4g}"
    return flat, f"{seen}: normalised, they say nothing" if flat else seen


def injected_action(system, found, explanation):
    """The injected action was looked at."""
    if not found.results or not system.injects:
        return None
    place = int(found.results[0].injected[0])
    visits = int(found.results[0].visits[0, place]) if place >= 0 else 0
    if place < 0:
        return True, "the stored action was not injected"
    return visits == 0, f"the injected action was visited {visits} times"


def candidate_actions(system, found, explanation):
    """The actions that the policy target is about are those that were searched."""
    if found.given is None or not found.results or system.config.search.num_sampled_actions is None:
        return None
    batch, spaces = found.given[0], system.spaces
    if system.injects and batch.searched[0, 0]:
        stored = np.asarray(system.episodes[found.episode].actions[found.step])
        kept = batch.search_actions[0, 0]
        near = np.abs(np.asarray(kept, float) - stored).reshape(len(kept), -1).max(axis=1).min()
        if near > TOLERANCE:
            return True, f"the stored action {stored.tolist()} is not among the candidates that the replay holds"
    if not spaces.continuous:
        kept = np.unique(batch.search_actions[0, 0][batch.search_policy[0, 0] > 0])
        new = np.unique(found.results[0].actions[0])
        strange = [int(action) for action in kept if action not in new]
        if strange and len(kept) > spaces.num_actions:
            return True, f"the replay's candidates {strange} are no actions"
    return False, "the replay's candidates are actions"


def stale_target(system, found, explanation):
    """How far the replay's search is from one of now."""
    if found.given is None or not found.results or not found.given[0].searched[0, 0]:
        return None
    change = explanation.change
    if change is None or change["old"] != "the replay":
        return None
    far = change["total_variation"]
    values = f"search value {change['old_search_value']:.4g}, now {change['new_search_value']:.4g}"
    discrete = not system.spaces.continuous
    stale = discrete and far > STALE
    return stale, f"the replay's policy differs from a new search's by {far:.2f} (total variation); {values}"


def value_target(system, found, explanation):
    """z is what its definition says."""
    for entry in explanation.value_target["steps"]:
        if entry["mask"] and abs(entry["target"] - entry["total"]) > TOLERANCE * max(1.0, abs(entry["total"])):
            return True, (
                f"z at step {entry['step']} is {entry['target']:.6g}, but its terms add up to {entry['total']:.6g}"
                f"{_guess(system, found, entry)}"
            )
    return False, "every z is the sum of its terms"


def bootstrap_across_an_end(system, found, explanation):
    """No value of what comes after a terminal end."""
    for entry in explanation.value_target["steps"]:
        bootstrap = entry["bootstrap"]
        if bootstrap and bootstrap["masked"] and entry["mask"]:
            rewards = sum(term["product"] for term in entry["terms"])
            across = abs(entry["target"] - rewards - bootstrap["factor"] * bootstrap["value"])
            if across < TOLERANCE < abs(bootstrap["factor"] * bootstrap["value"]):
                return True, f"z at step {entry['step']} is bootstrapped across the terminal end of the episode"
    return False, "nothing is bootstrapped across a terminal end"


def value_range(system, found, explanation):
    """z lies within the returns that are possible with the rewards of the data."""
    discount = system.config.search.discount
    rewards = np.concatenate([np.asarray(episode.rewards, float) for episode in system.episodes])
    horizon = 1 / (1 - discount) if discount < 1 else max(len(episode) for episode in system.episodes)
    low, high = min(0.0, float(rewards.min())) * horizon, max(0.0, float(rewards.max())) * horizon
    z = explanation.value_target["steps"][0]
    outside = bool(z["mask"]) and not low - TOLERANCE <= z["target"] <= high + TOLERANCE
    return outside, f"z = {z['target']:.6g}; with the rewards of the data returns lie in {low:.4g} .. {high:.4g}"


def rows_apart(system, found, explanation):
    """The targets of a position do not depend on what else is in the batch."""
    if found.handle is None or len(system.replay) < 2:
        return None
    rng = np.random.default_rng(1)
    others = system.replay.sample(3, rng).positions
    batch = system.replay.at(np.concatenate([others[:2], [found.handle], others[2:]]), np.random.default_rng(0))
    targets, alone = system.targets(batch), found.given[1]
    for name in ("values", "rewards", "policy_weights"):
        far = np.abs(np.asarray(getattr(targets, name)[2]) - np.asarray(getattr(alone, name)[0])).max()
        if far > TOLERANCE:
            return (
                True,
                f"beside other positions its {name} differ by up to {far:.4g}: rows of the batch leak into each other",
            )
    return False, "beside other positions the targets are the same"


def weights_count(system, found, explanation):
    """The importance weight scales the loss."""
    loss = explanation.loss
    expected = loss["weight"] * loss["unweighted"]
    if abs(loss["total"] - expected) > TOLERANCE * max(1.0, abs(expected)):
        return True, (
            f"the loss is {loss['total']:.6g}, but weight {loss['weight']:.4g} times {loss['unweighted']:.6g} is "
            f"{expected:.6g}: the importance weight is not used"
        )
    return False, f"the loss is scaled by the importance weight {loss['weight']:.4g}"


def priorities_return(system, found, explanation):
    """A priority that is written back arrives at its position."""
    if found.handle is None or len(system.replay) < 2:
        return None
    kept = copy.deepcopy(system.replay)
    others = kept.sample(8, np.random.default_rng(2)).positions
    others = others[others != found.handle][:1]
    if not len(others):
        return None
    replay, system.replay = system.replay, kept
    try:
        system.update(np.array([found.handle, others[0]]), np.array([2.5, 0.5]))
        arrived = kept.priority(found.handle)["to_the_alpha"]
    finally:
        system.replay = replay
    expected = 2.5**system.config.replay.priority_exponent
    if abs(arrived - expected) > TOLERANCE:
        return True, f"priority 2.5 was written to this position, but p^alpha is {arrived:.4g} there: it went elsewhere"
    return False, "a priority that is written back arrives at this position"


def replay_keeps(system, found, explanation):
    """Sampling takes nothing out of the replay."""
    if system.replay is None or not len(system.replay):
        return None
    kept = copy.deepcopy(system.replay)
    before = len(kept)
    kept.sample(min(16, before), np.random.default_rng(3))
    lost = before - len(kept)
    return (
        lost > 0,
        f"sampling a batch took {lost} positions out of the replay" if lost else "sampling leaves the replay as it is",
    )


CHECKS = {
    "stored step": stored_step,
    "action space": action_space,
    "reward alignment": reward_alignment,
    "repeatable": repeatable,
    "twins": twins,
    "root prior": root_prior,
    "backups": backups,
    "injected action": injected_action,
    "candidate actions": candidate_actions,
    "uniform policy": uniform_policy,
    "collapsed range": collapsed_range,
    "stale target": stale_target,
    "value target": value_target,
    "bootstrap across an end": bootstrap_across_an_end,
    "value range": value_range,
    "rows apart": rows_apart,
    "weights count": weights_count,
    "priorities return": priorities_return,
    "replay keeps": replay_keeps,
}


def _rng(system, found) -> np.random.Generator:
    return np.random.default_rng([system.config.seed, found.episode, found.step])


def _search(system, found):
    action = system.episodes[found.episode].actions[found.step]
    return system.search(found.observation, action, _rng(system, found))


def _place(tree, node: int, action) -> int | None:
    exists = np.flatnonzero(tree.edges["prior"][0, node] > 0)
    return next((int(k) for k in exists if np.array_equal(tree.actions[0, node, k], action)), None)


def _guess(system, found, entry) -> str:
    """Which well-known mistake would give this z."""
    bootstrap = entry["bootstrap"]
    if not bootstrap or bootstrap["masked"]:
        return ""
    rewards = sum(term["product"] for term in entry["terms"])
    discount, value = system.config.search.discount, bootstrap["value"]
    if abs(entry["target"] - rewards - value) < TOLERANCE:
        return "; without the discount at the bootstrap it would be just that"
    step = entry["step"] + bootstrap["steps_later"]
    for shift, name in ((1, "later"), (-1, "earlier")):
        if 0 <= step + shift <= len(system.episodes[found.episode]):
            other = float(system.target_values(system.observation(found.episode, step + shift)[None, None])[0, 0])
            for factor in (bootstrap["factor"], bootstrap["factor"] * discount**shift):
                if abs(entry["target"] - rewards - factor * other) < TOLERANCE:
                    return f"; bootstrapped from one step {name} it would be just that"
    return ""
