"""What a position teaches: its batch, targets and losses, made by the same functions as in training, and the same
numbers once more from their definitions, term by term.
"""

import base64

import numpy as np

from mzu.config import LearningConfig, NetworkConfig
from mzu.environments.minatar import planes_of
from mzu.explain.found_position import Found
from mzu.explain.system import System
from mzu.explain.wording import action_name
from mzu.learning.losses import Predictions, StepLosses
from mzu.learning.targets import Targets
from mzu.networks.policy_heads import gaussian_parameters
from mzu.networks.scalars import scalar_from_logits, target_distribution
from mzu.replay.replay import Batch

Z = "z = sum_i discount^i u_(t+k+i), i < n, + discount^n v(o_(t+k+n)) by the target network"
Z_SEARCH = "z = nu, the search value of the position (td_steps = 0)"
PRIORITY = "p = |nu - z|; P = (1 - s) p^alpha / sum p^alpha + s / N; weight = (1 / (N P))^beta"
PRIORITY_SEARCH = PRIORITY.replace("z", "v", 1) + "; v is the network's value, since z is nu itself (td_steps = 0)"
LOSS = "loss = weight * (policy + value_loss_scale * value + reward); step 0 counts 1, each of the U others 1 / U"
IN_REPLAY, SEARCHED_NOW, STORED = "the replay", "a search of now", "the stored episode"


def position_section(system: System, found: Found) -> dict:
    """The stored step."""
    stored, step = system.episodes[found.episode], found.step
    last = step == len(stored) - 1
    return {
        "episode": found.episode,
        "step": step,
        "episode_steps": len(stored),
        "episode_return": float(stored.total_reward),
        "source": stored.source,
        "segment": [found.start, found.start + found.game.piece.length],
        "segment_length": system.config.replay.segment_length,
        "observation": _array(found.game.observation) | _planes(system),
        "action": np.asarray(stored.actions[step]).tolist(),
        "reward": float(stored.rewards[step]),
        "terminated": bool(stored.terminated and last),
        "truncated": bool(stored.truncated and last),
        "steps_to_the_end": len(stored) - step,
        "episode_ends": "terminated" if stored.terminated else "truncated",
        "in_replay": found.copies,
    }


def policy_target_section(system: System, found: Found) -> dict:
    """Where the policy is trained towards at t + k."""
    batch, targets = found.learned
    steps = []
    for k in range(targets.policy_mask.shape[1]):
        actions = targets.policy_actions[0, k]
        weights = targets.policy_weights[0, k]
        names = actions.tolist() if len(actions) else list(range(len(weights)))
        steps.append(
            {
                "k": k,
                "mask": float(targets.policy_mask[0, k]),
                "actions": names,
                "weights": weights.tolist(),
                "why": _policy_reason(batch, targets, k, system.config.learning),
            }
        )
    return {"loss": system.config.learning.policy_loss, "from": _origin(found), "steps": steps}


def _policy_reason(batch: Batch, targets: Targets, k: int, learning: LearningConfig) -> str:
    if batch.steps_left[0] - k <= 0:
        return "past a terminal end: no policy" if batch.terminated[0] else "past the end of the data: unknown"
    if learning.policy_loss == "behaviour_cloning":
        return "the stored action"
    if learning.policy_loss == "crr":
        return "the stored action, weighted by f(advantage)"
    if not batch.searched[0, k]:
        return "not in this segment: not searched"
    reason = "visit distribution of the search"
    return f"{reason}; {_behaviour_words(batch, targets, k)}" if learning.behaviour_loss_scale > 0 else reason


def _behaviour_words(batch: Batch, targets: Targets, k: int) -> str:
    """By how much the target raises the stored action besides the search."""
    weights, searched = targets.policy_weights[0, k], batch.search_policy[0, k]
    added = weights[-1] if len(weights) > len(searched) else np.max(weights - searched)
    if added == 0:
        return "behaviour term 0, since the stored action's advantage is not above 0"
    return f"behaviour term {added:.4g} on the stored action {action_name(batch.actions[0, k].tolist())}"


