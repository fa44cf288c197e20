"""Curves that grow in a notebook while it trains: one small picture, drawn anew in its place, which stays when the
training ends. It needs IPython's display alone, no widgets; elsewhere `open_display` (progress.py) has bars or lines.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

import numpy as np

from mzu.training.curves import STYLES, as_png
from mzu.training.results import shown_time

BUSY = 0.05  # at most this share of the time is spent on drawing
PANELS = {"loss": "loss", "value": "value", "return": "return per episode"}


class LiveCurves:
    """The loss, the value and the returns of one or several runs over their learner steps; used as `Bars` is.

    `publish(png, words, display_id)` shows a picture, or replaces the one that was shown under this id.
    """

    def __init__(self, publish: Callable | None = None):
        self._publish = publish or _publish
        self._totals, self._history, self._doing, self._begun = {}, {}, {}, {}
        self._due, self._id = 0.0, None

    def begin(self, label: str, total: int) -> None:
        self._totals[label] = total
        self._history[label] = {name: ([], []) for name in (*PANELS, "playing")}

    def show(self, label: str, figures: dict) -> None:
        """After a learner step, or some: its figures, as `train_run` gives them."""
        if "evaluating" in figures:
            self._doing[label] = f"final evaluation by {figures['evaluating']}"
        else:
            self._note(label, figures)
        now = time.monotonic()
        self._begun.setdefault(label, now)  # compiling, before the first step, is no speed
        if now >= self._due:
            self._draw()
            spent = time.monotonic() - now
            self._due = now + max(1.0, spent / BUSY)

    def say(self, text: str) -> None:
        print(text, flush=True)

    def close(self) -> None:
        """Draws the picture that stays."""
        self._doing = {}
        if any(history["loss"][0] for history in self._history.values()):
            self._draw(is_last=True)

    def _note(self, label: str, figures: dict) -> None:
        named = {"loss": "loss", "value": "value", "return": "evaluation", "playing": "fresh_return"}
        for name, key in named.items():
            if figures.get(key, "") != "":
                steps, values = self._history[label][name]
                steps.append(figures["step"])
                values.append(figures[key])

    def _draw(self, is_last: bool = False) -> None:
        picture = as_png(draw_live(self._history, self._totals, "" if is_last else self._words()))
        words = "learning curves of " + ", ".join(self._history)
        self._id = self._publish(picture, words, self._id)

    def _words(self) -> str:
        """Where the runs are, and how long the slowest will take."""
        parts, left = [], []
        for label, history in self._history.items():
            steps, total = history["loss"][0], self._totals[label]
            if len(steps) > 1 and steps[-1] < total:
                pace = (time.monotonic() - self._begun[label]) / (steps[-1] - steps[0])
                left.append(pace * (total - steps[-1]))
            parts.append(f"{label}: {self._doing.get(label, f'step {steps[-1] if steps else 0:,} of {total:,}')}")
        return "; ".join(parts) + (f"; about {shown_time(max(left))} left" if left else "")


def draw_live(history: dict[str, dict], totals: dict[str, int], words: str):
    """{run: {"loss", "value", "return", "playing": (steps, values)}} -> a matplotlib figure."""
    from matplotlib.figure import Figure

    rows = history.values()
    shown = [name for name in PANELS if name != "return" or any(row["return"][0] or row["playing"][0] for row in rows)]
    figure = Figure(figsize=(3.4 * len(shown), 2.5), dpi=90, layout="constrained")
    panels = dict(zip(shown, np.atleast_1d(figure.subplots(1, len(shown))), strict=True))
    for (label, row), (colour, marker) in zip(
        history.items(), STYLES * (1 + len(history) // len(STYLES)), strict=False
    ):
        for name, panel in panels.items():
            steps, values = row[name]
            if name == "return":
                panel.plot(*row["playing"], color=colour, linestyle=":", linewidth=1)
                panel.plot(
                    steps,
                    values,
                    color=colour,
                    marker=marker,
                    markersize=4,
                    label=label,
                )
            else:
                panel.plot(*smooth(steps, values), color=colour, linewidth=1.3, label=label)
    for name, panel in panels.items():
        panel.set_xlim(0, max(totals.values()))
        panel.set_title(PANELS[name], fontsize="medium")
        panel.set_xlabel("learner steps", fontsize="small")
        panel.tick_params(labelsize="small")
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    if len(history) > 1:
        figure.legend(*panels["loss"].get_legend_handles_labels(), loc="outside lower center", ncols=len(history),
                      fontsize="small", frameon=False)  # fmt: skip
    if words:
        figure.suptitle(words, fontsize="small")
    return figure


def smooth(steps: list, values: list, points: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Means over at most `points` stretches of equal length, so that a curve of noisy steps can be read."""
    steps, values = np.array(steps, float), np.array(values, float)
    size = -(-len(steps) // points) or 1
    cuts = np.arange(0, len(steps), size)
    counts = np.diff(np.append(cuts, len(steps)))
    if not len(steps):
        return steps, values
    return tuple(np.add.reduceat(numbers, cuts) / counts for numbers in (steps, values))


@contextlib.contextmanager
def curves_while(label: str, total: int) -> Iterator[Callable]:
    """What a training loop of one's own calls with the figures of each step; in a notebook the curves grow meanwhile.

    >>> with curves_while("ours", 3) as show:
    ...     for step in (1, 2, 3):
    ...         show({"step": step, "loss": 1 / step, "value": 0.5, "evaluation": "", "fresh_return": ""})
    """
    from mzu.training.progress import open_display

    display = open_display(10.0)
    display.begin(label, total)
    try:
        yield lambda figures: display.show(label, figures)
    finally:
        display.close()


def _publish(picture: bytes, words: str, display_id):
    from IPython.display import DisplayHandle

    handle = display_id or DisplayHandle()
    show = handle.update if display_id else handle.display
    show({"image/png": picture, "text/plain": words}, raw=True)
    return handle
