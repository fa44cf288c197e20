"""Assignment 4: sampled actions, their priors, injection, and the policy loss (notebooks 05 and 06).

The right answers are those of `mzu/search/reference.py`, the plain twin of the compiled search. All random numbers are
arguments.
"""

import math

import numpy as np

from mzu.classroom.question import Question
from mzu.search import reference
from mzu.search.reference_candidates import Edge, add_edge, add_noise, inject_action, softmax

SHARE = 0.25  # of the noise in a fresh row, and of the injected action in a reanalysed one


def random_policy(rng, actions: int, never: bool = False) -> np.ndarray:
    """Probabilities [A]; `never`: the first action has none."""
    policy = rng.dirichlet(np.ones(actions))
    if never:
        policy[0] = 0.0
    return policy / policy.sum()


# 4.1 ----------------------------------------------------------------------------------------------------------------


def proposal(policy, temperature):
    with np.errstate(divide="ignore"):  # the logarithm of a probability of 0
        return np.array(softmax(np.log(policy) / temperature))


def _power(policy, exponent):
    return policy**exponent / (policy**exponent).sum()


PROPOSAL = Question(
    number="4.1",
    title="the proposal",
    points=2,
    name="proposal",
    right=proposal,
    examples=(
        (np.array([0.64, 0.32, 0.04]), 2.0),
        (np.array([0.64, 0.32, 0.04]), 1.0),
        (np.array([0.64, 0.32, 0.04]), 0.5),
        (np.array([0.0, 0.9, 0.1]), 4.0),
        (np.array([1.0]), 3.0),
    ),
    more=lambda rng: [
        (random_policy(rng, int(rng.integers(2, 7)), never=bool(i % 2)), float(rng.choice([0.25, 0.7, 1, 1.5, 3, 6])))
        for i in range(12)
    ],
    mistakes={
        "the exponent is 1 / temperature: a larger temperature makes beta flatter": lambda policy, temperature: _power(
            policy, temperature
        ),
        "beta is a distribution, so the powers have to be divided by their sum": lambda policy, temperature: (
            policy ** (1 / temperature)
        ),
        "the policy is probabilities already, not logits; no softmax is taken of it": lambda policy, temperature: (
            np.array(softmax(policy / temperature))
        ),
        "the temperature, without which the proposal is the policy itself": lambda policy, temperature: policy.copy(),
    },
)


# 4.2 ----------------------------------------------------------------------------------------------------------------


def sampled_candidates(policy, temperature, uniforms):
    with np.errstate(divide="ignore"):
        edges = reference.sampled_categorical(np.log(policy), uniforms, temperature)
    return _actions(edges), _priors(edges)


def _actions(edges) -> np.ndarray:
    return np.array([edge.action for edge in edges])


def _priors(edges) -> np.ndarray:
    return np.array([edge.prior for edge in edges])


def _drawn(beta, uniforms, side="right") -> np.ndarray:
    return np.searchsorted(np.cumsum(beta), uniforms, side=side)


def _candidates_with(prior, draw_from_policy=False, side="right"):
    """A mistaken `sampled_candidates` whose priors are prior(pi, beta, beta_hat) of the distinct actions drawn."""

    def candidates(policy, temperature, uniforms):
        beta = proposal(policy, temperature)
        drawn = _drawn(policy if draw_from_policy else beta, uniforms, side)
        actions, times = np.unique(drawn, return_counts=True)
        return actions, prior(policy[actions], beta[actions], times / len(uniforms))

    return candidates


def _every_draw_a_candidate(policy, temperature, uniforms):
    beta = proposal(policy, temperature)
    drawn = np.sort(_drawn(beta, uniforms))
    return drawn, policy[drawn] / beta[drawn] / len(uniforms)


def _each_candidate_once(policy, temperature, uniforms):
    beta = proposal(policy, temperature)
    actions = np.unique(_drawn(beta, uniforms))
    return actions, policy[actions] / beta[actions] / len(actions)


def _normalised(pi, beta, beta_hat):
    return pi * beta_hat / beta / (pi * beta_hat / beta).sum()


