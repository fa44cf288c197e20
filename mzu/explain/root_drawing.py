"""What an improvement operator does to one root, as a picture: prior, Q and improved policy of every candidate.

One SVG without scripts, as in `drawing.py`: a row for each candidate, the highest Q first. The bars of Q begin where
the operator begins to prefer a candidate, so that what reaches furthest to the right should end above its prior.
"""

from mzu.explain import svg
from mzu.explain.svg import BLUE, FAINT, INK, ORANGE, paint
from mzu.explain.wording import action_name, counted, number

MARGIN = 16  # pixels, as all of these
TOP = 72  # where the rows begin
ROW, BAR = 20, 11  # from row to row, and how high a bar is
NAME, NUMBER, GAP = 150, 54, 14  # width of the actions' names, of a number beside its bar, and between two panels
LONGEST = 15  # letters of an action


def root_svg(explanation, width: int = 800) -> str:
    """Prior, Q and improved policy of the root's candidates as an <svg> of that width."""
    if explanation.root is None:
        raise ValueError("This explanation has no root: its targets do not come from a search")
    base, note = _base(explanation)
    candidates = explanation.root["candidates"]
    ranked = sorted(candidates, key=lambda candidate: -_lift(explanation, candidate, base, nothing=float("-inf")))
    bars = (width - 2 * MARGIN - NAME) / 3 - NUMBER - GAP
    lefts = [MARGIN + NAME + NUMBER + panel * (NUMBER + bars + GAP) for panel in range(3)]
    height = TOP + ROW * len(ranked) + MARGIN // 2
    largest = max(candidate[key] for candidate in candidates for key in ("searched_prior", "policy"))
    furthest = max([abs(lift) for candidate in candidates for lift in _lifts(explanation, candidate, base)], default=0)
    if "stored_value" in explanation.result:
        note = f"{note}; injected: data"
    operator = f"by {explanation.result['improvement']}; line: prior"
    heads = (("prior", ""), ("Q", note), ("improved policy", operator))
    parts = [svg.text(MARGIN, 20, "The root: from prior and Q to the improved policy", _ink('font-size="13"'))]
    for left, (head, words) in zip(lefts, heads, strict=True):
        parts.append(svg.text(left - NUMBER + 12, 44, head, _ink('font-weight="600"')))
        parts.append(svg.text(left - NUMBER + 12, 58, words, f'font-size="10" {paint("fill", FAINT)}'))
    zeros = [lefts[0], lefts[1] + bars / 2, lefts[2]]
    for zero in zeros:
        parts.append(f'<path d="M{zero:.1f} {TOP - 6}V{height - 4}" {paint("stroke", FAINT)}/>')
    shares, half = bars / largest, bars / 2 / furthest if furthest else 0.0
    for place, candidate in enumerate(ranked):
        y = TOP + ROW * place + ROW / 2
        prior, policy = candidate["searched_prior"], candidate["policy"]
        lift = _lift(explanation, candidate, base)
        parts += [
            f"<g>{svg.title(_words(explanation, candidate))}",
            svg.text(MARGIN, y + 4, _name(candidate), _ink()),
            _number(lefts[0], y, prior),
            _bar(zeros[0], y, shares * prior, ORANGE),
            _number(lefts[1], y, _counts(explanation, candidate)),
            "" if lift is None else _bar(zeros[1], y, half * lift, BLUE),
            _number(lefts[2], y, policy),
            _bar(zeros[2], y, shares * policy, INK),
            f'<path d="M{zeros[2] + shares * prior:.1f} {y - 8}V{y + 8}" stroke-width="2" {paint("stroke", ORANGE)}/>',
            "</g>",
        ]
    label = f"Prior, Q and improved policy of the root's {counted(len(ranked), 'candidate')}"
    return svg.picture(label, width, height, *parts)


def _base(explanation) -> tuple[float, str]:
    """Where the bars of Q begin, and what that is: the network's value for `one_step`, else the candidates' mean."""
    if explanation.result["improvement"] == "one_step":
        return explanation.root["raw_value"], "bars from the root's value"
    own = [candidate for candidate in explanation.root["candidates"] if candidate["q"] is not None]
    own = [candidate for candidate in own if not _is_stored(explanation, candidate)]
    share = sum(candidate["searched_prior"] for candidate in own)
    total = sum(candidate["searched_prior"] * candidate["q"] for candidate in own)
    return total / share if share else explanation.root["raw_value"], "bars from their mean"


def _is_stored(explanation, candidate: dict) -> bool:
    """Whether what really followed the action counts for it, in the place of what the model says."""
    return bool(candidate.get("injected")) and "stored_value" in explanation.result


def _counts(explanation, candidate: dict) -> float | None:
    """The value of a candidate that counts for it; None where it was never evaluated."""
    return explanation.result["stored_value"] if _is_stored(explanation, candidate) else candidate["q"]


def _lift(explanation, candidate: dict, base: float, nothing: float | None = None) -> float | None:
    """How far a candidate is above the base; what really followed is compared with the network's value of the root."""
    if _is_stored(explanation, candidate):
        return explanation.result["stored_value"] - explanation.root["raw_value"]
    return nothing if candidate["q"] is None else candidate["q"] - base


def _lifts(explanation, candidate: dict, base: float) -> list[float]:
    lift = _lift(explanation, candidate, base)
    return [] if lift is None else [lift]


def _name(candidate: dict) -> str:
    name = action_name(candidate["action"], 2)
    name = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
    return f"{name}  injected" if candidate.get("injected") else name


def _words(explanation, candidate: dict) -> str:
    """All that is known about a candidate, shown when the mouse rests on it."""
    keys = {"searched_prior": "prior", "first_q": "first q", "visits": "visits", "q": "q", "advantage": "advantage"}
    lines = [f"action {action_name(candidate['action'], 6)}"]
    lines += [f"{name} {number(candidate[key])}" for key, name in keys.items() if key in candidate]
    if _is_stored(explanation, candidate):
        lines.append(f"what really followed {number(explanation.result['stored_value'])}")
    return "\n".join([*lines, f"policy {number(candidate['policy'])}"])


def _number(left: float, y: float, value: float | None) -> str:
    return svg.text(left - 8, y + 4, number(value, 3), _ink('text-anchor="end"'))


def _bar(zero: float, y: float, length: float, colour: tuple[str, str]) -> str:
    return (
        f'<rect x="{min(zero, zero + length):.1f}" y="{y - BAR / 2:.1f}" width="{abs(length):.1f}" height="{BAR}" '
        f"{paint('fill', colour)}/>"
    )


def _ink(looks: str = "") -> str:
    return f"{looks} {paint('fill', INK)}"
