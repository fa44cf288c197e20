"""The unrolled loss (paper, section "Reanalyse", the equation of the loss; notebook 07_training_system).

    l_t = sum_k l^p(pi_{t+k}, p^k) + l^v(z_{t+k}, v^k) + l^r(u_{t+k}, r^k)

Step 0 has weight 1, the U unrolled steps 1 / U each, and the gradient that flows back through the hidden state is
scaled at every dynamics step (both as in MuZero). `learning.consistency_loss_scale` adds a loss of the hidden state
itself at the unrolled steps, which the paper does not have: the dynamics is to lead where the representation sees
that the world went.
"""

import math
from typing import NamedTuple

import numpy as np

from mzu.config import LearningConfig, NetworkConfig
from mzu.learning.targets import Targets
from mzu.networks.network import Network, scale_gradient
from mzu.networks.policy_heads import policy_distribution
from mzu.networks.scalars import PAPER, scalar_loss
from mzu.replay.replay import Batch
from mzu.silent_tensorflow import ops

LENGTH_EPSILON = 1e-6  # added to the squared length of a hidden state, which may be 0


class Predictions(NamedTuple):
    """What the network says of t and of the U steps that are unrolled from it.

    policy [B, U + 1, P] outputs, value [B, U + 1, bins] logits, reward [B, U, bins] logits or None for U = 0,
    action_value [B, A, bins] logits at t or None, hidden [B, U + 1, ...] or None where there is no network.
    """

    policy: object
    value: object
    reward: object
    action_value: object
    hidden: object = None


class Following(NamedTuple):
    """What really followed t: observations [B, U, ...] at t + 1..t + U, and a mask [B, U], 1 where there is one."""

    observations: object
    mask: object


class StepLosses(NamedTuple):
    """The losses of the heads at t + k: policy and value [B, U + 1], reward [B, U], action_value [B] at t."""

    policy: object
    value: object
    reward: object
    action_value: object


class Losses(NamedTuple):
    """The parts of the loss, each [B], already weighted over the unrolled steps; `total` is what is minimised.

    `consistency` is None where it is not asked for.
    """

    total: object
    policy: object
    value: object
    reward: object
    action_value: object
    consistency: object = None


def unroll(network: Network, observations, actions, unroll_steps: int, gradient_scale: float) -> Predictions:
    """Observations [B, ...] and actions [B, >= U(, D)] -> predictions at t..t + U."""
    hidden = network.representation(observations)
    action_value = None if network.action_value is None else network.action_value(hidden)
    states, rewards = [hidden], []
    for step in range(unroll_steps):
        hidden, reward = network.dynamics([scale_gradient(hidden, gradient_scale), actions[:, step]])
        states.append(hidden)
        rewards.append(reward)
    # One call for all steps: fewer and larger matrix products.
    states = ops.stack(states, axis=1)
    policy, value = network.prediction(ops.reshape(states, (-1, *hidden.shape[1:])))
    shape = (-1, unroll_steps + 1)
    return Predictions(
        policy=ops.reshape(policy, (*shape, policy.shape[-1])),
        value=ops.reshape(value, (*shape, value.shape[-1])),
        reward=ops.stack(rewards, axis=1) if rewards else None,
        action_value=action_value,
        hidden=states,
    )


def policy_losses(outputs, targets: Targets, continuous: bool):
    """Cross-entropy [B, U + 1] of policy outputs [B, U + 1, P]: minus the weighted log-likelihood of the actions."""
    if targets.policy_actions.shape[2] == 0:
        likelihoods = ops.log_softmax(outputs)
    else:
        policy = policy_distribution(ops.expand_dims(outputs, 2), continuous)
        likelihoods = policy.log_prob(targets.policy_actions)
    return -ops.sum(targets.policy_weights * likelihoods, axis=-1)


def step_losses(
    predictions: Predictions, targets: Targets, actions, continuous: bool, heads: NetworkConfig = PAPER
) -> StepLosses:
    """The loss of every head at every step, 0 where there is no target. `heads` says how scalars are learned."""
    policy = policy_losses(predictions.policy, targets, continuous) * targets.policy_mask
    value = scalar_loss(predictions.value, targets.values, heads) * targets.value_mask
    reward = ops.zeros_like(targets.rewards)
    if predictions.reward is not None:
        reward = scalar_loss(predictions.reward, targets.rewards, heads) * targets.reward_mask
    action_value = ops.zeros_like(value[:, 0])
    if predictions.action_value is not None:
        taken = ops.one_hot(actions[:, 0], predictions.action_value.shape[1])
        logits = ops.sum(predictions.action_value * ops.expand_dims(taken, -1), axis=1)
        action_value = scalar_loss(logits, targets.values[:, 0], heads) * targets.value_mask[:, 0]
    return StepLosses(policy, value, reward, action_value)


def consistency_losses(network: Network, hidden, following: Following):
    """How far hidden states [B, U + 1, ...] are from what is seen of the real observations -> [B, U], each 0..4.

    The squared distance at t + k, k = 1..U, between the hidden state and the representation of the observation, both
    scaled to length 1: 2 - 2 cos of the angle between them. 0 where there is no observation. No gradient flows into the
    representation of the observation: the dynamics learns from it, not the other way round.
    """
    observations = following.observations
    seen = ops.stop_gradient(network.representation(ops.reshape(observations, (-1, *observations.shape[2:]))))
    shape = (-1, *following.mask.shape[1:], math.prod(network.hidden_shape))
    difference = _to_length_one(ops.reshape(hidden[:, 1:], shape)) - _to_length_one(ops.reshape(seen, shape))
    return ops.sum(ops.square(difference), axis=-1) * following.mask


def following_of(batch: Batch, unroll_steps: int) -> Following:
    """What followed the positions of a batch that has `following_observations`."""
    steps = np.arange(1, unroll_steps + 1)
    # The observation that an episode ends with is still there; what a batch has behind it is a copy of it.
    exists = steps <= batch.steps_left[:, None]
    return Following(batch.following_observations[:, 1 : unroll_steps + 1], np.float32(exists))


def unrolled_losses(
    predictions: Predictions,
    targets: Targets,
    actions,
    config: LearningConfig,
    continuous: bool,
    heads: NetworkConfig = PAPER,
    consistency=None,
) -> Losses:
    """The loss of every position of a batch, not yet scaled by the importance weights -> Losses, each [B].

    `consistency` [B, U] are the losses of the hidden states, where they are asked for.
    """
    steps = step_losses(predictions, targets, actions, continuous, heads)
    policy, value = over_steps(steps.policy), over_steps(steps.value)
    # The first reward belongs to the first unrolled step, so all of them weigh 1 / U.
    reward = ops.mean(steps.reward, axis=1) if steps.reward.shape[1] else ops.zeros_like(value)
    total = policy + config.value_loss_scale * (value + steps.action_value) + reward
    if consistency is not None:
        consistency = ops.mean(consistency, axis=1)
        total += config.consistency_loss_scale * consistency
    return Losses(total, policy, value, reward, steps.action_value, consistency)


def over_steps(losses):
    """[B, U + 1] -> [B]: step 0 with weight 1 and the mean of the U others."""
    first, others = losses[:, 0], losses[:, 1:]
    return first + ops.mean(others, axis=1) if others.shape[1] else first


def _to_length_one(x):
    """[..., features], each row divided by its length."""
    return x * ops.rsqrt(ops.sum(ops.square(x), axis=-1, keepdims=True) + LENGTH_EPSILON)
