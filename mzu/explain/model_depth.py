"""How well a model foresees: k steps along stored actions, beside what really happened k steps later.

    reward after k steps    against the stored reward of that step
    value after k steps     against the network's own value of the stored observation k steps later

So what is measured is the dynamics, not whether the values are right. Part of `mzu explain RUN --model`
(tutorials/model_report.md); all functions take any `Model`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mzu.config import Config
from mzu.episodes.episode import Episode
from mzu.games.piece import observation_at, piece_of
from mzu.games.search_games import search_games
from mzu.games.stored_game import StoredGame
from mzu.networks.model import Model
from mzu.search.tree import NO_NODE

POSITIONS, PICTURES = 512, 128  # sampled: of states, and of pictures, which cost more
LEAST_DEPTH, MOST_DEPTH = 10, 50  # unrolled: twice as far as in training, and as deep as searches go
SHIFTS = (-1, 0, 1)


class Positions(NamedTuple):
    """P stored positions: the episode of each, and its step t there."""

    episodes: list[Episode]
    steps: list[int]

    def observations(self, ahead: int, frame_stack: int) -> np.ndarray:
        """What the network sees `ahead` steps later [P, ...]; the last observation where the episode has ended."""
        pairs = zip(self.episodes, self.steps, strict=True)
        return np.stack(
            [
                observation_at(episode.observations, min(step + ahead, len(episode)), frame_stack)
                for episode, step in pairs
            ]
        )

    def actions(self, ahead: int) -> np.ndarray:
        """The stored actions `ahead` steps later [P(, D)]; the last one where the episode has ended."""
        pairs = zip(self.episodes, self.steps, strict=True)
        actions = np.stack([episode.actions[min(step + ahead, len(episode) - 1)] for episode, step in pairs])
        # A stored action may lie a rounding error outside of the bounds; a model's may not.
        return np.clip(actions, -1, 1) if actions.ndim == 2 else actions

    def rewards(self, ahead: int) -> np.ndarray:
        """The rewards of these actions [P]: 0 behind a terminal end, NaN where nothing is known."""
        pairs = zip(self.episodes, self.steps, strict=True)
        return np.array([_reward(episode, step + ahead) for episode, step in pairs])

    def steps_left(self) -> np.ndarray:
        """How many steps follow each position [P]."""
        return np.array([len(episode) - step for episode, step in zip(self.episodes, self.steps, strict=True)])


def _reward(episode: Episode, step: int) -> float:
    if 0 <= step < len(episode):
        return float(episode.rewards[step])
    return 0.0 if step >= len(episode) and episode.terminated else math.nan


def draw_positions(episodes: Sequence[Episode], count: int, rng: np.random.Generator) -> Positions:
    """`count` different positions, or all where there are fewer; every stored step is equally likely."""
    starts = np.cumsum([0, *map(len, episodes)])
    if starts[-1] == 0:
        raise ValueError("There are no stored episodes to compare the model with; train on data or in an environment")
    chosen = np.sort(rng.choice(starts[-1], min(count, starts[-1]), replace=False))
    numbers = np.searchsorted(starts, chosen, side="right") - 1
    return Positions([episodes[number] for number in numbers], (chosen - starts[numbers]).tolist())


def by_depth(model: Model, positions: Positions, config: Config, deepest: float = 0.0) -> dict:
    """Errors of reward and value after 0, 1, ... steps. `shifts`: correlation of predicted rewards with the stored ones
    of the step before, the same step and the step after (`SHIFTS`). `deepest` is how deep searches go."""
    stack, unrolled = config.network.frame_stack, config.learning.unroll_steps
    depths = max(2 * unrolled, LEAST_DEPTH, min(math.ceil(deepest), MOST_DEPTH))
    left = positions.steps_left()
    terminated = np.array([episode.terminated for episode in positions.episodes])
    hidden, _, value = model.initial(positions.observations(0, stack))
    rows, shifted = [], {shift: ([np.zeros(0)], [np.zeros(0)]) for shift in SHIFTS}
    for depth in range(depths + 1):
        reward = None
        if depth:
            hidden, reward, _, value = model.recurrent(hidden, positions.actions(depth - 1))
        _, _, real = model.initial(positions.observations(depth, stack))
        # Behind a terminal end the world's value is 0, whatever the network says of its observation: left out.
        there = np.where(terminated, left > depth, left >= depth)
        if not there.any():
            break
        row = {"depth": depth, "value": errors(np.asarray(value)[there], np.asarray(real)[there]), "reward": None}
        if depth:
            happened = left >= depth
            row["reward"] = errors(np.asarray(reward)[happened], positions.rewards(depth - 1)[happened])
        if 0 < depth <= unrolled:
            _note_shifts(shifted, np.asarray(reward), positions, depth)
        rows.append(row)
    return {
        "positions": len(left),
        "unroll_steps": unrolled,
        "rows": rows,
        "shifts": [correlation(*map(np.concatenate, shifted[shift])) for shift in SHIFTS],
    }


def _note_shifts(shifted: dict, reward: np.ndarray, positions: Positions, depth: int) -> None:
    """Predicted rewards beside the real ones one step earlier, at the same step, and one later."""
    real = np.stack([positions.rewards(depth - 1 + shift) for shift in SHIFTS])
    # The same positions for all three, otherwise they could not be compared; up to the first step behind the end.
    there = np.isfinite(real).all(axis=0) & (positions.steps_left() >= depth - 1)
    for shift, row in zip(SHIFTS, real, strict=True):
        shifted[shift][0].append(reward[there])
        shifted[shift][1].append(row[there])


def errors(predicted: np.ndarray, real: np.ndarray) -> dict:
    """Bias, RMSE and correlation of predictions [P], and the spread (standard deviation) of what they predict."""
    difference = np.asarray(predicted, float) - real
    return {
        "count": len(real),
        "bias": float(difference.mean()),
        "rmse": float(np.sqrt(np.mean(difference**2))),
        "spread": float(np.std(real)),
        "size": float(np.sqrt(np.mean(np.square(real)))),
        "correlation": correlation(predicted, real),
    }


def correlation(one: np.ndarray, other: np.ndarray) -> float | None:
    """Pearson's; None where one of the two does not vary."""
    if len(one) < 2 or not (varies(one) and varies(other)):
        return None
    return float(np.corrcoef(np.asarray(one, float), np.asarray(other, float))[0, 1])