def value_target_section(system: System, found: Found) -> dict:
    """z at t + k, term by term."""
    batch, targets = found.learned
    learning, discount = system.config.learning, system.config.search.discount
    n = learning.td_steps
    bootstraps = system.target_values(batch.bootstrap_observations) if n else None
    steps = []
    for k in range(targets.value_mask.shape[1]):
        left = int(batch.steps_left[0]) - k
        entry = {"k": k, "step": found.step + k, "target": float(targets.values[0, k])}
        entry["mask"] = float(targets.value_mask[0, k])
        if n:
            entry |= _terms(batch, k, left, n, discount, float(bootstraps[0, k]))
        else:
            absorbing = left <= 0 and bool(batch.terminated[0])
            entry |= {"terms": [], "bootstrap": None, "total": 0.0 if absorbing else float(batch.search_value[0, k])}
        entry["why"] = _value_reason(batch, k, left, n)
        steps.append(entry)
    return {
        "formula": Z if n else Z_SEARCH,
        "td_steps": n,
        "discount": discount,
        "target_network": system.target_steps,
        "from": _origin(found),
        "steps": steps,
    }


def _terms(batch: Batch, k: int, left: int, n: int, discount: float, value: float) -> dict:
    """The sum by its definition: rewards that happened, then the value of where they lead, unless that is an end."""
    terms = [
        {"i": i, "reward": float(batch.rewards[0, k + i]), "factor": discount**i,
         "product": discount**i * float(batch.rewards[0, k + i])}
        for i in range(min(n, max(left, 0)))
    ]  # fmt: skip
    reached = min(max(left, 0), n)
    is_over = bool(batch.terminated[0]) and left <= n
    product = 0.0 if is_over else discount**reached * value
    bootstrap = {"steps_later": reached, "value": value, "factor": discount**reached, "product": product}
    bootstrap["masked"] = is_over
    return {"terms": terms, "bootstrap": bootstrap, "total": sum(term["product"] for term in terms) + product}


def _value_reason(batch: Batch, k: int, left: int, n: int) -> str:
    terminated = bool(batch.terminated[0])
    if left <= 0:
        return "absorbing: past a terminal end nothing happens" if terminated else "past the end of the data: masked"
    if n == 0:
        return "the search value" if batch.searched[0, k] else "not in this segment: masked"
    if left <= n and batch.ended[0]:
        return "the episode terminates: no bootstrap" if terminated else "truncated: bootstrapped from the last one"
    return f"bootstrapped from {n} step{'s' if n > 1 else ''} later"


def priority_section(system: System, found: Found) -> dict | None:
    """How likely the position is drawn, and by how much its loss is scaled for that."""
    if found.handle is None:
        return None
    batch, targets = found.given
    config, parts = system.config.replay, system.replay.priority(found.handle)
    td_steps = system.config.learning.td_steps
    search_value, value_target = float(batch.search_value[0, 0]), float(targets.values[0, 0])
    network_value = None  # only asked for with TD-0
    if td_steps == 0:
        predictions, _ = system.losses(batch, targets)
        logits = np.asarray(predictions.value)[0, 0]
        network_value = float(np.asarray(scalar_from_logits(logits, system.config.network.bins_per_unit)))
    return {
        "formula": PRIORITY if td_steps else PRIORITY_SEARCH,
        "search_value": search_value,
        "value_target": value_target,
        "compared_with": value_target if td_steps else network_value,
        "now": float(system.priorities(batch, targets)[0]),
        **parts,
        "alpha": config.priority_exponent,
        "beta": config.importance_exponent,
        "uniform_share": config.uniform_share,
        "weight": float(batch.weights[0]),
    }


def loss_section(system: System, found: Found) -> dict:
    """Predictions beside targets, and what each head's loss at each step adds to the loss."""
    batch, targets = found.learned
    predictions, losses = system.losses(batch, targets)
    losses = StepLosses(*(np.asarray(part)[0] for part in losses))
    unroll_steps = system.config.learning.unroll_steps
    scale = system.config.learning.value_loss_scale
    steps, total = [], 0.0
    for k in range(unroll_steps + 1):
        factor = 1.0 if k == 0 else 1.0 / unroll_steps
        parts = {"policy": float(losses.policy[k]) * factor, "value": scale * float(losses.value[k]) * factor}
        if k > 0:
            parts["reward"] = float(losses.reward[k - 1]) * factor
        elif predictions.action_value is not None:
            parts["action_value"] = scale * float(losses.action_value)
        total += sum(parts.values())
        steps.append({"k": k, "factor": factor, "adds": parts} | _predicted(system, predictions, targets, k))
    weight = float(batch.weights[0])
    whole = np.array([total])
    return {
        "formula": LOSS,
        "from": _origin(found),
        "value_loss_scale": scale,
        "steps": steps,
        "unweighted": total,
        "weight": weight,
        "total": float(np.asarray(system.weighted(whole, batch))[0]),
    }


