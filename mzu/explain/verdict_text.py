"""A verdict on a run as text, for a notebook, and as one page that holds the explanations of its positions."""

import textwrap
from html import escape

from mzu.explain.page import page_html
from mzu.explain.wording import counted

_WIDTH = 100
_SIGNS = {"broken": "BROKEN", "doubtful": "doubtful", "fine": "fine", "not looked at": "not looked at"}
# Told apart by colour-blind readers, too; the words stand beside.
_COLOURS = {"broken": "#d55e00", "doubtful": "#e69f00", "fine": "#009e73", "not looked at": "#999999"}


def sentence_of_verdict(verdict) -> str:
    """The verdict in a sentence."""
    if verdict.broken is not None:
        return f"The first broken part is {_the(verdict.broken)}: {verdict.first['says']}"
    if verdict.is_wrong:
        return "The run plays badly, and no part of it was found broken"
    doubts = sum(len(part["findings"]) for part in verdict.parts)
    return "Nothing is broken" + (f"; {counted(doubts, 'doubt')}" if doubts else "")


def verdict_text(verdict) -> str:
    """For a terminal: the sentence, how the run plays, the circle part by part, the positions."""
    lines = [*_wrapped(sentence_of_verdict(verdict) + ".", ""), ""]
    if verdict.play is not None:
        lines += [*_wrapped(play_words(verdict), ""), ""]
    lines.append(
        f"Looked at {counted(verdict.about['positions'], 'position')} of {verdict.about['system']}, {_when(verdict)}:"
    )
    for part in verdict.parts:
        lines.append(f"  {part['part']:<8} {_SIGNS[part['state']]}")
        for finding in part["findings"]:
            lines += _wrapped(finding_words_of(finding), "    ")
    if verdict.positions:
        lines += ["", "The positions that show it best:"]
        for position in verdict.positions:
            lines += _wrapped(f"episode {position['episode']}, step {position['step']}: {position['says']}", "  ")
            lines.append(f"    {position['command']}")
    return "\n".join(lines) + "\n"


def verdict_html(verdict) -> str:
    """For a notebook: the same without scripts, the explanations' commands beside the positions."""
    return f"<div>{_summary(verdict, lambda number, position: escape(position['command']))}</div>"


def verdict_page(verdict) -> str:
    """One page; each position is a link to its explanation, which stands below in a frame."""

    def link(number: int, position: dict) -> str:
        return f'<a href="#position-{number}">its explanation</a>, or <code>{escape(position["command"])}</code>'

    frames = []
    for number, (position, explanation) in enumerate(zip(verdict.positions, verdict.explanations, strict=True), 1):
        title = f"Episode {position['episode']}, step {position['step']}"
        inside = page_html(explanation).replace("&", "&amp;").replace("'", "&#39;")
        frames.append(f"<h2 id='position-{number}'>{title}</h2><iframe title='{title}' srcdoc='{inside}'></iframe>")
    title = escape(f"Verdict on {verdict.about['system']}")
    return f"{_HEAD.replace('TITLE', title)}<h1>{title}</h1>{_summary(verdict, link)}{''.join(frames)}</body></html>\n"


def play_words(verdict) -> str:
    """How the run plays, in a sentence."""
    text = "; ".join(verdict.play["says"])
    return text[0].upper() + text[1:] + "."


def finding_words_of(finding: dict) -> str:
    """A finding in a sentence: what, in how many positions, and what to do."""
    seen = f" (in {len(finding['positions'])} of {finding['of']} positions)" if finding["of"] else ""
    advice = f"; {finding['advice']}" if finding["advice"] else ""
    return f"{finding['name']}{seen}: {finding['says']}{advice}"


def _summary(verdict, link) -> str:
    parts = [f'<p style="font-size:1.2em"><b>{escape(sentence_of_verdict(verdict))}.</b></p>']
    if verdict.play is not None:
        parts.append(f"<p>{escape(play_words(verdict))}</p>")
    looked = f"Looked at {counted(verdict.about['positions'], 'position')}, {_when(verdict)}."
    parts.append(f"<p>{escape(looked)}</p>{_circle(verdict)}<table>")
    for part in verdict.parts:
        findings = "".join(f"<p>{escape(finding_words_of(finding))}</p>" for finding in part["findings"])
        style = f"border-left:6px solid {_COLOURS[part['state']]};padding-left:0.6em;text-align:left"
        state = f'<td style="{style}"><b>{part["part"]}</b></td>'
        state += f'<td style="text-align:left;white-space:nowrap">{part["state"]}</td>'
        parts.append(f'<tr style="vertical-align:top">{state}<td style="text-align:left">{findings}</td></tr>')
    parts.append("</table>")
    if verdict.positions:
        parts.append("<p><b>The positions that show it best</b></p><ol>")
        for number, position in enumerate(verdict.positions, 1):
            where = f"episode {position['episode']}, step {position['step']}: {position['says']}"
            parts.append(f"<li>{escape(where)}<br>{link(number, position)}</li>")
        parts.append("</ol>")
    return "".join(parts)


def _circle(verdict) -> str:
    """The parts in a row with arrows, each in the colour of its state."""
    boxes, width, gap = [], 96, 22
    for number, part in enumerate(verdict.parts):
        left, colour = number * (width + gap) + 2, _COLOURS[part["state"]]
        first = part["part"] == verdict.broken
        boxes.append(
            f'<rect x="{left}" y="6" width="{width}" height="44" rx="6" fill="{colour}" fill-opacity="0.18" '
            f'stroke="{colour}" stroke-width="{4 if first else 2}"/>'
            f'<text x="{left + width / 2}" y="25" text-anchor="middle" font-weight="bold">{part["part"]}</text>'
            f'<text x="{left + width / 2}" y="42" text-anchor="middle" font-size="12">{part["state"]}</text>'
        )
        if number + 1 < len(verdict.parts):
            boxes.append(
                f'<path d="M {left + width + 4} 28 h {gap - 10} m -5 -4 l 5 4 l -5 4" fill="none" stroke="#555"/>'
            )
    total = len(verdict.parts) * (width + gap)
    return (
        f'<svg viewBox="0 0 {total} 56" width="{total}" style="max-width:100%" font-family="sans-serif" font-size="15" '
        f'role="img" aria-label="the parts of the circle and their states">{"".join(boxes)}</svg>'
    )


def _when(verdict) -> str:
    return f"after {counted(verdict.about['steps'], 'learner step')}"


def _the(part: str) -> str:
    return part if part == "data" else f"the {part}"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  " * bool(indent))


_HEAD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>TITLE</title><style>
body { font: 16px/1.5 sans-serif; max-width: 64em; margin: 2em auto; padding: 0 1em; color: #222 }
td { padding: 0.3em 0.8em } td p { margin: 0 0 0.4em } code { background: #f3f3f3; padding: 0 0.2em }
iframe { width: 100%; height: 900px; border: 1px solid #bbb; box-sizing: border-box }
</style></head><body>"""
