"""Worlds and models that are made for a test: what they do can be read off the observation."""

import numpy as np

from mzu.environments.environment import Environment
from mzu.environments.make import make
from mzu.environments.policies import random_policy
from mzu.environments.spaces import Spaces
from mzu.networks.model import GaussianPolicy

STATES = Spaces((2,), 3)
VECTORS = Spaces((2,), 2, continuous=True)


class Counter(Environment):
    """Observation [seed % 1000, step]. The reward is 10 * step + action; the length depends on the seed."""

    def __init__(self, lengths=(7,), terminates=True, spaces=STATES):
        super().__init__("counter", spaces)
        self.lengths, self.terminates, self.taken = lengths, terminates, []

    def _reset(self, seed):
        self.seed, self.steps = seed, 0
        return self._observation()

    def _step(self, action):
        self.taken.append(action)
        reward = 10 * self.steps + (np.sum(action) if self.spaces.continuous else action)
        self.steps += 1
        over = self.steps == self.length_of(self.seed)
        return self._observation(), reward, over and self.terminates, over and not self.terminates

    def length_of(self, seed):
        return self.lengths[seed % len(self.lengths)]

    def _observation(self):
        return np.array([self.seed % 1000, self.steps], np.float32)


class Unrepeatable(Counter):
    """Where it starts depends on how often it was reset; or only its rewards do."""

    resets = 0

    def __init__(self, only_rewards=False, **settings):
        super().__init__(**settings)
        self.only_rewards = only_rewards

    def _reset(self, seed):
        Unrepeatable.resets += 1
        self.number = Unrepeatable.resets
        return super()._reset(seed)

    def _step(self, action):
        observation, reward, terminated, truncated = super()._step(action)
        return observation, reward + self.number, terminated, truncated

    def _observation(self):
        observation = super()._observation()
        return observation if self.only_rewards else observation + self.number


class LookUpModel:
    """Says of every position what `policy` and `value` say of the observation, whatever is done: nothing ever changes.

    With discount 1 the search value of a position is therefore its `value`, exactly. Observations that it saw are kept.
    """

    def __init__(self, policy, value=lambda observations: np.zeros(len(observations)), reward=None):
        self.policy, self.value, self.reward, self.seen = policy, value, reward, []

    def initial(self, observations):
        self.seen.append(np.array(observations))
        hidden = np.asarray(observations, float)
        return hidden, self.policy(hidden), self.value(hidden)

    def recurrent(self, hidden, actions):
        reward = np.zeros(len(hidden)) if self.reward is None else self.reward(hidden, actions)
        return hidden, reward, self.policy(hidden), self.value(hidden)


def preferring(action, strength=20.0, num_actions=3):
    """A policy for `LookUpModel` that is all but sure of one action."""
    logits = strength * np.eye(num_actions)[action]
    return lambda observations: np.tile(logits, (len(observations), 1))


def gaussian(mean, scale):
    """A Gaussian policy for `LookUpModel`, the same everywhere."""
    return lambda observations: GaussianPolicy(*(np.tile(part, (len(observations), 1)) for part in (mean, scale)))


def saved_network(folder, id="identity"):
    from mzu.config import NetworkConfig
    from mzu.networks.network import build_network
    from mzu.networks.saving import save_network

    config = NetworkConfig(width=16, num_blocks=0, value_support=5, reward_support=5)
    network = build_network(config, make(id).spaces)
    save_network(network, folder / "network.keras")
    return network, folder / "network.keras"


def play(environment, seed=0, policy=None, max_steps=2000):
    """One episode: observations, rewards, and how it ended."""
    policy, rng = policy or random_policy(environment), np.random.default_rng([seed, 9])
    observations, rewards = [environment.reset(seed)], []
    for _ in range(max_steps):
        observation, reward, terminated, truncated = environment.step(policy(observations[-1], rng))
        observations.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            return np.stack(observations), np.array(rewards), terminated, truncated
    raise AssertionError("the episode did not end")


def mean_return(environment, policy, episodes=20):
    return np.mean([play(environment, seed, policy)[1].sum() for seed in range(episodes)])
