"""Exercises of notebook 06, action injection."""

import math

import numpy as np

from mzu.classroom.question import exercise


def normal_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


# --- 1 ---


def scale_for_one_half(dimensions, epsilon, count):
    """How small must the scale be so that one of `count` samples comes within epsilon of the
    stored action in every dimension, with probability 1/2? The mean is the stored action. To
    three digits.

    >>> round(scale_for_one_half(6, 0.1, 20), 3)
    0.127
    """
    low, high = 1e-3, 100.0
    for _ in range(100):
        middle = math.sqrt(low * high)
        coordinate = 2 * normal_cdf(epsilon / middle) - 1
        hit = 1 - (1 - coordinate**dimensions) ** count
        low, high = (middle, high) if hit > 0.5 else (low, middle)
    return low


def _chance_at(scale, dimensions, epsilon, count):
    hit = 1 - (1 - _coordinate(float(scale), epsilon) ** dimensions) ** count
    if scale <= 0 or abs(hit - 0.5) < 1e-6:
        return ""
    near = "; a grid or a simulation finds the scale only nearly" if abs(hit - 0.5) < 0.05 else ""
    return f"with that scale one of the {count} samples hits with probability {hit:.3f}, not 1/2{near}"


def _half(probability):
    """The scale at which a falling probability(coordinate's hit at that scale) is 1/2."""
    low, high = 1e-6, 1e4
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if probability(middle) > 0.5 else (low, middle)
    return low


def _coordinate(scale, epsilon):
    return 2 * normal_cdf(epsilon / scale) - 1


# --- 2 ---


def visits_by_prior(priors, simulations):
    """All values are equal, so only the priors speak: how are the visits shared?

    priors [K] -> visits [K]. The next visit goes to the largest prior / (1 + visits), the first
    of equals.

    >>> visits_by_prior(np.array([0.7, 0.3]), 3)
    [2, 1]
    """
    visits = np.zeros(len(priors), int)
    for _ in range(simulations):
        visits[np.argmax(priors / (1 + visits))] += 1
    return visits.tolist()


def _visits(score, priors, simulations):
    visits = np.zeros(len(priors), int)
    for _ in range(simulations):
        visits[np.argmax(score(priors, visits))] += 1
    return visits.tolist()


def _count_of_visits(answer, priors, simulations):
    total = float(np.sum(answer))
    if abs(total - simulations) < 1e-9:
        return ""
    return f"{total:g} visits in all, for {simulations} simulations of which each makes one"


def _with_injected(prior, sampled=20):
    return np.append(np.full(sampled, (1 - prior) / sampled), prior)


# --- 3 ---


def inject_discrete(actions, prior, stored, injected_prior):
    """The stored action among sampled discrete ones.

    actions [n] different numbers, prior [n] in any unit, stored: a number -> (actions, prior,
    place). The stored action has injected_prior, the sampled ones share the rest in proportion to
    their priors; one that was sampled anyway is not listed twice, and has its share and
    injected_prior together.

    >>> actions, prior, place = inject_discrete(np.array([7, 3]), np.array([0.5, 0.5]), 4, 0.2)
    >>> actions.tolist(), prior.tolist(), place
    ([7, 3, 4], [0.4, 0.4, 0.2], 2)
    """
    prior = prior * (1 - injected_prior) / prior.sum()
    same = np.flatnonzero(actions == stored)
    if len(same):
        place = int(same[0])
    else:
        place = len(actions)
        actions, prior = np.append(actions, stored), np.append(prior, 0.0)
    prior[place] += injected_prior
    return actions, prior, place


def _not_divided(actions, prior, stored, injected_prior):
    _, found, place = inject_discrete(actions, prior, stored, 0.0)
    actions, _, _ = inject_discrete(actions, prior, stored, injected_prior)
    found = found * prior.sum() * (1 - injected_prior)
    found[place] += injected_prior
    return actions, found, place


def _listed_twice(actions, prior, stored, injected_prior):
    prior = np.append(prior * (1 - injected_prior) / prior.sum(), injected_prior)
    return np.append(actions, stored), prior, len(actions)


def _sampled_keep_theirs(actions, prior, stored, injected_prior):
    actions, _, place = inject_discrete(actions, prior, stored, injected_prior)
    found = np.append(prior / prior.sum(), 0.0)[: len(actions)]
    found[place] += injected_prior
    return actions, found, place


def _replaced(actions, prior, stored, injected_prior):
    actions, found, place = inject_discrete(actions, prior, stored, injected_prior)
    found[place] = injected_prior
    return actions, found, place


def _divided_afterwards(actions, prior, stored, injected_prior):
    actions, found, place = _sampled_keep_theirs(actions, prior, stored, injected_prior)
    return actions, found / found.sum(), place