SAMPLED_CANDIDATES = Question(
    number="4.2",
    title="candidates and their priors",
    points=4,
    name="sampled_candidates",
    right=sampled_candidates,
    examples=(
        (np.array([0.64, 0.32, 0.04]), 2.0, np.array([0.05, 0.95, 0.4, 0.2])),
        (np.array([0.64, 0.32, 0.04]), 1.0, np.array([0.7, 0.1, 0.3, 0.99, 0.5])),
        (np.array([0.64, 0.32, 0.04]), 0.5, np.array([0.1, 0.9, 0.2])),
        (np.array([0.5, 0.5]), 1.0, np.array([0.0, 0.5])),
        (np.array([0.0, 0.5, 0.5]), 2.0, np.array([0.0, 0.25, 0.9])),
        (np.array([0.1, 0.2, 0.3, 0.4]), 3.0, np.array([0.6])),
    ),
    more=lambda rng: [
        (
            random_policy(rng, int(rng.integers(3, 7)), never=i % 3 == 0),
            float(rng.choice([0.5, 1, 2, 4])),
            np.concatenate([[0.0], rng.uniform(0, 0.999, int(rng.integers(2, 9)))]),
        )
        for i in range(12)
    ],
    mistakes={
        "equal draws are one candidate, whose beta_hat is the number of its draws over K": _every_draw_a_candidate,
        "beta_hat counts how often an action was drawn; drawn twice, it has twice the share": _each_candidate_once,
        "the policy in the prior, pi * beta_hat / beta; beta_hat alone is the prior of temperature 1": _candidates_with(
            lambda pi, beta, beta_hat: beta_hat
        ),
        "the division by beta: what was likely to be drawn must count less": _candidates_with(
            lambda pi, beta, beta_hat: pi * beta_hat
        ),
        "the priors are left as they are, right on average; dividing them by their sum makes each of them biased": (
            _candidates_with(_normalised)
        ),
        "the actions are drawn from the proposal beta, not from the policy": _candidates_with(
            lambda pi, beta, beta_hat: pi * beta_hat / beta, draw_from_policy=True
        ),
        "a draw belongs to the first action whose cumulative sum is larger than it, not equal to it": _candidates_with(
            lambda pi, beta, beta_hat: np.where(beta > 0, pi * beta_hat / np.where(beta > 0, beta, 1), 0.0), side="left"
        ),
    },
)


# 4.3 ----------------------------------------------------------------------------------------------------------------


def gaussian_candidates(mean, scale, temperature, normals):
    edges = reference.sampled_gaussian((mean, scale), normals, temperature)
    return _actions(edges), _priors(edges)


def _gaussian_with(width=math.sqrt, clip=True, merge=True, ratio="where it fell", exponent=lambda size: size / 2):
    """A mistaken `gaussian_candidates`."""

    def candidates(mean, scale, temperature, normals):
        edges = []
        for normal in normals:
            fell = mean + scale * width(temperature) * normal
            action = np.clip(fell, -1, 1) if clip else fell
            if ratio == "at the bound":
                normal = (action - mean) / (scale * width(temperature))
            weight = temperature ** exponent(len(normal)) * math.exp((normal**2).sum() * (1 - temperature) / 2)
            weight = 1.0 if ratio == "none" else weight
            if merge:
                add_edge(edges, action, weight / len(normals))
            else:
                edges.append(Edge(action, weight / len(normals)))
        return _actions(edges), _priors(edges)

    return candidates


def _outside_thrown_away(mean, scale, temperature, normals):
    fell = mean + scale * math.sqrt(temperature) * normals
    inside = (np.abs(fell) <= 1).all(axis=1)
    if not inside.any():
        return np.zeros((0, len(mean))), np.zeros(0)
    return _gaussian_with()(mean, scale, temperature, normals[inside])


