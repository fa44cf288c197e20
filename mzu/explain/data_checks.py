"""Checks of the stored step: is what the replay and the data say of it what happened? `checks.py` runs them."""

import numpy as np

from mzu.explain.rounding import TOLERANCE, furthest, short
from mzu.explain.wording import action_name

WINDOW = 50  # steps to either side of the position, over which the model's rewards are compared with the stored ones


def stored_step(system, found, explanation):
    """The replay's copy of the step is the episode's, and so are the steps behind it that the targets look at."""
    if found.given is None:
        return None
    batch, stored = found.given[0], system.episodes[found.episode]
    if far := furthest(batch.observations[0], found.game.observation):
        return (
            True,
            f"the replay's observation differs from the episode's by up to {far:.4g}: it was stored with a loss",
        )
    for k in range(min(batch.actions.shape[1], len(stored) - found.step)):
        kept, taken = np.asarray(batch.actions[0, k]), np.asarray(stored.actions[found.step + k])
        if furthest(kept, taken):
            return True, (
                f"the replay has action {action_name(kept.tolist(), 6)} at step {found.step + k}, but the episode took "
                f"{action_name(taken.tolist(), 6)}: reward and next observation belong to another action"
            )
    rewards = np.asarray(stored.rewards[found.step : found.step + batch.rewards.shape[1]])
    if furthest(batch.rewards[0, : len(rewards)], rewards):
        return True, (
            f"the replay has rewards {short(batch.rewards[0, : len(rewards)])} from here on, but the episode "
            f"{short(rewards)}"
        )
    return False, "the replay holds the episode's observation, actions and rewards"


def action_space(system, found, explanation):
    """The stored action is an action, and means in the data what it means to the model."""
    stored, spaces = system.episodes[found.episode], system.spaces
    action = np.asarray(stored.actions[found.step])
    if spaces.continuous:
        outside = np.abs(action).max() > 1 + TOLERANCE
        where = "outside" if outside else "inside"
        return outside, f"the stored action {action_name(action.tolist(), 6)} is {where} [-1, 1]"
    steps = _window(found, stored)
    same = steps[stored.actions[steps] == action]
    rewards, spread = np.asarray(stored.rewards, float), float(np.std(stored.rewards[steps]))
    if len(same) >= 3 and spread > 0:
        errors = [
            float(np.mean(np.abs(_model_rewards(system, found, same, np.full(len(same), other)) - rewards[same])))
            for other in range(spaces.num_actions)
        ]
        own, best = errors[int(action)], int(np.argmin(errors))
        if errors[best] < 0.25 * min(own, spread) and own > 0.5 * spread:
            return True, (
                f"the rewards of the stored action {int(action)} fit the model's action {best} (mean error "
                f"{errors[best]:.4g}, as {int(action)} {own:.4g}): the data number their actions differently"
            )
    return False, f"the stored action {int(action)} is one of the {spaces.num_actions} actions"


def reward_alignment(system, found, explanation):
    """The model's rewards along the episode fit the stored ones best where they stand, not a step off."""
    stored = system.episodes[found.episode]
    rewards = np.asarray(stored.rewards, float)
    steps = _window(found, stored)
    inner = steps[(steps > 0) & (steps < len(stored) - 1)]  # those that have one before and one behind
    if len(inner) < 3 or np.ptp(rewards[inner]) == 0:
        return None
    predicted = _model_rewards(system, found, inner, stored.actions[inner])
    errors = {shift: float(np.mean(np.abs(predicted - rewards[inner + shift]))) for shift in (-1, 0, 1)}
    best = min(errors, key=errors.get)
    if best != 0 and errors[best] < 0.5 * errors[0]:
        where = "one step later" if best > 0 else "one step earlier"
        return True, (
            f"the model's rewards fit the ones stored {where} (mean error {errors[best]:.4g}, in place "
            f"{errors[0]:.4g}): rewards and actions are misaligned"
        )
    return False, f"the model's rewards fit best where they stand (mean error {errors[0]:.4g})"


def _window(found, stored) -> np.ndarray:
    """The steps around the position."""
    return np.arange(max(found.step - WINDOW, 0), min(found.step + WINDOW + 1, len(stored)))


def _model_rewards(system, found, steps, actions) -> np.ndarray:
    """The rewards that the model expects for these actions at these steps of the episode."""
    observations = np.stack([system.observation(found.episode, int(step)) for step in steps])
    hidden, _, _ = system.model.initial(observations)
    return np.asarray(system.model.recurrent(hidden, actions)[1], float)
