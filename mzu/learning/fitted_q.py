"""Fitted Q evaluation: what a policy pi would earn, learned from steps that others took (Le, Voloshin and Yue 2019,
"Batch Policy Learning under Constraints"; tutorials/offline_judgement.md).

    Q_0(o, a)     = 0
    Q_{k+1}(o, a) = the network nearest to y over all stored steps (o, a, u, o'), by squared error
    y             = u + discount * Q_k(o', pi(o'))       at the last step of a terminated episode y = u
    value of pi   = mean of Q_K(o_0, pi(o_0)) over the episodes' first observations

The action in y is the policy's, not the stored one: that is what makes Q the policy's value. What is estimated is the
*discounted* return of an episode; an undiscounted one is never seen by any of these numbers. Q_k(o', .) counts at most
as much as the largest stored reward for ever would, and at least as the smallest: no policy can earn more or less, and
a network that is asked about actions that nobody took would say anything.

Q is a network like those that are trained: the representation, and the dynamics with its reward head of one output,
which sees observation and action. Several are fitted, each with weights of its own and to episodes that are drawn anew
with replacement (Hao et al. 2021, "Bootstrapping Fitted Q-Evaluation"); how far they differ makes the interval.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.games.piece import observation_at
from mzu.learning.optimiser import AdamW
from mzu.networks.network import Network, build_network
from mzu.networks.representation import fit_to_observations
from mzu.silent_tensorflow import tf

ROWS = 1024  # observations that the policy is asked about at once


@dataclasses.dataclass(frozen=True)
class FitSettings:
    """How Q is fitted: `iterations` regressions of `steps` batches each, by `members` networks."""

    width: int = 64
    num_blocks: int = 0
    iterations: int = 150  # rewards are carried back by one step each; 150 are 1 % of the value at a discount of 0.97
    steps: int = 20
    batch_size: int = 256
    learning_rate: float = 1e-3
    members: int = 5
    jit_compile: bool = True  # by XLA; a small problem is faster without


def fit_settings(spaces: Spaces) -> FitSettings:
    """Convolutions on a CPU want less of everything."""
    return FitSettings(width=16, batch_size=64) if spaces.is_image else FitSettings()


class StoredSteps(NamedTuple):
    """The N steps of E episodes, and the M = N + E observations in which the policy is asked what it would do.

    symbol   field           shape      meaning
    o        observations    [M, ...]   what the network sees, episode after episode, each with its last one
    pi(o)    policy_actions  [M(, D)]   what the policy does there
             here            [N]        the row of a step's observation; the one behind it is that of o'
    a        actions         [N(, D)]   stored
    u        rewards         [N]        stored
             goes_on         [N]        1, but 0 at the last step of a terminated episode; a truncated one would go on
             first           [E]        the row of each episode's first observation
             ends            [E]        N counted up to the end of each episode
    """

    observations: np.ndarray
    policy_actions: np.ndarray
    here: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    goes_on: np.ndarray
    first: np.ndarray
    ends: np.ndarray


def stored_steps(episodes: Sequence[Episode], choose: Callable | None, frame_stack: int = 1) -> StoredSteps:
    """The steps of episodes, and what the policy `choose(observations) -> actions` does in all their observations.

    None: what was done there. Behind the last step that is not known, and the action before stands in.
    """
    lengths = np.array([len(episode) for episode in episodes])
    observations = np.stack(
        [observation_at(e.observations, step, frame_stack) for e in episodes for step in range(len(e) + 1)]
    )
    if choose is None:
        chosen = [np.append(episode.actions, episode.actions[-1:], axis=0) for episode in episodes]
    else:
        chosen = [choose(observations[start : start + ROWS]) for start in range(0, len(observations), ROWS)]
    first = np.cumsum([0, *(lengths[:-1] + 1)])
    ends = np.cumsum(lengths)
    goes_on = np.ones(ends[-1], np.float32)
    # Critical: nothing follows a terminal end. A truncated episode was only cut off: its last observation has a value.
    goes_on[ends[[episode.terminated for episode in episodes]] - 1] = 0
    actions = np.concatenate([episode.actions for episode in episodes])
    return StoredSteps(
        observations=observations,
        policy_actions=np.concatenate(chosen).astype(actions.dtype),
        here=np.concatenate([start + np.arange(length) for start, length in zip(first, lengths, strict=True)]),
        actions=np.clip(actions, -1, 1) if actions.ndim == 2 else actions,
        rewards=np.concatenate([episode.rewards for episode in episodes]).astype(np.float32),
        goes_on=goes_on,
        first=first,
        ends=ends,
    )


def fitted_targets(rewards, goes_on, next_values, discount: float):
    """y [B] of the regression."""
    return rewards + discount * goes_on * next_values


class QFit:
    """The network that is fitted, the one of the iteration before, and the compiled regression between the two.

    One object fits as many policies as one likes, one after the other; what is compiled stays.
    """

    def __init__(self, spaces: Spaces, discount: float, settings: FitSettings):
        config = NetworkConfig(width=settings.width, num_blocks=settings.num_blocks, scalar_head="regression")
        self.spaces, self.discount, self.settings = spaces, discount, settings
        self.network, self.before = build_network(config, spaces), build_network(config, spaces)
        self.weights = self.network.representation.trainable_variables + self.network.dynamics.trainable_variables
        steps = settings.iterations * settings.steps
        self.optimiser = AdamW(self.weights, settings.learning_rate, weight_decay=0.0, training_steps=steps)
        self._regress = tf.function(self._regress_tensors, jit_compile=settings.jit_compile)
        self._values = tf.function(action_values_of)

    def values(self, stored: StoredSteps, rng: np.random.Generator) -> np.ndarray:
        """The policy's values of all first observations, as each member of the ensemble says them [members, E]."""
        return np.stack([self.fitted_once(stored, rng) for _ in range(self.settings.members)])

    def fitted_once(self, stored: StoredSteps, rng: np.random.Generator) -> np.ndarray:
        """Fits Q anew, to a bootstrap sample of the episodes -> its values of all first observations [E]."""
        self._begin(stored, int(rng.integers(2**31)))
        episodes = len(stored.ends)
        starts = np.append(0, stored.ends)[:-1]
        lengths = stored.ends - starts
        times = rng.multinomial(episodes, np.full(episodes, 1 / episodes))  # how often each episode was drawn
        rows = np.concatenate([np.tile(starts[e] + np.arange(lengths[e]), times[e]) for e in range(episodes)])
        unit = _unit(stored, self.discount)
        arrays = (stored.observations, stored.policy_actions, stored.here, stored.actions, stored.rewards / unit)
        bounds = (np.array(_bounds(stored, self.discount)) / unit).astype(np.float32)
        tensors = [tf.convert_to_tensor(array) for array in (*arrays, stored.goes_on, bounds)]
        for _ in range(self.settings.iterations):
            drawn = rng.choice(rows, (self.settings.steps, self.settings.batch_size))
            self.before.copy_weights_from(self.network)
            self._regress(*tensors, tf.convert_to_tensor(drawn))
        first = stored.first
        values = self._values(self.network, stored.observations[first], stored.policy_actions[first])
        return values.numpy().astype(float) * unit

    def _begin(self, stored: StoredSteps, seed: int) -> None:
        fresh = build_network(self.network.config, self.spaces, seed)
        if not self.spaces.is_image:
            fit_to_observations(fresh.representation, stored.observations)
        self.network.copy_weights_from(fresh)
        for variable in self.optimiser.variables:
            variable.assign(tf.zeros_like(variable))

    def _regress_tensors(self, observations, policy_actions, here, actions, rewards, goes_on, bounds, drawn):
        for step in tf.range(self.settings.steps):
            rows = drawn[step]
            at = tf.gather(here, rows)
            following = action_values_of(
                self.before, tf.gather(observations, at + 1), tf.gather(policy_actions, at + 1)
            )
            picked = [tf.gather(array, rows) for array in (rewards, goes_on, actions)]
            targets = fitted_targets(*picked[:2], tf.clip_by_value(following, bounds[0], bounds[1]), self.discount)
            with tf.GradientTape() as tape:
                values = action_values_of(self.network, tf.gather(observations, at), picked[2])
                loss = tf.reduce_mean(tf.square(values - tf.stop_gradient(targets)))
            self.optimiser.apply(tape.gradient(loss, [weight.value for weight in self.weights]))