def _random_gaussian(rng, i: int) -> tuple:
    dimensions = 1 + i % 3
    # Wide, or near a corner: with a temperature some draws land outside in all dimensions, and meet at the corner.
    mean = np.full(dimensions, 0.9) if i % 2 else rng.uniform(-0.5, 0.5, dimensions)
    normals = rng.standard_normal((int(rng.integers(4, 9)), dimensions))
    normals[:2] = np.abs(normals[:2]) + 0.7
    return mean, rng.uniform(0.2, 0.6, dimensions), float(rng.choice([0.5, 1, 2, 3])), normals


GAUSSIAN_CANDIDATES = Question(
    number="4.3",
    title="candidates of a Gaussian",
    points=4,
    name="gaussian_candidates",
    right=gaussian_candidates,
    examples=(
        (np.array([0.5]), np.array([0.4]), 4.0, np.array([[0.25], [1.0], [-0.5], [2.0]])),
        (np.array([0.5]), np.array([0.4]), 1.0, np.array([[0.25], [2.0], [-0.5], [1.5]])),
        (np.array([0.0, 0.8]), np.array([0.2, 0.5]), 2.0, np.array([[0.5, 1.0], [-1.0, -0.3]])),
        (np.array([0.9, -0.9]), np.array([0.3, 0.3]), 2.0, np.array([[1.0, -1.0], [0.1, -0.5], [2.0, -3.0]])),
        (np.array([3.0]), np.array([0.1]), 1.5, np.array([[0.3], [-0.7]])),
        (np.array([0.1]), np.array([0.5]), 0.5, np.array([[0.6]])),
    ),
    more=lambda rng: [_random_gaussian(rng, i) for i in range(12)],
    mistakes={
        "the proposal is sqrt(temperature) times as wide as the policy, not temperature times": _gaussian_with(
            width=lambda temperature: temperature
        ),
        "the proposal is wider than the policy where the temperature is not 1": _gaussian_with(width=lambda t: 1.0),
        "actions live in [-1, 1]; what falls outside is clipped": _gaussian_with(clip=False),
        "draws clipped to the same action are one candidate, and their priors add up": _gaussian_with(merge=False),
        "pi / beta is taken where the draw fell, before it is clipped": _gaussian_with(ratio="at the bound"),
        "the ratio pi / beta in the prior; 1 / K alone is the prior of temperature 1": _gaussian_with(ratio="none"),
        "every dimension brings a factor sqrt(temperature) to pi / beta": _gaussian_with(exponent=lambda size: 0.5),
        "a draw outside of the bounds is clipped, not thrown away": _outside_thrown_away,
    },
)


# 4.4 ----------------------------------------------------------------------------------------------------------------


def inject(actions, priors, stored, injected_prior):
    edges = [Edge(action, prior) for action, prior in zip(actions, priors, strict=True)]
    inject_action(edges, stored, injected_prior)
    return _actions(edges), _priors(edges)


def _inject_with(share, same=lambda actions, stored: (actions == stored).all(axis=1), grow=True):
    """A mistaken `inject`: share(priors, injected_prior) is what the sampled candidates get."""

    def injected(actions, priors, stored, injected_prior):
        priors, places = share(priors, injected_prior), np.flatnonzero(same(actions, stored))
        if not len(places):
            return np.vstack([actions, stored]), np.append(priors, injected_prior)
        priors[places[0]] = injected_prior + (priors[places[0]] if grow else 0)
        return actions, priors

    return injected


def _rest(priors, injected_prior):
    return (1 - injected_prior) * priors / priors.sum()


def _in_place_of_the_last(actions, priors, stored, injected_prior):
    if (actions == stored).all(axis=1).any():
        return _inject_with(_rest)(actions, priors, stored, injected_prior)
    kept = _rest(priors[:-1], injected_prior) if len(priors) > 1 else priors[:0]
    return np.vstack([actions[:-1], stored]), np.append(kept, injected_prior)


def _divided_afterwards(actions, priors, stored, injected_prior):
    actions, priors = _inject_with(lambda priors, injected_prior: priors.copy())(
        actions, priors, stored, injected_prior
    )
    return actions, priors / priors.sum()


