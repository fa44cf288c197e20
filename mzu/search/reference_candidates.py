"""Where the candidates of the plain search come from (notebooks 03_search, 05_sampled_actions, 06_action_injection).

The plain twins of `all_actions.py`, `sampled_actions.py` and `action_injection.py`.
"""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(eq=False)
class Edge:
    action: object
    prior: float  # 0: the action may not be taken
    visits: int = 0
    reward: float = 0.0
    child: object = None  # a `Node` of `reference.py`, once the edge was evaluated

    def q(self, discount):
        return self.reward + discount * self.child.value


def softmax(logits) -> list[float]:
    weights = [math.exp(logit - max(logits)) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def all_actions(logits, numbers, temperature) -> list[Edge]:
    return [Edge(action, prior) for action, prior in enumerate(softmax(logits))]


def sampled_categorical(logits, uniforms, temperature) -> list[Edge]:
    """Actions drawn from beta = pi^(1 / temperature), each once, with prior pi * beta_hat / beta."""
    pi, beta = softmax(logits), softmax(logits / temperature)
    last = max(action for action, share in enumerate(beta) if share > 0)
    drawn = [min(int(np.searchsorted(np.cumsum(beta), u, side="right")), last) for u in uniforms]
    return [Edge(a, pi[a] * (drawn.count(a) / len(drawn)) / beta[a]) for a in sorted(set(drawn))]


def sampled_gaussian(policy, normals, temperature) -> list[Edge]:
    """The same for a Gaussian, clipped to [-1, 1]; beta is sqrt(temperature) times as wide as pi."""
    edges = []
    for normal in normals.astype(float):
        action = np.clip(policy[0] + policy[1] * math.sqrt(temperature) * normal, -1, 1).astype(np.float32)
        ratio = temperature ** (len(normal) / 2) * math.exp(sum(normal**2) * (1 - temperature) / 2)
        add_edge(edges, action, max(ratio, 1e-300) / len(normals))
    return edges


def add_edge(edges, action, prior) -> None:
    """A new edge, or more prior for the one that has this action already."""
    for edge in edges:
        if np.array_equal(edge.action, action):
            edge.prior += prior
            return
    edges.append(Edge(action, prior))


def inject_action(edges, action, injected_prior) -> None:
    """The stored action joins the root's candidates; the others share what is left."""
    share = (1 - injected_prior) / sum(edge.prior for edge in edges)
    for edge in edges:
        edge.prior *= share
    add_edge(edges, action, injected_prior)


def add_noise(edges, log_gamma, fraction) -> None:
    """prior <- (1 - fraction) * prior + fraction * Dirichlet noise over the actions that may be taken."""
    draws = [draw if edge.prior > 0 else -math.inf for edge, draw in zip(edges, log_gamma, strict=False)]
    for edge, noise in zip(edges, softmax(draws), strict=True):
        edge.prior = (1 - fraction) * edge.prior + fraction * noise
