"""Assignment 1, values and better policies: a small world with chance and an end (notebook 01_planning_with_a_model).

A world is two tables: transition [S, A, S], of which transition[s, a] may add up to less than 1 (what is missing is the
probability that the episode ends), and reward [S, A]. A policy is [S, A], a value [S].
"""

import math

import numpy as np

from mzu.classroom.question import Question

TIE = 1e-9  # two action values that differ by no more are equally good

# The world of the assignment: valley, wood, ridge and gully, the two actions careful and bold; the hut is the end.
MOUNTAIN = np.zeros((4, 2, 4))
MOUNTAIN[0, 0, 1] = 1.0
MOUNTAIN[0, 1, [2, 3]] = 0.5
MOUNTAIN[1, 0, [1, 2]] = 0.2, 0.8
MOUNTAIN[1, 1, [0, 2]] = 0.4, 0.6
MOUNTAIN[2, 0, 2] = 0.4
MOUNTAIN[2, 1, 3] = 0.3
MOUNTAIN[3, 0, 0] = 1.0
MOUNTAIN[3, 1, [2, 3]] = 0.1, 0.9
MOUNTAIN_REWARD = np.array([[-1.0, -1.0], [-1.0, 0.0], [5.0, 6.0], [-2.0, -1.0]])
HABIT = np.array([[0.5, 0.5], [0.5, 0.5], [0.8, 0.2], [0.7, 0.3]])
BELIEF = np.array([2.0, 3.0, 4.0, 9.0])

# Two states, three actions, sure ends: the smallest world in which every idea below makes a difference.
SMALL = np.array([[[0.3, 0.6], [0.0, 0.0], [0.9, 0.1]], [[0.5, 0.0], [0.25, 0.7], [0.0, 0.0]]])
SMALL_REWARD = np.array([[1.0, 2.0, -0.5], [0.0, 1.5, 3.0]])
SMALL_POLICY = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])


def random_world(rng, states: int, actions: int, end: float = 0.0):
    """transition and reward; every action ends the episode with at least this probability, some of them surely."""
    transition = rng.dirichlet(np.full(states, 0.6), (states, actions))
    transition *= 1 - np.maximum(end, rng.uniform(-0.5, 0.6, (states, actions, 1)))
    transition[rng.integers(states), rng.integers(actions)] = 0.0
    return transition, rng.normal(size=(states, actions)).round(2)


def random_policy(rng, states: int, actions: int) -> np.ndarray:
    return rng.dirichlet(np.ones(actions), states)


def as_choice(actions) -> np.ndarray:
    """The policy [S, 2] that takes the given action in each state."""
    return np.eye(2)[list(actions)]


def without_end(transition) -> np.ndarray:
    """The mistake that takes every row for a distribution over next states: the end gets lost."""
    total = transition.sum(axis=-1, keepdims=True)
    return np.divide(transition, total, out=np.zeros_like(transition), where=total > 0)


# --- 1.1 ---


def action_values(transition, reward, value, discount):
    """u(s, a) + discount * sum over t of transition[s, a, t] * value[t]: [S, A]."""
    return reward + discount * transition @ value


def hidden_values(rng):
    sizes = [(1, 1, 0.9), (3, 2, 0.0), (4, 3, 0.5), (6, 2, 0.99), (2, 5, 1.0)]
    return [(*random_world(rng, s, a), rng.normal(0, 3, s).round(2), discount) for s, a, discount in sizes]


ACTION_VALUES = Question(
    number="1.1",
    title="What an action is worth",
    points=2,
    name="action_values",
    right=action_values,
    examples=(
        (MOUNTAIN, MOUNTAIN_REWARD, BELIEF, 0.9),
        (SMALL, SMALL_REWARD, np.array([10.0, -4.0]), 0.5),
        (SMALL, SMALL_REWARD, np.array([10.0, -4.0]), 0.0),
        (np.array([[[0.0]]]), np.array([[7.0]]), np.array([100.0]), 0.9),
    ),
    more=hidden_values,
    mistakes={
        "the discount: what comes after the step counts discount times as much": (
            lambda transition, reward, value, discount: reward + transition @ value
        ),
        "the reward of the step itself is paid at once, so the discount is for the next state's value only": (
            lambda transition, reward, value, discount: discount * (reward + transition @ value)
        ),
        "an action may lead to several states, and each counts with its probability, not the likeliest alone": (
            lambda transition, reward, value, discount: reward + discount * value[transition.argmax(axis=2)]
        ),
        "the end: what a row lacks to 1 ends the episode and is worth 0, it is not shared among the states": (
            lambda transition, reward, value, discount: reward + discount * without_end(transition) @ value
        ),
        "the direction: transition[s, a] says where one goes to from s, not where one comes from": (
            lambda transition, reward, value, discount: reward + discount * np.einsum("tas,t->sa", transition, value)
        ),
        "the value is that of the state that the action leads to, not of the state where it is taken": (
            lambda transition, reward, value, discount: reward + discount * np.einsum("sat,s->sa", transition, value)
        ),
    },
)