def _random_injection(rng, i: int) -> tuple:
    count, dimensions = int(rng.integers(1, 6)), 1 + i % 3
    actions = rng.uniform(-1, 1, (count, dimensions))
    priors = rng.dirichlet(np.ones(count)) * rng.choice([0.8, 1.0, 1.3])
    place = int(rng.integers(count))
    stored = rng.uniform(-1, 1, dimensions)
    if i % 2:
        stored = actions[place].copy()
        actions[place - 1, 0] = actions[place, 0]  # a neighbour that is equal in one dimension only
        if dimensions == 1 and count > 1:
            actions[place - 1, 0] = -actions[place, 0]
    return actions, priors, stored, float(rng.choice([0.25, 0.25, 0.1, 0.5]))


INJECT = Question(
    number="4.4",
    title="injection",
    points=3,
    name="inject",
    right=inject,
    examples=(
        (np.array([[0.1], [-0.3]]), np.array([0.6, 0.4]), np.array([0.7]), 0.25),
        (np.array([[0.1], [-0.3]]), np.array([0.6, 0.4]), np.array([-0.3]), 0.25),
        (np.array([[0.1], [-0.3], [1.0]]), np.array([0.9, 0.3, 0.4]), np.array([0.2]), 0.25),
        (np.array([[0.5, 1.0], [0.5, -1.0], [0.2, 0.0]]), np.array([0.2, 0.3, 0.3]), np.array([0.5, -1.0]), 0.5),
        (np.array([[1.0, 1.0]]), np.array([1.0]), np.array([1.0, 0.9]), 0.1),
    ),
    more=lambda rng: [_random_injection(rng, i) for i in range(12)],
    mistakes={
        "an action that was sampled anyway is not listed twice: its prior grows": _inject_with(
            _rest, same=lambda actions, stored: np.zeros(len(actions), bool)
        ),
        "the prior of an action that was sampled anyway grows by injected_prior, it is not replaced": _inject_with(
            _rest, grow=False
        ),
        "the sampled candidates share 1 - injected_prior, so their priors shrink": _inject_with(
            lambda priors, injected_prior: priors.copy()
        ),
        "the sampled priors need not add up to 1, so they are divided by their sum": _inject_with(
            lambda priors, injected_prior: (1 - injected_prior) * priors
        ),
        "the injected action has just the injected prior; dividing all priors at the end makes it less": (
            _divided_afterwards
        ),
        "the sampled candidates share the rest in proportion to their priors, not evenly": _inject_with(
            lambda priors, injected_prior: np.full(len(priors), (1 - injected_prior) / len(priors))
        ),
        "the stored action is one more candidate; it takes the place of none": _in_place_of_the_last,
        "two actions are the same if they are equal in every dimension": _inject_with(
            _rest, same=lambda actions, stored: (actions == stored).any(axis=1)
        ),
    },
)


# 4.5 ----------------------------------------------------------------------------------------------------------------


def node_priors(node, proposed, place, reanalysed, gammas):
    priors = proposed.copy()
    if node == 0:
        for row in range(len(proposed)):
            edges = [Edge(column, prior) for column, prior in enumerate(proposed[row])]
            if reanalysed[row]:
                inject_action(edges, place[row], SHARE)
            else:
                add_noise(edges, np.log(gammas[row]), SHARE)
            priors[row] = _priors(edges)
    return priors


def _injected_row(priors, place) -> np.ndarray:
    priors = (1 - SHARE) * priors / priors.sum()
    priors[place] += SHARE
    return priors


def _noisy_row(priors, gammas, exists) -> np.ndarray:
    noise = np.where(exists, gammas, 0.0)
    return (1 - SHARE) * priors + SHARE * noise / noise.sum()


def _node_priors_with(injected=_injected_row, noisy=None, root_only=True, in_rows=lambda reanalysed: reanalysed):
    """A mistaken `node_priors`."""
    noisy = noisy or (lambda priors, gammas: _noisy_row(priors, gammas, priors > 0))

    def priors_of(node, proposed, place, reanalysed, gammas):
        priors = proposed.copy()
        if node > 0 and root_only:
            return priors
        for row, is_injected in enumerate(in_rows(reanalysed)):
            priors[row] = injected(priors[row], place[row]) if is_injected else noisy(priors[row], gammas[row])
        return priors

    return priors_of


