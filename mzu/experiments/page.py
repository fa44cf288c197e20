"""The results page: every experiment's table, figure, verdicts and cost, written between markers; what people wrote
around them stays.

    <!-- results of overall -->
    ...
    <!-- end of overall -->
"""

import re
from pathlib import Path

from mzu.experiments.catalogue import EXPERIMENTS
from mzu.experiments.definition import Experiment, Task
from mzu.experiments.figures import draw_experiment
from mzu.experiments.report import LAYOUTS, cost, markdown, paper_table, verdict_sentence, verdicts
from mzu.experiments.running import read_rows
from mzu.experiments.tasks import TASKS
from mzu.files import written_whole

RESULTS = Path(__file__).parent / "results"  # the CSVs that come with the package


def experiment_section(
    experiment: Experiment, tasks: dict[str, Task], rows: list[dict], picture: str | None = None
) -> str:
    """What the rows say of one experiment, as Markdown."""
    parts = [f"Mirrors the {experiment.mirrors}." if experiment.mirrors else "Mirrors nothing in the paper."]
    if experiment.note:
        parts.append(experiment.note)
    parts.append(markdown(LAYOUTS[experiment.layout](experiment, tasks, rows)))
    parts.append("\n".join(f"- {verdict_sentence(item)}" for item in verdicts(experiment, tasks, rows)))
    if picture:
        parts.append(f"![{experiment.title}]({picture})")
    parts.append(paper_part(experiment.name))
    parts.append(_cost_line(experiment, rows))
    return "\n\n".join(part for part in parts if part)


def paper_part(name: str) -> str:
    """What the paper reports, marked as what it is; empty for an experiment that mirrors nothing."""
    paper = paper_table(name)
    if paper is None:
        return ""
    table = markdown([paper["header"], *paper["rows"]])
    return f"**The paper, on other data and at another scale.** {paper['caption']}:\n\n{table}"


def _cost_line(experiment: Experiment, rows: list[dict]) -> str:
    runs, minutes, processor = cost(rows)
    seeds = len({row["seed"] for row in rows})
    first = rows[0]
    cell = f"{first['task']}/{first['variant']}/{first['seed']}"
    return (
        f"`mzu reproduce {experiment.name} --seeds {seeds}`: {runs} runs, {minutes:.0f} minutes of training "
        f"({processor:.0f} processor minutes); one cell: `mzu reproduce {experiment.name} --cell {cell}`."
    )


def write_results_page(page: Path, results: Path = RESULTS) -> list[str]:
    """Renews the sections and pictures of all experiments that have results -> their names."""
    if not page.is_file():
        raise ValueError(f"{page} is no file; run this at the top of a clone, or name the page with --page")
    text, written = page.read_text(), []
    for name, experiment in EXPERIMENTS.items():
        file = results / f"{name}.csv"
        rows = read_rows(file) if file.is_file() else []
        if not rows:
            continue
        picture = page.parent / "pictures" / f"results_{name}.png"
        draw_experiment(experiment, TASKS, rows, picture)
        text = replace_section(text, name, experiment_section(experiment, TASKS, rows, f"pictures/{picture.name}"))
        written.append(name)
    with written_whole(page) as temporary:
        temporary.write_text(text)
    return written


def replace_section(text: str, name: str, content: str) -> str:
    """The page with other text between the markers of `name`."""
    begin, end = f"<!-- results of {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"The page has no place for {name}; add the lines {begin} and {end}")
    return pattern.sub(lambda _: f"{begin}\n\n{content}\n\n{end}", text)
