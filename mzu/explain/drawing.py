"""The search tree as a picture: one SVG without scripts, which browsers, notebooks and GitHub show alike.

The root stands left, every level one column further right, every leaf in a row of its own; the most visited child
continues its parent's row. Places are those of the finished tree, so that nothing moves from simulation to simulation.
"""

from html import escape

from mzu.explain import svg
from mzu.explain.prefix import Prefix, edge_to, tree_after
from mzu.explain.svg import FAINT, INK, LATEST, paint
from mzu.explain.wording import action_name, growth_words, number

MARGIN = 26  # pixels, as all of these
ROW = (22, 34)  # from one lone leaf to the next, and between other rows
LEVEL = (66, 130)  # narrowest and widest column
RADIUS = (7.0, 15.0)  # of one visit and of all
WIDTHS = (1.0, 7.0)  # of an edge with prior 0 and 1
RING = 3.0  # border in the colour of the raw value
CIVIDIS = (
    (0, 34, 78), (26, 56, 111), (67, 78, 108), (97, 101, 111), (125, 124, 120),
    (155, 148, 118), (188, 174, 108), (222, 201, 88), (254, 232, 56),
)  # fmt: skip


def tree_svg(explanation, simulations: int | None = None, width: int = 960) -> str:
    """The tree after its first `simulations` simulations (None: all) as an <svg> about `width` pixels wide."""
    prefix, finished = tree_after(explanation, simulations), tree_after(explanation)
    places = _places(finished, width)
    scale = _value_range(explanation)
    legend, top = _legend(explanation, prefix, scale, width)
    places = [(x, y + top) for x, y in places]
    right = max(width, round(max(x for x, _ in places)) + 3 * MARGIN)
    height = round(max(y for _, y in places)) + MARGIN
    nodes, visited = ([node for node, visits in enumerate(tree.visits) if visits] for tree in (prefix, finished))
    label = f"Search tree {growth_words(prefix.simulations, finished.simulations)}"
    return svg.picture(
        label,
        right,
        height,
        legend,
        f'<g fill="none" opacity="0.3" {paint("stroke", FAINT)}>',
        *(_still_to_come(explanation, places, node) for node in visited if node not in nodes),
        "</g>",
        *(_edge(explanation, prefix, places, node) for node in sorted(nodes[1:], key=prefix.latest.count)),
        *(_node(explanation, prefix, finished, places[node], scale, node) for node in nodes),
    )


def _places(tree: Prefix, width: int) -> list[tuple[float, float]]:
    """x and y of every node of the finished tree."""
    levels, rows = [0] * len(tree.visits), [[0]]
    todo = list(reversed(tree.children[0]))
    node = 0
    while todo:
        parent, node = node, todo.pop()
        levels[node] = levels[tree.parents[node]] + 1
        if tree.children[parent][:1] == [node]:
            rows[-1].append(node)
        else:
            rows.append([node])
        todo += reversed(tree.children[node])
    (narrow, wide), deepest = LEVEL, max(max(levels), 1)
    column = min(max((width - 5 * MARGIN) / deepest, narrow), wide)
    places, y = [(0.0, 0.0)] * len(levels), float(MARGIN)
    for place, row in enumerate(rows):
        if place:
            y += ROW[0] if len(row) == len(rows[place - 1]) == 1 else ROW[1]
        for node in row:
            places[node] = MARGIN + column * levels[node], y
    return places


def _value_range(explanation) -> tuple[float, float]:
    """Least and greatest value that any node has at any time: the ends of the colour scale."""
    tree = explanation.tree
    values = [value for value, visits in zip(tree["raw_value"], tree["visits"], strict=True) if visits]
    values += [step["value"] for simulation in explanation.simulations for step in simulation["backup"]]
    return min(values), max(values)


def _colour(value: float, scale: tuple[float, float]) -> tuple[int, int, int]:
    low, high = scale
    place = (value - low) / (high - low) * (len(CIVIDIS) - 1) if high > low else (len(CIVIDIS) - 1) / 2
    left = min(int(place), len(CIVIDIS) - 2)
    share = place - left
    return tuple(round(a + (b - a) * share) for a, b in zip(CIVIDIS[left], CIVIDIS[left + 1], strict=True))


