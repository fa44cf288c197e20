"""Returns of episodes as a line of a table: mean, 95 % interval, extremes; as aligned text, HTML and CSV."""

import csv
import html
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


def results_table(rows: list[dict], title: str = "") -> str:
    """The rows as aligned text; `title` stands over their names."""
    cells = _cells(rows, title)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for name, *numbers in cells:
        columns = [f"{text:>{width}}" for text, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join([f"{name:<{widths[0]}}", *columns]))
    return "\n".join(lines)


def results_csv(rows: list[dict]) -> str:
    """The rows as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def results_html(rows: list[dict], title: str = "", notes: list[str] = (), doubts: list[str] = ()) -> str:
    """The rows as a table of a notebook, with doubts above and notes below it."""
    head, *lines = _cells(rows, title)
    cells = ["".join(f"<th>{html.escape(text)}</th>" for text in head)]
    for name, *numbers in lines:
        named = f'<td style="text-align: left">{html.escape(name)}</td>'
        cells.append(named + "".join(f"<td>{html.escape(text)}</td>" for text in numbers))
    above, below = ("".join(f"<p>{html.escape(note)}</p>" for note in texts) for texts in (doubts, notes))
    return f"{above}<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>{below}"


def evaluated_rows(name: str, result: dict) -> list[dict]:
    """The rows of a run's result.json, one for each way in which actions were selected; none without evaluation."""
    if "mean" not in result:
        return []
    # Runs of older versions were evaluated in one way.
    selections = result.get("selections") or {result["select"]: result}
    return [row | {"name": f"{spoken(name)}, by {select}"} for select, row in selections.items()]


def finished_words(label: str, result: dict) -> str:
    """A sentence about a run that has ended: how long it took, and what it earns."""
    text = f"{label}: {result['steps']} steps in {shown_time(result['seconds'])}"
    for row in evaluated_rows("", result):
        way = row["name"].removeprefix(f"{spoken('')}, ")
        text += f", {shown_return(row['mean'])} {way} ({shown_return(row['low'])} .. {shown_return(row['high'])})"
    return text


def fallen_words(name: str, path: Path, result: dict, best: dict) -> str | None:
    """A sentence where the final network earns more than 10 % less than the best one on the way; otherwise None."""
    if not best or "mean" not in result or result["mean"] >= best["mean"] - 0.1 * abs(best["mean"]):
        return None
    whose = f"{spoken(name)}: the" if name else "The"
    return (
        f"{whose} final network earns {shown_return(result['mean'])} by {result['select']}, the best one on the way "
        f"{shown_return(best['mean'])} (step {best['step']}): `mzu evaluate {shown_path(path)} --checkpoint best`"
    )


def cut_off_words(which: str, max_steps: int) -> str:
    """A sentence about episodes that a limit ended; their returns are those until then."""
    return f"{which} had not ended after {max_steps} steps and were cut off there (acting.max_episode_steps)"


def error_words(error: BaseException) -> str:
    """What went wrong in the words of the error, without Python's `[Errno 2]`, and its notes."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return with_notes(f"{error.filename}: {error.strerror}", error)
    return with_notes(str(error), error)


def with_notes(text: str, error: BaseException) -> str:
    """What is said about an error, and the notes that were added to it on its way: what can be gone on from."""
    return "; ".join([text, *getattr(error, "__notes__", [])])


def shown_return(value: float) -> str:
    """A return with about four digits."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def shown_time(seconds: float) -> str:
    """A duration: 42 s, 3 min 20 s, 2 h 5 min."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def shown_path(path: Path) -> str:
    """A path as it can be typed into a shell."""
    return shlex.quote(str(path))


def spoken(name: str) -> str:
    """A run's name for people: behaviour_cloning -> behaviour cloning; a single run is "trained"."""
    return {"": "trained", "crr": "CRR", "unplugged": "Unplugged"}.get(name, name.replace("_", " "))


def _cells(rows: list[dict], title: str) -> list[list[str]]:
    """The texts of a table, its head first."""
    cells = [[title, "mean return", "95 % interval", "lowest", "highest", "mean length", "episodes"]]
    for row in rows:
        name, mean, low, high, least, most, length, episodes = (row[column] for column in COLUMNS)
        numbers = [
            shown_return(mean),
            f"{shown_return(low)} .. {shown_return(high)}",
            shown_return(least),
            shown_return(most),
        ]
        cells.append([name, *numbers, f"{length:.1f}", str(episodes)])
    return cells