# --- 1.2 ---


def policy_value(transition, reward, policy, discount):
    """The solution of v = u + discount * P v: [S]."""
    return solve(np.einsum("sa,sat->st", policy, transition), (policy * reward).sum(axis=1), discount)


def solve(step, gain, discount):
    """The v [S] with v = gain + discount * step v, for step [S, S] and gain [S]."""
    return np.linalg.solve(np.eye(len(gain)) - discount * step, gain)


def value_undiscounted(transition, reward, policy, discount):
    return policy_value(transition, reward, policy, 1.0)


def value_backwards(transition, reward, policy, discount):
    return solve(np.einsum("sa,sat->ts", policy, transition), (policy * reward).sum(axis=1), discount)


def value_uniform(transition, reward, policy, discount):
    return policy_value(transition, reward, np.full_like(policy, 1 / policy.shape[1]), discount)


def value_plain_reward(transition, reward, policy, discount):
    return solve(np.einsum("sa,sat->st", policy, transition), reward.mean(axis=1), discount)


def value_without_end(transition, reward, policy, discount):
    return policy_value(without_end(transition), reward, policy, discount)


def value_by_sweeps(transition, reward, policy, discount):
    value = np.zeros(len(reward))
    for _ in range(100):
        value = (policy * action_values(transition, reward, value, discount)).sum(axis=1)
    return value


def hidden_policies(rng):
    sizes = [(1, 1, 0.9), (3, 2, 0.0), (4, 3, 0.5), (6, 2, 0.999), (2, 4, 1.0), (5, 3, 0.97)]
    inputs = []
    for s, a, discount in sizes:
        inputs.append((*random_world(rng, s, a, end=0.3 if discount == 1 else 0.0), random_policy(rng, s, a), discount))
    # Nearly no end and hardly any discount: what sweeps leave over is large here.
    inputs.append((np.array([[[0.999]]]), rng.normal(size=(1, 1)), np.ones((1, 1)), 0.999))
    return inputs


POLICY_VALUE = Question(
    number="1.2",
    title="What a policy is worth",
    points=3,
    name="policy_value",
    right=policy_value,
    examples=(
        (MOUNTAIN, MOUNTAIN_REWARD, HABIT, 0.9),
        (MOUNTAIN, MOUNTAIN_REWARD, as_choice([1, 1, 1, 1]), 0.99),
        (SMALL, SMALL_REWARD, SMALL_POLICY, 0.0),
        (SMALL, SMALL_REWARD, SMALL_POLICY, 1.0),
        (np.array([[[0.99]]]), np.array([[1.0]]), np.array([[1.0]]), 0.99),
    ),
    more=hidden_policies,
    mistakes={
        "the discount, which every further step is multiplied by": value_undiscounted,
        "the direction: row s of the matrix holds where one goes to from s; yours is the transpose": value_backwards,
        "the policy: each action counts with the policy's probability, not all the same": value_uniform,
        "the reward, too, is a mean under the policy, not over all actions alike": value_plain_reward,
        "the end: what a row lacks to 1 ends the episode, so rows need not add up to 1": value_without_end,
        "the exact solution: a hundred sweeps of v = u + discount * P v are near it only where the future soon "
        "stops counting; solve the linear system": value_by_sweeps,
    },
)


# --- 1.3 ---


def greedy(q):
    """All probability on the best actions of a state, in equal shares: [S, A]."""
    best = q >= q.max(axis=1, keepdims=True) - TIE
    return best / best.sum(axis=1, keepdims=True)


def greedy_first(q):
    return np.eye(q.shape[1])[q.argmax(axis=1)]


