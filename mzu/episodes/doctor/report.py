"""The dataset doctor's report as text, and as one HTML file that needs nothing else. Notebook 10_dataset_doctor."""

import html
import io
import textwrap

import numpy as np

from mzu.environments.held_actions import spoken_repeat
from mzu.episodes.doctor.check import Report
from mzu.episodes.doctor.statistics import ACTION_BINS, Statistics

_COLOURS = {"wrong": "#d55e00", "doubtful": "#e69f00", "note": "#0072b2"}  # told apart by colour-blind readers too
_BLUE = "#0072b2"


def summary_rows(name: str, format: str, statistics: Statistics) -> list[tuple[str, str]]:
    """What is in the data, as (name, text) pairs."""
    rows = [("dataset", name), ("format", format), ("episodes", f"{statistics.num_episodes:,}")]
    if not statistics.num_episodes:
        return rows
    lengths, returns = np.array(statistics.lengths), np.array(statistics.returns)
    rows.append(("steps", f"{statistics.num_steps:,}"))
    rows.append(("length", f"{lengths.min()} to {lengths.max()}, median {np.median(lengths):g}"))
    spread = f"{returns.min():.4g} to {returns.max():.4g}, mean {returns.mean():.4g}, median {np.median(returns):.4g}"
    rows.append(("return", spread))
    share = statistics.num_rewards / statistics.num_steps
    rewards = f"{statistics.reward_low:.4g} to {statistics.reward_high:.4g}, {share:.1%} of steps not 0"
    rows.append(("reward", rewards))
    rows.append(("ends", ", ".join(f"{count:,} {end}" for end, count in statistics.ends.items() if count)))
    if statistics.known_repeats:
        held = " or ".join(map(spoken_repeat, statistics.known_repeats))
        rows.append(("held", f"every action for {held}" + ", or not known" * (None in statistics.repeats)))
    rows.append(("observation", f"{statistics.observation_dtype} {list(statistics.observation_shape)}"))
    if statistics.continuous:
        low, high = float(statistics.action_low.min()), float(statistics.action_high.max())
        rows.append(("action", f"{len(statistics.action_counts)} dimensions, from {low:.3g} to {high:.3g}"))
    else:
        shares = statistics.action_counts / statistics.action_counts.sum()
        rows.append(("action", "  ".join(f"{action}: {share:.1%}" for action, share in enumerate(shares))))
    return rows


def summary_text(name: str, format: str, statistics: Statistics) -> str:
    return "\n".join(f"{key:<12} {value}" for key, value in summary_rows(name, format, statistics))


def report_text(report: Report) -> str:
    """Summary, histogram of returns, then the findings."""
    lines = [summary_text(report.name, report.format, report.statistics)]
    if report.statistics.num_episodes > 1:
        lines += ["", "returns", *_histogram_lines(report.statistics.returns)]
    for finding in report.findings:
        lines += ["", f"{finding.severity.upper()}: {finding.what}"]
        for key, value in (("where", finding.where), ("why", finding.why), ("do", finding.advice)):
            lines += textwrap.wrap(f"{key + ':':<6} {value}", 110, initial_indent="  ", subsequent_indent=" " * 9)
    lines += ["", *textwrap.wrap(verdict(report), 120)]
    return "\n".join(lines)


def verdict(report: Report) -> str:
    counts = {severity: sum(f.severity == severity for f in report.findings) for severity in _COLOURS}
    left = f" Not checked: {'; '.join(report.unchecked)}." if report.unchecked else ""
    if report.is_wrong:
        return f"Do not train on this yet: {_things(counts['wrong'], 'wrong')}, {counts['doubtful']} doubtful."
    if counts["doubtful"]:
        return f"Nothing is wrong, but {_things(counts['doubtful'], 'doubtful')}; look before you train.{left}"
    return f"Nothing{' that was checked' if left else ''} speaks against training on this.{left}"


def _things(count: int, kind: str) -> str:
    return f"1 thing is {kind}" if count == 1 else f"{count} things are {kind}"


