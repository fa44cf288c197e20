"""Assignment 3: value targets with every kind of episode end (notebook 04_reanalyse).

Right is what `mzu.replay.returns` and `mzu.learning.targets` say; the questions for one episode give them a single row.
"""

from functools import partial

import numpy as np

from mzu.classroom.question import Question
from mzu.config import Config, LearningConfig
from mzu.learning.targets import make_targets
from mzu.replay.replay import Batch
from mzu.replay.returns import n_step_returns, n_step_returns_by_definition

# --- 3.1: one position of one episode ---


def n_step_return(rewards, values, terminated, discount, td_steps, t):
    """z at step t of an episode with rewards [T] and target network's values [T + 1]."""
    left = len(rewards) - t
    ahead = np.concatenate([rewards[t:], np.zeros(td_steps)])[None]
    reached = np.array([[values[t + min(td_steps, left)]]])
    ends = np.array([left]), np.array([terminated])
    return float(n_step_returns_by_definition(ahead, reached, *ends, discount, td_steps)[0, 0])


def _masked_end(terminated, left, td_steps):
    return terminated and left <= td_steps


def _steps_made(left, td_steps):
    return min(td_steps, left)


def _mistaken_return(
    *episode, is_over=_masked_end, exponent=_steps_made, first_reward=0, first_exponent=0, value_offset=0
):
    """The n-step return, with a part that can be exchanged for a wrong one."""
    rewards, values, terminated, discount, td_steps, t = episode
    left = len(rewards) - t
    made = min(td_steps, left)
    summed = rewards[t + first_reward : t + made + first_reward]
    total = float(summed @ discount ** (first_exponent + np.arange(len(summed))))
    if is_over(terminated, left, td_steps):
        return total
    value = values[min(t + made + value_offset, len(rewards))]
    return total + discount ** exponent(left, td_steps) * value


def _episode(rng, steps: int, terminated: bool, discount: float, td_steps: int, t: int) -> tuple:
    return (rng.normal(size=steps).round(2), rng.normal(1, 1, steps + 1).round(2), terminated, discount, td_steps, t)


REWARDS, VALUES = np.array([0.2, -0.5, 0.5, 0.0, 1.9]), np.array([0.7, 0.8, 1.2, 1.3, 1.6, 0.5])

N_STEP_RETURN = Question(
    number="3.1",
    title="One n-step return",
    points=3,
    name="n_step_return",
    right=n_step_return,
    examples=(
        (REWARDS, VALUES, True, 0.9, 2, 0),  # far from the end
        (REWARDS, VALUES, False, 0.9, 2, 1),
        (REWARDS, VALUES, True, 0.9, 2, 4),  # fewer than n steps to a terminal end, and just n
        (REWARDS, VALUES, True, 0.9, 2, 3),
        (REWARDS, VALUES, False, 0.9, 2, 4),  # the same to a truncated one
        (REWARDS, VALUES, False, 0.9, 2, 3),
        (REWARDS, VALUES, False, 0.9, 1, 2),
        (REWARDS, VALUES, True, 0.9, 10, 0),
    ),
    more=lambda rng: [
        _episode(rng, 7, terminated, 0.8, td_steps, t)
        for terminated in (True, False)
        for td_steps, t in ((1, 0), (3, 2), (3, 4), (3, 5), (3, 6), (20, 1))
    ],
    mistakes={
        "a terminal end has no value: nothing is added there, whatever the network says of the last observation": (
            partial(_mistaken_return, is_over=lambda terminated, left, td_steps: False)
        ),
        "a truncated episode would have gone on: where it is cut off, the value of its last observation is added": (
            partial(_mistaken_return, is_over=lambda terminated, left, td_steps: left <= td_steps)
        ),
        "the last observation of a terminated episode has no value either where it is reached after just n steps": (
            partial(_mistaken_return, is_over=lambda terminated, left, td_steps: terminated and left < td_steps)
        ),
        "the value lies n steps ahead and is discounted like a reward there, by discount^n": (
            partial(_mistaken_return, exponent=lambda left, td_steps: 0)
        ),
        "where the episode is cut off before n steps, the value is discounted by the steps that were made": (
            partial(_mistaken_return, exponent=lambda left, td_steps: td_steps)
        ),
        "the n rewards lead to observation t + n; the value is that of this observation, not of the one after it": (
            partial(_mistaken_return, value_offset=1)
        ),
        "the n rewards lead to observation t + n; the value is that of this observation, not of the one before it": (
            partial(_mistaken_return, value_offset=-1)
        ),
        "rewards[t] follows the action at t, so the sum begins with rewards[t]": (
            partial(_mistaken_return, first_reward=1)
        ),
        "the first reward counts in full, and only those after it are discounted": (
            partial(_mistaken_return, first_exponent=1)
        ),
    },
)

