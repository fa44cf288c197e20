"""Exercises of notebook 08, unplugged."""

import math

import numpy as np

from mzu.classroom.question import exercise

# --- 1 ---


def crr_policy(mu, advantage, beta, clip):
    """The policy that CRR's weights lead to: p ~ mu * f(A) with f(A) = min(exp(A / beta), clip).

    mu, advantage [..., A] -> p [..., A]. exp(A / beta) may be too large for a computer: work with
    logarithms.

    >>> crr_policy(np.array([0.5, 0.5]), np.array([0.0, 9.0]), 1.0, 3.0).tolist()
    [0.25, 0.75]
    """
    exponent = np.minimum(advantage / beta, math.log(clip))
    weights = mu * np.exp(exponent - exponent.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _weighted(mu, weights):
    return mu * weights / (mu * weights).sum(axis=-1, keepdims=True)


# --- 2 ---


def fit_logistic(features, actions):
    """The weights of a logistic regression with a constant, at the maximum of the likelihood.

    features [N, F], actions [N] in {0, 1} -> weights [F + 1], the constant's last. Twenty steps
    of Newton's method: weights += H^-1 X^T (actions - p), with H = X^T diag(p (1 - p)) X.

    >>> features, actions = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([1, 0, 0, 1])
    >>> fit_logistic(features, actions).round(3).tolist()
    [0.0, 0.0]
    """
    X = np.append(features, np.ones((len(features), 1)), axis=1)
    weights = np.zeros(X.shape[1])
    for _ in range(20):
        p = 1 / (1 + np.exp(-X @ weights))
        curvature = (X * (p * (1 - p))[:, None]).T @ X
        weights += np.linalg.solve(curvature, X.T @ (actions - p))
    return weights


def _without_constant(features, actions):
    weights = np.zeros(features.shape[1])
    for _ in range(20):
        p = 1 / (1 + np.exp(-features @ weights))
        weights += np.linalg.solve((features * (p * (1 - p))[:, None]).T @ features, features.T @ (actions - p))
    return np.append(weights, 0.0)


def _gradient_only(features, actions):
    X = np.append(features, np.ones((len(features), 1)), axis=1)
    weights = np.zeros(X.shape[1])
    for _ in range(20):
        weights += X.T @ (actions - 1 / (1 + np.exp(-X @ weights))) / len(X)
    return weights


def _least_squares(features, actions):
    X = np.append(features, np.ones((len(features), 1)), axis=1)
    return np.linalg.lstsq(X, actions - 0.5, rcond=None)[0]


def _steps(seed, count=60):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 2)).round(2)
    return features, (features @ [1.5, -0.5] + 0.7 + rng.logistic(size=count) > 0).astype(int)


# --- 3 ---


def regularised(mu, advantage, beta):
    """The policy that maximises sum(p A) - beta KL(p || mu), and the maximum.

    mu, advantage [A] -> (p [A], a number)

    >>> policy, maximum = regularised(np.array([0.5, 0.5]), np.array([0.0, 0.0]), 1.0)
    >>> policy.tolist(), maximum
    ([0.5, 0.5], 0.0)
    """
    weights = mu * np.exp(advantage / beta)
    return weights / weights.sum(), float(beta * np.log(weights.sum()))


def _objective(p, mu, advantage, beta):
    return float(p @ advantage - beta * (p * np.log(p / mu)).sum())


def _softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


# --- 4 ---


def episodes_needed(difference, deviation):
    """The smallest number of episodes for each agent at which their two 95 % intervals do not
    overlap, if the means come out exactly `difference` apart. Each reaches 1.96 deviation /
    sqrt(E) to both sides.

    >>> episodes_needed(10.0, 30.0)
    139
    """
    return math.floor((2 * 1.96 * deviation / difference) ** 2) + 1


# --- 5 ---


