"""Evaluation: many episodes side by side, without noise (paper, appendix "Evaluation"; notebook 08_unplugged)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mzu.acting.selection import Selection, make_selection
from mzu.config import Config
from mzu.environments.environment import Environment
from mzu.games.piece import stack_frames
from mzu.games.search_games import stack_masks
from mzu.networks.network import Network

PARALLEL_EPISODES = 50


class Evaluation(NamedTuple):
    """How evaluation episodes went, in the order in which they were begun.

    attribute  what it is
    returns    [E] undiscounted
    lengths    [E] in steps
    cut_off    how many did not end by themselves within `acting.max_episode_steps`
    discounted [E] the same returns with `search.discount`, which `evaluate_offline` estimates; None where not known
    mean       of the undiscounted returns

    >>> evaluation = agent.evaluate(episodes=2)
    >>> low, high = evaluation.interval()
    >>> evaluation.returns.shape, low <= evaluation.mean <= high
    ((2,), True)
    """

    returns: np.ndarray
    lengths: np.ndarray
    cut_off: int = 0
    discounted: np.ndarray | None = None

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


def evaluate_selection(
    network: Network,
    config: Config,
    make_environment: Callable[[], Environment],
    episodes: int,
    select: str | Selection = "search",
    seed: int = 0,
    on_frame: Callable[[np.ndarray], None] | None = None,
    scale: float | None = None,
) -> Evaluation:
    """Plays `episodes` episodes, up to 50 side by side. Episode i begins with a reset seed that depends on i only.

    `select` is one of `SELECTIONS`, or a function like those that `make_selection` makes. `on_frame` is shown every
    picture of the first episode, for a video. `scale` is the running scale of a run that improves its policy by
    advantages.
    """
    choose = select if callable(select) else make_selection(network, config, select, scale)
    rng = np.random.default_rng([seed, 1])
    seeds = np.random.default_rng([seed, 2]).integers(2**31, size=episodes)
    environments = [make_environment() for _ in range(min(episodes, PARALLEL_EPISODES))]
    found = Evaluation(np.zeros(episodes), np.zeros(episodes, int), discounted=np.zeros(episodes))
    try:
        for first in range(0, episodes, len(environments)):
            together = range(first, min(first + len(environments), episodes))
            running = dict(zip(together, environments, strict=False))
            _play_together(
                choose, rng, running, seeds, config, network.spaces.is_image, found, on_frame if first == 0 else None
            )
    finally:
        for environment in environments:
            environment.close()
    return found._replace(cut_off=sum(environment.cut_off for environment in environments))


def _play_together(choose, rng, running, seeds, config: Config, keep_rows, found: Evaluation, on_frame) -> None:
    """Plays `running`, environments by the number of their episode, to the end; adds to what is `found` of each.

    With `keep_rows` an ended episode stays in the batch with its last observation, because a convolutional model is
    compiled anew for every batch size. Otherwise it costs nothing any more.
    """
    rows = {number: row for row, number in enumerate(running)}
    first = np.stack([environment.reset(seed=int(seeds[number])) for number, environment in running.items()])
    frames = np.zeros((len(first), config.network.frame_stack, *first.shape[1:]), first.dtype)
    frames[:, -1] = first
    filmed = next(iter(running)) if on_frame else None
    while running:
        if filmed in running:
            on_frame(running[filmed].render())
        numbers = list(rows if keep_rows else running)
        observations = np.stack([stack_frames(frames[rows[number]]) for number in numbers])
        # The row of an ended episode may take any action.
        masks = [running[number].legal_actions() if number in running else None for number in numbers]
        actions = choose(observations, rng, stack_masks(masks))
        for number, action in zip(numbers, actions, strict=True):
            if number not in running:
                continue
            environment, row = running[number], rows[number]
            action = action if environment.spaces.continuous else int(action)
            observation, reward, terminated, truncated = environment.step(action)
            frames[row, :-1] = frames[row, 1:]
            frames[row, -1] = observation
            found.returns[number] += reward
            found.discounted[number] += config.search.discount ** found.lengths[number] * reward
            found.lengths[number] += 1
            if terminated or truncated:
                if number == filmed:
                    on_frame(environment.render())
                del running[number]