# --- 3.2: a batch of rows, as the learner has it ---


def _left(steps_left, positions: int):
    return steps_left[:, None] - np.arange(positions)


def _mistaken_returns(
    *batch,
    is_over=lambda terminated, left, td_steps: terminated & (left <= td_steps),
    exponent=lambda left, td_steps: np.clip(left, 0, td_steps),
    left_at=_left,
    window=lambda rewards, i, positions: rewards[:, i : i + positions],
):
    """The returns of a batch, with a part that can be exchanged for a wrong one."""
    rewards, bootstrap_values, steps_left, terminated, discount, td_steps = batch
    positions = bootstrap_values.shape[1]
    left = left_at(steps_left, positions)
    over = is_over(terminated[:, None], left, td_steps)
    bootstrap = np.where(over, 0, discount ** exponent(left, td_steps) * bootstrap_values)
    return sum(discount**i * window(rewards, i, positions) for i in range(td_steps)) + bootstrap


def _row_leaks(rewards, bootstrap_values, steps_left, terminated, discount, td_steps):
    """A loop over the rows in which the bootstrap of the position before is added where there is none."""
    left = _left(steps_left, bootstrap_values.shape[1])
    returns = n_step_returns(rewards, bootstrap_values, steps_left, terminated, discount, td_steps)
    bootstrap = 0.0
    for row, k in np.ndindex(returns.shape):
        if terminated[row] and left[row, k] <= td_steps:
            returns[row, k] += bootstrap
        else:
            bootstrap = discount ** np.clip(left[row, k], 0, td_steps) * bootstrap_values[row, k]
    return returns


def _rows(rng, steps_left, terminated, unroll_steps: int, discount: float, td_steps: int) -> tuple:
    """Random rows with these ends."""
    steps_left, terminated = np.array(steps_left), np.array(terminated)
    rewards = rng.normal(size=(len(steps_left), unroll_steps + td_steps)).round(1)
    rewards[np.arange(rewards.shape[1]) >= steps_left[:, None]] = 0
    values = rng.normal(2, 1, (len(steps_left), unroll_steps + 1)).round(1)
    # Where the data end earlier the value is that of the last observation, at every later position too.
    for row, left in enumerate(steps_left):
        values[row, max(0, left - td_steps) :] = values[row, min(max(0, left - td_steps), unroll_steps)]
    return rewards, values, steps_left, terminated, discount, td_steps


def _hidden_rows(rng) -> list[tuple]:
    def ends(rows, longest):
        return rng.integers(1, longest + 1, rows), rng.permutation(np.arange(rows) % 2 == 0)

    return [
        _rows(rng, [4, 4, 1, 1], [True, False, True, False], 3, 0.8, 2),
        _rows(rng, [3, 2], [False, False], 2, 0.8, 2),
        _rows(rng, *ends(8, 7), 2, 0.9, 3),
        _rows(rng, *ends(8, 6), 4, 0.7, 1),
        _rows(rng, [3], [True], 0, 0.5, 2),
    ]


