"""The search of `search.py` as plain Python objects, one position at a time, to read in class (notebook 03_search)."""

import math
from dataclasses import dataclass

import numpy as np

from mzu.search.kernels import ALL_ACTIONS, SAMPLED_CATEGORICAL, SAMPLED_GAUSSIAN
from mzu.search.randomness import draw_randomness


@dataclass
class Edge:
    action: object
    prior: float  # 0: the action may not be taken
    visits: int = 0
    reward: float = 0.0
    child: "Node | None" = None

    def q(self, discount):
        return self.reward + discount * self.child.value


@dataclass
class Node:
    index: int  # order of creation: the root is 0, simulation s creates s + 1
    hidden: np.ndarray
    raw_value: float
    value: float  # mean of the backed-up values, of which the node's own is the first
    edges: list[Edge]
    visits: int = 1


def search(model, observations, config, rng, injected_actions=None, inject=None, legal_actions=None) -> list[Node]:
    """The roots of the finished trees. Arguments as in `mzu.search.search.search`, the same random numbers too."""
    hidden, policy, value = model.initial(observations)
    gaussian = isinstance(policy, tuple)
    policy = np.stack(policy, axis=1) if gaussian else policy  # [B, A] logits, or [B, 2, D] mean and scale
    policy = policy if legal_actions is None else np.where(legal_actions, policy, -math.inf)
    source = SAMPLED_GAUSSIAN if gaussian else SAMPLED_CATEGORICAL if config.num_sampled_actions else ALL_ACTIONS
    propose = {ALL_ACTIONS: all_actions, SAMPLED_CATEGORICAL: sampled_categorical, SAMPLED_GAUSSIAN: sampled_gaussian}
    batch, nodes, actions = len(policy), config.num_simulations + 1, policy.shape[-1]
    count = config.num_sampled_actions or actions
    randomness = draw_randomness(rng, batch, nodes, count, source, actions, config.dirichlet_alpha)
    numbers = randomness.uniforms if source == SAMPLED_CATEGORICAL else randomness.normals
    roots = []
    for b in range(batch):
        edges = propose[source](policy[b], numbers[b, 0], config.sampling_temperature)
        if injected_actions is not None and (inject is None or inject[b]):
            inject_action(edges, injected_actions[b], config.injected_prior)
        else:
            add_noise(edges, randomness.log_gamma[b], config.dirichlet_fraction)
        root = Node(0, hidden[b], value[b], value[b], edges)
        roots.append(search_one(model, root, propose[source], numbers[b], config))
    return roots


def search_one(model, root, propose, numbers, config) -> Node:
    """All simulations from one root: select, evaluate, expand, back up."""
    bounds = [math.inf, -math.inf]  # smallest and largest reward + discount * value seen anywhere in the tree
    for index in range(1, config.num_simulations + 1):
        path, node = [], root
        while node is not None:
            edge = best_edge(node, bounds, config)
            path.append((node, edge))
            node = edge.child
        hidden, reward, policy, value = model.recurrent(path[-1][0].hidden[None], np.asarray(edge.action)[None])
        policy = np.stack(policy, axis=1) if isinstance(policy, tuple) else policy
        edges = propose(policy[0], numbers[index], config.sampling_temperature)
        edge.reward, edge.child = reward[0], Node(index, hidden[0], value[0], value[0], edges)
        backup(path, value[0], bounds, config.discount)
    return root


def best_edge(node, bounds, config) -> Edge:
    """The first edge with the highest pUCT score: normalised value plus prior times exploration."""
    low, high = bounds
    if config.normaliser == "siblings":
        values = [node.value] + [edge.q(config.discount) for edge in node.edges if edge.visits]
        low, high = min(values), max(max(values), min(values) + 1e-8)
    growth = math.log((node.visits + config.puct_base + 1) / config.puct_base) + config.puct_init

    def score(edge):
        value = edge.q(config.discount) if edge.visits else node.value
        value = (value - low) / (high - low) if high > low else value
        value = value if edge.visits or config.unvisited_value == "parent" else 0.0
        return value + edge.prior * (math.sqrt(node.visits) * growth) / (1 + edge.visits)

    return max((edge for edge in node.edges if edge.prior > 0), key=score)


def backup(path, value, bounds, discount) -> None:
    """The new node's value goes up the path [(node, edge), ...], from the last edge to the first."""
    for node, edge in reversed(path):
        edge.visits += 1
        bounds[:] = min(bounds[0], edge.q(discount)), max(bounds[1], edge.q(discount))
        value = edge.reward + discount * value
        node.value = (node.value * node.visits + value) / (node.visits + 1)
        node.visits += 1


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
