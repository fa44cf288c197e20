"""Checks of the targets, and of what the learner makes of them. `checks.py` runs them."""

import copy
import dataclasses

import numpy as np

from mzu.explain.rounding import TOLERANCE, furthest

SLACK = 0.05  # share of the possible returns by which z may lie outside: a network is never exact


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


def possible_returns(system, found, explanation):
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
        if far := furthest(getattr(targets, name)[2], getattr(alone, name)[0]):
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


def priority_of_now(system, found, explanation):
    """The new priority is the difference between the search value and what the targets of now compare it with."""
    part = explanation.priority
    if part is None:
        return None
    expected = abs(part["search_value"] - part["compared_with"])
    if abs(part["now"] - expected) > TOLERANCE * max(1.0, expected):
        return True, (
            f"the new priority is {part['now']:.4g}, but |{part['search_value']:.4g} - {part['compared_with']:.4g}| is "
            f"{expected:.4g}: it was made of an older value"
        )
    return False, f"the new priority is |{part['search_value']:.4g} - {part['compared_with']:.4g}|"


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


def _copy_of(replay):
    """A replay to try things on: all its own but the data, which may be large."""
    twin = copy.copy(replay)
    for name, value in vars(replay).items():
        if name != "_data":
            setattr(twin, name, copy.deepcopy(value))
    return twin


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
