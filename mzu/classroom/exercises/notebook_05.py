"""Exercises of notebook 05, sampled actions."""

import functools
import math
from statistics import NormalDist

import numpy as np

from mzu.classroom.question import exercise
from mzu.config import SearchConfig
from mzu.networks.model import GaussianPolicy
from mzu.search.search import search

BEST = 0.5  # the action of OneStep that pays most


class OneStep:
    """The notebook's bandit: one action, one reward plus `constant`, best at 0.5 in every dimension; then an end."""

    def __init__(self, mean, scale, constant=0.0, constant_in_value=True):
        self.mean, self.scale, self.constant = np.asarray(mean, float), np.asarray(scale, float), constant
        self.value = 1 - (((self.mean - BEST) ** 2 + self.scale**2) / 1.5**2).mean()
        self.value += constant if constant_in_value else 0.0

    def reward(self, actions):
        return self.constant + 1 - (((actions - BEST) / 1.5) ** 2).mean(axis=-1)

    def policy(self, batch):
        return GaussianPolicy(np.tile(self.mean, (batch, 1)), np.tile(self.scale, (batch, 1)))

    def initial(self, observations):
        batch = len(observations)
        return np.zeros((batch, 1)), self.policy(batch), np.full(batch, self.value)

    def recurrent(self, hidden, actions):
        rewards = np.where(hidden[:, 0] == 0, self.reward(actions), 0.0)
        return hidden + 1, rewards, self.policy(len(hidden)), np.zeros(len(hidden))


LIMITS = {"num_simulations": 32, "num_sampled_actions": 20, "discount": 1.0, "dirichlet_fraction": 0.0}


def search_bandit(dimensions=1, constant=0.0, constant_in_value=True, rows=200, **settings):
    """The bandit with mean -0.3 and scale 0.4, searched at `rows` equal positions -> the model and the result."""
    model = OneStep(np.full(dimensions, -0.3), np.full(dimensions, 0.4), constant, constant_in_value)
    config = SearchConfig(**(LIMITS | settings))
    return model, search(model, np.zeros(rows), config, np.random.default_rng(0))


def most_visited(result):
    return result.actions[np.arange(len(result.visits)), result.visits.argmax(axis=1)]


# --- 1 ---


def expected_candidates(beta, count):
    """How many distinct actions `count` draws from a categorical proposal have, on average.

    beta [A]: probabilities -> a number

    >>> expected_candidates(np.array([0.5, 0.5]), 2)
    1.5
    """
    return float((1 - (1 - beta) ** count).sum())


# --- 2 ---


def effective_draws(count, temperature, dimensions):
    """Of `count` draws of a Gaussian at a temperature, how many are left: count / E[(p / beta)^2].

    E[(p / beta)^2] = (temperature / sqrt(2 temperature - 1)) ** dimensions; for a temperature of
    1/2 and below it is infinite, and no draw is left.

    >>> effective_draws(20, 1.0, 6)
    20.0
    """
    if temperature <= 0.5:
        return 0.0
    return count / (temperature / math.sqrt(2 * temperature - 1)) ** dimensions


# --- 3 ---


def priors_of_the_bound(mean, scale, temperature):
    """The mean prior of the action 1, to which all draws above it are clipped: (with the bug, as
    it is right).

    Draws are mean + sqrt(temperature) * scale * n; the ratio of a draw is sqrt(temperature) *
    exp(n^2 (1 - temperature) / 2). The bug computes n back from the clipped action, so that every
    clipped draw gets the ratio of the bound.

    >>> [round(prior, 3) for prior in priors_of_the_bound(0.7, 0.5, 1.0)]
    [0.274, 0.274]
    """
    at_bound = (1 - mean) / (math.sqrt(temperature) * scale)
    ratio = math.sqrt(temperature) * math.exp(at_bound**2 * (1 - temperature) / 2)
    return ratio * (1 - NormalDist().cdf(at_bound)), 1 - NormalDist(mean, scale).cdf(1)