N_STEP_RETURNS = Question(
    number="3.2",
    title="n-step returns of a batch",
    points=4,
    name="n_step_returns",
    right=n_step_returns,
    examples=(
        _rows(np.random.default_rng(0), [9], [False], 2, 0.9, 2),  # no end in sight
        _rows(np.random.default_rng(1), [3, 3], [True, False], 2, 0.9, 2),  # ends within the n steps
        _rows(np.random.default_rng(2), [1, 1], [True, False], 2, 0.9, 2),  # positions past the end
        _rows(np.random.default_rng(4), [4, 2], [False, False], 2, 0.9, 3),
        _rows(np.random.default_rng(3), [9, 2, 4, 1], [True, True, False, True], 3, 0.5, 3),
    ),
    more=_hidden_rows,
    mistakes={
        "a terminal end has no value: where the n steps reach it, no value is added": (
            partial(_mistaken_returns, is_over=lambda terminated, left, td_steps: np.zeros_like(left, bool))
        ),
        "a truncated end is no terminal one: the value of the last observation is added there": (
            partial(_mistaken_returns, is_over=lambda terminated, left, td_steps: left <= td_steps)
        ),
        "a terminal end that is reached after just n steps is an end, too": (
            partial(_mistaken_returns, is_over=lambda terminated, left, td_steps: terminated & (left < td_steps))
        ),
        "the value is discounted by the steps that lie before it": (
            partial(_mistaken_returns, exponent=lambda left, td_steps: np.zeros_like(left))
        ),
        "where fewer than n steps are left, the value is discounted by those, and past the end by none": (
            partial(_mistaken_returns, exponent=lambda left, td_steps: td_steps)
        ),
        "position t + k has k steps fewer left than position t": (
            partial(_mistaken_returns, left_at=lambda steps_left, positions: np.tile(steps_left[:, None], positions))
        ),
        "the sum of position t + k begins with its own reward, rewards[:, k]": (
            partial(_mistaken_returns, window=lambda rewards, i, positions: rewards[:, i : i + 1])
        ),
        "each row has an end of its own: that one row is terminated says nothing about the others": (
            partial(_mistaken_returns, is_over=lambda terminated, left, td_steps: terminated.any() & (left <= td_steps))
        ),
        "each position begins anew: where there is no bootstrap, that of the position before must not be added": (
            _row_leaks
        ),
    },
)

# --- 3.3: which targets exist ---


def target_masks(steps_left, positions_left, terminated, unroll_steps, td_steps):
    """The masks that `make_targets` gives a batch with these ends."""
    nothing = np.zeros((len(steps_left), unroll_steps + 1))
    batch = Batch(*[nothing] * len(Batch._fields))._replace(
        rewards=np.zeros((len(steps_left), unroll_steps + max(td_steps, 1))),
        steps_left=steps_left,
        terminated=terminated,
        searched=np.arange(unroll_steps + 1) < positions_left[:, None],
    )
    config = Config(learning=LearningConfig(unroll_steps=unroll_steps, td_steps=td_steps))
    targets = make_targets(batch, config, target_values=lambda observations: nothing)
    masks = {"reward": targets.reward_mask, "value": targets.value_mask, "policy": targets.policy_mask}
    return {name: mask.astype(int) for name, mask in masks.items()}


def _mistaken_masks(
    steps_left,
    positions_left,
    terminated,
    unroll_steps,
    td_steps,
    changed=lambda *masks: {},
    exists=lambda left: left > 0,
):
    """The masks; `changed` exchanges some: (happened, absorbing, searched, td_steps) -> {name: mask [B, U + 1]}."""
    left, k = _left(steps_left, unroll_steps + 1), np.arange(unroll_steps + 1)
    happened = exists(left)
    absorbing, searched = ~happened & terminated[:, None], k < positions_left[:, None]
    masks = {
        "reward": happened | absorbing,
        "value": happened | absorbing if td_steps > 0 else searched | absorbing,
        "policy": searched,
    } | changed(happened, absorbing, searched, td_steps)
    masks["reward"] = masks["reward"][:, :unroll_steps]
    return {name: mask.astype(int) for name, mask in masks.items()}


def _last_observation_counts(steps_left, positions_left, terminated, unroll_steps, td_steps):
    """One step too many: at the last observation, where no action was taken any more."""
    longer = (np.where(terminated, steps_left, steps_left + 1), positions_left + (positions_left == steps_left))
    return target_masks(*longer, terminated, unroll_steps, td_steps)


