"""An offline report in words: what to conclude, and the tables behind it (tutorials/offline_judgement.md)."""

from html import escape

from mzu.explain.notebook import table_html
from mzu.explain.tables import Table
from mzu.explain.text import aligned, text_section, wrapped
from mzu.explain.wording import counted, number

FEW = 10  # episodes
FORGOTTEN = 0.5  # nats: how much less likely actions may be that were not learned from
RARE = 0.3  # share of steps at which a policy does what was done
MISSED = 0.25  # share of the data's return by which its own estimate may be off


def offline_text(report, width: int = 100) -> str:
    """The conclusions, then the tables."""
    sections = ["\n".join(wrapped([about_words(report)], width, indent=""))]
    sections.append(text_section("What to conclude", wrapped(report.findings, width)))
    for heading, words, table in _parts(report):
        sections.append(text_section(heading, wrapped([words], width), aligned(table)))
    return "\n\n".join(sections)


def offline_html(report) -> str:
    """The same for a notebook."""
    blocks = [f"<p>{escape(words)}</p>" for words in [about_words(report), *report.findings]]
    for heading, words, table in _parts(report):
        blocks += [f"<h4>{escape(heading)}</h4><p>{escape(words)}</p>", table_html(table)]
    return f"<div>{''.join(blocks)}</div>"


def about_words(report) -> str:
    about = report.about
    kind = "held out, never learned from" if about["held_out"] else "which it has learned from"
    some = "" if about["episodes"] == about["of"] else f", drawn from {about['of']},"
    return (
        f"{about['run']}, checkpoint {about['checkpoint']}: judged by {counted(about['episodes'], 'episode')}{some} "
        f"({counted(about['steps'], 'step')}) of {about['data']}, {kind}"
    )


def conclusions(report) -> list[str]:
    """Sentences: how each policy stands to the data, and what speaks against believing it."""
    real, again, *rows = report.values
    found = [_standing(real, row, report.about["discount"]) for row in rows]
    if not report.about["held_out"]:
        found.append(
            "nothing was held out: all of this is about episodes that were learned from, and flatters the policy; "
            "train with --set reanalyse.held_out=0.2"
        )
    size = max(abs(real["mean"]), 1e-9)
    if abs(again["mean"] - real["mean"]) > MISSED * size:
        found.append(
            f"do not trust the estimates: that of the data's own actions is {number(again['mean'], 4)}, and they "
            f"earned {number(real['mean'], 4)}; there are too few steps, or their ends or rewards are wrong"
        )
    if report.about["episodes"] < FEW:
        found.append(f"{counted(report.about['episodes'], 'episode')} say little; hold out {FEW} or more")
    for row in rows:
        if row["agrees"] < RARE:
            found.append(
                f"{row['name'].removesuffix(', estimated')} the run does what was done at {row['agrees']:.0%} of the "
                "steps only: what its other actions would earn is guessed from afar"
            )
    found += _forgotten(report)
    return found


def _standing(real: dict, row: dict, discount: float) -> str:
    if row["low"] > real["high"]:
        how = "is estimated to earn more than the data"
    elif row["high"] < real["low"]:
        how = "is estimated to earn less than the data"
    else:
        how = "cannot be told from the data"
    name = row["name"].removesuffix(", estimated")
    return f"the policy, acting {name}, {how}: {_interval(row)} against {_interval(real)}, discounted by {discount}"


def _forgotten(report) -> list[str]:
    if not report.about["held_out"]:
        return []
    held_out, learned = (report.actions[name]["likelihood"] for name in ("held_out", "learned"))
    if learned - held_out <= FORGOTTEN:
        return []
    return [
        f"the policy has learned episodes by heart: their actions have a log-likelihood of {number(learned, 3)}, those "
        f"never learned from {number(held_out, 3)}; train for fewer steps, or on more data"
    ]


def _parts(report) -> list[tuple[str, str, Table]]:
    cells = [
        [row["name"], *(number(row[key], 4) for key in ("mean", "low", "high")), _share(row["agrees"])]
        for row in report.values
    ]
    returns = (
        f"Of whole episodes, from their first observations, discounted by {report.about['discount']}. Intervals of 95 "
        "%: of the data over episodes, of estimates over networks fitted to episodes drawn anew, and over first "
        "observations. does so: the share of steps at which the policy would do what was done."
    )
    steps = (
        "rank: the share of other actions that the policy finds less likely than the stored one. The value V(o) "
        "against u + discount V(o') of the stored step; the model against what followed, after as many steps. RMSE; in "
        "brackets the spread of what is predicted."
    )
    return [
        ("Discounted return", returns, Table(["", "mean", "low", "high", "does so"], cells)),
        ("Step by step", steps, _steps_table(report)),
    ]


def _steps_table(report) -> Table:
    names = [name for name in ("held_out", "learned") if name in report.actions]
    header = ["", *({"held_out": "held out", "learned": "learned from"}[name] for name in names)]
    actions, errors = ([part[name] for name in names] for part in (report.actions, report.errors))
    rows = [
        ["log-likelihood of actions", *(number(one["likelihood"], 3) for one in actions)],
        ["rank of actions", *(number(one["rank"], 3) for one in actions)],
        ["value, one step", *(_error(one["values"]) for one in errors)],
    ]
    for place, row in enumerate(errors[0]["model"]):
        for what in ("reward", "value"):
            cells = [_error(one["model"][place][what]) if place < len(one["model"]) else "-" for one in errors]
            rows.append([f"model's {what} after {counted(row['depth'], 'step')}", *cells])
    return Table(header, rows)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _error(found: dict) -> str:
    return f"{number(found['rmse'], 3)} ({number(found['spread'], 3)})"


def _interval(row: dict) -> str:
    return f"{number(row['mean'], 4)} ({number(row['low'], 4)} .. {number(row['high'], 4)})"
