"""Learning curves of one or several runs as a picture: the evaluations with their confidence bands, and the losses."""

import functools
import io
import math
from typing import NamedTuple

import numpy as np

from mzu.training.reference import Reference

# Okabe and Ito's colours, which colour-blind people tell apart, each with a marker of its own.
STYLES = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"))
LOSSES = {"policy_loss": "policy loss", "value_loss": "value loss", "reward_loss": "reward loss"}


class Curve(NamedTuple):
    """A run: its name, the rows of its log, and its final evaluation as in result.json, or None."""

    name: str
    rows: list[dict[str, float]]
    final: dict | None = None

    def column(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Learner steps and values of a column, where it has one."""
        pairs = [(row["step"], row[name]) for row in self.rows if not math.isnan(row.get(name, math.nan))]
        steps, values = np.array(pairs, float).reshape(-1, 2).T
        return steps, values


def draw_curves(curves: list[Curve], title: str, dataset_mean: float | None = None, reference: Reference | None = None):
    """The picture as a matplotlib figure: returns above, the three losses below, all over learner steps.

    `reference` is the band of other seeds, in grey behind the curves.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplot_mosaic([["return"] * 3, list(LOSSES)], height_ratios=(1.8, 1))
    figure.suptitle(title)
    if reference is not None:
        label = f"{reference.seeds} seeds of\n{reference.name}"
        style = {"color": "#888888", "linewidth": 0, "alpha": 0.3, "zorder": 0}
        panels["return"].fill_between(reference.steps, reference.low, reference.high, label=label, **style)
        panels["return"].plot(reference.steps, reference.middle, color="#888888", linewidth=1, zorder=1)
    _draw_returns(panels["return"], curves, dataset_mean)
    for name, label in LOSSES.items():
        for curve, (colour, _) in _styled(curves):
            panels[name].plot(*curve.column(name), color=colour, linewidth=1.5)
        panels[name].set_title(label, fontsize="medium")
        _finish(panels[name])
    # A notebook shows it, although pyplot has not been imported.
    figure._repr_png_ = functools.partial(as_png, figure)
    return figure


def as_png(figure) -> bytes:
    """The bytes of a picture file."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def _draw_returns(panel, curves: list[Curve], dataset_mean: float | None) -> None:
    for curve, (colour, marker) in _styled(curves):
        final, label = curve.final, curve.name
        if final is not None:
            bar = [[final["mean"] - final["low"]], [final["high"] - final["mean"]]]
            panel.errorbar(curve.rows[-1]["step"], final["mean"], bar, color=colour, marker=marker, markersize=9,
                           markeredgecolor="black", capsize=5, clip_on=False, zorder=5)  # fmt: skip
            label += f"\nfinal, {final['episodes']} episodes:" + _draw_other_ways(panel, curve, colour, marker)
        steps, means = curve.column("evaluation")
        panel.plot(steps, means, color=colour, marker=marker, markersize=4, label=label)
        low, high = (curve.column(name)[1] for name in ("low", "high"))
        panel.fill_between(steps, low, high, color=colour, alpha=0.18, linewidth=0)
        played = curve.column("fresh_return")
        if len(played[0]):
            panel.plot(*played, color=colour, linestyle=":", label=f"{curve.name}, while playing")
    if dataset_mean is not None:
        label = f"dataset {dataset_mean:.4g}"
        panel.axhline(dataset_mean, color="black", linestyle="--", linewidth=1, label=label)
    panel.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0), labelspacing=0.9)
    panel.set_ylabel("return per episode")
    panel.set_title(
        "mean return, 95 % interval; large: final evaluation, hollow: in another way",
        fontsize="medium",
    )
    _finish(panel)


def _draw_other_ways(panel, curve: Curve, colour: str, marker: str) -> str:
    """Hollow marks for the ways of selecting actions beside the run's own -> what the legend says about all."""
    final = curve.final
    # Runs of older versions were evaluated in one way.
    ways = final.get("selections") or {final.get("select", ""): final}
    for way, row in ways.items():
        if way != final.get("select", ""):
            style = {"color": "white", "marker": marker, "markersize": 7, "markeredgecolor": colour}
            panel.plot(curve.rows[-1]["step"], row["mean"], clip_on=False, zorder=4, **style)
    return "".join(f"\n  {row['mean']:.4g} by {way}" for way, row in ways.items())


def _styled(curves: list[Curve]):
    return ((curve, STYLES[number % len(STYLES)]) for number, curve in enumerate(curves))


def _finish(panel) -> None:
    panel.set_xlabel("learner steps")
    panel.set_xlim(left=0)
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
