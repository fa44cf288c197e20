"""Episodes of a random, heuristic or trained policy, recorded one after the other (`mzu collect`)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mzu.config import ActingConfig, Config
from mzu.environments.environment import Environment
from mzu.environments.make import make
from mzu.environments.players import draw_player
from mzu.environments.policies import heuristic_policy, noisy_policy, random_policy
from mzu.episodes.episode import Episode


def collect(
    environment: Environment | str,
    policy="random",
    episodes: int = 10,
    seed: int = 0,
    noise: float = 0.0,
    sticky: float = 0.0,
) -> Iterator[Episode]:
    """Episodes, one after the other, in an environment or one that `make` makes of its id.

    policy       plays
    "random"     uniformly
    "heuristic"  the environment's heuristic; with probability `noise` at each step a random action
    "mixture"    the same, with a probability drawn anew for every episode, uniformly from [noise, 1]: from the
                 heuristic to random play, which is what offline learning has to sort out
    "players"    one of the environment's players (players.py), drawn anew for every episode, with noise of its own
    a function   `policy(observation, rng) -> action`, such as `trained_policy(...)`; `noise` as for the heuristic

    >>> episodes = list(mzu.collect("catch", "heuristic", episodes=3))
    >>> [episode.total_reward for episode in episodes]
    [1.0, 1.0, 1.0]
    """
    if not isinstance(environment, Environment):
        with make(environment) as made:
            yield from collect(made, policy, episodes, seed, noise, sticky)
        return
    if callable(policy):
        act, policy = policy, "trained"
    elif policy == "random":
        act = random_policy(environment)
    elif policy in ("heuristic", "mixture"):
        act = heuristic_policy(environment)
    elif policy == "players":
        if noise or sticky:
            raise ValueError(
                "noise and sticky do not apply: the players have their own, see mzu/environments/players.py"
            )
    else:
        raise ValueError(f"policy is {policy!r}, but must be random, heuristic, mixture, players or a function")
    if seed < 0:
        raise ValueError(f"seed is {seed}, but must be at least 0")
    if environment.max_steps is None:
        environment.max_steps = ActingConfig().max_episode_steps  # a world without an end is no reason to wait for it
    for index in range(episodes):
        rng = np.random.default_rng([seed, index])
        if policy == "players":
            name, play = draw_player(environment, rng)
        else:
            share = rng.uniform(noise, 1) if policy == "mixture" else noise
            name, play = f"{policy}, noise {share:.2f}", noisy_policy(environment, act, share, sticky)
        yield record(environment, play, rng, f"{environment.id}, {name}, seed {seed}, episode {index}")


def trained_policy(environment: Environment, path: Path, config: Config, scale: float | None = None):
    """Plays the saved network at `path` by search, as it is evaluated; `scale` is that of its run's advantages."""
    from mzu.acting.selection import make_selection
    from mzu.networks.saving import load_network

    network = load_network(path)
    if network.spaces != environment.spaces:
        raise ValueError(f"{path} was made for {network.spaces}, but {environment.id} has {environment.spaces}")
    choose = make_selection(network, config, "search", scale)

    def act(observation, rng):
        legal = environment.legal_actions()
        action = choose(observation[None], rng, None if legal is None else legal[None])[0]
        return action if network.spaces.continuous else int(action)

    return act


def record(environment: Environment, policy, rng: np.random.Generator, source: str = "") -> Episode:
    """One episode of `policy(observation, rng) -> action`, from a reset to the end."""
    # From a number that `rng` draws, not from the seed itself: the environment must not draw the policy's numbers.
    seed = int(rng.integers(2**31))
    observation = environment.reset(seed=seed)
    observations, actions, rewards, ended = [observation], [], [], False
    while not ended:
        action = policy(observation, rng)
        observation, reward, terminated, truncated = environment.step(action)
        observations.append(observation)
        actions.append(action)
        rewards.append(reward)
        ended = terminated or truncated
    action_type = np.float32 if environment.spaces.continuous else np.int32
    return Episode(
        observations=np.stack(observations),
        actions=np.array(actions, action_type),
        rewards=np.array(rewards, np.float32),
        terminated=terminated,
        truncated=truncated,
        seed=seed,
        repeat=environment.repeat,
        source=source,
    )
