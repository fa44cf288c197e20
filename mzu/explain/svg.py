"""Small parts of SVG pictures, as text; for `drawing.py` and `root_drawing.py`."""

from html import escape

# Name and plain colour, for a picture on its own; a page with a theme sets the variable --mzu-NAME.
INK, FAINT, PAPER, LATEST = (
    ("ink", "#222222"), ("faint", "#7d7d7d"), ("paper", "#ffffff"), ("latest", "#c2410c"),
)  # fmt: skip
BLUE, ORANGE = ("first", "#0b6aa8"), ("second", "#d9822b")


def picture(label: str, width: int, height: int, *parts: str) -> str:
    """The <svg> with a background and the parts; `label` is read out to those who do not see it."""
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="{escape(label)}" font-family="system-ui, sans-serif" font-size="11">',
            f'<rect width="{width}" height="{height}" {paint("fill", PAPER)}/>',
            *parts,
            "</svg>",
        ]
    )


def circle(x: float, y: float, radius: float, looks: str, what: str, colour: tuple[str, str]) -> str:
    """A circle with fill or stroke (`what`) in a colour."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {looks} {paint(what, colour)}/>'


def text(x: float, y: float, words: str, looks: str = "") -> str:
    """Words on a line."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {looks}>{escape(words)}</text>'


def title(words: str) -> str:
    """What is shown when the mouse rests on the group around it."""
    return f"<title>{escape(words)}</title>"


def paint(what: str, colour: tuple[str, str]) -> str:
    """Fill or stroke: the plain colour, and for pages that have a theme its variable."""
    name, plain = colour
    return f'{what}="{plain}" style="{what}:var(--mzu-{name}, {plain})"'
