"""Episodes that a run's agent plays for the model report: returns against simulations, and games to compare with."""

import dataclasses
from collections.abc import Callable

import numpy as np

from mzu.acting.evaluation import evaluate_selection
from mzu.config import Config
from mzu.environments.environment import Environment
from mzu.episodes.episode import Episode
from mzu.games.fresh_game import FreshGame
from mzu.games.search_games import search_games
from mzu.networks.compiled.compile_model import model_for_search
from mzu.networks.model import Model
from mzu.networks.network import Network
from mzu.search.search import sample_actions

SIMULATIONS = (16, 50, 200)
RECORDED = 10  # episodes, where a run has no data
RECORDED_STEPS = 1000  # of each at most


def returns_by_simulations(
    network: Network, config: Config, make_environment: Callable[[], Environment], episodes: int
) -> list[dict]:
    """Mean returns with 95 % intervals: 0 simulations is the policy, 1 the one-step value, then searches.

    Continuous policies also act with noise of scale min(scale, `evaluation.max_policy_scale`). All begin
    in the same states.
    """
    ways = [("policy", 0, "policy", config), ("value", 1, "value", config)]
    if network.spaces.continuous:
        ways.insert(1, ("policy with noise", None, gaussian_selection(network, config), config))
    for simulations in SIMULATIONS:
        settings = dataclasses.replace(config.search, num_simulations=simulations)
        ways.append(("search", simulations, "search", dataclasses.replace(config, search=settings)))
    rows = []
    for name, simulations, select, own in ways:
        evaluation = evaluate_selection(network, own, make_environment, episodes, select, seed=config.seed)
        low, high = evaluation.interval()
        numbers = {"mean": evaluation.mean, "low": low, "high": high, "episodes": episodes}
        rows.append({"name": name, "simulations": simulations, **numbers})
    return rows


def gaussian_selection(network: Network, config: Config):
    """A selection: samples of the Gaussian, whose scale is capped as in evaluation."""
    model = model_for_search(network, config.evaluation.max_policy_scale)

    def choose(observations, rng, legal=None):
        _, (mean, scale), _ = model.initial(observations)
        return np.clip(mean + scale * rng.standard_normal(np.shape(mean)), -1, 1).astype(np.float32)

    return choose


def record_episodes(
    model: Model,
    config: Config,
    make_environment: Callable[[], Environment],
    rng: np.random.Generator,
    count: int = RECORDED,
) -> list[Episode]:
    """Fresh games by search, as they are played at the end of training; cut off after `RECORDED_STEPS`."""
    environments = [make_environment() for _ in range(count)]
    try:
        games = [FreshGame(environment, int(rng.integers(2**31)), config) for environment in environments]
        for _ in range(RECORDED_STEPS):
            if all(game.finished for game in games):
                break
            # Ended games stay in the batch: a convolutional model is compiled anew for every batch size.
            result = search_games(model, games, config, rng)
            for game, action in zip(games, sample_actions(result, config.acting.temperatures[-1], rng), strict=True):
                if not game.finished:
                    game.apply(action if game.environment.spaces.continuous else int(action))
        return [game.episode() for game in games]
    finally:
        for environment in environments:
            environment.close()