def interval_of_members(found: np.ndarray) -> dict:
    """Values of first observations [members, E] -> their mean, and its 95 % interval.

    Two chances count: which episodes and weights a member has (the spread of the members' means), and which first
    observations there are (their spread by the square root of E).
    """
    means = found.mean(axis=1)
    spread = np.sqrt(np.var(means, ddof=1) + np.var(found.mean(axis=0)) / found.shape[1]) if len(found) > 1 else np.nan
    half = stats.t.ppf(0.975, len(found) - 1) * spread if len(found) > 1 else np.nan
    mean = float(means.mean())
    return {"mean": mean, "low": float(mean - half), "high": float(mean + half), "members": means.tolist()}


def action_values_of(network: Network, observations, actions):
    """Q [B] of observations [B, ...] and actions [B(, D)]: the dynamics' reward head, as it is."""
    _, values = network.dynamics([network.representation(observations), actions])
    return values[:, 0]


def _bounds(stored: StoredSteps, discount: float) -> tuple[float, float]:
    """No policy earns less than the smallest stored reward for ever, or more than the largest; an end counts as 0.

    Without a discount "for ever" is as long as the longest episode.
    """
    horizon = 1 / (1 - discount) if discount < 1 else _longest(stored)
    low, high = float(stored.rewards.min()) * horizon, float(stored.rewards.max()) * horizon
    return (low, high) if stored.goes_on.all() else (min(low, 0.0), max(high, 0.0))


def _unit(stored: StoredSteps, discount: float) -> float:
    """About the size of a value, so that the network learns numbers of order 1."""
    horizon = min(1 / (1 - discount), _longest(stored)) if discount < 1 else _longest(stored)
    return float(np.sqrt(np.mean(np.square(stored.rewards))) * horizon) or 1.0


def _longest(stored: StoredSteps) -> int:
    return int(np.diff(np.append(0, stored.ends)).max())
