"""Targets of one batch: what the unrolled predictions are trained towards (paper, section "Reanalyse" and appendix
"Value Learning"; notebook 04_reanalyse).

symbol  name     at position t + k, k = 0..U
u       rewards  the stored rewards
z       values   sum of n discounted rewards + discount^n * value of the target network n steps later (n = td_steps
                 > 0), or the search value (td_steps = 0)
pi      policy   where the policy is trained towards: actions and their weights. Of the search, to which
                 `learning.behaviour_loss_scale` adds the stored action (ROSMO), or the stored action alone

How an episode ends decides what can be known. After a terminal end nothing happens any more: reward 0, value 0, no
policy (an absorbing state). Where an episode was truncated more would have followed: the value there is bootstrapped
from the last observation, and nothing beyond it is trained.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mzu.config import Config, LearningConfig
from mzu.replay.replay import Batch
from mzu.replay.returns import n_step_returns


class Targets(NamedTuple):
    """Targets of B positions and the U steps after them; masks are 1 where a target exists and 0 elsewhere.

    field           shape                     meaning
    rewards         [B, U]                    reward after the action at t + k
    reward_mask     [B, U]
    values          [B, U + 1]                z at t + k
    value_mask      [B, U + 1]
    policy_actions  [B, U + 1, K(, D)]        actions whose likelihood is raised; K = 0: they are all A actions in order
    policy_weights  [B, U + 1, K or A]        by how much each
    policy_mask     [B, U + 1]
    """

    rewards: np.ndarray
    reward_mask: np.ndarray
    values: np.ndarray
    value_mask: np.ndarray
    policy_actions: np.ndarray
    policy_weights: np.ndarray
    policy_mask: np.ndarray


def make_targets(batch: Batch, config: Config, target_values: Callable[[np.ndarray], np.ndarray]) -> Targets:
    """The targets of a batch; `target_values` is the target network: observations [B, S, ...] -> values [B, S]."""
    learning, discount = config.learning, config.search.discount
    left = steps_left_at(batch)
    happened = left > 0  # there was an action at t + k
    absorbing = ~happened & batch.terminated[:, None]
    searched = batch.searched & happened
    ends = (batch.steps_left, batch.terminated)
    if learning.td_steps > 0:
        bootstrap = target_values(batch.bootstrap_observations)
        values = n_step_returns(batch.rewards, bootstrap, *ends, discount, learning.td_steps)
        value_mask = happened | absorbing
    else:
        values, value_mask = np.where(absorbing, 0, batch.search_value), searched | absorbing
    if learning.needs_advantages:
        advantage = crr_advantages(batch.rewards, target_values(batch.following_observations), *ends, discount)
    if learning.policy_loss == "reanalyse":
        actions, weights, policy_mask = batch.search_actions, batch.search_policy, searched
        if learning.behaviour_loss_scale > 0:
            behaviour = learning.behaviour_loss_scale * better_than_expected(advantage) * searched
            actions, weights = with_stored_actions(actions, weights, batch.actions, behaviour)
    else:
        is_crr = learning.policy_loss == "crr"
        weights = crr_weights(advantage, learning) if is_crr else np.ones_like(left, np.float32)
        actions, weights, policy_mask = batch.actions[:, :, None], weights[:, :, None], happened
    unroll_steps = learning.unroll_steps
    return Targets(
        rewards=batch.rewards[:, :unroll_steps],
        reward_mask=np.float32((happened | absorbing)[:, :unroll_steps]),
        values=np.float32(values),
        value_mask=np.float32(value_mask),
        policy_actions=actions,
        policy_weights=np.float32(weights),
        policy_mask=np.float32(policy_mask),
    )


def steps_left_at(batch: Batch) -> np.ndarray:
    """[B, U + 1]: steps from t + k to the end of the data; 0 or less from the end on."""
    return batch.steps_left[:, None] - np.arange(batch.searched.shape[1])


def crr_advantages(rewards, values, steps_left, terminated, discount: float) -> np.ndarray:
    """CRR's A [B, U + 1] = u + discount * V(next) - V at t + k.

    rewards [B, >= U + 1]; values [B, U + 2] of the observations at t + k (the last one where the data end earlier).
    """
    positions = values.shape[1] - 1
    left = steps_left[:, None] - np.arange(positions)
    following = np.where(terminated[:, None] & (left <= 1), 0.0, values[:, 1:])
    return rewards[:, :positions] + discount * following - values[:, :-1]


def crr_weights(advantage, config: LearningConfig) -> np.ndarray:
    """CRR's f(A): exp(A / temperature), at most `crr_clip`, or 1 where A > 0 and 0 elsewhere."""
    if config.crr_weight == "indicator":
        return better_than_expected(advantage)
    # The exponent is clipped rather than the result, which could be infinite before.
    return np.exp(np.minimum(advantage / config.crr_temperature, np.log(config.crr_clip)))


def better_than_expected(advantage) -> np.ndarray:
    """1 where A > 0 and 0 elsewhere."""
    return np.float32(advantage > 0)


def with_stored_actions(actions, weights, stored, behaviour) -> tuple[np.ndarray, np.ndarray]:
    """A search's candidates and weights with the behaviour term: stored actions [B, U + 1(, D)], weights [B, U + 1].

    Where all actions are candidates the stored one's weight grows; among sampled ones it is one more, the last.
    """
    stored, behaviour = stored[:, :, None], behaviour[:, :, None]
    if actions.shape[2] == 0:
        return actions, weights + behaviour * (stored == np.arange(weights.shape[2]))
    return np.concatenate([actions, stored], axis=2), np.concatenate([weights, behaviour], axis=2)