def _both(noise_first):
    """A mistaken `node_priors` that gives noise to the injected rows, too."""

    def priors_of(node, proposed, place, reanalysed, gammas):
        priors = proposed.copy()
        if node > 0:
            return priors
        for row, is_injected in enumerate(reanalysed):
            if is_injected and not noise_first:
                priors[row] = _injected_row(priors[row], place[row])
            priors[row] = _noisy_row(priors[row], gammas[row], priors[row] > 0)
            if is_injected and noise_first:
                priors[row] = _injected_row(priors[row], place[row])
        return priors

    return priors_of


def _replaced_row(priors, place) -> np.ndarray:
    priors = (1 - SHARE) * priors / priors.sum()
    priors[place] = SHARE
    return priors


def _random_node(rng, i: int) -> tuple:
    rows, count = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    proposed, place = np.zeros((rows, count + 1)), np.full(rows, -1)
    reanalysed = np.arange(rows) % 2 == i % 2
    for row in range(rows):
        distinct = int(rng.integers(1, count + 1))
        proposed[row, :distinct] = rng.dirichlet(np.ones(distinct)) * rng.choice([0.9, 1.0, 1.2])
        if reanalysed[row]:
            place[row] = rng.choice([count, int(rng.integers(distinct))])
    node = 0 if i % 4 else int(rng.integers(1, 9))
    return node, proposed, place, reanalysed, rng.gamma(1.0, size=proposed.shape) + 0.01


_PROPOSED = np.array([[0.6, 0.4, 0.0, 0.0], [0.5, 0.25, 0.25, 0.0], [0.7, 0.5, 0.0, 0.0]])
_GAMMAS = np.array([[1.0, 3.0, 2.0, 4.0], [0.2, 0.2, 0.4, 0.8], [2.0, 1.0, 1.0, 1.0]])

NODE_PRIORS = Question(
    number="4.5",
    title="noise or injection",
    points=4,
    name="node_priors",
    right=node_priors,
    examples=(
        (0, _PROPOSED, np.array([3, -1, 1]), np.array([True, False, True]), _GAMMAS),
        (0, _PROPOSED, np.array([-1, 3, -1]), np.array([False, True, False]), _GAMMAS),
        (5, _PROPOSED, np.array([3, -1, 1]), np.array([True, False, True]), _GAMMAS),
    ),
    more=lambda rng: [_random_node(rng, i) for i in range(12)],
    mistakes={
        "injection stands in for the noise: a reanalysed row gets none": _both(noise_first=False),
        "injection stands in for the noise: a reanalysed row gets none before it, either": _both(noise_first=True),
        "only reanalysed rows have a stored action; the others get noise": _node_priors_with(
            in_rows=lambda reanalysed: np.ones(len(reanalysed), bool)
        ),
        "rows that are not reanalysed get noise": _node_priors_with(noisy=lambda priors, gammas: priors),
        "below the root there is neither noise nor injection": _node_priors_with(root_only=False),
        "noise is for the candidates that exist; a place of prior 0 holds none": _node_priors_with(
            noisy=lambda priors, gammas: _noisy_row(priors, gammas, np.ones(len(priors), bool))
        ),
        "the draws are divided by their sum over the candidates, so that the noise adds up to 1": _node_priors_with(
            noisy=lambda priors, gammas: (1 - SHARE) * priors + SHARE * np.where(priors > 0, gammas, 0.0)
        ),
        "the sampled candidates of an injected row share 0.75": _node_priors_with(
            injected=lambda priors, place: priors + SHARE * np.eye(len(priors))[place]
        ),
        "the sampled priors of an injected row need not add up to 1, so they are divided by their sum": (
            _node_priors_with(injected=lambda priors, place: (1 - SHARE) * priors + SHARE * np.eye(len(priors))[place])
        ),
        "the prior of a stored action that was sampled anyway grows by 0.25, it is not replaced": _node_priors_with(
            injected=_replaced_row
        ),
        "noise is mixed into the priors as they are; only an injected row divides them by their sum": _node_priors_with(
            noisy=lambda priors, gammas: _noisy_row(priors / priors.sum(), gammas, priors > 0)
        ),
    },
)


