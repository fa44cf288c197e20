"""What is implausible about a target. Every check looks for one kind of mistake and says in a sentence what it saw.

A check never trusts the code that it looks at: it takes the definition, or does the same thing twice, and compares.
`bugs.py` has a real mistake for most of them.
"""

import copy
import dataclasses

import numpy as np

from mzu.explain.target_terms import IN_REPLAY, search_rng
from mzu.explain.wording import action_name
from mzu.games.search_games import injection_of
from mzu.search import reference
from mzu.search.tree import ROOT

TOLERANCE = 1e-4  # numbers go through float32
STALE_POLICY = 0.5  # total variation between the replay's policy and a new one, from which on a target is stale
STALE_VALUE = 0.25  # and the relative difference of their values: where values are alike, policies differ by chance
WINDOW = 50  # steps to either side of the position, over which the model's rewards are compared with the stored ones
MANY = 5  # candidates of which more than one should be tried
SLACK = 0.05  # share of the possible returns by which z may lie outside: a network is never exact


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
    """The replay's copy of the step is the episode's, and so are the steps behind it that the targets look at."""
    if found.given is None:
        return None
    batch, stored = found.given[0], system.episodes[found.episode]
    if far := _furthest(batch.observations[0], found.game.observation):
        return (
            True,
            f"the replay's observation differs from the episode's by up to {far:.4g}: it was stored with a loss",
        )
    for k in range(min(batch.actions.shape[1], len(stored) - found.step)):
        kept, taken = np.asarray(batch.actions[0, k]), np.asarray(stored.actions[found.step + k])
        if _furthest(kept, taken):
            return True, (
                f"the replay has action {action_name(kept.tolist(), 6)} at step {found.step + k}, but the episode took "
                f"{action_name(taken.tolist(), 6)}: reward and next observation belong to another action"
            )
    rewards = np.asarray(stored.rewards[found.step : found.step + batch.rewards.shape[1]])
    if _furthest(batch.rewards[0, : len(rewards)], rewards):
        return True, (
            f"the replay has rewards {_short(batch.rewards[0, : len(rewards)])} from here on, but the episode "
            f"{_short(rewards)}"
        )
    return False, "the replay holds the episode's observation, actions and rewards"


def action_space(system, found, explanation):
    """The stored action is an action, and means in the data what it means to the model."""
    stored, spaces = system.episodes[found.episode], system.spaces
    action = np.asarray(stored.actions[found.step])
    if spaces.continuous:
        outside = np.abs(action).max() > 1 + TOLERANCE
        where = "outside" if outside else "inside"
        return outside, f"the stored action {action_name(action.tolist(), 6)} is {where} [-1, 1]"
    steps = _window(found, stored)
    same = steps[stored.actions[steps] == action]
    rewards, spread = np.asarray(stored.rewards, float), float(np.std(stored.rewards[steps]))
    if len(same) >= 3 and spread > 0:
        errors = [
            float(np.mean(np.abs(_model_rewards(system, found, same, np.full(len(same), other)) - rewards[same])))
            for other in range(spaces.num_actions)
        ]
        own, best = errors[int(action)], int(np.argmin(errors))
        if errors[best] < 0.25 * min(own, spread) and own > 0.5 * spread:
            return True, (
                f"the rewards of the stored action {int(action)} fit the model's action {best} (mean error "
                f"{errors[best]:.4g}, as {int(action)} {own:.4g}): the data number their actions differently"
            )
    return False, f"the stored action {int(action)} is one of the {spaces.num_actions} actions"


