"""Candidates of a large or continuous space: K actions sampled at every node (notebook 05_sampled_actions).

As in Sampled MuZero, the search considers only the sampled actions. They are drawn from beta, proportional to
pi^(1 / temperature), and enter pUCT with the prior

    pi * beta_hat / beta,

where beta_hat is the empirical distribution of the draw: an action drawn m times has beta_hat = m / K and is one
candidate. With temperature 1 the prior is just m / K; the policy is already in the sampling.
"""

import math

import numpy as np

from mzu.compilation import kernel_part


@kernel_part
def propose_categorical(logits, legal, temperature, uniforms, edges, actions):
    """logits [A], legal [A], sorted uniforms [K] -> priors of edges [K], actions [K]. False if not finite.

    The uniforms are turned into actions by the inverse of beta's cumulative distribution. They come sorted, so that one
    pass over the actions finds all of them, and equal ones stand side by side and are merged.
    """
    count = uniforms.shape[0]
    largest = -math.inf
    last = 0
    for a in range(logits.shape[0]):
        if legal[a] and logits[a] > -math.inf:
            largest = max(largest, logits[a])
            last = a
    pi_total = 0.0
    beta_total = 0.0
    for a in range(logits.shape[0]):
        if legal[a]:
            pi_total += math.exp(logits[a] - largest)
            beta_total += math.exp((logits[a] - largest) / temperature)
    for k in range(actions.shape[0]):
        actions[k] = 0
    slot = 0
    drawn = 0
    cumulative = 0.0
    for a in range(logits.shape[0]):
        if not legal[a]:
            continue
        beta = math.exp((logits[a] - largest) / temperature) / beta_total
        pi = math.exp(logits[a] - largest) / pi_total
        cumulative += beta
        before = drawn
        # The cumulative sum may end at 1 - 1e-16: whatever is left then belongs to the last possible action.
        while drawn < count and (uniforms[drawn] < cumulative or a == last):
            drawn += 1
        if drawn > before:
            edges[slot].prior = pi * ((drawn - before) / count) / beta
            actions[slot] = a
            slot += 1
    return math.isfinite(beta_total) and math.isfinite(pi_total)


@kernel_part
def propose_gaussian(policy, temperature, count, edges, actions):
    """policy [2 D]: mean, scale; actions [., D]: standard normals -> actions, priors of edges. False if not finite.

    The K normals are replaced by the distinct actions; edges come with prior 0. pi^(1 / temperature) of a Gaussian is a
    Gaussian that is sqrt(temperature) times as wide. Samples outside [-1, 1] are clipped; pi / beta is taken where the
    sample fell before that, so that the priors of samples that meet at a bound add up to an unbiased estimate of pi's
    mass there.
    """
    dimensions = actions.shape[1]
    widening = math.sqrt(temperature)
    finite = True
    distinct = 0
    for k in range(count):
        squares = 0.0
        for d in range(dimensions):
            normal = np.float64(actions[k, d])
            squares += normal * normal
            scale = policy[dimensions + d]
            action = policy[d] + scale * widening * normal
            finite = finite and math.isfinite(action) and scale > 0.0
            actions[distinct, d] = min(max(action, -1.0), 1.0)
        ratio = 1.0
        if temperature != 1.0:
            ratio = temperature ** (dimensions / 2.0) * math.exp(squares * (1.0 - temperature) / 2.0)
        same = find_action(actions, actions[distinct], distinct)
        # The floor keeps an all but impossible action a candidate: prior 0 would say that the slot is empty.
        edges[same].prior += max(ratio, 1e-300) / count
        if same == distinct:
            distinct += 1
    for k in range(distinct, actions.shape[0]):
        for d in range(dimensions):
            actions[k, d] = 0.0
    return finite


@kernel_part
def find_action(actions, action, count):
    """The first of the `count` leading rows of actions [., D] that equals action [D], or `count` if there is none."""
    for k in range(count):
        d = 0
        while d < action.shape[0] and actions[k, d] == action[d]:
            d += 1
        if d == action.shape[0]:
            return k
    return count
