"""Policies as distributions (paper, appendices "Policy Representation" and "Evaluation"; notebook 02_networks).

Discrete actions have a categorical policy; continuous ones a Gaussian with diagonal covariance, whose 2 D outputs are

    mean = the first D,     scale = softplus(the others + 0.5413) + 0.001,     at evaluation min(scale, 0.05).

How the Gaussian meets the bounds [-1, 1] is our choice, as the paper does not say: samples are clipped, and the density
of an action is the unclipped Gaussian's. Data actions that lie exactly on a bound so have an ordinary log-likelihood;
under a tanh they would have none.
"""

import math

from mzu.networks.constants import INITIAL_SCALE_LOGIT, MIN_POLICY_SCALE
from mzu.silent_tensorflow import ops, tfp

distributions = tfp.distributions


def policy_distribution(outputs, continuous: bool, max_scale: float = math.inf):
    """Outputs [..., A] or [..., 2 D] of the policy head -> the distribution of the action, a number or a vector [D].

    Its `log_prob(actions)` and `entropy()` are the unclipped Gaussian's. Actions broadcast: K candidates for each of B
    positions are actions [B, K, D] under outputs [B, 1, 2 D].
    """
    if continuous:
        mean, scale = gaussian_parameters(outputs, max_scale)
        return distributions.Independent(distributions.Normal(mean, scale), 1)
    return distributions.Categorical(logits=outputs)


def gaussian_parameters(outputs, max_scale: float = math.inf):
    """Outputs [..., 2 D] -> mean [..., D] and scale [..., D], the latter capped (0.05 when evaluating)."""
    mean, raw = ops.split(outputs, 2, axis=-1)
    scale = ops.softplus(raw + INITIAL_SCALE_LOGIT) + MIN_POLICY_SCALE
    return mean, scale if math.isinf(max_scale) else ops.minimum(scale, max_scale)


def sample(distribution, seed):
    """One action per position: [...] numbers, or [..., D] clipped to [-1, 1]. The same seed (two integers), the same
    actions."""
    return _within_bounds(distribution, distribution.sample(seed=seed))


def mode(distribution):
    """The most likely action: [...] numbers, or the mean [..., D] clipped to [-1, 1]."""
    return _within_bounds(distribution, distribution.mode())


def _within_bounds(distribution, actions):
    return actions if isinstance(distribution, distributions.Categorical) else ops.clip(actions, -1.0, 1.0)
