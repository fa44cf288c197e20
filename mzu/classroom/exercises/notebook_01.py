"""Exercises of notebook 01, planning with a model. A world is next_state [S, A] and reward [S, A]."""

import numpy as np

from mzu.classroom.question import exercise
from mzu.config import SearchConfig
from mzu.networks.model import TabularModel
from mzu.search.search import search

# The notebook's world: home, path, fork, swamp, orchard.
NEXT_STATE = np.array([[0, 1], [0, 2], [4, 3], [3, 0], [4, 0]])
REWARD = np.array([[0.5, 0], [0, 0], [0, 2], [-1, -2], [0, 12]])
PRIOR = np.array([[0.7, 0.3], [0.6, 0.4], [0.3, 0.7], [0.5, 0.5], [0.5, 0.5]])
VALUE = np.array([6.0, 6, 7, 9, 6])
FORK = 2

# Three actions, and a state that only a detour makes worth visiting.
RING = np.array([[1, 0, 3], [2, 0, 1], [0, 3, 2], [3, 1, 0]])
RING_REWARD = np.array([[0.0, 1.0, -1.0], [0.0, 0.5, 0.2], [4.0, 0.0, 1.0], [0.3, -2.0, 0.0]])


# --- 1 ---


def policy_iteration(next_state, reward, discount):
    """From "always action 0": compute the policy's value, make it greedy, until nothing changes.

    next_state [S, A], reward [S, A] -> the policies in their order [R, S], each an action per
    state: the first one all 0, no policy twice in a row.

    >>> policy_iteration(np.array([[0, 0]]), np.array([[1.0, 2.0]]), 0.9).tolist()
    [[0], [1]]
    """
    states = np.arange(len(reward))
    actions = np.zeros(len(reward), int)
    policies = [actions]
    while True:
        transition = np.eye(len(reward))[next_state[states, actions]]
        value = np.linalg.solve(np.eye(len(reward)) - discount * transition, reward[states, actions])
        actions = (reward + discount * value[next_state]).argmax(axis=1)
        if np.array_equal(actions, policies[-1]):
            return np.array(policies)
        policies.append(actions)


def _iterate(next_state, reward, discount, evaluate):
    """Policy iteration with another evaluation: actions [S] -> value [S]."""
    policies = [np.zeros(len(reward), int)]
    for _ in range(20):
        value = evaluate(policies[-1])
        actions = (reward + discount * value[next_state]).argmax(axis=1)
        if np.array_equal(actions, policies[-1]):
            break
        policies.append(actions)
    return np.array(policies)


def _one_sweep(next_state, reward, discount):
    states = np.arange(len(reward))
    return _iterate(next_state, reward, discount, lambda actions: reward[states, actions])


def _value_iteration(next_state, reward, discount):
    """The greedy actions after each sweep of value iteration, without repetitions."""
    value, policies = np.zeros(len(reward)), [np.zeros(len(reward), int)]
    for _ in range(200):
        q = reward + discount * value[next_state]
        value, actions = q.max(axis=1), q.argmax(axis=1)
        if not np.array_equal(actions, policies[-1]):
            policies.append(actions)
    return np.array(policies)


def _transposed(next_state, reward, discount):
    def evaluate(actions):
        states = np.arange(len(reward))
        comes_from = np.eye(len(reward))[next_state[states, actions]].T
        return np.linalg.solve(np.eye(len(reward)) - discount * comes_from, reward[states, actions])

    return _iterate(next_state, reward, discount, evaluate)


def _evaluated(next_state, reward, discount, sweeps):
    """Policy iteration whose evaluation stops after some sweeps."""
    states = np.arange(len(reward))

    def evaluate(actions):
        value = np.zeros(len(reward))
        for _ in range(sweeps):
            value = reward[states, actions] + discount * value[next_state[states, actions]]
        return value

    return _iterate(next_state, reward, discount, evaluate)


def _greedy_undiscounted(next_state, reward, discount):
    """Policies that are valued rightly and made greedy for reward + value of the next state."""
    states, policies = np.arange(len(reward)), [np.zeros(len(reward), int)]
    for _ in range(20):
        transition = np.eye(len(reward))[next_state[states, policies[-1]]]
        value = np.linalg.solve(np.eye(len(reward)) - discount * transition, reward[states, policies[-1]])
        actions = (reward + value[next_state]).argmax(axis=1)
        if np.array_equal(actions, policies[-1]):
            break
        policies.append(actions)
    return np.array(policies)


