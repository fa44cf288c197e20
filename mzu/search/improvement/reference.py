"""The operators as plain Python over one root, to read in class (notebook 08_unplugged).

A root is a `Node` of `mzu/search/reference.py`: edges with prior, visits and q, and the network's value. Weights are
returned for the edges that exist, those with a prior above 0, in their order.
"""

import math


def visits(root, config, scale=None) -> list[float]:
    edges = existing(root)
    return [edge.visits / sum(edge.visits for edge in edges) for edge in edges]


def advantage(root, config, scale=None, injected=None, stored_value=None) -> list[float]:
    """`injected` is the edge of the stored action, `stored_value` what really followed it."""
    edges = existing(root)
    own = [edge for edge in edges if edge.child and not (edge is injected and stored_value is not None)]
    share = sum(edge.prior for edge in own)
    baseline = sum(edge.prior * edge.q(config.discount) for edge in own) / share if own else 0.0
    advantages = [edge.q(config.discount) - baseline if edge in own else 0.0 for edge in edges]
    if stored_value is not None:
        advantages[edges.index(injected)] = stored_value - root.raw_value
    if scale is None:
        squares = sum(edge.prior * a**2 for edge, a in zip(edges, advantages, strict=True))
        scale = math.sqrt(squares / sum(edge.prior for edge in edges))
    unit, clip = config.advantage_temperature * scale, config.advantage_clip
    moves = [min(max(a / unit if unit > 0 else 0.0, -clip), clip) for a in advantages]
    return normalised(edge.prior * math.exp(move) for edge, move in zip(edges, moves, strict=True))


def one_step(root, config, scale=None, injected=None, stored_value=None) -> list[float]:
    weights = []
    for edge in existing(root):
        stored = edge is injected and stored_value is not None
        q = stored_value if stored else edge.q(config.discount)
        weights.append(edge.prior * math.exp((q - root.raw_value) / config.advantage_temperature))
    return normalised(weights)


def completed_q(root, config, scale=None) -> list[float]:
    return normalised(edge.prior * math.exp(sigma(root, edge, config)) for edge in existing(root))


def sigma(node, edge, config) -> float:
    """The completed value of an edge on the scale of its node: see `mzu/search/gumbel.py`."""
    edges = existing(node)
    visited = [other for other in edges if other.visits]
    mixed = node.raw_value
    if visited:
        count, share = sum(other.visits for other in visited), sum(other.prior for other in visited)
        weighted = sum(other.prior * other.q(config.discount) for other in visited) / share
        mixed = (node.raw_value + count * weighted) / (1 + count)
    completed = {other: other.q(config.discount) if other.visits else mixed for other in edges}
    low, high = min(completed.values()), max(completed.values())
    scale = (config.completed_visit_offset + max(other.visits for other in edges)) * config.completed_value_scale
    return scale * (completed[edge] - low) / max(high - low, 1e-8)


def gumbel_edge(node, config, gumbels):
    """The edge that Gumbel MuZero takes: sequential halving at the root, which is node 0, below by improved policy."""
    edges = existing(node)
    if node.index == 0:
        wanted = considered(min(len(edges), config.gumbel_candidates), config.num_simulations)[node.visits - 1]
        noise = {edge: gumbel for edge, gumbel in zip(node.edges, gumbels, strict=False)}
        rivals = [edge for edge in edges if edge.visits == wanted]
        return max(rivals, key=lambda edge: noise[edge] + math.log(edge.prior) + sigma(node, edge, config))
    shares, count = completed_q(node, config), sum(edge.visits for edge in edges)
    lag = [share - edge.visits / (1 + count) for share, edge in zip(shares, edges, strict=True)]
    return edges[lag.index(max(lag))]


def considered(candidates, simulations) -> list[int]:
    """The visits that a candidate must have to be considered, simulation by simulation: the better half goes on."""
    if candidates <= 1:
        return list(range(simulations))
    order, visits, left = [], 0, candidates
    while len(order) < simulations:
        for _ in range(max(1, simulations // (math.ceil(math.log2(candidates)) * left))):
            order += [visits] * left
            visits += 1
        left = max(2, left // 2)
    return order[:simulations]


def existing(node) -> list:
    return [edge for edge in node.edges if edge.prior > 0]


def normalised(weights) -> list[float]:
    weights = list(weights)
    return [weight / sum(weights) for weight in weights]