def _ends(rng, rows: int, unroll_steps: int, td_steps: int) -> tuple:
    steps_left = rng.integers(1, unroll_steps + td_steps + 3, rows)
    positions_left = np.minimum(steps_left, rng.integers(1, unroll_steps + 3, rows))
    return steps_left, positions_left, rng.permutation(np.arange(rows) % 2 == 0), unroll_steps, td_steps


TARGET_MASKS = Question(
    number="3.3",
    title="Which targets exist",
    points=3,
    name="target_masks",
    right=target_masks,
    examples=(
        (np.array([9, 9]), np.array([9, 2]), np.array([True, False]), 3, 2),  # no end in sight; a segment's end
        (np.array([2, 2]), np.array([2, 2]), np.array([True, False]), 3, 2),  # both ends
        (np.array([3, 1, 1]), np.array([1, 1, 1]), np.array([False, True, False]), 2, 5),
        (np.array([9, 2, 2, 3]), np.array([2, 2, 2, 1]), np.array([True, True, False, True]), 3, 0),  # TD-0
    ),
    more=lambda rng: [_ends(rng, 8, 4, 3), _ends(rng, 8, 2, 1), _ends(rng, 12, 5, 0)],
    mistakes={
        "behind a terminal end there are targets, too: reward 0 and value 0, the absorbing state": partial(
            _mistaken_masks,
            changed=lambda happened, absorbing, searched, td_steps: {
                "reward": happened,
                "value": happened if td_steps > 0 else searched,
            },
        ),
        "behind a truncated end nothing is known, so nothing is trained there": partial(
            _mistaken_masks,
            changed=lambda happened, absorbing, searched, td_steps: {
                "reward": np.ones_like(happened),
                "value": np.ones_like(happened) if td_steps > 0 else searched | ~happened,
            },
        ),
        "behind a terminal end there is nothing to decide, so there is no policy target": partial(
            _mistaken_masks,
            changed=lambda happened, absorbing, searched, td_steps: {"policy": searched | absorbing},
        ),
        "behind its positions a segment has steps that were not searched: they have no policy target": partial(
            _mistaken_masks,
            changed=lambda happened, absorbing, searched, td_steps: {"policy": happened},
        ),
        "with td_steps = 0 the value target is the search value, which exists only where there was a search": partial(
            _mistaken_masks,
            changed=lambda happened, absorbing, searched, td_steps: {"value": happened | absorbing},
        ),
        "rewards and n-step returns need no search: only where td_steps is 0 the value target does": partial(
            _mistaken_masks,
            changed=lambda happened, absorbing, searched, td_steps: {
                "reward": searched | absorbing,
                "value": searched | absorbing,
            },
        ),
        "at the last observation no action was taken any more: it has 0 steps left and lies behind the end": (
            _last_observation_counts
        ),
        "step k happened if k < steps_left; at k = steps_left the episode is over": partial(
            _mistaken_masks, exists=lambda left: left >= 0
        ),
    },
)

# --- 3.4: where the value at the end of the sum comes from ---


def value_targets(rewards, search_values, target_values, terminated, discount, td_steps):
    """z [L] of a segment's positions; rewards [T], search_values [L], target_values [T + 1] or None (bootstrap from the
    search values)."""
    if td_steps == 0:
        return search_values
    values = search_values if target_values is None else target_values
    reached = np.minimum(np.arange(len(search_values)) + td_steps, len(values) - 1)
    ahead = np.concatenate([rewards, np.zeros(td_steps)])[None]
    ends = np.array([len(rewards)]), np.array([terminated])
    return n_step_returns(ahead, values[reached][None], *ends, discount, td_steps)[0]


def _targets_one_too_late(rewards, search_values, target_values, terminated, discount, td_steps):
    """Bootstraps at t + n + 1."""
    if td_steps == 0:
        return search_values
    later = search_values if target_values is None else target_values
    later = np.append(later[1:], later[-1])
    if target_values is None:
        return value_targets(rewards, later, None, terminated, discount, td_steps)
    return value_targets(rewards, search_values, later, terminated, discount, td_steps)


