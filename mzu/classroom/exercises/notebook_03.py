"""Exercises of notebook 03, search."""

import math

import numpy as np

from mzu.classroom.question import exercise

BASE, INIT = 19652.0, 1.25
VALUES, PRIORS = np.array([0.1, 0.6, 1.0]), np.array([0.5, 0.3, 0.2])


def exploration(visits):
    """C(N): how much the prior counts at a node with N visits."""
    return math.sqrt(visits) * (math.log((visits + BASE + 1) / BASE) + INIT)


# --- 1 ---


def root_actions(values, priors, simulations):
    """Section 1's node, but with values in any unit: which action does each simulation take?

    values [K]: what each visit of an action returns; priors [K] -> actions [simulations]. The
    value term is 0 for an action never taken, (value - low) / (high - low) over the values seen
    so far, and, until two different ones are known, the value as it is. Ties go to the first
    action.

    >>> root_actions(np.array([0.0, 5.0]), np.array([0.6, 0.4]), 3)
    [0, 1, 1]
    """
    visits, actions = np.zeros(len(priors), int), []
    for simulation in range(simulations):
        seen = values[visits > 0]
        terms = values
        if len(seen) and seen.max() > seen.min():
            terms = (values - seen.min()) / (seen.max() - seen.min())
        scores = np.where(visits > 0, terms, 0.0) + priors * exploration(1 + simulation) / (1 + visits)
        actions.append(int(scores.argmax()))
        visits[actions[-1]] += 1
    return actions


def _actions(values, priors, simulations, term, first=1, untried=0.0):
    """The same with another value term: (values, seen values) -> terms [K]."""
    visits, actions = np.zeros(len(priors), int), []
    for simulation in range(simulations):
        terms = term(values, values[visits > 0])
        scores = np.where(visits > 0, terms, untried) + priors * exploration(first + simulation) / (1 + visits)
        actions.append(int(scores.argmax()))
        visits[actions[-1]] += 1
    return actions


def _over_all(values, seen):
    return (values - values.min()) / np.ptp(values)


def _zero_before(values, seen):
    return (values - seen.min()) / np.ptp(seen) if len(seen) and np.ptp(seen) > 0 else 0.0 * values


# --- 2 ---


def sibling_scores(value, q, visits, priors):
    """The scores of a node's actions, normalised as in mctx: by the node's own value and the q of
    its visited children.

    value: the node's mean; q, visits, priors [K] (q is nan where visits is 0) -> scores [K]. The
    range is at least 1e-8 wide, an action never taken has the value term 0, N is 1 + all visits.

    >>> q, visits, priors = np.array([1.0, np.nan]), np.array([1, 0]), np.array([0.5, 0.5])
    >>> sibling_scores(0.0, q, visits, priors).round(3).tolist()
    [1.442, 0.884]
    """
    known = np.append(q[visits > 0], value)
    low, width = known.min(), max(known.max() - known.min(), 1e-8)
    value_terms = np.where(visits > 0, (q - low) / width, 0.0)
    return value_terms + priors * exploration(1 + visits.sum()) / (1 + visits)


def _sibling_scores(known, q, visits, priors, untried=0.0, total=None):
    low, width = known.min(), max(np.ptp(known), 1e-8)
    value_terms = np.where(visits > 0, (q - low) / width, untried)
    total = 1 + visits.sum() if total is None else total
    return value_terms + priors * exploration(total) / (1 + visits)


def _parent_for_untried(value, q, visits, priors):
    known = np.append(q[visits > 0], value)
    return _sibling_scores(known, q, visits, priors, (value - known.min()) / max(np.ptp(known), 1e-8))


SIBLINGS = (
    (0.3, np.array([0.5, np.nan, 0.4]), np.array([2, 0, 1]), np.array([0.5, 0.3, 0.2])),
    (2.0, np.array([-1.0, 5.0, np.nan, np.nan]), np.array([3, 1, 0, 0]), np.array([0.4, 0.1, 0.3, 0.2])),
    (0.9, np.array([np.nan, 0.7]), np.array([0, 4]), np.array([0.2, 0.8])),
)


# --- 3 ---


