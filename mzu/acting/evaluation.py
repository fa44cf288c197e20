"""Evaluation: many episodes side by side, without noise (paper, appendix "Evaluation"; notebook 08_unplugged)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mzu.acting.selection import make_selection
from mzu.config import Config
from mzu.environments.environment import Environment
from mzu.networks.network import Network
from mzu.replay.pieces import stack_frames

PARALLEL_EPISODES = 50


class Evaluation(NamedTuple):
    """Undiscounted returns [E] and lengths [E] of evaluation episodes, in the order in which they were begun."""

    returns: np.ndarray
    lengths: np.ndarray

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    def interval(self, level: float = 0.95, resamples: int = 2000) -> tuple[float, float]:
        """Bootstrap confidence interval of the mean return (percentiles; always the same for the same returns)."""
        return bootstrap_interval(self.returns, level, resamples)


def bootstrap_interval(values, level: float = 0.95, resamples: int = 2000) -> tuple[float, float]:
    """The interval that holds the mean of resampled `values` with this probability."""
    values = np.asarray(values, float)
    rng = np.random.default_rng(0)
    means = rng.choice(values, (resamples, len(values))).mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def evaluate(
    network: Network,
    config: Config,
    make_environment: Callable[[], Environment],
    episodes: int,
    select: str = "search",
    seed: int = 0,
    on_frame: Callable[[np.ndarray], None] | None = None,
) -> Evaluation:
    """Plays `episodes` episodes, up to 50 side by side. Episode i begins with a reset seed that depends on i only.

    `on_frame` is shown every picture of the first episode, for a video.
    """
    choose = make_selection(network, config, select)
    rng = np.random.default_rng([seed, 1])
    seeds = np.random.default_rng([seed, 2]).integers(2**31, size=episodes)
    environments = [make_environment() for _ in range(min(episodes, PARALLEL_EPISODES))]
    returns, lengths = np.zeros(episodes), np.zeros(episodes, int)
    try:
        for first in range(0, episodes, len(environments)):
            numbers = range(first, min(first + len(environments), episodes))
            _play_together(
                choose, rng, environments, seeds, numbers, config.network.frame_stack, returns, lengths,
                on_frame if first == 0 else None,
            )  # fmt: skip
    finally:
        for environment in environments:
            environment.close()
    return Evaluation(returns, lengths)


def _play_together(choose, rng, environments, seeds, numbers, frame_stack, returns, lengths, on_frame) -> None:
    """Episodes `numbers`, one per environment, until the last has ended; adds to returns [E] and lengths [E]."""
    running = {number: environment for number, environment in zip(numbers, environments, strict=False)}
    rows = {number: row for row, number in enumerate(running)}
    first = [environment.reset(seed=int(seeds[number])) for number, environment in running.items()]
    # Ended episodes keep their row, with their last observation: a convolutional model is compiled for one batch size.
    frames = np.zeros((len(running), frame_stack, *first[0].shape), first[0].dtype)
    frames[:, -1] = first
    filmed = next(iter(running)) if on_frame else None
    while running:
        if filmed in running:
            on_frame(running[filmed].render())
        observations = frames[:, 0] if frame_stack == 1 else np.stack([stack_frames(stack) for stack in frames])
        actions = choose(observations, rng, _legal(running, rows, len(frames)))
        for number, environment in list(running.items()):
            row = rows[number]
            action = actions[row] if environment.spaces.continuous else int(actions[row])
            observation, reward, terminated, truncated = environment.step(action)
            frames[row, :-1] = frames[row, 1:]
            frames[row, -1] = observation
            returns[number] += reward
            lengths[number] += 1
            if terminated or truncated:
                if number == filmed:
                    on_frame(environment.render())
                del running[number]


def _legal(running, rows, batch: int) -> np.ndarray | None:
    masks = {rows[number]: environment.legal_actions() for number, environment in running.items()}
    if all(mask is None for mask in masks.values()):
        return None
    size = next(environment.spaces.num_actions for environment in running.values())
    legal = np.ones((batch, size), bool)
    for row, mask in masks.items():
        if mask is not None:
            legal[row] = mask
    return legal