def greedy_not_normalised(q):
    return (q >= q.max(axis=1, keepdims=True) - TIE).astype(float)


def greedy_exact(q):
    best = q == q.max(axis=1, keepdims=True)
    return best / best.sum(axis=1, keepdims=True)


def greedy_isclose(q):
    best = np.isclose(q, q.max(axis=1, keepdims=True))
    return best / best.sum(axis=1, keepdims=True)


def greedy_softmax(q):
    weights = np.exp(q - q.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def greedy_columns(q):
    best = q >= q.max(axis=0, keepdims=True) - TIE
    return best / np.maximum(best.sum(axis=1, keepdims=True), 1)


def hidden_ties(rng):
    ties = rng.integers(-3, 3, (5, 3)).astype(float)
    ties[0] = 1.7
    rounded = rng.normal(size=(4, 4)).round(1)
    rounded[:, 3] = np.nextafter(rounded[:, :3].max(axis=1), np.inf)  # the largest again, but for the last digit
    close = 1000 + rng.normal(size=(3, 2)).round(2)
    close[:, 1] = close[:, 0] + rng.choice([-0.002, 0.002], 3)
    return [(rng.normal(size=(4, 3)),), (ties,), (rounded,), (close,), (-ties,), (rng.normal(size=(1, 1)),)]


GREEDY = Question(
    number="1.3",
    title="A better policy, with ties",
    points=2,
    name="greedy",
    right=greedy,
    examples=(
        (np.array([[1.0, 3.0, 2.0], [0.0, -1.0, -2.0]]),),
        (np.array([[2.0, 5.0, 5.0], [1.0, 1.0, 1.0], [-1.0, -4.0, -1.0]]),),
        (np.array([[0.3, 0.1 + 0.2, 0.0]]),),
        (np.array([[1000.0, 1000.004], [-7.0, -8.0]]),),
    ),
    more=hidden_ties,
    mistakes={
        "a policy adds up to 1 in every state, also where several actions are the best": greedy_not_normalised,
        "ties: actions that are equally good share the probability, the first does not get all of it": greedy_first,
        "rounding: 0.1 + 0.2 is not 0.3 in floating point, so compare with a tolerance of 1e-9": greedy_exact,
        "an absolute tolerance: np.isclose by itself takes 1000 and 1000.004 for equal": greedy_isclose,
        "greedy: an action below the best gets nothing, however near it is": greedy_softmax,
        "the axis: the best action of each state is asked for, not the best state for each action": greedy_columns,
    },
)


# --- 1.4 ---


def improvement(transition, reward, old, new, discount):
    """(advantage [S] of doing what `new` does once and what `old` does ever after, whether that guarantees more)."""
    value = policy_value(transition, reward, old, discount)
    advantage = (new * action_values(transition, reward, value, discount)).sum(axis=1) - value
    return advantage, bool((advantage >= -TIE).all())


def improvement_of_new_value(transition, reward, old, new, discount):
    gain = policy_value(transition, reward, new, discount) - policy_value(transition, reward, old, discount)
    return gain, bool((gain >= -TIE).all())


def improvement_of_best_action(transition, reward, old, new, discount):
    value = policy_value(transition, reward, old, discount)
    advantage = action_values(transition, reward, value, discount).max(axis=1) - value
    return advantage, bool((advantage >= -TIE).all())


def improvement_not_subtracted(transition, reward, old, new, discount):
    value = policy_value(transition, reward, old, discount)
    advantage = (new * action_values(transition, reward, value, discount)).sum(axis=1)
    return advantage, bool((advantage >= -TIE).all())


def improvement_on_average(transition, reward, old, new, discount):
    advantage, _ = improvement(transition, reward, old, new, discount)
    return advantage, bool(advantage.mean() >= -TIE)


def improvement_somewhere(transition, reward, old, new, discount):
    advantage, _ = improvement(transition, reward, old, new, discount)
    return advantage, bool((advantage >= -TIE).any())


def improvement_strict(transition, reward, old, new, discount):
    advantage, _ = improvement(transition, reward, old, new, discount)
    return advantage, bool((advantage > TIE).all())


def improvement_exchanged(transition, reward, old, new, discount):
    return improvement(transition, reward, new, old, discount)


def hidden_changes(rng):
    inputs = []
    for s, a, discount in [(4, 2, 0.9), (3, 3, 0.5), (5, 2, 0.97), (6, 4, 0.8), (2, 3, 0.0)]:
        transition, reward = random_world(rng, s, a)
        old = random_policy(rng, s, a)
        q = action_values(transition, reward, policy_value(transition, reward, old, discount), discount)
        best = greedy(q)
        spoiled = np.vstack([greedy(-q[:1]), best[1:]])  # better everywhere but in the first state
        for new in (best, 0.7 * old + 0.3 * best, old, random_policy(rng, s, a), spoiled):
            inputs.append((transition, reward, old, new, discount))
    return inputs


MOUNTAIN_GREEDY = as_choice([0, 0, 0, 0])  # for the value of HABIT
MOUNTAIN_BEST = as_choice([0, 1, 0, 0])  # better than HABIT everywhere, but one step of lookahead does not see it
MOUNTAIN_BOLDER = HABIT + np.array([[-0.4, 0.4], [-0.4, 0.4], [-0.1, 0.1], [0.0, 0.0]])

IMPROVEMENT = Question(
    number="1.4",
    title="When an improvement is guaranteed",
    points=3,
    name="improvement",
    right=improvement,
    examples=(
        (MOUNTAIN, MOUNTAIN_REWARD, HABIT, MOUNTAIN_GREEDY, 0.9),
        (MOUNTAIN, MOUNTAIN_REWARD, HABIT, (HABIT + MOUNTAIN_GREEDY) / 2, 0.9),
        (MOUNTAIN, MOUNTAIN_REWARD, HABIT, MOUNTAIN_BEST, 0.9),
        (MOUNTAIN, MOUNTAIN_REWARD, HABIT, HABIT, 0.9),
        (MOUNTAIN, MOUNTAIN_REWARD, HABIT, MOUNTAIN_BOLDER, 0.9),
        (MOUNTAIN, MOUNTAIN_REWARD, as_choice([1, 1, 1, 1]), as_choice([0, 1, 0, 1]), 0.9),
        (MOUNTAIN, MOUNTAIN_REWARD, as_choice([1, 1, 1, 1]), as_choice([0, 0, 0, 1]), 0.9),
        (SMALL, SMALL_REWARD, SMALL_POLICY, SMALL_POLICY[::-1].copy(), 0.5),
    ),
    more=hidden_changes,
    mistakes={
        "the old policy's value: the advantage looks one step ahead with the new policy and follows the old one "
        "from there on; what you have is what the new one gains in the end": improvement_of_new_value,
        "the new policy: its advantage is a mean over what it does, not that of the best action": (
            improvement_of_best_action
        ),
        "the roles: the old policy's value is computed, and the new policy chooses the one step": improvement_exchanged,
        "the comparison: an advantage is what is gained over the old policy's value": improvement_not_subtracted,
        "every state: one state with a negative advantage breaks the guarantee, whatever the mean is": (
            improvement_on_average
        ),
        "every state: that some state gains is not enough for a guarantee": improvement_somewhere,
        "an advantage of zero does no harm: the guarantee needs none that is negative, not all positive": (
            improvement_strict
        ),
    },
)


# --- 1.5 ---


def worth_of_lookahead(transition, reward, value, discount, depth):
    """Row n - 1: the exact value of acting greedily by n steps of lookahead from `value`: [depth, S]."""
    return _worth(transition, reward, value, discount, depth)


def _worth(transition, reward, value, discount, depth, look=None, combine=np.max, first=0):
    """The same with switches for what can go wrong; `look` is the discount of the lookahead."""
    look, rows = discount if look is None else look, []
    for step in range(first + depth):
        q = action_values(transition, reward, value, look)
        if step >= first:
            rows.append(policy_value(transition, reward, greedy(q), discount))
        value = combine(q, axis=1)
    return np.array(rows)


def worth_believed(transition, reward, value, discount, depth):
    rows = []
    for _ in range(depth):
        value = action_values(transition, reward, value, discount).max(axis=1)
        rows.append(value)
    return np.array(rows)


def worth_one_more(transition, reward, value, discount, depth):
    return _worth(transition, reward, value, discount, depth, first=1)


def worth_from_zero(transition, reward, value, discount, depth):
    return _worth(transition, reward, np.zeros_like(value), discount, depth)


def worth_of_mean(transition, reward, value, discount, depth):
    return _worth(transition, reward, value, discount, depth, combine=np.mean)


def worth_undiscounted(transition, reward, value, discount, depth):
    return _worth(transition, reward, value, discount, depth, look=1.0)


def worth_of_policies(transition, reward, value, discount, depth):
    rows = []
    for _ in range(depth):
        value = policy_value(transition, reward, greedy(action_values(transition, reward, value, discount)), discount)
        rows.append(value)
    return np.array(rows)


def hidden_depths(rng):
    sizes = [(3, 2, 0.9, 1), (5, 3, 0.95, 5), (6, 2, 0.9, 4), (4, 4, 0.6, 3), (5, 2, 0.97, 6), (6, 3, 0.9, 6)]
    return [(*random_world(rng, s, a), rng.normal(0, 4, s).round(2), discount, n) for s, a, discount, n in sizes]


WORTH = Question(
    number="1.5",
    title="What it is worth to look further",
    points=3,
    name="worth_of_lookahead",
    right=worth_of_lookahead,
    examples=(
        (MOUNTAIN, MOUNTAIN_REWARD, BELIEF, 0.9, 6),
        (MOUNTAIN, MOUNTAIN_REWARD, np.array([0.0, 1.0, 0.0, 30.0]), 0.9, 8),
        (MOUNTAIN, MOUNTAIN_REWARD, np.array([4.0, -5.0, 2.0, 3.0]), 0.5, 3),
        (SMALL, SMALL_REWARD, np.array([1.0, 8.0]), 0.8, 1),
    ),
    more=hidden_depths,
    mistakes={
        "worth and belief are two things: after looking ahead, evaluate the greedy policy exactly": worth_believed,
        "counting: the first row looks one step ahead, its action values come from `value` itself": worth_one_more,
        "the leaves: where the lookahead stops it uses the given `value`, not zero": worth_from_zero,
        "the best action is taken at every step of the lookahead, not the mean over actions": worth_of_mean,
        "the discount: each step of the lookahead counts discount times as much as the one before": worth_undiscounted,
        "the lookahead goes on from its own values (the largest q), not from the greedy policy's exact value; "
        "that would be policy iteration": worth_of_policies,
    },
)


# --- 1.6 ---


def steps_needed(error, gap, discount):
    """The smallest n >= 1 with 2 * discount^n * error < gap."""
    return _first(lambda n: 2 * discount**n * error < gap)


def _first(enough, start=1):
    while not enough(start):
        start += 1
    return start


def hidden_gaps(rng):
    inputs = [(rng.uniform(1, 50), rng.uniform(0.05, 2), rng.choice([0.5, 0.9, 0.97])) for _ in range(6)]
    inputs += [(float(2 ** rng.integers(2, 6)), 1.0, 0.5), (0.01, rng.uniform(1, 2), 0.9)]
    return [tuple(round(float(number), 3) for number in one) for one in inputs] + [
        (float(rng.integers(5, 9)), 0.5, 0.0)
    ]


STEPS = Question(
    number="1.6",
    title="How far to look to be sure",
    points=2,
    name="steps_needed",
    right=steps_needed,
    examples=((5.0, 1.0, 0.9), (7.0, 0.3, 0.97), (4.0, 1.0, 0.5), (0.1, 3.0, 0.9), (20.0, 0.5, 0.0)),
    more=hidden_gaps,
    mistakes={
        "both sides: the better action may look worse by the bound and the other one better by as much": (
            lambda error, gap, discount: _first(lambda n: discount**n * error < gap)
        ),
        "strictly: at 2 * discount^n * error = gap the two actions may still look alike": (
            lambda error, gap, discount: _first(lambda n: 2 * discount**n * error <= gap)
        ),
        "at least one step: with none there are no actions to compare": (
            lambda error, gap, discount: _first(lambda n: 2 * discount**n * error < gap, start=0)
        ),
        "every step shrinks the error once: n steps by discount^n, also the first": (
            lambda error, gap, discount: _first(lambda n: 2 * discount ** (n - 1) * error < gap)
        ),
        "the discount may be 0, which has no logarithm; then one step is enough": (
            lambda error, gap, discount: max(1, math.floor(math.log(gap / 2 / error) / math.log(discount)) + 1)
        ),
    },
)


QUESTIONS = (ACTION_VALUES, POLICY_VALUE, GREEDY, IMPROVEMENT, WORTH, STEPS)