def best_of_rows(q, visits, priors, bounds):
    """One level of `select` for a whole batch, without a loop: the best candidate of each row.

    q, visits, priors [B, K], bounds [B, 2] -> candidates [B]. In a row whose upper bound is above
    its lower one, q of visited candidates is normalised by them, in others it enters as it is; a
    candidate never taken has the value term 0. N of a row is 1 + its visits.

    >>> q, visits, bounds = np.array([[0.0, 9.0]]), np.zeros((1, 2), int), np.array([[0.0, 1.0]])
    >>> best_of_rows(q, visits, np.array([[0.6, 0.4]]), bounds).tolist()
    [0]
    """
    low, high = bounds[:, :1], bounds[:, 1:]
    has_range = high > low
    terms = np.where(has_range, (q - low) / np.where(has_range, high - low, 1.0), q)
    total = 1 + visits.sum(axis=1, keepdims=True)
    factor = np.sqrt(total) * (np.log((total + BASE + 1) / BASE) + INIT)
    return (np.where(visits > 0, terms, 0.0) + priors * factor / (1 + visits)).argmax(axis=1)


def _best_of_rows(terms, visits, priors, total):
    factor = np.sqrt(total) * (np.log((total + BASE + 1) / BASE) + INIT)
    return (terms + priors * factor / (1 + visits)).argmax(axis=1)


def _row_totals(visits):
    return 1 + visits.sum(axis=1, keepdims=True)


def _shared_bounds(q, visits, priors, bounds):
    shared = np.broadcast_to([bounds[:, 0].min(), bounds[:, 1].max()], bounds.shape)
    return best_of_rows(q, visits, priors, shared)


def _nothing_without_range(q, visits, priors, bounds):
    has_range = bounds[:, 1:] > bounds[:, :1]
    span = np.where(has_range, bounds[:, 1:] - bounds[:, :1], 1.0)
    terms = np.where(has_range & (visits > 0), (q - bounds[:, :1]) / span, 0.0)
    return _best_of_rows(terms, visits, priors, _row_totals(visits))


def _untried_count(q, visits, priors, bounds):
    has_range = bounds[:, 1:] > bounds[:, :1]
    terms = np.where(has_range, (q - bounds[:, :1]) / np.where(has_range, bounds[:, 1:] - bounds[:, :1], 1.0), q)
    return _best_of_rows(terms, visits, priors, _row_totals(visits))


def _without_own(q, visits, priors, bounds):
    low, width = bounds[:, :1], bounds[:, 1:] - bounds[:, :1]
    terms = np.where(width > 0, (q - low) / np.where(width > 0, width, 1.0), q)
    total = visits.sum(axis=1, keepdims=True)
    factor = np.sqrt(total) * (np.log((total + BASE + 1) / BASE) + INIT)
    return (np.where(visits > 0, terms, 0.0) + priors * factor / (1 + visits)).argmax(axis=1)


def _batch_total(q, visits, priors, bounds):
    terms = np.where(visits > 0, (q - bounds[:, :1]) / np.maximum(bounds[:, 1:] - bounds[:, :1], 1e-9), 0.0)
    has_range = bounds[:, 1:] > bounds[:, :1]
    terms = np.where(has_range, terms, np.where(visits > 0, q, 0.0))
    return _best_of_rows(terms, visits, priors, 1 + visits.sum())


def _rows(seed, batch=12, candidates=4):
    rng = np.random.default_rng(seed)
    visits = rng.integers(0, 4, (batch, candidates)) * rng.integers(0, 2, (batch, candidates))
    q = rng.normal(0, 3, (batch, candidates))
    bounds = np.sort(rng.normal(0, 3, (batch, 2)), axis=1)
    bounds[::3, 1] = bounds[::3, 0]
    return q, visits, rng.dirichlet(np.ones(candidates), batch), bounds


# --- 4 ---


def smallest_prior(simulations, others):
    """The prior from which on the others are tried: action 0 has the normalised value 1 and all
    visits, `others` actions have equal priors p and the value 0, action 0 has the prior 1 -
    others * p.

    The last simulation decides; before it the node has N = `simulations` visits, its own
    included.

    >>> round(smallest_prior(50, 7), 4)
    0.1166
    """
    return (simulations / exploration(simulations) + 1) / (simulations + others)


# --- 5 ---


