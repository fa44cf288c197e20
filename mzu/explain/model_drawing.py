"""A model report as a picture: errors over depth, what the ranking came to, and returns over simulations."""

from mzu.explain.model_depth import good_depth

# Okabe and Ito's colours, which colour-blind people tell apart.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"


def draw_model_report(report):
    """The figure: rewards and values by depth above; search depths, ranking and returns below."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    below = ["depths", *(["ranking"] if report.ranking else []), *(["returns"] if report.returns else [])]
    across = 2 * len(below)
    above = ["value"] * (across // 2) + ["reward"] * (across // 2)
    panels = figure.subplot_mosaic([above, [name for name in below for _ in range(2)]])
    figure.suptitle(f"How far can the model of {report.about['system']} be trusted?")
    _draw_errors(panels["value"], report, "value", "value after k steps of the model")
    _draw_errors(panels["reward"], report, "reward", "reward of the k-th step")
    _draw_depths(panels["depths"], report)
    if report.ranking:
        _draw_ranking(panels["ranking"], report.ranking)
    if report.returns:
        _draw_returns(panels["returns"], report.returns)
    lines = panels["value"].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    for panel in panels.values():
        panel.grid(alpha=0.3)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_errors(panel, report, what: str, title: str) -> None:
    rows = [row for row in report.depth["rows"] if row[what] is not None]
    depths = [row["depth"] for row in rows]
    biases, errors, spreads = ([row[what][key] for row in rows] for key in ("bias", "rmse", "spread"))
    panel.plot(depths, errors, color=ORANGE, marker="o", markersize=4, label="RMSE")
    panel.plot(depths, biases, color=BLUE, marker="s", markersize=4, linestyle="--", label="bias")
    panel.plot(depths, spreads, color="black", linewidth=1, linestyle=":", label="spread of what is predicted")
    panel.axhline(0, color=GREY, linewidth=0.8)
    _mark_depths(panel, report)
    panel.set_title(title, fontsize="medium")
    panel.set_xlabel("depth k")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set_ylabel(what)


def _draw_depths(panel, report) -> None:
    shares = report.searches["shares"]
    good = good_depth(report.depth["rows"])
    depths = range(1, len(shares) + 1)
    colours = [GREEN if depth <= good else ORANGE for depth in depths]
    panel.bar(depths, [100 * share for share in shares], color=colours)
    _mark_depths(panel, report)
    title = "nodes of searches" + ("; orange: error above the spread" if good < len(shares) else "")
    panel.set_title(title, fontsize="medium")
    panel.set_xlabel("depth")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set_ylabel("% of nodes")


def _mark_depths(panel, report) -> None:
    """Where training stopped unrolling."""
    label = "last step unrolled in training"
    panel.axvline(report.depth["unroll_steps"] + 0.5, color=GREY, linestyle="-.", linewidth=1, label=label)


def _draw_ranking(panel, ranking: dict) -> None:
    names = [group["candidates"] for group in ranking["groups"]]
    places = range(len(names))
    for key, label, colour, side in (("correlation", "correlation", BLUE, -0.2), ("regret", "regret", ORANGE, 0.2)):
        heights = [group[key] or 0.0 for group in ranking["groups"]]
        bars = panel.bar([place + side for place in places], heights, 0.36, color=colour, label=label)
        panel.bar_label(bars, ["-" if group[key] is None else f"{group[key]:.2f}" for group in ranking["groups"]],
                        fontsize="small")  # fmt: skip
    panel.axhline(0, color="black", linewidth=0.8)
    panel.set_xticks(list(places), names)
    panel.set_xlim(-0.7, len(names) - 0.3)
    low, high = panel.get_ylim()
    panel.set_ylim(min(low, 0), 1.2 * max(high, 0.9))  # room for the legend
    where = "in the world" if ranking["evidence"] == "world" else "among nearby states"
    panel.set_title(f"ranking of actions {where}", fontsize="medium")
    panel.legend(fontsize="small", frameon=False, loc="upper center", ncols=2)


def _draw_returns(panel, returns: list[dict]) -> None:
    names = [row["name"] if row["name"] != "search" else str(row["simulations"]) for row in returns]
    names = [name.replace(" with ", "\nwith ") for name in names]
    for place, row in enumerate(returns):
        bar = [[row["mean"] - row["low"]], [row["high"] - row["mean"]]]
        colour = BLUE if row["name"] == "search" else GREEN
        panel.errorbar(place, row["mean"], bar, color=colour, marker="o", capsize=4)
    panel.set_xticks(range(len(names)), names, fontsize="small")
    panel.set_xlim(-0.5, len(names) - 0.5)
    panel.set_xlabel("acting by (number: simulations)")
    panel.set_title("mean return, 95 % interval", fontsize="medium")
