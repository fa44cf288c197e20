"""An explanation as text for a terminal: flagged checks first, then section by section."""

import textwrap
from collections.abc import Iterator

from mzu.explain import tables
from mzu.explain.prefix import Prefix, edge_to, tree_after
from mzu.explain.tables import Table
from mzu.explain.wording import action_name, counted, number

DEPTH = 3  # levels of the tree below its root
CHILDREN = 6  # of a node of the tree


def explanation_text(explanation, simulations: range | None = None, width: int = 100) -> str:
    """All sections. `simulations` are written out in full; None: the first three and the last."""
    sections = [_about(explanation, width)]
    if explanation.flags:
        sections.append(text_section("Implausible", wrapped([_check(check) for check in explanation.flags], width)))
    sections.append(text_section("Position", wrapped(tables.position_words(explanation), width)))
    if explanation.root is None:
        sections.append(text_section("Search", ["Nothing is searched: the stored actions are learned."]))
    else:
        sections += _search(explanation, _chosen(explanation, simulations), width)
    sections.append(_policy_target(explanation, width))
    sections.append(_value_target(explanation, width))
    if explanation.priority is None:
        sections.append(text_section("Priority", ["The replay does not hold this position."]))
    else:
        sections.append(text_section("Priority", wrapped(tables.priority_lines(explanation), width)))
    sections.append(_loss(explanation, width))
    if explanation.change is not None:
        far = f"policies differ by {number(explanation.change['total_variation'], 4)} (total variation)"
        sections.append(text_section("Change", [*aligned(tables.change_table(explanation)), far]))
    passed = [check for check in explanation.checks if not check["flag"]]
    sections.append(text_section("Checks that found nothing", wrapped([_check(check) for check in passed], width)))
    return "\n\n".join(sections) + "\n"


def _chosen(explanation, simulations: range | None) -> list[int]:
    total = len(explanation.simulations)
    if simulations is None:
        return sorted({*range(min(3, total)), *range(max(total - 1, 0), total)})
    chosen = [simulation for simulation in range(total) if simulation in simulations]
    if not chosen:
        raise ValueError(f"The search had {total} simulations, 0..{total - 1}; none of them was asked for")
    return chosen


def _about(explanation, width: int) -> str:
    return "\n".join(wrapped([tables.explanation_words(explanation)], width, indent=""))


def _search(explanation, chosen: list[int], width: int) -> Iterator[str]:
    root, result = explanation.root, explanation.result
    lines = [f"value {number(root['raw_value'])}; policy: {_policy_words(root['policy'])}"]
    yield text_section(
        "Root",
        wrapped([*lines, *(root[key] for key in ("formula", "noise_formula", "first_formula") if key in root)], width),
        _candidates(explanation, width),
    )
    total = len(explanation.simulations)
    for place in chosen:
        simulation = explanation.simulations[place]
        yield text_section(
            f"Simulation {place + 1} of {total}",
            wrapped([tables.bounds_words(explanation, simulation)], width),
            aligned(tables.path_table(simulation)),
            wrapped([tables.leaf_words(simulation)], width),
            aligned(tables.backup_table(simulation)),
        )
    yield text_section("Tree", tree_lines(explanation))
    visits = ", ".join(
        f"{action_name(action)}: {number(share, 4)}"
        for action, share in zip(result["actions"], result["policy"], strict=True)
        if share > 0
    )
    lines = [f"policy {visits}", f"value nu = {number(result['value'])}", *tables.result_lines(explanation)]
    yield text_section("Result", wrapped(lines, width))


def _candidates(explanation, width: int) -> list[str]:
    """One table; where that is too wide, one of how each got its prior and one of what the search made of it."""
    lines = aligned(tables.candidates_table(explanation))
    if max(len(line.rstrip()) for line in lines) <= width:
        return lines
    return [line for table in tables.candidates_in_two(explanation) for line in aligned(table)]