def first_simulation(priors, rewards, value):
    """A search of one simulation: which action does it take, and what is the root's value then?

    priors, rewards [K], value: the network's value of the root; after any action comes an end of
    value 0 -> (action, root value). The root's own evaluation is its first visit.

    >>> first_simulation(np.array([0.01, 0.99]), np.array([-1.0, 1.0]), 0.5)
    (1, 0.75)
    """
    scores = priors * exploration(1)
    action = int(scores.argmax())
    return action, float(value + rewards[action]) / 2


def _known_before(values, priors, simulations, divided_by_visits=False):
    """The value term of an action that was never taken is its value; or the prior is divided by the visits."""
    visits, actions = np.zeros(len(priors), int), []
    for simulation in range(simulations):
        seen, terms = values[visits > 0], values
        if len(seen) and np.ptp(seen) > 0:
            terms = (values - seen.min()) / np.ptp(seen)
        if divided_by_visits:
            scores = np.where(visits > 0, terms, 0.0) + priors * exploration(1 + simulation) / np.maximum(visits, 1e-9)
        else:
            scores = terms + priors * exploration(1 + simulation) / (1 + visits)
        actions.append(int(scores.argmax()))
        visits[actions[-1]] += 1
    return actions


EXERCISES = (
    exercise(
        "03.1",
        "The seam",
        root_actions,
        examples=(
            (0.01 * VALUES, PRIORS, 10),
            (VALUES, PRIORS, 10),
            (100 * VALUES, PRIORS, 10),
            (-VALUES, PRIORS[::-1], 10),
        ),
        mistakes={
            "the range is that of the values seen so far; the search does not know the others yet": (
                lambda *given: _actions(*given, _over_all)
            ),
            "until two different values are known the value enters as it is, not as 0": (
                lambda *given: _actions(*given, _zero_before)
            ),
            "the values are normalised as soon as there is a range; as they are, the unit decides": (
                lambda *given: _actions(*given, lambda values, seen: values)
            ),
            "the root's own evaluation counts: N is 1 before the first simulation, with 0 all prior terms vanish": (
                lambda *given: _actions(
                    *given,
                    lambda values, seen: values if not len(seen) or np.ptp(seen) == 0 else _zero_before(values, seen),
                    first=0,
                )
            ),
            "an action never taken has the value term 0: nobody knows its value yet": _known_before,
            "the prior term is divided by 1 + visits": lambda *given: _known_before(*given, divided_by_visits=True),
        },
        hints=(
            "Start from one_node of section 1, and keep the values of the actions that were visited.",
            "Three cases: never taken 0; taken, but all seen values equal: the value itself; otherwise min-max.",
        ),
        because="After one simulation one value is known and enters as it is: with 0.001 action 1 is next, with 0.1 or "
        "10 it is action 0 once more. A range that holds the node's own value from the start (exercise 2) has no "
        "such seam.",
    ),
    exercise(
        "03.2",
        "Siblings",
        sibling_scores,
        examples=SIBLINGS,
        mistakes={
            "the node's own value belongs to the range, beside the q of its children": (
                lambda value, q, visits, priors: _sibling_scores(q[visits > 0], q, visits, priors)
            ),
            "an action never taken has the value term 0, not that of the node's own value": _parent_for_untried,
            "an action never taken has no q; it must not enter the range as a 0": (
                lambda value, q, visits, priors: _sibling_scores(
                    np.append(np.where(visits > 0, q, 0.0), value), q, visits, priors
                )
            ),
            "N counts the node's own evaluation, too: 1 + all visits": (
                lambda value, q, visits, priors: _sibling_scores(
                    np.append(q[visits > 0], value), q, visits, priors, total=visits.sum()
                )
            ),
            "the prior term is p C(N) "
            "/ (1 + n); C(N) of section 1 has a logarithm and 1.25 beside the root": lambda value, q, visits, priors: (
                sibling_scores(value, q, visits, priors)
                + priors * (math.sqrt(1 + visits.sum()) - exploration(1 + visits.sum())) / (1 + visits)
            ),
            "q "
            "is measured from the least of the range, not from the node's own value": lambda value, q, visits, priors: (
                np.where(
                    visits > 0,
                    sibling_scores(value, q, visits, priors)
                    - (value - np.append(q[visits > 0], value).min())
                    / max(np.ptp(np.append(q[visits > 0], value)), 1e-8),
                    sibling_scores(value, q, visits, priors),
                )
            ),
        },
        hints=(
            "Collect the numbers of the range: q of the visited actions, and the node's value.",
            "low is their least, width is the largest less low, at least 1e-8.",
            "np.where(visits > 0, (q - low) / width, 0), plus the prior term of section 1.",
        ),
        because="The range of a node knows nothing of the rest of the tree, and always has the node's own value in it, "
        "so that it needs no special case. The library's normaliser='siblings' gives the same visits.",
    ),
    exercise(
        "03.3",
        "Arrays without Numba",
        best_of_rows,
        examples=(_rows(0), _rows(1), _rows(2, 30, 3)),
        mistakes={
            "each tree of the batch has bounds of its own": _shared_bounds,
            "a row without a range keeps its values as they are": _nothing_without_range,
            "a candidate never taken has the value term 0, whatever stands in its q": _untried_count,
            "N is that of each row: add up the visits along the candidates, not over the batch": _batch_total,
            "N of a row is 1 + its visits: the node's own evaluation counts": _without_own,
        },
        hints=(
            "Everything is [B, K] or [B, 1]: bounds[:, :1] and visits.sum(axis=1, keepdims=True) fit beside q.",
            "np.where chooses between normalised and plain values row by row, and 0 where visits is 0.",
        ),
        because="All rows go down one level together; those that have reached an edge without a child drop out. "
        "NumPy's price is per call, so it needs many rows: loop and whole batch meet at about four.",
    ),
    exercise(
        "03.4",
        "How small a prior is tried?",
        smallest_prior,
        examples=((50, 1), (50, 7), (200, 3)),
        mistakes={
            "action 0 has a prior term as well, (1 - others * p) C(N) / N": (
                lambda simulations, others: 1 / exploration(simulations)
            ),
            "the prior of action 0 is what the others leave, 1 - others * p, not 1 - p": (
                lambda simulations, others: (simulations / exploration(simulations) + 1) / (simulations + 1)
            ),
            "before the last simulation the node has been evaluated S times, its own evaluation included": (
                lambda simulations, others: (
                    ((simulations + 1) / exploration(simulations + 1) + 1) / (simulations + 1 + others)
                )
            ),
            "p is the prior of one of the others, not of all together": lambda simulations, others: (
                others * smallest_prior(simulations, others)
            ),
        },
        hints=(
            "Before the last simulation action 0 has S - 1 visits. Write down its score and that of another action.",
            "p C(N) > 1 + (1 - K p) C(N) / N, with N = S. Solve for p.",
        ),
        because="p > (N / C(N) + 1) / (N + K), and the right side falls as N grows: 0.133 with one other action and 50 "
        "simulations, 0.117 with seven.",
    ),
    exercise(
        "03.5",
        "Find the bug",
        first_simulation,
        examples=(
            (np.array([0.01, 0.99]), np.array([-1.0, 1.0]), 0.5),
            (np.array([0.2, 0.5, 0.3]), np.array([3.0, 0.0, 1.0]), -1.0),
        ),
        mistakes={
            "with N = 0 all scores are 0 and the first action wins the tie, whatever the policy says": (
                lambda priors, rewards, value: (0, float(rewards[0]))
            ),
            "the network's own value of the root is the first of the mean": (
                lambda priors, rewards, value: (int(priors.argmax()), float(rewards[priors.argmax()]))
            ),
            "nothing is known of the rewards before the first simulation; only the prior speaks": (
                lambda priors, rewards, value: (int(rewards.argmax()), (value + rewards.max()) / 2)
            ),
            "the root's value is a mean of two numbers, not their sum": lambda priors, rewards, value: (
                int(priors.argmax()),
                float(value + rewards[priors.argmax()]),
            ),
        },
        hints=(
            "Before the first simulation no action has a value: the largest prior wins.",
            "The root's mean is over two numbers: its own value and the reward that came back.",
        ),
        because="Started with visits = 0, C(0) is 0: all prior terms vanish, the tie goes to the first action, and the "
        "root's own value is overwritten by the first return.",
    ),
)
