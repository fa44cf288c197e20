"""Does the model rank actions as the world does?

    the model's    r + discount * V    after one step of the model (`one_step_values`)
    the world's    r + discount * V    of the real reward and the network's value of the real next observation (0 where
                                       the episode ends there)

of several actions in one stored state, wherever the environment can be brought to it (`branching.py`). Elsewhere stored
states that are near each other stand for one state and their stored actions for its candidates: weaker evidence, since
part of the difference between neighbours is that they are not the same state. Part of `mzu explain RUN --model`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from mzu.acting.selection import one_step_values
from mzu.config import Config, NetworkConfig
from mzu.environments.environment import Environment
from mzu.episodes.episode import Episode
from mzu.explain.branching import Outcome, branch
from mzu.explain.model_depth import SHIFTS, Positions, correlation, draw_positions, varies
from mzu.games.piece import observation_at
from mzu.networks.model import Model
from mzu.networks.scalars import inverse_transform, transform

STATES = 200
STATES_OF_AN_EPISODE = 20  # at most, so that the way to the states is short
MOST_TRIES = 5  # episodes that may turn out not to be replayable before the world is given up
CONTINUOUS_CANDIDATES = 20  # uniform ones, and as many from the policy
POOL = 2000  # stored steps among which neighbours are looked for
POOL_NUMBERS = 2**24  # of their observations at most, so that pictures fit into memory
NEIGHBOURS = 10


def ranking(
    model: Model,
    episodes: Sequence[Episode],
    config: Config,
    make_environment: Callable[[], Environment] | None,
    rng: np.random.Generator,
) -> dict:
    """How the model's one-step values rank actions: in stored states of the world, or among nearby states."""
    states = None if make_environment is None else _branched(model, episodes, config, make_environment, rng)
    if states is not None:
        return {"evidence": "world", **states}
    return {"evidence": "nearby", **_nearby(model, episodes, config, rng)}


def _branched(model, episodes, config, make_environment, rng) -> dict | None:
    """The ranking in states that the environment was brought to; None where it cannot be."""
    stack, failed, walks = config.network.frame_stack, 0, []
    places, candidates, outcomes, kinds = [], [], [], {}
    for number in rng.permutation([number for number, episode in enumerate(episodes) if episode.seed is not None]):
        if len(places) >= STATES or failed == MOST_TRIES:
            break
        episode = episodes[number]
        steps = np.sort(rng.choice(len(episode), min(STATES_OF_AN_EPISODE, len(episode)), replace=False))
        observations = np.stack([observation_at(episode.observations, step, stack) for step in steps])
        actions, kinds = draw_candidates(model, observations, rng)
        found = branch(make_environment, episode, dict(zip(steps.tolist(), actions, strict=True)))
        failed += not found.outcomes
        walks.append((episode, found.rewards))
        for row, step in enumerate(steps.tolist()):
            if step in found.outcomes:
                places.append((episode, step))
                candidates.append(actions[row])
                outcomes.append(found.outcomes[step])
    if not places:
        return None
    positions = Positions(*map(list, zip(*places, strict=True)))
    candidates = np.stack(candidates)
    predicted = one_step_values(model, positions.observations(0, stack), candidates, config.search.discount)
    real = _world_values(model, positions, outcomes, config)
    predicted = np.where(np.isnan(real), np.nan, predicted)
    groups = [
        {"candidates": name, **ranking_statistics(predicted[:, part], real[:, part])} for name, part in kinds.items()
    ]
    counts = {"states": len(places), "episodes": len({id(episode) for episode, _ in places})}
    return {"groups": groups, **counts, "stored_rewards": _stored_rewards(walks)}


def _stored_rewards(walks: list[tuple[Episode, list[float]]]) -> list[float | None]:
    """Correlation of stored rewards with the world's one step earlier, at the same step, and one later."""
    stored, world = [], {shift: [] for shift in SHIFTS}
    for episode, rewards in walks:
        # Nothing is earned before the start, and nothing behind a terminal end; elsewhere the next step is not known.
        known = [0.0, *rewards, *([0.0] if episode.terminated and len(rewards) == len(episode) else [])]
        steps = max(len(known) - 2, 0)
        stored.append(episode.rewards[:steps])
        for shift in SHIFTS:
            world[shift].append(np.float32(known[1 + shift : 1 + shift + steps]))
    return [correlation(np.concatenate(stored), np.concatenate(world[shift])) for shift in SHIFTS]


def draw_candidates(model: Model, observations: np.ndarray, rng) -> tuple[np.ndarray, dict[str, slice]]:
    """Candidates [B, K(, D)] for each observation, and which of them are of which kind."""
    _, policy, _ = model.initial(observations)
    if not isinstance(policy, tuple):
        actions = np.tile(np.arange(policy.shape[1], dtype=np.int32), (len(observations), 1))
        return actions, {"all actions": slice(None)}
    mean, scale = (np.asarray(part)[:, None] for part in policy)
    count, (batch, dimensions) = CONTINUOUS_CANDIDATES, np.shape(policy[0])
    uniform = rng.uniform(-1, 1, (batch, count, dimensions))
    drawn = np.clip(mean + scale * rng.standard_normal((batch, count, dimensions)), -1, 1)
    kinds = {"uniform": slice(0, count), "from the policy": slice(count, None)}
    return np.concatenate([uniform, drawn], axis=1).astype(np.float32), kinds