def varies(numbers: np.ndarray) -> bool:
    """Whether numbers differ by more than float32 rounds them."""
    return bool(np.ptp(numbers) > 1e-5 * max(np.abs(numbers).max(), 1e-3))


def search_depths(model: Model, positions: Positions, config: Config, rng: np.random.Generator) -> dict:
    """How deep the nodes of searches lie that reanalyse these positions with the run's settings.

    Every node is one evaluation of the network. `shares[d - 1]` is the share of nodes at depth d, the root left out;
    `deepest` the mean over searches of the deepest node.
    """
    pairs = zip(positions.episodes, positions.steps, strict=True)
    games = [StoredGame(piece_of(episode, step, step + 1, config), config) for episode, step in pairs]
    nodes = search_games(model, games, config, rng).tree.nodes
    depth = node_depths(nodes["parent"])
    counts = np.bincount(depth[depth > 0])[1:]
    return {
        "simulations": config.search.num_simulations,
        "searches": len(depth),
        "shares": (counts / counts.sum()).tolist(),
        "mean": float(depth[depth > 0].mean()),
        "deepest": float(depth.max(axis=1).mean()),
    }


def node_depths(parent: np.ndarray) -> np.ndarray:
    """parent [B, N] of the nodes of trees -> edges between the root and each [B, N]; 0 for the root."""
    depth, rows = np.zeros(parent.shape, np.int64), np.arange(len(parent))
    for node in range(1, parent.shape[1]):
        above = parent[:, node]
        depth[:, node] = np.where(above == NO_NODE, 0, 1 + depth[rows, above])
    return depth


def good_depth(rows: list[dict]) -> float:
    """The last depth before the value's RMSE exceeds its spread; infinity where it never does."""
    for row in rows[1:]:
        value = row["value"]
        if value["rmse"] > max(value["spread"], 1e-4 * value["size"]):  # values that never vary have rounding errors
            return row["depth"] - 1
    return math.inf
