"""A model report as text for a terminal, as the summary of a notebook, and as a page for a browser."""

import io
import textwrap
from html import escape
from typing import NamedTuple

from mzu.explain.model_depth import good_depth
from mzu.explain.model_drawing import draw_model_report
from mzu.explain.model_findings import NOTHING
from mzu.explain.notebook import table_html
from mzu.explain.tables import Table
from mzu.explain.text import aligned, text_section, wrapped
from mzu.explain.wording import counted, number

STYLE = (
    "body{max-width:62em;margin:2em auto;padding:0 1em;font:15px/1.5 system-ui,sans-serif;color:#222}"
    "table{border-collapse:collapse}td,th{padding:0.15em 0.7em;text-align:right}th{border-bottom:1px solid #999}"
    "svg{max-width:100%;height:auto}"
)


class Part(NamedTuple):
    """A section of the report: words, a table or None, words below it."""

    heading: str
    words: list[str]
    table: Table | None = None
    below: list[str] = []  # noqa: RUF012


def model_report_text(report, width: int = 100) -> str:
    """The findings, then section by section."""
    sections = ["\n".join(wrapped([model_words(report)], width, indent=""))]
    sections.append(text_section("What stands out", wrapped(finding_words(report), width)))
    for part in parts(report):
        table = [] if part.table is None else aligned(part.table)
        sections.append(text_section(part.heading, wrapped(part.words, width), table, wrapped(part.below, width)))
    return "\n\n".join(sections) + "\n"


def model_report_html(report) -> str:
    """For a notebook: the findings, the picture and the tables."""
    lines = "".join(
        f'<p style="border-left:4px solid #c2410c;padding-left:0.5em">{escape(words)}</p>'
        for words in finding_words(report)
    )
    blocks = [f"<p>{escape(model_words(report))}</p>", lines, _svg(report)]
    for part in parts(report):
        blocks.append(f"<h4>{escape(part.heading)}</h4>")
        blocks += [f"<p>{escape(words)}</p>" for words in part.words]
        if part.table is not None:
            blocks.append(table_html(part.table))
        blocks += [f"<p>{escape(words)}</p>" for words in part.below]
    return f"<div>{''.join(blocks)}</div>"


def as_page(report) -> str:
    """The same as one page."""
    title = escape(f"The model of {report.about['system']}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>"
        f"<body><h1>{title}</h1>{model_report_html(report)}</body></html>\n"
    )


def short_text(report, width: int = 100) -> str:
    """What the end of a training run says: how far ahead the value is good, how deep searches go, and the findings."""
    lines = [f"Its model: {depth_words(report)}.", *(finding_words(report) if report.findings else [])]
    return textwrap.indent("\n".join(wrapped(lines, width - 2)), "  ")


def model_words(report) -> str:
    about = report.about
    world = about["environment"] or "no environment"
    kind = "recorded for this report" if about["recorded"] else "stored"
    return f"{about['system']}, checkpoint {about['steps']}: {world}, {counted(about['episodes'], 'episode')} {kind}."


def finding_words(report) -> list[str]:
    """One sentence or two for each finding; one where there is none."""
    return [f"{found['name']}: {found['says']}. Do: {found['advice']}." for found in report.findings] or [NOTHING]


def depth_words(report) -> str:
    """The by-depth section in a line."""
    good, rows = good_depth(report.depth["rows"]), report.depth["rows"]
    reach = f"up to depth {int(good)}" if good <= rows[-1]["depth"] else f"at all {rows[-1]['depth']} depths looked at"
    mean, deepest = (number(report.searches[key], 3) for key in ("mean", "deepest"))
    unrolled = counted(report.depth["unroll_steps"], "step")
    return (
        f"the value's error stays below the spread of the values {reach} ({unrolled} unrolled in training); nodes "
        f"of searches lie at depth {mean} on average, the deepest at {deepest}"
    )


def parts(report) -> list[Part]:
    """The sections below the findings."""
    found = [_depth(report), _head(report)]
    if report.ranking is not None:
        found.append(_ranking(report))
    if report.returns:
        found.append(_returns(report))
    return found


