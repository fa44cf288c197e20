"""The circle of data as a small drawing, with the parts that a notebook is about filled in."""

WIDTH, HEIGHT = 640, 150
BOX_WIDTH, BOX_HEIGHT = 104, 34
FILL, PLAIN, INK, LINE = "#fde68a", "#ffffff", "#111827", "#6b7280"

PLACES = {  # name: middle of its box
    "environment": (70, 32),
    "episodes": (70, 118),
    "games": (220, 75),
    "search": (330, 32),
    "replay": (360, 118),
    "learning": (500, 118),
    "network": (570, 32),
}
ARROWS = [
    ("environment", "games"),
    ("episodes", "games"),
    ("games", "search"),
    ("search", "replay"),
    ("games", "replay"),
    ("replay", "learning"),
    ("learning", "network"),
    ("network", "search"),
]


def circle_svg(*parts: str) -> str:
    """The circle of data with these parts filled, such as "search" -> the text of an SVG file."""
    unknown = set(parts) - set(PLACES)
    if unknown:
        raise ValueError(f"The circle has no {', '.join(sorted(unknown))}; its parts are {', '.join(PLACES)}")
    arrows = "".join(_arrow(*arrow) for arrow in ARROWS)
    boxes = "".join(_box(name, name in parts) for name in PLACES)
    head = f'<path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/>'
    marker = f'<marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">{head}</marker>'
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    title = f"<title>The circle of data; here: {', '.join(parts)}</title>"
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PLAIN}"/>'
    inside = f"{title}<defs>{marker}</defs>{ground}{arrows}{boxes}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="14">{inside}</svg>\n'


def _box(name: str, filled: bool) -> str:
    x, y = PLACES[name]
    place = f'x="{x - BOX_WIDTH / 2:g}" y="{y - BOX_HEIGHT / 2:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"'
    look = f'fill="{FILL if filled else PLAIN}" stroke="{INK if filled else LINE}" stroke-width="{2 if filled else 1}"'
    weight = "bold" if filled else "normal"
    words = f'<text x="{x}" y="{y + 5}" text-anchor="middle" fill="{INK}" font-weight="{weight}">{name}</text>'
    return f"<rect {place} {look}/>{words}"


def _arrow(start: str, end: str) -> str:
    """From the edge of one box to the edge of the other."""
    (x, y), (to_x, to_y) = _edge(start, end), _edge(end, start)
    line = f'x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}"'
    return f'<line {line} stroke="{LINE}" stroke-width="1.5" marker-end="url(#head)"/>'


def _edge(name: str, towards: str) -> tuple[float, float]:
    """Where the line between two middles leaves the first box."""
    (x, y), (to_x, to_y) = PLACES[name], PLACES[towards]
    dx, dy = to_x - x, to_y - y
    share = min(BOX_WIDTH / 2 / abs(dx) if dx else 1.0, BOX_HEIGHT / 2 / abs(dy) if dy else 1.0)
    return round(x + share * dx, 1), round(y + share * dy, 1)