def _another_form(answer, next_state, reward, discount):
    """Whether the answer is about other states than the world's, or not about actions."""
    if np.ndim(answer) == 3:
        return "these are tables of probabilities [S, A]; each policy is wanted as an action per state, [R, S]"
    states = np.shape(answer)[1]
    return f"this world has {len(reward)} states, the policies are of {states}" if states != len(reward) else ""


def _last_one_twice(*world):
    policies = policy_iteration(*world)
    return np.concatenate([policies, policies[-1:]])


# --- 2 ---


def patience(rest, meal):
    """The discount above which walking in a circle of four steps, of which the last pays `meal`,
    is worth more than `rest` at every step, for ever. Exact to four digits.

    >>> round(patience(0.5, 12.0), 4)
    0.4093
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        resting = rest / (1 - middle)
        walking = meal * middle**3 / (1 - middle**4)
        low, high = (low, middle) if walking > resting else (middle, high)
    return low


def _bisect(better):
    low, high = 0.0, 1.0 - 1e-12
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if better(middle) else (middle, high)
    return low


def _coarse(rest, meal, step=0.01):
    grid = np.arange(step, 1, step)
    return float(grid[meal * grid**3 / (1 - grid**4) > rest / (1 - grid)][0])


def _off_by_a_step(answer, rest, meal):
    off = abs(answer - patience(rest, meal))
    if off >= 0.02:
        return ""
    of_a_grid = off < 0.001 or abs(answer - round(answer, 4)) < 1e-9  # few digits
    why = ": near, but a grid finds the discount only up to its step" if of_a_grid else ""
    return f"it is off by {off:.5f}{why}"


# --- 3 ---


def simulations_needed(prior, simulations):
    """At the fork of the notebook's world `up` (action 0) has this prior and `down` the rest.
    From which number of simulations on is `up` the most visited action, and stays so up to
    `simulations`?

    A search without noise begins as a shorter one does: one search with record=True is enough,
    and result.history.candidates[0, :, 0] lists the root's choices in their order.

    >>> simulations_needed(0.5, 100)
    13
    """
    ups = np.cumsum(root_choices(prior, simulations) == 0)
    behind = np.flatnonzero(2 * ups <= np.arange(1, simulations + 1))  # after simulation number + 1
    return int(behind[-1]) + 2


def root_choices(prior, simulations):
    """The action that each simulation takes at the fork [simulations]."""
    policy = PRIOR.copy()
    policy[FORK] = prior, 1 - prior
    model = TabularModel(NEXT_STATE, REWARD, np.log(policy), VALUE)
    config = SearchConfig(num_simulations=simulations, discount=0.9, dirichlet_fraction=0.0)
    result = search(model, np.array([FORK]), config, np.random.default_rng(0), record=True)
    return result.history.candidates[0, :, 0]


def _other_choices(prior, simulations, noise=0.0, logits=np.log):
    """The same with noise at the root, or with something else in the place of logits."""
    policy = PRIOR.copy()
    policy[FORK] = prior, 1 - prior
    model = TabularModel(NEXT_STATE, REWARD, logits(policy), VALUE)
    config = SearchConfig(num_simulations=simulations, discount=0.9, dirichlet_fraction=noise)
    result = search(model, np.array([FORK]), config, np.random.default_rng(0), record=True)
    return result.history.candidates[0, :, 0]


def _choices_at(prior, simulations, state=FORK, discount=0.9, up=lambda prior: prior):
    """The same from another state, with another discount, or with another prior of `up`."""
    policy = PRIOR.copy()
    policy[FORK] = up(prior), 1 - up(prior)
    model = TabularModel(NEXT_STATE, REWARD, np.log(policy), VALUE)
    config = SearchConfig(num_simulations=simulations, discount=discount, dirichlet_fraction=0.0)
    result = search(model, np.array([state]), config, np.random.default_rng(0), record=True)
    return result.history.candidates[0, :, 0]


def _ahead(prior, simulations, tie=False, choices=root_choices, **settings):
    """After which numbers of simulations `up` is ahead [simulations], from 1 on."""
    twice = 2 * np.cumsum(choices(prior, simulations, **settings) == 0)
    count = np.arange(1, simulations + 1)
    return twice >= count if tie else twice > count


def _for_good(ahead):
    return int(np.flatnonzero(~ahead)[-1]) + 2


# --- 4 ---


def critical_meal(rest, discount):
    """The reward x that the model must expect of the meal: below it the agent stays at home,
    resting for `rest` a step, however long it thinks. The walk is a circle of four steps, the
    last pays x.

    >>> round(critical_meal(0.5, 0.9), 4)
    2.3587
    """
    return rest / (1 - discount) * (1 - discount**4) / discount**3


# --- 5 ---


def received(rewards, leaf_value, discount):
    """What each node of a path receives in the backup, the root first.

    rewards [L] of the path's edges from the root on, leaf_value: the network's value of the new
    node -> [L]: at node k the rewards from k on, then the leaf's value, discounted.

    >>> received([2.0, -1.0], 9.0, 0.9)
    [8.39, 7.1]
    """
    value, result = leaf_value, []
    for reward in reversed(rewards):
        value = reward + discount * value
        result.append(value)
    return result[::-1]


def _downwards(rewards, leaf_value, discount):
    value, result = leaf_value, []
    for reward in rewards:
        value = reward + discount * value
        result.append(value)
    return result


def _from_each_node(rewards, factor, leaf):
    """At node k the sum of factor(k, later) times the later rewards, and leaf(k)."""
    places = range(len(rewards))
    return [sum(factor(k, later) * rewards[later] for later in places[k:]) + leaf(k) for k in places]


EXERCISES = (
    exercise(
        "01.1",
        "Policy iteration",
        policy_iteration,
        examples=((NEXT_STATE, REWARD, 0.9), (RING, RING_REWARD, 0.9), (RING, RING_REWARD, 0.5)),
        finding=_another_form,
        mistakes={
            "the last round finds nothing to change; its policy is the same as the one before and is not listed "
            "twice": _last_one_twice,
            "a policy's value is the whole future's: solve v = u + discount * P v, its next reward is not "
            "enough": _one_sweep,
            "greedy means the largest reward plus discount times the value of the next state, not the largest "
            "reward": lambda next_state, reward, discount: _iterate(
                next_state, reward, discount, lambda actions: np.zeros(len(reward))
            ),
            "the first policy, all 0, belongs to the list": lambda *world: policy_iteration(*world)[1:],
            "each policy is listed as an action per state, [R, S], not as a table of probabilities": (
                lambda next_state, reward, discount: np.eye(reward.shape[1])[
                    policy_iteration(next_state, reward, discount)
                ]
            ),
            "the world is the one that is handed in, with as many states and actions as `reward` has; the notebook's "
            "NEXT_STATE, REWARD, DISCOUNT and the functions that use them are about another one": (
                lambda next_state, reward, discount: policy_iteration(NEXT_STATE, REWARD, 0.9)
            ),
            "that is value iteration, which looks one step further in each round; here each policy's own value is "
            "computed to the end before the next one is made": _value_iteration,
            "row s of P says where "
            "s leads: P[s, next_state[s, action]] is 1; the other way round it says where one comes from": _transposed,
            "greedy "
            "compares reward + discount * value of the next state; here the discount is left out": _greedy_undiscounted,
            "a few sweeps only "
            "come near the policy's value; solve the linear equations, or sweep until nothing changes": lambda *world: (
                _evaluated(*world, sweeps=10)
            ),
        },
        hints=(
            "Section 2 has the value of a policy, section 5 the greedy policy. Alternate between them.",
            "The value of actions [S] is the solution of (I - discount * P) v = u, where row s of P has its 1 at "
            "next_state[s, actions[s]].",
            "Stop when the greedy actions are those that you came with, and return what you have.",
        ),
        because="Three rounds change the policy, a fourth finds nothing to change. Home comes last, because one step "
        "of lookahead carries news by one state, and home is furthest from the meal.",
    ),
    exercise(
        "01.2",
        "Patience",
        patience,
        examples=((0.5, 12.0), (1.0, 5.0), (0.1, 40.0)),
        tolerance=1e-4,
        finding=_off_by_a_step,
        mistakes={
            "a grid finds the discount only up to its step; solve the equation, or halve an interval until it is "
            "small": _coarse,
            "the circle is walked again and again: the meal comes every four steps, so divide by 1 - discount**4": (
                lambda rest, meal: _bisect(lambda g: meal * g**3 > rest / (1 - g))
            ),
            "the meal is the reward of the fourth step, three steps after the first: discount**3": (
                lambda rest, meal: _bisect(lambda g: meal * g**4 / (1 - g**4) > rest / (1 - g))
            ),
            "resting pays at every step, for ever: rest / (1 - discount), not rest": (
                lambda rest, meal: _bisect(lambda g: meal * g**3 / (1 - g**4) > rest)
            ),
            "the meal comes three steps after the first of each circle, so it counts discount**3": lambda rest, meal: (
                _bisect(lambda g: meal / (1 - g**4) > rest / (1 - g))
            ),
            "a circle takes four steps, in which one would have rested four times": lambda rest, meal: _bisect(
                lambda g: meal * g**3 > rest * (1 + g + g**2)
            ),
            "one meal is compared with one rest; both go on for ever": lambda rest, meal: (rest / meal) ** (1 / 3),
        },
        hints=(
            "Write down what resting for ever is worth, and what walking in the circle for ever is worth, both as "
            "geometric series.",
            "Resting is rest / (1 - g), walking is meal * g**3 / (1 - g**4). For small g resting is worth more.",
            "Their difference changes its sign once between 0 and 1: halve the interval 50 times.",
        ),
        because="For the notebook's world it is the root of 23 g^3 = 1 + g + g^2, 0.4093. Such a small discount is "
        "enough because the meal pays 24 times what a rest pays.",
    ),
    exercise(
        "01.3",
        "How much prior does a good action need?",
        simulations_needed,
        uses=(root_choices,),
        examples=((0.5, 100), (0.2, 100), (0.05, 300)),
        mistakes={
            "up must stay ahead: it may lead for a moment at the beginning, so look for the last time that it does "
            "not": lambda prior, simulations: int(np.argmax(_ahead(prior, simulations))) + 1,
            "as many visits as down is not more than down; and simulations are counted from 1, an array's places "
            "from 0": lambda prior, simulations: _for_good(_ahead(prior, simulations, tie=True)),
            "argmax of the visits takes up where both have as many; up must have more visits than down, and from "
            "there on": lambda prior, simulations: int(np.argmax(_ahead(prior, simulations, tie=True))) + 1,
            "the noise at the root is on; with dirichlet_fraction=0.0 a search begins as a shorter one does": (
                lambda prior, simulations: _for_good(_ahead(prior, simulations, choices=_other_choices, noise=0.25))
            ),
            "the model takes logits, np.log(policy); probabilities in their place are another policy": (
                lambda prior, simulations: _for_good(
                    _ahead(prior, simulations, choices=_other_choices, logits=np.array)
                )
            ),
            "the first try is not yet the lead: up has to catch up with all visits that down has had": (
                lambda prior, simulations: int(np.argmax(root_choices(prior, simulations) == 0)) + 1
            ),
            "the prior belongs to up, action 0; down has the rest": lambda prior, simulations: _for_good(
                _ahead(prior, simulations, choices=_choices_at, up=lambda prior: 1 - prior)
            ),
            "the prior is the one that is handed in, not the 0.3 of the notebook's policy": lambda prior, simulations: (
                _for_good(_ahead(prior, simulations, choices=_choices_at, up=lambda prior: 0.3))
            ),
            "the settings "
            "of section 8 have a discount of 0.9; SearchConfig's own is another one": lambda prior, simulations: (
                _for_good(_ahead(prior, simulations, choices=_choices_at, discount=SearchConfig().discount))
            ),
            "up must "
            "have more visits than down; it need not be chosen every time from there on": lambda prior, simulations: (
                int(np.flatnonzero(root_choices(prior, simulations) == 1)[-1]) + 2
            ),
        },
        hints=(
            "np.cumsum(choices == 0) counts the visits of up after each simulation.",
            "Up is the most visited action after n simulations if it has more than n / 2 of them.",
            "Find the last simulation after which it has not; the answer is the number of the next one.",
        ),
        because="0.5, 0.2, 0.1, 0.05 and 0.01 need 13, 27, 47, 109 and 1391 simulations. An action that was never "
        "tried has nothing but its prior term, which grows as p * sqrt(N).",
    ),
    exercise(
        "01.4",
        "How wrong may the model be?",
        critical_meal,
        examples=((0.5, 0.9), (1.0, 0.5), (0.2, 0.99)),
        mistakes={
            "after the meal one is at home again: the circle repeats every four steps": (
                lambda rest, discount: rest / (1 - discount) / discount**3
            ),
            "the meal is three steps away from home, not four": (
                lambda rest, discount: rest / (1 - discount) * (1 - discount**4) / discount**4
            ),
            "resting once is compared with the whole walk; resting goes on for ever, too": (
                lambda rest, discount: rest * (1 - discount**4) / discount**3
            ),
            "the meal comes three steps after one leaves home, and counts discount**3 of what it pays": (
                lambda rest, discount: rest / (1 - discount) * (1 - discount**4)
            ),
            "the four rests in the place of one walk are discounted, too, each by its step": (
                lambda rest, discount: 4 * rest / discount**3
            ),
            "discount is an argument, the notebook's DISCOUNT is another number": (
                lambda rest, discount: critical_meal(rest / (1 - discount) * (1 - 0.9), 0.9)
            ),
            "all of it is about the discount that is handed in; the notebook's DISCOUNT has no part": (
                lambda rest, discount: critical_meal(rest, 0.9)
            ),
            "while one walks four steps, one would have rested four times": lambda rest, discount: (
                rest * (1 + discount + discount**2) / discount**3
            ),
            "the meal comes three steps after the first, not two: discount**3": lambda rest, discount: (
                rest / (1 - discount) * (1 - discount**4) / discount**2
            ),
            "x counts discount**3 of what it pays: solve for x, divide by it": lambda rest, discount: (
                rest / (1 - discount) * (1 - discount**4) * discount**3
            ),
        },
        hints=(
            "It is exercise 2 with another unknown: the discount is given, the meal is not.",
            "Set rest / (1 - g) equal to x * g**3 / (1 - g**4) and solve for x.",
        ),
        because="With x = 2 the search stays at home, which in the true world is worth 5 instead of 25.4. No number of "
        "simulations helps: the search computes the right answer to the wrong question.",
    ),
    exercise(
        "01.5",
        "Find the bug",
        received,
        examples=(([2.0, -1.0], 9.0, 0.9), ([1.0], 3.0, 0.5), ([0.0, 1.0, 5.0], 2.0, 0.5)),
        mistakes={
            "the order: the value starts at the leaf, so the last edge comes first and the root last; from the root "
            "down it sees one reward only": _downwards,
            "the discount, once for each step that the value travels": (
                lambda rewards, leaf_value, discount: received(rewards, leaf_value, 1.0)
            ),
            "the leaf's value: it stands for all that comes after the path": (
                lambda rewards, leaf_value, discount: received(rewards, 0.0, discount)
            ),
            "the root comes first in the list": (
                lambda rewards, leaf_value, discount: received(rewards, leaf_value, discount)[::-1]
            ),
            "the leaf's value travels up the whole path: one discount for each of its steps, not one in all": (
                lambda rewards, leaf_value, discount: _from_each_node(
                    rewards, lambda k, later: discount ** (later - k), lambda k: discount * leaf_value
                )
            ),
            "each node counts from itself on: the reward of its own edge is not discounted": (
                lambda rewards, leaf_value, discount: _from_each_node(
                    rewards, lambda k, later: discount**later, lambda k: discount ** len(rewards) * leaf_value
                )
            ),
            "the new node has its value already; the list holds the nodes above it, as many as there are rewards": (
                lambda rewards, leaf_value, discount: [*received(rewards, leaf_value, discount), leaf_value]
            ),
            "an edge's reward is paid at once; "
            "only what comes after it is discounted: r + discount * value": lambda rewards, leaf_value, discount: (
                _from_each_node(
                    rewards,
                    lambda k, later: discount ** (later - k + 1),
                    lambda k: discount ** (len(rewards) - k) * leaf_value,
                )
            ),
            "what comes behind a node's own "
            "edge are all later rewards and then the leaf, not the leaf alone": lambda rewards, leaf_value, discount: [
                reward + discount * leaf_value for reward in rewards
            ],
            "the nodes above the "
            "new one are asked for, the root among them; the new node is not": lambda rewards, leaf_value, discount: [
                *received(rewards, leaf_value, discount)[1:],
                leaf_value,
            ],
        },
        hints=(
            "Work out [2, -1] with a leaf of 9 on paper: the node above the leaf first.",
            "value = reward + discount * value, for the edges from the last to the first.",
        ),
        because="`for node, action in path` walks from the root to the leaf: the root gets the leaf's value after one "
        "reward and one discount, however long the path is. Only paths of one step are right; the first wrong one "
        "from the fork is the second simulation, 10.1 instead of 8.39.",
    ),
)