def _radius(visits: int, most: int) -> float:
    small, large = RADIUS
    return small + (large - small) * ((visits - 1) / max(most - 1, 1)) ** 0.5


def _still_to_come(explanation, places: list, node: int) -> str:
    """A node that the finished tree will have."""
    (x, y), (right, below) = places[explanation.tree["parent"][node]], places[node]
    return f'<path d="M{x:.1f} {y:.1f}V{below:.1f}H{right:.1f}"/><circle cx="{right:.1f}" cy="{below:.1f}" r="3"/>'


def _edge(explanation, prefix: Prefix, places: list, node: int) -> str:
    """Down from the parent as a thin line, then across as wide as the prior."""
    edge, parent = edge_to(explanation, node), explanation.tree["parent"][node]
    (x, y), (right, below) = places[parent], places[node]
    colour = LATEST if node in prefix.latest else FAINT
    least, most = WIDTHS
    wide = least + (most - least) * edge["prior"]
    drop = (
        f'<path d="M{x:.1f} {y:.1f}V{below:.1f}" stroke-width="1" shape-rendering="crispEdges"/>' if below > y else ""
    )
    across = f'<path d="M{x:.1f} {below:.1f}H{right:.1f}" stroke-width="{wide:.1f}"/>'
    name = action_name(edge["action"], 2)
    name = name if len(name) <= 14 else name[:13] + "…"
    end = right - _radius(explanation.tree["visits"][node], explanation.tree["visits"][0]) - 8
    text = (
        f'<text x="{end:.1f}" y="{below + wide / 2 + 10:.1f}" text-anchor="end" font-size="10" '
        f"{paint('fill', INK)}>{escape(name)}</text>"
    )
    return f'<g fill="none" {paint("stroke", colour)}>{svg.title(_edge_words(edge))}{drop}{across}</g>{text}'


def _node(explanation, prefix: Prefix, finished: Prefix, place: tuple, scale: tuple, node: int) -> str:
    x, y = place
    tree, visits, value = explanation.tree, prefix.visits[node], prefix.values[node]
    radius = _radius(visits, finished.visits[0])
    fill, ring = _colour(value, scale), _colour(tree["raw_value"][node], scale)
    parts = [svg.title(_node_words(explanation, prefix, node))]
    if node in prefix.latest:
        dashes = ' stroke-dasharray="3 2"' if node == prefix.latest[-1] else ""
        parts.append(svg.circle(x, y, radius + RING + 1.5, f'fill="none" stroke-width="2"{dashes}', "stroke", LATEST))
    parts.append(svg.circle(x, y, radius + RING / 2, f'fill="{_rgb(ring)}" stroke-width="0.8"', "stroke", INK))
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius - RING / 2:.1f}" fill="{_rgb(fill)}"/>')
    light = 0.299 * fill[0] + 0.587 * fill[1] + 0.114 * fill[2] < 120
    inside = f'text-anchor="middle" font-size="9" fill="{"#ffffff" if light else "#000000"}"'
    parts.append(svg.text(x, y + 3, str(visits), inside))
    lower = 4 if not prefix.children[node] else -7
    beside = radius + (RING + 5 if node in prefix.latest else RING + 2)
    words = number(value, 3) + (" new" if prefix.latest and node == prefix.latest[-1] else "")
    parts.append(svg.text(x + beside, y + lower, words, paint("fill", INK)))
    if prefix.children[node] and prefix.unvisited[node]:
        looks = f'font-size="9" {paint("fill", FAINT)}' + (' text-anchor="end"' if node else "")
        side = -(0.8 * radius + 2) if node else 4
        parts.append(svg.text(x + side, y + (21 if node else 29), f"+{prefix.unvisited[node]}", looks))
    return f"<g>{''.join(parts)}</g>"


