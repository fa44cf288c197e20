"""Data are checked before they are believed: the dataset doctor, on a sample of what a run is to learn from.

What it calls wrong stops `mzu train --data`; what is doubtful is kept in the run's folder (data_check.json) and stands
at the top of its report. The embedded sets were checked when they were made, for the environment they come from.
"""

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from mzu.config import Config
from mzu.episodes.dataset import EpisodeDataset
from mzu.episodes.doctor.check import Report, check
from mzu.episodes.doctor.report import verdict
from mzu.episodes.embedded import RECIPES
from mzu.episodes.episode import Episode
from mzu.episodes.locate import SCHEMES
from mzu.files import written_whole
from mzu.training.inputs import RunInputs, environment_maker

FILE = "data_check.json"
SAMPLED_STEPS = 20_000  # that are looked at, of whole episodes from all over the data
ANYWAY = "--anyway (in Python anyway=True)"


def check_before_training(
    inputs: RunInputs, say: Callable[[str], None], anyway: bool = False, look: str | None = None
) -> dict | None:
    """Looks at the data of a run -> what `save_check` keeps; None where there is nothing to look at.

    What is wrong is refused in a sentence, or, with `anyway`, said. `look` is how one sees all that was found, where
    the data have no name.
    """
    config = inputs.config
    if not inputs.episodes or comes_along(config):
        return None
    report = _report(inputs)
    wrong = [finding for finding in report.findings if finding.severity == "wrong"]
    doubtful = [finding for finding in report.findings if finding.severity == "doubtful"]
    if wrong and not anyway:
        found = wrong[0]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise ValueError(
            f"The data are wrong{more}: {found.what} ({found.where}); {found.why}; {found.advice}. All of it: "
            f"`{look or _look(config)}`; train anyway with {ANYWAY}"
        )
    for finding in wrong + doubtful:
        say(f"data {finding.severity}: {finding.what} ({finding.where}); {finding.advice}")
    if not wrong + doubtful:
        say(f"data checked: {verdict(report)}")
    kept = [finding._asdict() for finding in wrong + doubtful]
    return {"steps": report.statistics.num_steps, "episodes": report.statistics.num_episodes, "findings": kept}


def comes_along(config: Config) -> bool:
    """Whether the data are an embedded set, for the environment that it was recorded in."""
    scheme, _, name = config.data.partition(":")
    return scheme == "embedded" and name in RECIPES and config.environment in (None, RECIPES[name].environment)


def save_check(folder: str | Path, found: dict | None) -> None:
    """Keeps what was found beside the run or the runs that learn from the data."""
    if found is not None:
        with written_whole(Path(folder) / FILE) as temporary:
            temporary.write_text(json.dumps(found, indent=2) + "\n")


def checked_data(folder: str | Path) -> list[dict]:
    """The findings that `save_check` kept for a run, in its folder or the one around it; empty where there are none."""
    for place in (Path(folder), Path(folder).parent):
        if (place / FILE).is_file():
            try:
                return [dict(finding) for finding in json.loads((place / FILE).read_text())["findings"]]
            except (ValueError, TypeError, KeyError):
                raise ValueError(f"{place / FILE} cannot be read; move it away") from None
    return []


def is_checked(folder: str | Path) -> bool:
    """Whether the data of a run were looked at before it began."""
    return any((place / FILE).is_file() for place in (Path(folder), Path(folder).parent))


def data_finding_words(finding: dict) -> str:
    """A line of a report."""
    return f"The data are {finding['severity']}: {finding['what']} ({finding['where']}); {finding['advice']}"


def _report(inputs: RunInputs) -> Report:
    config, sample = inputs.config, _sample(inputs.episodes)
    scheme = config.data.partition(":")[0]
    format = scheme if scheme in SCHEMES else "npz"
    dataset = EpisodeDataset(config.data, format, [lambda on_fault: iter(sample)], spaces=inputs.frame_spaces)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of environments; `mzu data check` shows them
        if config.environment is None:
            return check(dataset)
        with environment_maker(config)() as environment:
            return check(dataset, environment)


def _sample(episodes: Sequence[Episode]) -> Sequence[Episode]:
    """Whole episodes, evenly from all over the data, of about SAMPLED_STEPS steps together."""
    steps = sum(map(len, episodes))
    every = max(1, round(steps / SAMPLED_STEPS))
    return [episodes[number] for number in range(0, len(episodes), every)]


def _look(config: Config) -> str:
    root = f" --root {config.data_root}" if config.data_root else ""
    environment = f" --env '{config.environment}'" if config.environment else ""
    return f"mzu data check {config.data}{root}{environment}"