def _bound_priors(mean, scale, temperature, spread):
    at_bound = (1 - mean) / (spread * scale)
    ratio = math.sqrt(temperature) * math.exp(at_bound**2 * (1 - temperature) / 2)
    return ratio * (1 - NormalDist().cdf(at_bound)), 1 - NormalDist(mean, scale).cdf(1)


def _bound_by_proposal(mean, scale, temperature):
    wrong, _ = priors_of_the_bound(mean, scale, temperature)
    return wrong, 1 - NormalDist(mean, math.sqrt(temperature) * scale).cdf(1)


# --- 4 ---


def candidates_tried(constant, unvisited_value, first_evaluations):
    """How many of 20 candidates a search of 32 simulations visits, on average over 200 positions
    or more.

    The bandit is OneStep([-0.3], [0.4]) with `constant` added to its reward and to its value;
    discount 1, no noise. unvisited_value "lowest" or "parent", first_evaluations True or False ->
    a number, of which the first digit after the point may differ.

    >>> round(candidates_tried(0.0, "parent", True))
    11
    """
    _, result = search_bandit(1, constant, unvisited_value=unvisited_value, first_evaluations=first_evaluations)
    return float((result.visits > 0).sum(axis=1).mean())


# --- 5 ---


def tried_and_reward(unvisited_value, first_evaluations, noise):
    """Does noise help? The same bandit with constant 0 and root noise of this fraction (alpha
    0.25).

    -> (candidates visited, reward of the most visited action), means over 200 positions or more

    >>> [round(number, 1) for number in tried_and_reward("parent", True, 0.0)]
    [11.3, 1.0]
    """
    model, result = search_bandit(
        unvisited_value=unvisited_value, first_evaluations=first_evaluations, dirichlet_fraction=noise
    )
    return float((result.visits > 0).sum(axis=1).mean()), float(model.reward(most_visited(result)).mean())


def _tried_and(reward, unvisited_value, first_evaluations, noise):
    model, result = search_bandit(
        unvisited_value=unvisited_value, first_evaluations=first_evaluations, dirichlet_fraction=noise
    )
    return float((result.visits > 0).sum(axis=1).mean()), float(reward(model, result).mean())


def _best_candidate(model, result):
    return model.reward(result.actions).max(axis=1)


def _first_candidate(model, result):
    return model.reward(result.actions[:, 0])


# --- 6 ---


def share_of_the_way(dimensions, simulations):
    """How much of the way from the policy's mean reward to 1 does the most visited action make?

    OneStep with mean -0.3 and scale 0.4 in so many dimensions, 20 candidates, first evaluations, no
    noise, 50 positions or more. The policy's mean reward is the bandit's own value.

    >>> round(share_of_the_way(2, 64), 1)
    0.8
    """
    model, result = search_bandit(dimensions, num_simulations=simulations, first_evaluations=True)
    reward = model.reward(most_visited(result)).mean()
    return float((reward - model.value) / (1 - model.value))


def _way(dimensions, simulations, reward, start=None):
    model, result = search_bandit(dimensions, num_simulations=simulations, first_evaluations=True)
    start = model.value if start is None else start(model)
    return float((reward(model, result).mean() - start) / (1 - start))


def _reward_of_most_visited(model, result):
    return model.reward(most_visited(result))


GRID = np.linspace(-1, 1, 41)
LOGITS = -((GRID + 0.3) ** 2) / (2 * 0.4**2)
BETAS = tuple(np.exp(LOGITS / t) / np.exp(LOGITS / t).sum() for t in (1.0, 5.0))