def _others_only(actions, prior, stored, injected_prior):
    actions, found, place = inject_discrete(actions, prior, stored, injected_prior)
    found[place] = 0.0
    found *= (1 - injected_prior) / found.sum()
    found[place] = injected_prior
    return actions, found, place


def _in_front(actions, prior, stored, injected_prior):
    actions, prior, place = inject_discrete(actions, prior, stored, injected_prior)
    if place < len(actions) - 1 or actions[-1] != stored:
        return actions, prior, place
    return np.roll(actions, 1), np.roll(prior, 1), 0


def _only_if_new(actions, prior, stored, injected_prior):
    if stored in actions:
        return actions, prior / prior.sum(), actions.tolist().index(stored)
    return inject_discrete(actions, prior, stored, injected_prior)


def _as_vectors(actions, prior, stored, injected_prior):
    return np.flatnonzero((actions == stored).all(axis=1))


def _sum_of_priors(answer, actions, prior, stored, injected_prior):
    total = float(np.sum(answer[1]))
    if len(np.unique(answer[0])) < len(answer[0]):
        return f"action {stored} is listed twice, so that the search splits its visits between two candidates"
    if abs(total - 1) > 1e-9:
        return f"the priors sum to {total:.3f}: the sampled ones must share what the injected one leaves"
    return ""


# --- 4 ---


def closing_in(own, mean, scale, rounds, injected_prior):
    """Mean and scale after a position was searched again `rounds` times with the agent's own
    action injected, by a model that knows nothing: the visits are the priors.

    Each time, injected_prior of the weight lies on `own`, the rest on samples of the policy (so
    many that they have its mean and scale), and both are fitted to all of it -> (mean, scale).

    >>> closing_in(1.0, 0.0, 0.5, 1, 0.25)[0]
    0.25
    """
    for _ in range(rounds):
        new = (1 - injected_prior) * mean + injected_prior * own
        variance = (1 - injected_prior) * (scale**2 + (mean - new) ** 2) + injected_prior * (own - new) ** 2
        mean, scale = new, math.sqrt(variance)
    return mean, scale


def _closing(own, mean, scale, rounds, injected_prior, variance):
    for _ in range(rounds):
        new = (1 - injected_prior) * mean + injected_prior * own
        mean, scale = new, math.sqrt(variance(own, mean, new, scale, injected_prior))
    return mean, scale


def _mean_or_scale(answer, *given):
    mean, scale = closing_in(*given)
    off = max(abs(answer[0] - mean), abs(answer[1] - scale))
    if off < 0.01:
        return f"it is off by {off:.2g}: near, but nothing has to be drawn; the samples' mean and scale are given"
    return "the mean is right, the scale is not" if abs(answer[0] - mean) < 1e-6 else ""


# --- 5 ---


def sum_with_the_bug(actions, prior, stored, injected_prior):
    """What the priors sum to if somebody writes prior[place] = injected_prior instead of +=.

    actions [n], prior [n] that sum to 1, stored: a number -> a number

    >>> round(sum_with_the_bug(np.array([1.0, 0.2]), np.array([0.6, 0.4]), 1.0, 0.25), 2)
    0.55
    """
    kept = prior[actions != stored] * (1 - injected_prior)
    return float(kept.sum() + injected_prior)