def _node_words(explanation, prefix: Prefix, node: int) -> str:
    """All that is known about a node, shown when the mouse rests on it."""
    lines = [
        f"node {node}, {_origin(explanation, node)}",
        f"visits {prefix.visits[node]}",
        f"value {number(prefix.values[node])}",
        f"raw value {number(explanation.tree['raw_value'][node])}",
        f"candidates {len(explanation.tree['edges'][node])}, {prefix.unvisited[node]} not visited",
    ]
    if node:
        edge, discount = edge_to(explanation, node), explanation.value_target["discount"]
        lines += [_edge_words(edge), f"q {number(edge['reward'] + discount * prefix.values[node])} of the edge"]
    return "\n".join(lines)


def _origin(explanation, node: int) -> str:
    if node == 0:
        return "the root"
    found = node - explanation.tree["first"]
    return f"found by simulation {found}" if found > 0 else "evaluated before the first simulation"


def _edge_words(edge: dict) -> str:
    return f"action {action_name(edge['action'], 6)}\nprior {number(edge['prior'])}\nreward {number(edge['reward'])}"


def _legend(explanation, prefix: Prefix, scale: tuple, width: int) -> tuple[str, float]:
    """Heading and signs, wrapped at `width` -> (SVG, height)."""
    total = len(explanation.simulations)
    parts = [
        svg.text(
            MARGIN - 10,
            20,
            growth_words(prefix.simulations, total).capitalize(),
            f'font-size="13" {paint("fill", INK)}',
        )
    ]
    x, y = MARGIN - 10, 44.0
    for wide, draw in (_colour_sign(scale), _size_sign(total + 1), _prior_sign(), _latest_sign(), _count_sign()):
        if x > MARGIN and x + wide > width - MARGIN:
            x, y = MARGIN - 10, y + 26
        parts.append(f'<g transform="translate({x:.0f} {y:.0f})" font-size="10" {paint("fill", INK)}>{draw}</g>')
        x += wide + 22
    return "".join(parts), y + 4


def _colour_sign(scale: tuple) -> tuple[int, str]:
    low, high = scale
    steps = 24
    colours = (_rgb(_colour(low + (high - low) * step / (steps - 1), scale)) for step in range(steps))
    bar = "".join(
        f'<rect x="{48 + 4 * step}" y="-9" width="4.5" height="11" fill="{colour}"/>'
        for step, colour in enumerate(colours)
    )
    ends = svg.text(44, 0, number(low, 3), 'text-anchor="end"') + svg.text(148, 0, number(high, 3))
    return 335, bar + ends + svg.text(194, 0, "fill: value, border: raw value")


def _size_sign(most: int) -> tuple[int, str]:
    small, large = _radius(1, most), _radius(most, most)
    outline = 'fill="none" stroke-width="1"'
    circles = svg.circle(small, -3, small, outline, "stroke", INK) + svg.circle(36, -3, large, outline, "stroke", INK)
    return 175, circles + svg.text(small - 2.5, 0, "1") + svg.text(36, 0, str(most), 'text-anchor="middle"') + svg.text(
        58, 0, "visits; value beside"
    )


def _prior_sign() -> tuple[int, str]:
    least, most = WIDTHS
    lines = "".join(
        f'<path d="M{x} -3H{x + 22}" stroke-width="{least + (most - least) * prior:.1f}" {paint("stroke", FAINT)}/>'
        + svg.text(x + 26, 0, f"{prior:g}")
        for x, prior in ((0, 0.05), (52, 0.5))
    )
    return 205, lines + svg.text(100, 0, "prior; action below")


def _latest_sign() -> tuple[int, str]:
    line = f'<path d="M0 -3H22" stroke-width="2" {paint("stroke", LATEST)}/>'
    ring = svg.circle(108, -3, 7, 'fill="none" stroke-width="2" stroke-dasharray="3 2"', "stroke", LATEST)
    return 160, line + svg.text(26, 0, "latest path") + ring + svg.text(120, 0, "new leaf")


def _count_sign() -> tuple[int, str]:
    return 285, svg.text(0, 0, "+n: that many candidates not visited; faint: still to come")


def _rgb(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