def _targets_of_position(rewards, search_values, target_values, terminated, discount, td_steps):
    """Bootstraps from the stored value of the position itself."""
    if td_steps == 0 or target_values is not None:
        return value_targets(rewards, search_values, target_values, terminated, discount, td_steps)
    own = np.concatenate([np.zeros(td_steps), search_values, np.zeros(len(rewards) + 1)])[: len(rewards) + 1]
    return value_targets(rewards, search_values, own, terminated, discount, td_steps)


def _targets_without_tail(rewards, search_values, target_values, terminated, discount, td_steps):
    """Takes the segment for the episode: rewards of the tail are left out."""
    length = len(search_values)
    if target_values is not None:
        target_values = target_values[: length + 1]
    return value_targets(rewards[:length], search_values, target_values, terminated, discount, td_steps)


def _targets_zero_behind_segment(rewards, search_values, target_values, terminated, discount, td_steps):
    """Where position t + n was not searched, 0 stands in for its search value."""
    if target_values is None:
        target_values = np.append(search_values, np.zeros(len(rewards) + 1 - len(search_values)))
    return value_targets(rewards, search_values, target_values, terminated, discount, td_steps)


def _targets_always_stored(rewards, search_values, target_values, terminated, discount, td_steps):
    """Bootstraps from search values even where the target network was asked."""
    return value_targets(rewards, search_values, None, terminated, discount, td_steps)


def _targets_td0_by_target_network(rewards, search_values, target_values, terminated, discount, td_steps):
    """With td_steps = 0, a sum of no rewards and the target network's value of the position itself."""
    if td_steps == 0 and target_values is not None:
        return target_values[: len(search_values)]
    return value_targets(rewards, search_values, target_values, terminated, discount, td_steps)


def _targets_unmasked(rewards, search_values, target_values, terminated, discount, td_steps):
    return value_targets(rewards, search_values, target_values, False, discount, td_steps)


def _segment(rng, positions: int, tail: int, terminated: bool, stored: bool, discount: float, td_steps: int) -> tuple:
    rewards = rng.normal(size=positions + tail).round(1)
    search_values = rng.normal(1, 1, positions).round(1)
    target_values = None if stored else rng.normal(1, 1, positions + tail + 1).round(1)
    return rewards, search_values, target_values, terminated, discount, td_steps


VALUE_TARGETS = Question(
    number="3.4",
    title="Three kinds of value targets",
    points=3,
    name="value_targets",
    right=value_targets,
    examples=(
        _segment(np.random.default_rng(0), 4, 0, True, True, 0.9, 0),  # TD-0
        _segment(np.random.default_rng(1), 4, 2, False, False, 0.9, 0),
        _segment(np.random.default_rng(2), 3, 3, False, False, 0.9, 2),  # target network
        _segment(np.random.default_rng(3), 4, 0, True, False, 0.9, 2),
        _segment(np.random.default_rng(4), 4, 0, False, False, 0.9, 3),
        _segment(np.random.default_rng(5), 5, 3, False, True, 0.9, 2),  # stored search values
        _segment(np.random.default_rng(6), 4, 1, True, True, 0.9, 2),
        _segment(np.random.default_rng(7), 3, 0, False, True, 0.9, 2),
    ),
    more=lambda rng: [
        _segment(rng, 6, tail, terminated, stored, 0.8, td_steps)
        for tail in (0, 2)
        for terminated in (True, False)
        for stored in (True, False)
        for td_steps in (0, 1, 3)
    ],
    mistakes={
        "with td_steps = 0 the target is the search value itself, not the target network's": (
            _targets_td0_by_target_network
        ),
        "where a target network is given, the bootstrap comes from it and not from the stored search values": (
            _targets_always_stored
        ),
        "the value is that of position t + n, not of the one after it": _targets_one_too_late,
        "the stored value that is added belongs to position t + n, not to position t itself": _targets_of_position,
        "the tail belongs to the data: its rewards are summed, and the data end behind it": _targets_without_tail,
        "where position t + n was not searched, the last search value of the segment takes its place": (
            _targets_zero_behind_segment
        ),
        "a terminal end has no value, neither the target network's nor a stored one": _targets_unmasked,
    },
)

# --- 3.5: how fast values travel ---