def _depth(report) -> Part:
    shares = report.searches["shares"]
    header = ["depth", "nodes", "positions", "reward bias", "RMSE", "corr.", "value bias", "RMSE", "corr.", "spread"]
    rows = []
    for row in report.depth["rows"]:
        depth, value, reward = row["depth"], row["value"], row["reward"] or {}
        share = shares[depth - 1] if 0 < depth <= len(shares) else None
        cells = [str(depth), "-" if share is None else f"{share:.1%}", str(value["count"])]
        cells += [number(reward.get(key), 3) for key in ("bias", "rmse", "correlation")]
        cells += [number(value[key], 3) if depth else "-" for key in ("bias", "rmse", "correlation")]
        rows.append([*cells, number(value["spread"], 3)])
    searches = report.searches
    further = sum(shares[report.depth["rows"][-1]["depth"] :])
    about = (
        f"The model is unrolled along the stored actions of {report.depth['positions']} positions. Reward: against the "
        "stored one. Value: against the network's own value of the stored observation that many steps later, whose "
        "standard deviation is the spread."
    )
    nodes = (
        f"nodes: share of all nodes that {searches['searches']} searches of {searches['simulations']} simulations have "
        "at that depth" + (f" ({further:.1%} lie deeper than the table)" if further else "") + "."
    )
    shifts = ", ".join(
        f"{number(found, 3)} {where}"
        for found, where in zip(report.depth["shifts"], ("one step before", "same step", "one after"), strict=True)
    )
    moved = f"Predicted rewards against stored ones, correlation: {shifts}."
    words = depth_words(report)
    return Part("By depth", [about], Table(header, rows), [nodes, moved, words[0].upper() + words[1:] + "."])


def _head(report) -> Part:
    head = report.head
    if head["kind"] == "regression":
        return Part("Value head", [f"regression; the typical value is {number(head['typical_value'], 4)}."])
    words = (
        f"categories; one bin is {number(head['bin'], 3)} wide at the typical value "
        f"{number(head['typical_value'], 4)}. It ends at {number(head['largest_value'], 4)}; {head['at_the_end']:.0%} "
        f"of the values are there. Rewards end at {number(head['largest_reward'], 4)}; the largest stored one is "
        f"{number(head['reward_seen'], 4)}."
    )
    return Part("Value head", [words])


def _ranking(report) -> Part:
    ranks = report.ranking
    if ranks["evidence"] == "world":
        states = counted(ranks["states"], "stored state")
        how = (
            f"The environment was brought to {states} of {counted(ranks['episodes'], 'episode')} by replaying them, "
            "and took each candidate there."
        )
    else:
        how = (
            "No episode could be replayed in an environment, so this is the weaker evidence: stored actions of states "
            f"near each other, {ranks['neighbours']} neighbours of each of {ranks['states']} states among "
            f"{ranks['pool']}, at a distance of {number(ranks['distance'], 3)} standard deviations "
            f"({number(ranks['typical_distance'], 3)} between any two). "
            "Part of what differs between them is the state, not the action."
        )
    discount = number(report.about["discount"])
    formula = f"Compared: r + {discount} V after one step of the model, and of the world, with the same network's V."
    header = ["candidates", "of each", "states", "corr.", "regret", "world's spread", "model's spread", "in bins"]
    rows, width = [], report.head["bin"]
    for group in ranks["groups"]:
        regret = "-" if group["regret"] is None else f"{group['regret']:.0%}"
        bins = "-" if width is None else number(group["world_spread"] / width, 2)
        spreads = [number(group[key], 3) for key in ("world_spread", "model_spread")]
        name = f"{group['candidates']}:"
        decided = f"{group['decided']} of {group['states']}"
        rows.append([name, str(group["count"]), decided, number(group["correlation"], 2), regret, *spreads, bins])
    below = (
        "states: those in which the world's values differ. corr.: mean over them of the correlation within a state. "
        "regret: what the model's choice loses, as a share of what a random choice loses. spread: mean standard "
        "deviation between the candidates of a state; in bins of the value head."
    )
    return Part("Ranking of actions", [how, formula], Table(header, rows), [below])


def _returns(report) -> Part:
    rows = [
        [row["name"], "-" if row["simulations"] is None else str(row["simulations"])]
        + [number(row[key], 4) for key in ("mean", "low", "high")]
        for row in report.returns
    ]
    episodes = counted(report.returns[0]["episodes"], "episode")
    words = f"{episodes} each, from the same starts; 95 % intervals over episodes. policy: its mode; value: one step."
    return Part("Returns", [words], Table(["acting by", "simulations", "mean return", "low", "high"], rows))


def _svg(report) -> str:
    text = io.StringIO()
    draw_model_report(report).savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
