"""How far a policy and stored actions go together; part of `mzu evaluate RUN --offline`."""

import numpy as np

from mzu.networks.network import Network
from mzu.networks.policy_heads import policy_distribution

ALTERNATIVES = 64  # uniform actions that a stored continuous one is ranked among
NEAR = 0.2  # actions lie in [-1, 1]: as far as this in every dimension, a policy does what was done


def agreement(would: np.ndarray, actions: np.ndarray) -> float:
    """The share of steps at which the policy `would` do what was done, or nearly (`NEAR`); both [N(, D)]."""
    if would.ndim == 1:
        return float(np.mean(would == actions))
    return float(np.mean((np.abs(would - actions) <= NEAR).all(axis=1)))


def likelihoods(network: Network, observations: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> dict:
    """Mean log-likelihood of stored actions [N(, D)] under the policy head, and their mean rank.

    The rank of an action is the share of alternatives that the policy finds less likely, ties by half: 1 for a copy of
    the data's policy, 0.5 for one that knows nothing. Alternatives are all other actions, or uniform ones.
    """
    outputs, spaces = network.initial(observations).policy, network.spaces
    if spaces.continuous:
        others = rng.uniform(-1, 1, (len(actions), ALTERNATIVES, spaces.num_actions)).astype(np.float32)
        own = policy_distribution(outputs, True).log_prob(actions).numpy()
        theirs = policy_distribution(outputs[:, None], True).log_prob(others).numpy()
    else:
        table = outputs.numpy() - np.logaddexp.reduce(outputs.numpy(), axis=1, keepdims=True)
        own = table[np.arange(len(actions)), actions]
        theirs = table[np.arange(spaces.num_actions) != actions[:, None]].reshape(len(actions), -1)
    rank = np.mean((theirs < own[:, None]) + 0.5 * (theirs == own[:, None]))
    return {"likelihood": float(own.mean()), "rank": float(rank), "positions": len(actions)}