def _world_values(model: Model, positions: Positions, outcomes: list[list[Outcome | None]], config: Config):
    """r + discount * V of the real outcomes [B, K]; NaN for illegal actions."""
    stack, columns = config.network.frame_stack, []
    for column in zip(*outcomes, strict=True):
        rows = zip(positions.episodes, positions.steps, column, strict=True)
        observations = np.stack([_seen_next(episode, step, outcome, stack) for episode, step, outcome in rows])
        _, _, values = model.initial(observations)
        goes_on = np.array([outcome is not None and not outcome.terminated for outcome in column])
        rewards = np.array([np.nan if outcome is None else outcome.reward for outcome in column])
        columns.append(rewards + config.search.discount * np.where(goes_on, values, 0.0))
    return np.stack(columns, axis=1)


def _seen_next(episode: Episode, step: int, outcome: Outcome | None, stack: int) -> np.ndarray:
    """What the network sees after the outcome; of an illegal action, something of the right shape."""
    if outcome is None:
        return observation_at(episode.observations, step, stack)
    frames = [*episode.observations[max(step - stack + 2, 0) : step + 1], outcome.observation]
    return observation_at(frames, len(frames) - 1, stack)


def ranking_statistics(predicted: np.ndarray, real: np.ndarray) -> dict:
    """Statistics of values [B, K] of the same candidates, within each state; NaN where there is no candidate.

    correlation   mean over the states in which the world makes a difference; 0 where the model sees none
    regret        what the model's choice loses against the best candidate, as a share of what a random choice loses
    spreads       mean standard deviation within a state, in the world and in the model
    """
    correlations, lost, lost_at_random, spreads = [], 0.0, 0.0, []
    for guess, truth in zip(predicted, real, strict=True):
        guess, truth = guess[~np.isnan(truth)], truth[~np.isnan(truth)]
        if not len(truth):
            continue
        spreads.append((np.std(truth), np.std(guess)))
        if not varies(truth):
            continue
        correlations.append(correlation(guess, truth) or 0.0)
        lost += truth.max() - truth[guess == guess.max()].mean()  # among equals the choice is an accident
        lost_at_random += truth.max() - truth.mean()
    world, own = np.mean(spreads, axis=0)
    return {
        "count": predicted.shape[1],
        "states": len(spreads),
        "decided": len(correlations),
        "correlation": float(np.mean(correlations)) if correlations else None,
        "regret": float(lost / lost_at_random) if lost_at_random else None,
        "world_spread": float(world),
        "model_spread": float(own),
    }


def _nearby(model, episodes, config: Config, rng) -> dict:
    """The ranking among stored actions of states near each other."""
    stack, discount = config.network.frame_stack, config.search.discount
    size = max(int(np.prod(episodes[0].observations.shape[1:])) * stack, 1)
    pool = draw_positions(episodes, max(min(POOL, POOL_NUMBERS // size), NEIGHBOURS), rng)
    observations = pool.observations(0, stack)
    predicted = one_step_values(model, observations, pool.actions(0)[:, None], discount)[:, 0]
    _, _, following = model.initial(pool.observations(1, stack))
    ends = (pool.steps_left() == 1) & np.array([episode.terminated for episode in pool.episodes])
    real = pool.rewards(0) + discount * np.where(ends, 0.0, following)
    flat = observations.reshape(len(observations), -1).astype(np.float32)
    flat = (flat - flat.mean(axis=0)) / np.maximum(flat.std(axis=0), 1e-6)
    centres = rng.choice(len(flat), min(STATES, len(flat)), replace=False)
    together, distances, everywhere = [], [], []
    for centre in centres:
        distance = np.sqrt(np.mean((flat - flat[centre]) ** 2, axis=1))
        near = np.argsort(distance, kind="stable")[: NEIGHBOURS + 1]  # the centre itself comes first
        together.append(near)
        distances.append(np.median(distance[near[1:]]) if len(near) > 1 else 0.0)
        everywhere.append(np.median(distance))
    together = np.array(together)
    return {
        "groups": [{"candidates": "stored actions", **ranking_statistics(predicted[together], real[together])}],
        "states": len(centres),
        "pool": len(flat),
        "neighbours": together.shape[1] - 1,
        "distance": float(np.median(distances)),  # in standard deviations, root mean square over the observation
        "typical_distance": float(np.median(everywhere)),
    }


def expressible_values(config: NetworkConfig, values: np.ndarray, rewards: np.ndarray) -> dict:
    """What the value head can express: one bin at the typical value, the largest value, and how close values come.

    values are the network's, rewards the world's. A regression head has neither bins nor an end.
    """
    typical = float(np.median(np.abs(values)))
    if config.scalar_head == "regression":
        return {"kind": "regression", "typical_value": typical, "bin": None, "largest_value": None, "at_the_end": 0.0,
                "largest_reward": None, "reward_seen": float(np.abs(rewards).max())}  # fmt: skip
    place = float(np.asarray(transform(np.float64(typical))))
    below, above, end, reward_end = (
        float(np.asarray(inverse_transform(np.float64(number))))
        for number in (place - 0.5, place + 0.5, config.value_support, config.reward_support)
    )
    categories = np.abs(np.asarray(transform(np.asarray(values, np.float64))))
    return {
        "kind": "categorical",
        "typical_value": typical,
        "bin": above - below,
        "largest_value": end,
        "at_the_end": float(np.mean(categories > config.value_support - 0.5)),
        "largest_reward": reward_end,
        "reward_seen": float(np.abs(rewards).max()),
    }