def advantages(rewards, values, discount, terminated):
    """CRR's advantage of each stored step, u + discount * V(next) - V.

    rewards [T], values [T + 1]: the critic's, of all observations; terminated: whether the last
    one is an end, worth nothing whatever the critic says -> [T]

    >>> advantages(np.array([1.0]), np.array([20.0, 20.0]), 0.5, False).tolist()
    [-9.0]
    """
    following = values[1:].copy()
    if terminated:
        following[-1] = 0.0
    return rewards + discount * following - values[:-1]


# --- 6 ---


def completed_q(prior, visits, q, value):
    """The policy of the operator completed_q for one root: p ~ prior * exp(0.1 (50 + max visits)
    q').

    prior, visits, q [K] (q is nan where visits is 0), value: the network's, of the root -> p [K].
    A candidate never visited gets (value + N m) / (1 + N), N all visits, m the mean of the
    visited q, weighted by their priors; q' is q brought to 0..1 by the least and the largest.

    >>> prior, visits, q = np.array([0.5, 0.5]), np.array([1, 1]), np.array([0.0, 1.0])
    >>> completed_q(prior, visits, q, 0.5).round(3).tolist()
    [0.006, 0.994]
    """
    visited, total = visits > 0, visits.sum()
    mean = (prior * q)[visited].sum() / prior[visited].sum()
    completed = np.where(visited, q, (value + total * mean) / (1 + total))
    stretched = (completed - completed.min()) / np.ptp(completed)
    weights = prior * np.exp(0.1 * (50 + visits.max()) * stretched)
    return weights / weights.sum()


def _completed(prior, visits, completed, scale=None, priors=True):
    stretched = (completed - completed.min()) / np.ptp(completed)
    weights = np.exp(0.1 * (50 + visits.max() if scale is None else scale) * stretched)
    weights = weights * prior if priors else weights
    return weights / weights.sum()


def _mixed(prior, visits, q, value, weights=None):
    """The completed values; `weights` [K] are those of the mean of the visited q, in the place of the priors."""
    visited, total = visits > 0, visits.sum()
    weights = prior / prior[visited].sum() if weights is None else weights
    mean = (weights * q)[visited].sum()
    return np.where(visited, q, (value + total * mean) / (1 + total))


ROOTS = (
    (np.array([0.5, 0.3, 0.2]), np.array([5, 3, 0]), np.array([0.1, 0.2, np.nan]), 0.05),
    (np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 2, 6, 0]), np.array([np.nan, 1.0, -1.0, np.nan]), 3.0),
    (np.array([0.6, 0.4]), np.array([4, 4]), np.array([7.0, 7.1]), 7.0),
)
FOUR = (np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, -0.5, 0.2, 0.0]))


