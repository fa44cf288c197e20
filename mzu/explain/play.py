"""How a run plays, as far as its folder says: against its data, its best network on the way, and its preset's others.

And what has changed between the best network and the last, where a run has collapsed.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mzu.config import Config
from mzu.explain.model_depth import Positions, draw_positions, errors
from mzu.explain.system import System
from mzu.explain.wording import number
from mzu.training.collapse import is_collapse
from mzu.training.reference import evaluated
from mzu.training.run_folder import RunFolder

POSITIONS = 200
EPISODES = 2000  # whose returns are added up
WORSE = 1.5  # times the error of the best network


class Play(NamedTuple):
    """Mean returns: of the last evaluation, the best on the way and its step, the data; what they say."""

    mean: float
    best: float | None
    best_step: int | None
    dataset: float | None
    collapsed: bool
    is_bad: bool
    says: list[str]


def how_it_plays(path: str | Path, dataset: float | None = None) -> Play | None:
    """None where nothing was evaluated yet. `dataset` is the mean return of its data."""
    folder = RunFolder(path)
    rows = evaluated(folder.read_log())
    result, best = folder.result(), folder.best()
    if "mean" not in result and not rows:
        return None
    final = "mean" in result
    mean, high = (result["mean"], result["high"]) if final else (rows[-1]["evaluation"], rows[-1]["high"])
    says = []
    collapsed = bool(best) and is_collapse(mean, high, best["mean"])
    which = "final" if final else "last"
    says.append(f"the {which} evaluation earns {number(mean, 4)}")
    if best:
        says.append(f"the best on the way earned {number(best['mean'], 4)} (step {best['step']})")
    if collapsed:
        says.append("the run has collapsed: the last network is far below the best")
    below = dataset is not None and final and high < dataset - 0.1 * abs(dataset)
    if dataset is not None:
        says.append(
            f"the data earn {number(dataset, 4)}{', more than the network that learned from them' if below else ''}"
        )
    return Play(float(mean), best.get("mean"), best.get("step"), dataset, collapsed, collapsed or below, says)


def compared_networks(system: System, best) -> list[dict]:
    """What the last network does worse on the data than the best one, whose model `best` is; the worst first.

    Each has the part of the circle, a sentence with both numbers, advice, and the ratio of the two errors.
    """
    rng = np.random.default_rng([system.config.seed, 6])
    positions = draw_positions(system.episodes, POSITIONS, rng)
    one, other = (network_errors(model, positions, system.config) for model in (best, system.model))
    found = []
    for part, name, what in (
        ("values", "values", "what followed (n-step)"),
        ("model", "rewards", "the stored rewards"),
    ):
        found.append(
            {
                "part": part,
                "name": name,
                "ratio": other[name] / max(one[name], 1e-9),
                "says": f"on the data the {name} of the last network miss {what} by {number(other[name], 3)}, those of "
                f"the best one by {number(one[name], 3)} (RMSE)",
                "advice": "lower learning.learning_rate, or stop at the best network (--checkpoint best)",
            }
        )
    found.sort(key=lambda row: -row["ratio"])
    if found[0]["ratio"] < WORSE:
        moved = number(float(np.abs(one["policy"] - other["policy"]).mean()), 3)
        says = (
            "values and rewards of the last network are as good on the data as those of the best one, its policy has "
        )
        says += f"moved by {moved} (mean difference of its outputs)"
        advice = (
            "let more of the policy's target lie on stored actions, or stop at the best network (--checkpoint best)"
        )
        found.insert(0, {"part": "policy", "name": "policy", "ratio": 1.0, "says": says, "advice": advice})
    return found


def network_errors(model, positions: Positions, config: Config) -> dict:
    """RMSE of the values against n-step sums of stored rewards with the model's own value behind them, RMSE of the
    rewards of one step, and the policy's outputs."""
    steps, stack = max(config.learning.td_steps, 1), config.network.frame_stack
    hidden, policy, values = model.initial(positions.observations(0, stack))
    _, reward, _, _ = model.recurrent(hidden, positions.actions(0))
    left = positions.steps_left()
    reach = np.minimum(left, steps)
    sums = np.zeros(len(left))
    for ahead in range(steps):
        sums += np.where(ahead < left, config.search.discount**ahead * np.nan_to_num(positions.rewards(ahead)), 0.0)
    _, _, behind = model.initial(positions.observations(steps, stack))
    ended = np.array([episode.terminated for episode in positions.episodes]) & (left <= steps)
    sums += np.where(ended, 0.0, config.search.discount**reach * np.asarray(behind, float))
    return {
        "values": errors(np.asarray(values), sums)["rmse"],
        "rewards": errors(np.asarray(reward), positions.rewards(0))["rmse"],
        "policy": np.asarray(policy, float),
    }


def dataset_mean(system: System) -> float | None:
    """The mean return of the data that a run learned from, and from nothing else; of the first few of many."""
    if system.config.data is None or system.config.reanalyse.fraction < 1 or not len(system.episodes):
        return None
    returns = [system.episodes[number].total_reward for number in range(min(len(system.episodes), EPISODES))]
    return float(np.mean(returns))