def learn_values(rewards, values, terminated, discount, td_steps, rounds, period):
    """values [T + 1] after some rounds in which each position takes over its n-step return."""
    values = np.array(values, float)
    for number in range(rounds):
        if number % period == 0:
            target = values.copy()
        values = _after_round(rewards, target, values, terminated, discount, td_steps)
    return values


def _after_round(rewards, target, values, terminated, discount, td_steps):
    last = 0.0 if terminated else values[-1]
    positions = np.zeros(len(rewards))  # search values, which are not asked for with td_steps > 0
    return np.append(value_targets(rewards, positions, target, terminated, discount, td_steps), last)


def _learn_renewed_always(rewards, values, terminated, discount, td_steps, rounds, period):
    return learn_values(rewards, values, terminated, discount, td_steps, rounds, 1)


def _learn_never_renewed(rewards, values, terminated, discount, td_steps, rounds, period):
    return learn_values(rewards, values, terminated, discount, td_steps, rounds, max(rounds, 1))


def _learn_renewed_late(rewards, values, terminated, discount, td_steps, rounds, period):
    target = values = np.array(values, float)
    for number in range(rounds):
        if number % period == period - 1:
            target = values.copy()
        values = _after_round(rewards, target, values, terminated, discount, td_steps)
    return values


def _learn_backwards(rewards, values, terminated, discount, td_steps, rounds, period):
    """From the last position to the first, with the values of this round already."""
    values = np.array(values, float)
    for _ in range(rounds):
        if terminated:
            values[-1] = 0
        for t in reversed(range(len(rewards))):
            values[t] = n_step_return(rewards, values, terminated, discount, td_steps, t)
    return values


def _learn_end_untrained(rewards, values, terminated, discount, td_steps, rounds, period):
    learned = learn_values(rewards, values, terminated, discount, td_steps, rounds, period)
    return np.append(learned[:-1], values[-1])


def _learn_end_always_zero(rewards, values, terminated, discount, td_steps, rounds, period):
    values, target = np.array(values, float), None
    for number in range(rounds):
        if number % period == 0:
            target = values.copy()
        values = np.append(_after_round(rewards, target, values, terminated, discount, td_steps)[:-1], 0)
    return values


CHAIN = np.array([0.0, 0.0, 0.0, 0.0, 1.0])

LEARN_VALUES = Question(
    number="3.5",
    title="How fast values travel",
    points=3,
    name="learn_values",
    right=learn_values,
    examples=(
        (CHAIN, np.zeros(6), True, 0.5, 1, 1, 1),
        (CHAIN, np.zeros(6), True, 0.5, 1, 3, 1),
        (CHAIN, np.full(6, 2.0), True, 0.5, 2, 2, 1),
        (CHAIN, np.full(6, 2.0), False, 0.5, 2, 2, 1),
        (CHAIN, np.arange(6.0), True, 0.5, 1, 4, 2),
        (CHAIN, np.arange(6.0), False, 0.5, 2, 7, 3),
        (CHAIN, np.arange(6.0), False, 0.5, 2, 0, 1),
    ),
    more=lambda rng: [
        (rng.normal(size=9).round(1), rng.normal(size=10).round(1), terminated, 0.9, td_steps, rounds, period)
        for terminated in (True, False)
        for td_steps, rounds, period in ((1, 5, 1), (2, 6, 2), (3, 7, 3), (2, 6, 3), (5, 4, 10))
    ],
    mistakes={
        "the target network is a copy that keeps its values until it is renewed, every `period` rounds": (
            _learn_renewed_always
        ),
        "after `period` rounds the target network is renewed, or values stop travelling": _learn_never_renewed,
        "the target network is a copy of the values before round 0, before round `period`, and so on": (
            _learn_renewed_late
        ),
        "all targets of a round come from the target network; what was learned in this round is not used yet": (
            _learn_backwards
        ),
        "behind a terminal end the value is trained, too: towards 0": _learn_end_untrained,
        "at a truncated end nothing is trained: the last observation keeps its value": _learn_end_always_zero,
    },
)

QUESTIONS = (N_STEP_RETURN, N_STEP_RETURNS, TARGET_MASKS, VALUE_TARGETS, LEARN_VALUES)