def _policy_words(policy: dict) -> str:
    if "pi" in policy:
        return ", ".join(f"{action}: {number(share, 4)}" for action, share in enumerate(policy["pi"]))
    mean, scale = (action_name(policy[key], 4) for key in ("mean", "scale"))
    return f"Gaussian, mean {mean}, scale {scale}"


def tree_lines(explanation, simulations: int | None = None, depth: int = DEPTH, children: int = CHILDREN) -> list[str]:
    """The visited nodes down to `depth` levels, at most `children` of each node, most visited first."""
    prefix = tree_after(explanation, simulations)
    return [_node_words(explanation, prefix, 0), *_below(explanation, prefix, 0, "", depth, children)]


def _below(explanation, prefix: Prefix, node: int, indent: str, depth: int, children: int) -> Iterator[str]:
    below = prefix.children[node]
    if not below:
        return
    if depth == 0:
        yield f"{indent}└─ … {counted(_count(prefix, node) - 1, 'node')} below"
        return
    left_out = len(below) - children if len(below) > children else 0
    rest = [f"{left_out} more visited"] if left_out else []
    if prefix.unvisited[node]:
        rest.append(f"{prefix.unvisited[node]} not visited")
    for place, child in enumerate(below[:children]):
        is_last = place == min(len(below), children) - 1 and not rest
        yield f"{indent}{'└─' if is_last else '├─'} {_node_words(explanation, prefix, child)}"
        yield from _below(explanation, prefix, child, indent + ("   " if is_last else "│  "), depth - 1, children)
    if rest:
        yield f"{indent}└─ +{', '.join(rest)}"


def _node_words(explanation, prefix: Prefix, node: int) -> str:
    raw = number(explanation.tree["raw_value"][node], 4)
    words = f"visits {prefix.visits[node]}, value {number(prefix.values[node], 4)} (raw {raw})"
    if node == 0:
        return f"root: {words}"
    edge = edge_to(explanation, node)
    return (
        f"{action_name(edge['action'])}: {words}, prior {number(edge['prior'], 4)}, reward {number(edge['reward'], 4)}"
    )


def _count(prefix: Prefix, node: int) -> int:
    return 1 + sum(_count(prefix, child) for child in prefix.children[node])


def _policy_target(explanation, width: int) -> str:
    part = explanation.policy_target
    heading = f"Policy target ({part['loss'].replace('_', ' ')}, from {part['from']})"
    lines = [f"k = {k}: {weights}; {why}" for k, weights, why in tables.policy_table(explanation).rows]
    return text_section(heading, wrapped(lines, width))


def _value_target(explanation, width: int) -> str:
    part = explanation.value_target
    lines = []
    for entry in part["steps"]:
        lines.append(f"k = {entry['k']}: {tables.value_sum(entry, part['td_steps'])}; {tables.value_words(entry)}")
    network = f", target network of step {part['target_network']}" if part["td_steps"] else ""
    heading = (
        f"Value target (n = {part['td_steps']}, discount {number(part['discount'])}{network}, from {part['from']})"
    )
    return text_section(heading, wrapped([part["formula"], *lines], width))


def _loss(explanation, width: int) -> str:
    words = [explanation.loss["formula"], tables.loss_words(explanation)]
    heading = f"Loss (from {explanation.loss['from']})"
    return text_section(heading, aligned(tables.loss_table(explanation)), wrapped(words, width))


def _check(check: dict) -> str:
    return f"{check['name']}: {check['says']}"


def text_section(heading: str, *parts: list[str]) -> str:
    """A heading with a line below it, and the lines of the parts."""
    return "\n".join([heading, "-" * len(heading), *(line.rstrip() for part in parts for line in part)])


def wrapped(lines: list[str], width: int, indent: str = "    ") -> list[str]:
    """Lines of at most `width` characters; what goes on in the next line is indented."""
    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent=indent) or [""]]


def aligned(table: Table) -> list[str]:
    """The table with its columns aligned to the right; a last column without heading holds words."""
    cells = [table.header, *table.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if not table.header[-1]:
        widths[-1] = 0
    return ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells]