# 4.6 ----------------------------------------------------------------------------------------------------------------


def policy_loss(visits, actions, mean, scale):
    return -float((visits / visits.sum()) @ _log_likelihoods(actions, mean, scale))


def _log_likelihoods(actions, mean, scale, over=np.sum, density=True, constant=True) -> np.ndarray:
    """[n] of actions [n, D]; the switches leave a part out."""
    each = -0.5 * ((actions - mean) / scale) ** 2
    each = each - np.log(scale) * density - 0.5 * math.log(2 * math.pi) * constant
    return over(each, axis=1)


def _loss_with(weights=lambda visits: visits / visits.sum(), **likelihoods):
    """A mistaken `policy_loss`."""
    return lambda visits, actions, mean, scale: (
        -float(weights(visits) @ _log_likelihoods(actions, mean, scale, **likelihoods))
    )


def _among_the_candidates(visits, actions, mean, scale):
    likelihoods = _log_likelihoods(actions, mean, scale)
    return -float((visits / visits.sum()) @ np.log(softmax(likelihoods)))


def _random_visits(rng, i: int) -> tuple:
    count, dimensions = int(rng.integers(2, 7)), 1 + i % 3
    visits = rng.multinomial(int(rng.integers(4, 40)), rng.dirichlet(np.ones(count) / 2))
    actions = np.clip(rng.normal(0, 0.8, (count, dimensions)), -1, 1)
    return visits, actions, rng.uniform(-1, 1, dimensions), rng.uniform(0.1, 0.9, dimensions)


POLICY_LOSS = Question(
    number="4.6",
    title="the policy loss",
    points=3,
    name="policy_loss",
    right=policy_loss,
    examples=(
        (np.array([3, 1]), np.array([[0.5], [-0.5]]), np.array([0.0]), np.array([0.5])),
        (np.array([8, 0, 2]), np.array([[0.9], [-1.0], [0.4]]), np.array([0.3]), np.array([0.2])),
        (
            np.array([5, 5, 6]),
            np.array([[0.1, 0.2], [-0.4, 1.0], [0.0, 0.3]]),
            np.array([0.1, 0.4]),
            np.array([0.3, 0.8]),
        ),
        (np.array([16]), np.array([[1.0, -1.0, 0.2]]), np.array([0.5, 0.5, 0.5]), np.array([1.0, 0.4, 0.7])),
    ),
    more=lambda rng: [_random_visits(rng, i) for i in range(12)],
    mistakes={
        "the target are the visits divided by their sum, not the visits": _loss_with(weights=lambda visits: visits),
        "every candidate counts by its share of the visits; one that was never visited does not count": _loss_with(
            weights=lambda visits: np.full(len(visits), 1 / len(visits))
        ),
        "the whole distribution of the visits is the target, not only the most visited candidate": _loss_with(
            weights=lambda visits: np.eye(len(visits))[visits.argmax()]
        ),
        "the density's factor 1 / scale, without which the loss is smallest for an endless scale": _loss_with(
            density=False
        ),
        "the density's factor 1 / sqrt(2 pi)": _loss_with(constant=False),
        "the dimensions are independent: their log-likelihoods add up": _loss_with(over=np.mean),
        "the likelihood is the Gaussian's own; the policy is not normalised over the candidates": _among_the_candidates,
        "a loss is minimised, so it is minus the log-likelihood": lambda *arguments: -policy_loss(*arguments),
    },
)


QUESTIONS = (PROPOSAL, SAMPLED_CANDIDATES, GAUSSIAN_CANDIDATES, INJECT, NODE_PRIORS, POLICY_LOSS)