EXERCISES = (
    exercise(
        "06.1",
        "Narrow enough",
        scale_for_one_half,
        examples=((1, 0.1, 20), (2, 0.1, 20), (6, 0.1, 20), (21, 0.1, 20), (2, 0.05, 5)),
        tolerance=2e-3,
        finding=_chance_at,
        mistakes={
            "count times the probability of a hit is the expected number of hits; that at least one of them hits has "
            "probability 1 - (1 - hit) ** count": (
                lambda dimensions, epsilon, count: _half(
                    lambda scale: count * _coordinate(scale, epsilon) ** dimensions
                )
            ),
            "there are `count` samples: one of them is enough, 1 - (1 - hit) ** count": (
                lambda dimensions, epsilon, count: _half(lambda scale: _coordinate(scale, epsilon) ** dimensions)
            ),
            "all coordinates have to hit at once, so their probabilities are multiplied": (
                lambda dimensions, epsilon, count: _half(lambda scale: 1 - (1 - _coordinate(scale, epsilon)) ** count)
            ),
            "within epsilon is on both sides: 2 Phi(epsilon / scale) - 1": (
                lambda dimensions, epsilon, count: _half(
                    lambda scale: 1 - (1 - (normal_cdf(epsilon / scale) - 0.5) ** dimensions) ** count
                )
            ),
        },
        hints=(
            "hit_probability of section 1 with mean = action; it falls as the scale grows.",
            "Find where it is 1/2 by halving an interval, say from 0.001 to 100.",
        ),
        because="2.342, 0.428, 0.127 and 0.069 for 1, 2, 6 and 21 dimensions. A policy gets as narrow as that only by "
        "training towards actions that it has seen, and that is what it cannot do before.",
    ),
    exercise(
        "06.2",
        "What the prior alone does",
        visits_by_prior,
        examples=((_with_injected(0.25), 50), (_with_injected(0.9), 50), (np.array([0.5, 0.3, 0.2]), 7)),
        finding=_count_of_visits,
        mistakes={
            "visits are whole: a candidate with a small prior waits until its turn comes, and may wait in vain": (
                lambda priors, simulations: np.round(priors * simulations).astype(int).tolist()
            ),
            "each visit divides the prior by 1 + visits, so that the others have their turn": (
                lambda priors, simulations: _visits(lambda p, n: p, priors, simulations)
            ),
            "the rule divides by 1 + visits; p - visits / N is another rule": (
                lambda priors, simulations: _visits(lambda p, n: p - n / max(n.sum(), 1), priors, simulations)
            ),
            "the rule divides by 1 + visits: a candidate without a visit has its prior, not infinity": (
                lambda priors, simulations: _visits(lambda p, n: p / np.maximum(n, 1e-9), priors, simulations)
            ),
            "nobody has a visit at first; the 1 of 1 + visits is none": (
                lambda priors, simulations: [1 + n for n in _visits(lambda p, n: p / (2 + n), priors, simulations)]
            ),
            "of equals the first has its turn: visits of candidates that differ in nothing are not shared evenly": (
                lambda priors, simulations: (priors * simulations).tolist()
            ),
            "visits are counted, they are no shares yet": lambda priors, simulations: [
                n / simulations for n in visits_by_prior(priors, simulations)
            ],
        },
        hints=(
            "A loop over the simulations: the largest priors / (1 + visits) gets the next one.",
            "np.argmax returns the first of equals.",
        ),
        because="With 0.25 the injected action gets 13 of 50. With 0.9 all 50: another candidate has its turn only "
        "when 0.9 / (1 + n) < 0.005, after 180 visits. A search that knows nothing and injects with 0.9 is behaviour "
        "cloning.",
    ),
    exercise(
        "06.3",
        "A thousand buttons",
        inject_discrete,
        examples=(
            (np.array([4, 17, 512]), np.array([0.2, 0.5, 0.3]), 123, 0.25),
            (np.array([4, 17, 512]), np.array([0.2, 0.5, 0.3]), 17, 0.25),
            (np.array([8, 1]), np.array([0.3, 0.5]), 2, 0.28),
            (np.array([8, 1]), np.array([6.0, 2.0]), 1, 0.5),
        ),
        finding=_sum_of_priors,
        mistakes={
            "the priors that come in need not sum to 1: divide by their sum": _not_divided,
            "an action that was sampled anyway is one candidate, not two": _listed_twice,
            "the sampled ones share 1 - injected_prior, they do not keep all of theirs": _sampled_keep_theirs,
            "an action that was sampled anyway keeps its share and gets injected_prior on top": _replaced,
            "injected_prior is what the stored action has in the end; dividing all by their sum afterwards takes some "
            "of it away": _divided_afterwards,
            "all sampled ones are scaled by the same factor, the stored one with them; injected_prior comes on top": (
                _others_only
            ),
            "actions are numbers here, [n], not vectors [n, D]: compare without all(axis=1)": _as_vectors,
            "actions are numbers and stay so, [n], not a column": (
                lambda *given: (lambda actions, prior, place: (actions[:, None], prior, place))(
                    *inject_discrete(*given)
                )
            ),
            "place is the candidate's number in the list, not the action": lambda *given: (
                *inject_discrete(*given)[:2],
                given[2],
            ),
            "a new candidate stands behind the sampled ones, where the library has its free place": _in_front,
            "the stored action "
            "is injected wherever it was sampled, too: its prior grows and that of the others shrinks": _only_if_new,
        },
        hints=(
            "inject of section 3 does the same for vectors. What has to change for numbers?",
            "First scale the priors so that they sum to 1 - injected_prior.",
            "np.flatnonzero(actions == stored) says whether and where it is; otherwise append it with prior 0. "
            "Then add injected_prior there.",
        ),
        because="Each of 20 samples misses one of 1,000 buttons with probability 0.999, so that the stored one is "
        "among them in one search of fifty. It is the number of actions that counts, not whether they are numbers or "
        "vectors. `search` with num_sampled_actions=20 and injected_actions does the same.",
    ),
    exercise(
        "06.4",
        "One's own accidents",
        closing_in,
        examples=((0.7, 0.0, 0.5, 1, 0.25), (0.7, 0.0, 0.5, 20, 0.25), (-0.4, 0.2, 0.3, 3, 0.5)),
        finding=_mean_or_scale,
        mistakes={
            "without injection the mean stays; a share of injected_prior lies on the own action": (
                lambda own, mean, scale, rounds, injected_prior: (mean, scale)
            ),
            "the variance is around the new mean: the samples lie (mean - new) beside it": (
                lambda *given: _closing(
                    *given, lambda own, mean, new, scale, p: (1 - p) * scale**2 + p * (own - new) ** 2
                )
            ),
            "the own action adds to the variance as well, (own - new)^2 with its share": (
                lambda *given: _closing(
                    *given, lambda own, mean, new, scale, p: (1 - p) * (scale**2 + (mean - new) ** 2)
                )
            ),
            "variances are averaged, not scales": lambda *given: _closing(
                *given, lambda own, mean, new, scale, p: ((1 - p) * scale + p * abs(own - new)) ** 2
            ),
            "the fit's residuals are from the new mean, those of the own action, too": lambda *given: _closing(
                *given, lambda own, mean, new, scale, p: (1 - p) * scale**2 + p * (own - mean) ** 2
            ),
            "the samples' share of the variance is not all of it: own action and samples both lie beside the new "
            "mean": lambda *given: _closing(*given, lambda own, mean, new, scale, p: (1 - p) * scale**2),
            "a weighted scale is no scale: fit the variance of all of it around the new mean, then take the root": (
                lambda *given: _closing(*given, lambda own, mean, new, scale, p: ((1 - p) * scale) ** 2)
            ),
            "the scale is asked for, the root of the variance": lambda *given: (
                closing_in(*given)[0],
                closing_in(*given)[1] ** 2,
            ),
            "that is one round; the position is searched again "
            "`rounds` times, each time from the last mean and scale": lambda own, mean, scale, rounds, injected_prior: (
                closing_in(own, mean, scale, 1, injected_prior)
            ),
            "the shares the other way round: injected_prior lies "
            "on the own action, the rest on the policy's samples": lambda own, mean, scale, rounds, injected_prior: (
                closing_in(own, mean, scale, rounds, 1 - injected_prior)
            ),
        },
        hints=(
            "The new mean is a weighted mean of two numbers.",
            "The variance of a mixture around its mean: each part's own variance and its squared distance, weighted.",
        ),
        because="A quarter of the remaining way each time, and the scale shrinks: after 20 rounds the policy is "
        "certain of what it did by chance, and no value has said a word. What was done is offered, what is offered is "
        "visited, what is visited is done again.",
    ),
    exercise(
        "06.5",
        "Find the bug",
        sum_with_the_bug,
        examples=(
            (np.array([1.0, 0.2, -0.4]), np.array([0.6, 0.2, 0.2]), 1.0, 0.25),
            (np.array([1.0, 0.2, -0.4]), np.array([0.6, 0.2, 0.2]), 0.7, 0.25),
            (np.array([0.5, -0.5]), np.array([0.9, 0.1]), -0.5, 0.5),
        ),
        mistakes={
            "the bug shows where the stored action was sampled anyway: its own share gets lost": (
                lambda actions, prior, stored, injected_prior: 1.0
            ),
            "the sampled ones were scaled to 1 - injected_prior before": (
                lambda actions, prior, stored, injected_prior: float(prior[actions != stored].sum() + injected_prior)
            ),
            "injected_prior itself is there, in the place of the lost share": (
                lambda actions, prior, stored, injected_prior: float(
                    prior[actions != stored].sum() * (1 - injected_prior)
                )
            ),
            "where nobody sampled the stored action (argmax of no match is 0) it is a new candidate and nothing gets "
            "lost: the sum is 1": (
                lambda actions, prior, stored, injected_prior: float(
                    1 - prior[np.argmax(actions == stored)] * (1 - injected_prior)
                )
            ),
            "the stored action need not be among the sampled ones; then it is a new candidate, and the sum is 1": (
                lambda actions, prior, stored, injected_prior: (
                    1 - prior[actions.tolist().index(stored)] * (1 - injected_prior)
                )
            ),
            "all sampled priors were scaled to 1 - injected_prior before, "
            "so that is the part of the lost share that is missing": lambda actions, prior, stored, injected_prior: (
                float(1 - prior[actions == stored].sum())
            ),
            "where the action "
            "was sampled, too, injected_prior stands in its place": lambda actions, prior, stored, injected_prior: (
                float((1 - injected_prior) * prior.sum() + injected_prior * (stored not in actions))
            ),
        },
        hints=(
            "Which candidates keep their scaled prior, and which one is overwritten?",
            "(1 - injected_prior) times the priors of all others, and injected_prior.",
        ),
        because="`=` and `+=` do the same where the stored action is a new candidate. It shows only on a bound, where "
        "samples are clipped: what was both sampled often and done in the data is punished.",
    ),
)