def reward_alignment(system, found, explanation):
    """The model's rewards along the episode fit the stored ones best where they stand, not a step off."""
    stored = system.episodes[found.episode]
    rewards = np.asarray(stored.rewards, float)
    steps = _window(found, stored)
    inner = steps[(steps > 0) & (steps < len(stored) - 1)]  # those that have one before and one behind
    if len(inner) < 3 or np.ptp(rewards[inner]) == 0:
        return None
    predicted = _model_rewards(system, found, inner, stored.actions[inner])
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
    if all(_furthest(candidate, stored) for candidate in kept):
        return True, (
            f"the stored action {action_name(stored.tolist(), 6)} was injected, but is not among the candidates "
            f"{_short(kept)} in the replay: are these numbers of candidates rather than actions?"
        )
    weights = found.given[0].search_policy[0, 0]
    for slot in np.flatnonzero(weights):
        for before in range(slot):
            if not _furthest(kept[slot], kept[before]):
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
    z, slack = explanation.value_target["steps"][0], SLACK * (high - low) + TOLERANCE
    outside = bool(z["mask"]) and not low - slack <= z["target"] <= high + slack
    return outside, (
        f"z = {z['target']:.6g} lies {'outside' if outside else 'inside'} the returns that the data's rewards allow, "
        f"{low:.4g} .. {high:.4g}"
    )


def rows_apart(system, found, explanation):
    """The targets of a position do not depend on what else is in the batch."""
    if found.handle is None or len(system.replay) < 2:
        return None
    others = _copy_of(system.replay).sample(3, np.random.default_rng(1)).positions
    batch = system.replay.at(np.concatenate([others[:2], [found.handle], others[2:]]), np.random.default_rng(0))
    targets, alone = system.targets(batch), found.given[1]
    for name in ("values", "rewards", "policy_weights"):
        if far := _furthest(getattr(targets, name)[2], getattr(alone, name)[0]):
            return True, f"beside other positions its {name} differ by up to {far:.4g}: rows of the batch leak into it"
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
    others = np.unique(_copy_of(system.replay).sample(16, np.random.default_rng(2)).positions)
    others = others[others != found.handle]
    # Neither in rising nor in falling order, so that a copy in another order is noticed.
    positions = np.concatenate([others[1::2], [found.handle], others[::2]])
    priorities = 1.0 + np.arange(len(positions))
    replay = _copy_of(system.replay)
    dataclasses.replace(system, replay=replay).update(positions, priorities)
    for position, priority in zip(positions.tolist(), priorities, strict=True):
        arrived = replay.priority(position)["to_the_alpha"]
        if abs(arrived - priority**system.config.replay.priority_exponent) > TOLERANCE * arrived:
            return True, (
                f"priority {priority:g} was written back to position {position} of the replay, but p^alpha is "
                f"{arrived:.4g} there: priorities go to the wrong positions"
            )
    return False, "priorities that are written back arrive at their positions"


def replay_keeps(system, found, explanation):
    """Sampling takes nothing out of the replay."""
    if system.replay is None or not len(system.replay):
        return None
    replay = _copy_of(system.replay)
    before = len(replay)
    replay.sample(min(16, before), np.random.default_rng(3))
    lost = before - len(replay)
    if lost:
        return True, f"sampling a batch took {lost} of {before} positions out of the replay"
    return False, "sampling leaves the replay as it is"


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
    "tried candidates": tried_candidates,
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


def _search_again(system, found):
    return system.search(found.game, search_rng(system, found.episode, found.step))


def _copy_of(replay):
    """A replay to try things on: all its own but the data, which may be large."""
    twin = copy.copy(replay)
    for name, value in vars(replay).items():
        if name != "_data":
            setattr(twin, name, copy.deepcopy(value))
    return twin


def _furthest(one, other) -> float:
    """The largest difference between two arrays; 0 where it is no more than rounding."""
    far = float(np.abs(np.asarray(one, float) - np.asarray(other, float)).max())
    return far if far > TOLERANCE * max(1.0, float(np.abs(other).max())) else 0.0


def _short(array) -> list:
    return np.round(np.asarray(array, float), 4).tolist() if np.asarray(array).dtype.kind == "f" else array.tolist()


def _window(found, stored) -> np.ndarray:
    """The steps around the position."""
    return np.arange(max(found.step - WINDOW, 0), min(found.step + WINDOW + 1, len(stored)))


def _model_rewards(system, found, steps, actions) -> np.ndarray:
    """The rewards that the model expects for these actions at these steps of the episode."""
    observations = np.stack([system.observation(found.episode, int(step)) for step in steps])
    hidden, _, _ = system.model.initial(observations)
    return np.asarray(system.model.recurrent(hidden, actions)[1], float)


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
