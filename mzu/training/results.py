"""Returns of episodes as a line of a table: mean, 95 % interval, extremes; as aligned text and as CSV."""

import csv
import io
import shlex
from pathlib import Path

COLUMNS = ("name", "mean", "low", "high", "min", "max", "length", "episodes")


def result_row(name: str, returns, lengths) -> dict:
    """The mean return with its 95 % bootstrap interval over episodes, the extremes, and the mean length."""
    import numpy as np

    from mzu.acting.evaluation import bootstrap_interval

    low, high = bootstrap_interval(returns)
    numbers = (np.mean(returns), low, high, np.min(returns), np.max(returns), np.mean(lengths))
    return dict(zip(COLUMNS, (name, *map(float, numbers), len(returns)), strict=True))


def table(rows: list[dict], title: str = "") -> str:
    """The rows as aligned text; `title` stands over their names."""
    cells = [[title, "mean return", "95 % interval", "lowest", "highest", "mean length", "episodes"]]
    for row in rows:
        name, mean, low, high, least, most, length, episodes = (row[column] for column in COLUMNS)
        numbers = [shown(mean), f"{shown(low)} .. {shown(high)}", shown(least), shown(most)]
        cells.append([name, *numbers, f"{length:.1f}", str(episodes)])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for name, *numbers in cells:
        columns = [f"{text:>{width}}" for text, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join([f"{name:<{widths[0]}}", *columns]))
    return "\n".join(lines)


def as_csv(rows: list[dict]) -> str:
    """The rows as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def shown(value: float) -> str:
    """A return with about four digits."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def shown_path(path: Path) -> str:
    """A path as it can be typed into a shell."""
    return shlex.quote(str(path))


def spoken(name: str) -> str:
    """A run's name for people: behaviour_cloning -> behaviour cloning; a single run is "trained"."""
    return {"": "trained", "crr": "CRR"}.get(name, name.replace("_", " "))