def _predicted(system: System, predictions: Predictions, targets: Targets, k: int) -> dict:
    """What each head says at t + k, as a number and as a distribution, beside its target."""
    value, heads = np.asarray(predictions.value)[0, k], system.config.network
    entry = {"value": _scalar(value, float(targets.values[0, k]), heads)}
    if k > 0:
        reward = np.asarray(predictions.reward)[0, k - 1]
        entry["reward"] = _scalar(reward, float(targets.rewards[0, k - 1]), heads)
    outputs = np.asarray(predictions.policy)[0, k]
    if system.spaces.continuous:
        mean, scale = (np.asarray(part).tolist() for part in gaussian_parameters(outputs))
        entry["policy"] = {"mean": mean, "scale": scale}
    else:
        shares = np.exp(outputs - outputs.max())
        entry["policy"] = {"pi": (shares / shares.sum()).tolist()}
    return entry


def _scalar(logits: np.ndarray, target: float, heads: NetworkConfig) -> dict:
    entry = {"predicted": float(np.asarray(scalar_from_logits(logits, heads.bins_per_unit))), "target": target}
    if len(logits) > 1:
        shares = np.exp(np.float64(logits) - logits.max())
        entry["distribution"] = (shares / shares.sum()).tolist()
        entry["target_distribution"] = np.asarray(target_distribution(np.float32(target), len(logits), heads)).tolist()
        entry["bins_per_unit"] = heads.bins_per_unit
    return entry


def change_section(found: Found, other: Found | None, system: System | None) -> dict | None:
    """Old targets beside new ones: another checkpoint's, or the replay's, against a search of now."""
    if other is not None:
        return {"old": f"checkpoint {system.steps}", "new": SEARCHED_NOW} | _both(other.new, found.new)
    if found.given is not None and found.results:
        return {"old": IN_REPLAY, "new": SEARCHED_NOW} | _both(found.given, found.new)
    return None


def _both(old: tuple[Batch, Targets], new: tuple[Batch, Targets]) -> dict:
    rows = []
    for name, (batch, targets) in (("old", old), ("new", new)):
        actions = batch.search_actions[0, 0].tolist()
        policy = batch.search_policy[0, 0].tolist()
        rows.append(
            {
                f"{name}_policy": policy,
                f"{name}_actions": actions or list(range(len(policy))),
                f"{name}_search_value": float(batch.search_value[0, 0]),
                f"{name}_value_target": float(targets.values[0, 0]),
            }
        )
    return rows[0] | rows[1] | {"total_variation": _total_variation(rows[0], rows[1])}


def _total_variation(old: dict, new: dict) -> float:
    """Half the sum of |old - new| over all actions that either knows."""
    shares: dict = {}
    for sign, name, row in ((1, "old", old), (-1, "new", new)):
        for action, share in zip(row[f"{name}_actions"], row[f"{name}_policy"], strict=True):
            key = tuple(action) if isinstance(action, list) else action
            shares[key] = shares.get(key, 0.0) + sign * share
    return sum(map(abs, shares.values())) / 2


def _origin(found: Found) -> str:
    if found.given is not None:
        return IN_REPLAY
    return SEARCHED_NOW if found.results else STORED


def _planes(system: System) -> dict:
    """Names and colours of a picture's planes, where each shows one kind of thing."""
    planes = planes_of(system.config.environment)
    return {} if planes is None else {"planes": planes}


def _array(array: np.ndarray) -> dict:
    """Shape, type and numbers; those of a picture as base64 of its bytes."""
    array = np.asarray(array)
    about = {"shape": list(array.shape), "dtype": str(array.dtype)}
    if array.dtype == np.uint8 and array.ndim == 3:
        return about | {"base64": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()}
    return about | {"values": array.tolist()}