def report_html(report: Report) -> str:
    """One page with plots inside, readable without a network."""
    rows = summary_rows(report.name, report.format, report.statistics)
    table = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(value)}</td></tr>" for key, value in rows)
    findings = "".join(
        f'<section style="border-left: 6px solid {_COLOURS[finding.severity]}"><h3>{finding.severity}: '
        f"{html.escape(finding.what)}</h3><dl><dt>Where</dt><dd>{html.escape(finding.where)}</dd>"
        f"<dt>Why it matters</dt><dd>{html.escape(finding.why)}</dd>"
        f"<dt>What to do</dt><dd>{html.escape(finding.advice)}</dd></dl></section>"
        for finding in report.findings
    )
    plots = _plots(report) if report.statistics.num_episodes else ""
    return _PAGE.format(
        title=html.escape(report.name),
        verdict=html.escape(verdict(report)),
        table=table,
        findings=findings,
        plots=plots,
    )


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }}
th {{ text-align: left; padding-right: 1em; vertical-align: top }}
section {{ padding: 0.2em 1em; margin: 1em 0; background: #f6f6f6 }}
h3 {{ margin: 0.3em 0 }} dt {{ font-weight: bold; float: left; width: 9em }} dd {{ margin-left: 9em }}
.verdict {{ font-size: 1.2em; font-weight: bold }} svg {{ max-width: 100%; height: auto }}
</style></head><body>
<h1>{title}</h1><p class="verdict">{verdict}</p><table>{table}</table>
<h2>Findings</h2>{findings}<h2>Plots</h2>{plots}
</body></html>
"""


def _plots(report: Report) -> str:
    """The plots as SVG text; drawn without pyplot, so that nothing changes for a notebook that calls this."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    statistics = report.statistics
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    returns, lengths, actions, alignment = figure.subplots(2, 2).ravel()
    returns.hist(statistics.returns, bins=_edges(statistics.returns, 20), color=_BLUE)
    returns.set(title="Return of each episode", xlabel="return (sum of rewards)", ylabel="episodes")
    lengths.hist(statistics.lengths, bins=20, color=_BLUE)
    lengths.set(title="Length of each episode", xlabel="steps", ylabel="episodes")
    for plot in (returns, lengths):
        plot.ticklabel_format(useOffset=False)
    if statistics.continuous:
        shares = statistics.action_counts / statistics.action_counts.sum(axis=1, keepdims=True)
        picture = actions.imshow(shares, aspect="auto", cmap="cividis", extent=(-1, 1, len(shares) - 0.5, -0.5))
        figure.colorbar(picture, ax=actions, label=f"share of steps ({ACTION_BINS} bins)")
        actions.set(
            title="Coverage of the action range", xlabel="action", ylabel="dimension", yticks=range(len(shares))
        )
    else:
        shares = statistics.action_counts / statistics.action_counts.sum()
        actions.bar(range(len(shares)), shares, color=_BLUE)
        actions.set(title="How often each action was taken", xlabel="action", ylabel="share of steps")
        actions.xaxis.set_major_locator(MaxNLocator(integer=True))
    if report.alignment is None:
        alignment.text(0.5, 0.5, "too few different rewards to tell", ha="center", va="center")
        alignment.set_axis_off()
    else:
        shifts = list(report.alignment)
        values = [max(report.alignment[shift], 0) for shift in shifts]
        alignment.bar(shifts, values, color=["#009e73" if shift == 0 else "#999999" for shift in shifts])
        alignment.set(
            ylim=(0, 1.05), xticks=shifts, xlabel="shift of the rewards in steps (0 is right)", ylabel="agreement"
        )
    alignment.set_title("Where do the rewards belong?")
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _edges(values: list[float], bins: int) -> np.ndarray:
    """The ends of a histogram's bins, also of numbers so large and so equal that numpy finds none."""
    try:
        return np.histogram_bin_edges(values, bins)
    except ValueError:
        return np.sort(np.linspace(0.9, 1.1, bins + 1) * values[0])


def _histogram_lines(values: list[float], bins: int = 10, width: int = 40) -> list[str]:
    counts, edges = np.histogram(values, bins=_edges(values, bins))
    return [
        f"{low:>12.4g} to {high:<10.4g} {'#' * round(width * count / counts.max())} {count}"
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