EXERCISES = (
    exercise(
        "08.1",
        "Sharper",
        crr_policy,
        examples=((*FOUR, 1.0, 20.0), (*FOUR, 0.3, 20.0), (*FOUR, 0.1, 20.0), (*FOUR, 10.0, 20.0)),
        mistakes={
            "the cut: no weight is above `clip`": lambda mu, advantage, beta, clip: _weighted(
                mu, np.exp(advantage / beta)
            ),
            "a small beta sharpens: the advantage is divided by beta": (
                lambda mu, advantage, beta, clip: _weighted(mu, np.minimum(np.exp(advantage * beta), clip))
            ),
            "CRR weights what is in the data: the policy is mu times the weights": (
                lambda mu, advantage, beta, clip: _weighted(
                    np.full_like(mu, 0.25), np.minimum(np.exp(advantage / beta), clip)
                )
            ),
            "the cut is one of the weight, exp(A / beta), not of the advantage": (
                lambda mu, advantage, beta, clip: _weighted(mu, np.exp(np.minimum(advantage, 0.5) / beta))
            ),
            "a policy sums to 1: divide the weights by their sum": lambda mu, advantage, beta, clip: (
                mu * np.minimum(np.exp(advantage / beta), clip)
            ),
        },
        hints=(
            "min(exp(x), clip) is exp(min(x, log(clip))).",
            "Multiply by mu and divide by the sum; subtract the largest exponent first, so that nothing overflows.",
        ),
        because="With a large beta all weights are near 1 and the policy copies. As beta falls it moves to actions "
        "that are better than average; with the cut the limit is mu restricted to A > 0, without it the best action in "
        "the data.",
    ),
    exercise(
        "08.2",
        "A lucky copy",
        fit_logistic,
        examples=(_steps(0), _steps(1)),
        tolerance=1e-4,
        mistakes={
            "the constant: a column of ones": _without_constant,
            "twenty steps of the gradient are not at the maximum; divide by the curvature": _gradient_only,
            "a straight line through the actions is another fit; the likelihood is that of a logistic function": (
                _least_squares
            ),
            "the constant's weight comes last": lambda features, actions: np.roll(fit_logistic(features, actions), 1),
        },
        hints=(
            "Append a column of ones to the features.",
            "p = 1 / (1 + exp(-X w)); the gradient of the log-likelihood is X^T (actions - p).",
        ),
        because="The table of section 2 knows the data better and earns 160, as the player does; the line earns 470. A "
        "straight line has one switch, where the player has one on each half of the rail, and comes out between them. "
        "It is luck, and a reason to look at a simple clone before one believes that a dataset is hard.",
    ),
    exercise(
        "08.3",
        "The regulariser",
        regularised,
        examples=((*FOUR, 1.0), (*FOUR, 0.1), (*FOUR, 10.0)),
        mistakes={
            "mu: the divergence pulls towards the data": lambda mu, advantage, beta: (
                _softmax(advantage / beta),
                _objective(_softmax(advantage / beta), mu, advantage, beta),
            ),
            "the maximum counts the divergence as well, not the mean advantage alone": lambda mu, advantage, beta: (
                regularised(mu, advantage, beta)[0],
                float(regularised(mu, advantage, beta)[0] @ advantage),
            ),
            "the maximum is beta log Z": lambda mu, advantage, beta: (
                regularised(mu, advantage, beta)[0],
                regularised(mu, advantage, beta)[1] / beta,
            ),
            "without the divergence the best action would have everything": lambda mu, advantage, beta: (
                np.eye(len(mu))[advantage.argmax()],
                float(advantage.max()),
            ),
            "the divergence counts beta times": lambda mu, advantage, beta: (
                regularised(mu, advantage, beta)[0],
                _objective(regularised(mu, advantage, beta)[0], mu, advantage, 1.0),
            ),
        },
        hints=(
            "p is mu exp(A / beta) / Z. Which number is Z?",
            "Put log(p / mu) = A / beta - log Z into the objective: what is left is beta log Z.",
        ),
        because="J(p) = beta log Z - beta KL(p || p*), which is largest for p = p*.",
    ),
    exercise(
        "08.4",
        "How many episodes?",
        episodes_needed,
        examples=((10.0, 30.0), (5.0, 30.0), (10.0, 100.0)),
        mistakes={
            "both intervals have a width: 2 * 1.96 standard errors between the means": (
                lambda difference, deviation: math.floor((1.96 * deviation / difference) ** 2) + 1
            ),
            "the error falls with the root of the number of episodes": (
                lambda difference, deviation: math.floor(2 * 1.96 * deviation / difference) + 1
            ),
            "an interval for the difference, with sqrt(2), is another test; two intervals that must not overlap are "
            "stricter": lambda difference, deviation: (
                math.floor((math.sqrt(2) * 1.96 * deviation / difference) ** 2) + 1
            ),
            "95 % is 1.96 deviations, not one": (
                lambda difference, deviation: math.floor((2 * deviation / difference) ** 2) + 1
            ),
        },
        hints=(
            "The upper end of one and the lower end of the other are 2 * 1.96 * deviation / sqrt(E) closer than the "
            "means.",
            "Solve 2 * 1.96 * deviation / sqrt(E) < difference for E, and round up.",
        ),
        because="139 for a third of a standard deviation, and then in half of the cases only, since the means vary as "
        "well. The paper plays 300. And all of this is about one network on each side: another seed is another draw.",
    ),
    exercise(
        "08.5",
        "Find the bug",
        advantages,
        examples=(
            (np.array([1.0, 1.0, 1.0]), np.array([20.0, 19.0, 18.0, 17.0]), 0.97, True),
            (np.array([1.0, 1.0, 1.0]), np.array([20.0, 19.0, 18.0, 17.0]), 0.97, False),
            (np.array([0.0, 2.0]), np.array([1.0, 3.0, 5.0]), 0.5, True),
        ),
        mistakes={
            "a terminal state is worth nothing, whatever the critic says of it": (
                lambda rewards, values, discount, terminated: advantages(rewards, values, discount, False)
            ),
            "where the data are cut off the world goes on: only a terminal end is worth nothing": (
                lambda rewards, values, discount, terminated: advantages(rewards, values, discount, True)
            ),
            "the critic's value of the position itself is what the step is compared with": (
                lambda rewards, values, discount, terminated: (
                    advantages(rewards, values, discount, terminated) + values[:-1]
                )
            ),
            "the last reward is paid all the same": lambda rewards, values, discount, terminated: np.append(
                advantages(rewards, values, discount, terminated)[:-1],
                advantages(rewards, values, discount, terminated)[-1] - (rewards[-1] if terminated else 0.0),
            ),
            "the step that ends a game "
            "has an advantage, too: its reward less what was expected": lambda rewards, values, discount, terminated: (
                np.append(advantages(rewards, values, discount, False)[:-1], 0.0)
                if terminated
                else advantages(rewards, values, discount, False)
            ),
        },
        hints=(
            "Which of the values may be wrong to use, and when?",
            "values[1:] with 0 in the last place if the episode is terminated.",
        ),
        because="One step in twenty-seven, so no mean of anything shows it. But these are the steps that end a game, "
        "and in the place of a weight of nearly 0 they get more than 1: the last push before every fall is copied like "
        "a good one.",
    ),
    exercise(
        "08.6",
        "The fourth operator",
        completed_q,
        examples=ROOTS,
        mistakes={
            "a candidate never visited is completed by the mixed value, not by 0": (
                lambda prior, visits, q, value: _completed(prior, visits, np.where(visits > 0, q, 0.0))
            ),
            "the mixed value knows the visited candidates, not the network's value alone": (
                lambda prior, visits, q, value: _completed(prior, visits, np.where(visits > 0, q, value))
            ),
            "the prior is in the policy as well": (
                lambda prior, visits, q, value: _completed(prior, visits, _mixed(prior, visits, q, value), priors=False)
            ),
            "the more visits, the more the values count: 50 + the most visits": (
                lambda prior, visits, q, value: _completed(prior, visits, _mixed(prior, visits, q, value), scale=50)
            ),
            "m is "
            "a mean over the visited candidates: divide by the sum of their priors": lambda prior, visits, q, value: (
                _completed(prior, visits, _mixed(prior, visits, q, value, prior))
            ),
            "m weighs the visited candidates by their priors, not by their visits": lambda prior, visits, q, value: (
                _completed(prior, visits, _mixed(prior, visits, q, value, visits / visits.sum()))
            ),
        },
        hints=(
            "First complete q, then stretch it to 0..1, then weigh the priors.",
            "m = (prior * q)[visited].sum() / prior[visited].sum().",
        ),
        because="Stretching takes out what is added and what is multiplied alike: completed_q cannot know whether a "
        "thousandth or the whole game is at stake. one_step subtracts the value, but takes the unit of the reward at "
        "its word.",
    ),
)