EXERCISES = (
    exercise(
        "05.1",
        "How many candidates?",
        expected_candidates,
        examples=((BETAS[0], 20), (BETAS[1], 20), (np.array([0.7, 0.2, 0.1]), 4)),
        mistakes={
            "draws repeat: an action that is drawn twice is one candidate": lambda beta, count: float(count),
            "an action is missed if all draws miss it: (1 - beta)^count, not two of them": (
                lambda beta, count: float((1 - (1 - beta) ** 2).sum())
            ),
            "the actions are not equally likely": (
                lambda beta, count: float(len(beta) * (1 - (1 - 1 / len(beta)) ** count))
            ),
            "this is how many are missed; the candidates are the others": (
                lambda beta, count: float(((1 - beta) ** count).sum())
            ),
            "count * beta is the expected number "
            "of draws of an action; it is a candidate with probability 1 - (1 - beta)^count": lambda beta, count: float(
                np.minimum(count * beta, 1).sum()
            ),
        },
        hints=(
            "Expectations may be added up: what is the chance that action a is drawn at all?",
            "1 - (1 - beta[a]) ** count, summed over the actions.",
        ),
        because="The flatter proposal has more candidates for the same number of draws: less of the work is lost in "
        "duplicates.",
    ),
    exercise(
        "05.2",
        "The price of temperature",
        effective_draws,
        examples=((20, 2.0, 1), (20, 2.0, 6), (20, 2.0, 21), (20, 0.5, 2), (50, 4.0, 3)),
        mistakes={
            "the dimensions multiply: the moment is that of one dimension to the power D": (
                lambda count, temperature, dimensions: effective_draws(count, temperature, 1)
            ),
            "at a temperature of 1/2 and below the moment is infinite, so nothing is left": (
                lambda count, temperature, dimensions: (
                    effective_draws(count, temperature, dimensions) if temperature > 0.5 else float(count)
                )
            ),
            "the root: temperature / sqrt(2 temperature - 1)": (
                lambda count, temperature, dimensions: (
                    count / (temperature / (2 * temperature - 1)) ** dimensions if temperature > 0.5 else 0.0
                )
            ),
            "the moments of D dimensions are multiplied, not added": (
                lambda count, temperature, dimensions: effective_draws(count, temperature, 1) / dimensions
            ),
            "the larger the moment, the fewer draws are left: divide by it": lambda count, temperature, dimensions: (
                count**2 / effective_draws(count, temperature, dimensions) if temperature > 0.5 else 0.0
            ),
        },
        hints=(
            "In units of the scale, p^2 / beta is again a Gaussian, exp(-x^2 (2 - 1 / tau) / 2); integrate it.",
            "Then raise it to the power D, and divide the number of draws by it.",
        ),
        because="Twenty draws at temperature 2 count for seventeen in one dimension, for eight in six, and for one in "
        "twenty-one. A temperature that helps in a picture may hurt a robot.",
    ),
    exercise(
        "05.3",
        "Find the bug",
        priors_of_the_bound,
        examples=((0.7, 0.5, 4.0), (0.0, 0.3, 2.0), (0.7, 0.5, 1.0)),
        mistakes={
            "the proposal is wider by the root of the temperature, not by the temperature": (
                lambda mean, scale, temperature: _bound_priors(mean, scale, temperature, temperature)
            ),
            "the draws come from the proposal, which is wider than the policy": (
                lambda mean, scale, temperature: _bound_priors(mean, scale, temperature, 1.0)
            ),
            "the right prior is what the policy itself puts above 1; the ratio undoes the proposal": _bound_by_proposal,
            "which of the two is which: the bug's comes first": (
                lambda mean, scale, temperature: priors_of_the_bound(mean, scale, temperature)[::-1]
            ),
        },
        hints=(
            "With the bug every draw above 1 has the same ratio: that of n = (1 - mean) / (sqrt(tau) * scale).",
            "The mean prior is this ratio times the probability of such a draw under the proposal.",
            "The right one: importance weights make the policy's own probability of being above 1.",
        ),
        because="Far out in the tail p is much smaller than beta; the ratio at the bound does not know that, and the "
        "bound gets more than twice its share. At temperature 1 the bug does not show.",
    ),
    exercise(
        "05.4",
        "Costs instead of rewards",
        candidates_tried,
        examples=((0.0, "lowest", False), (-1.0, "lowest", False), (-1.0, "parent", False), (-1.0, "lowest", True)),
        uses=(OneStep, search_bandit),
        tolerance=0.08,
        mistakes={
            "a candidate is tried if it has visits; all that exist are not all that are tried": (
                lambda constant, unvisited_value, first_evaluations: 20.0
            ),
            "the constant belongs to the value of the position, too; `parent` compares with it": (
                lambda constant, unvisited_value, first_evaluations: float(
                    (
                        search_bandit(
                            1, constant, False, unvisited_value=unvisited_value, first_evaluations=first_evaluations
                        )[1].visits
                        > 0
                    )
                    .sum(axis=1)
                    .mean()
                )
            ),
            "the constant has to be added to the reward; without it there are no costs": (
                lambda constant, unvisited_value, first_evaluations: candidates_tried(
                    0.0, unvisited_value, first_evaluations
                )
            ),
            "first_evaluations is a setting of the search, and changes what is known before the first simulation": (
                lambda constant, unvisited_value, first_evaluations: candidates_tried(constant, unvisited_value, False)
            ),
        },
        hints=(
            "Derive a class from OneStep, or wrap it: rewards and the value of `initial` grow by the constant.",
            "(result.visits > 0).sum(axis=1).mean() of a search of 200 equal positions.",
        ),
        because="A negative first value enters below the 0 of those never tried, so a second one is tried; then 0 "
        "means the lowest value seen. A mere constant changes what the search does. With first evaluations nothing has "
        "to be assumed about the root's candidates.",
    ),
    exercise(
        "05.5",
        "Does noise help?",
        tried_and_reward,
        examples=(("lowest", False, 0.25), ("parent", False, 0.0), ("lowest", True, 0.0), ("lowest", False, 0.0)),
        uses=(search_bandit, most_visited),
        tolerance=0.04,
        mistakes={
            "the reward is that of the most visited action, not of the best candidate, which the search may never "
            "look at": functools.partial(_tried_and, _best_candidate),
            "the reward is that of the most visited action, not of the first candidate": functools.partial(
                _tried_and, _first_candidate
            ),
            "the noise is a setting of the search: dirichlet_fraction": (
                lambda unvisited_value, first_evaluations, noise: tried_and_reward(
                    unvisited_value, first_evaluations, 0.0
                )
            ),
            "a candidate is tried if it has visits": (
                lambda unvisited_value, first_evaluations, noise: (
                    20.0,
                    tried_and_reward(unvisited_value, first_evaluations, noise)[1],
                )
            ),
        },
        hints=(
            "One search with SearchConfig(..., dirichlet_fraction=noise, dirichlet_alpha=0.25).",
            "result.actions[np.arange(rows), result.visits.argmax(axis=1)] are the most visited actions.",
        ),
        because="The noise lies on a few candidates; one of them is tried first and gets the visits that number 0 had "
        "before. Noise changes which draw is taken, not that it is one draw.",
    ),
    exercise(
        "05.6",
        "Higher dimensions",
        share_of_the_way,
        examples=((1, 64), (4, 64), (16, 64), (16, 256)),
        uses=(search_bandit, most_visited),
        tolerance=0.03,
        mistakes={
            "the way begins at the policy's reward, not at 0": (
                lambda dimensions, simulations: _way(
                    dimensions, simulations, _reward_of_most_visited, lambda model: 0.0
                )
            ),
            "the policy's mean reward is less than the reward of its mean action, because it samples around it": (
                lambda dimensions, simulations: _way(
                    dimensions, simulations, _reward_of_most_visited, lambda model: model.reward(model.mean)
                )
            ),
            "the action is the most visited one, not any candidate": (
                lambda dimensions, simulations: _way(dimensions, simulations, _first_candidate)
            ),
        },
        hints=(
            "start = model.initial([0])[2][0] is the policy's mean reward.",
            "(reward of the most visited action - start) / (1 - start).",
        ),
        because="In one dimension some candidate is close to the best; in sixteen the good luck of one dimension is "
        "averaged with the bad luck of another. More simulations only tell these twenty apart. What helps is to "
        "learn, and offline the action that the data hold: notebook 06.",
    ),
)
