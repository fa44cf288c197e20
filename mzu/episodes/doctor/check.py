"""The dataset doctor: one pass over the episodes, and everything that would make training on them wrong or doubtful.

`mzu data check` prints what `check` finds (findings.py, alignment.py, environment_check.py). Notebook
10_dataset_doctor.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from mzu.environments.environment import Environment
from mzu.environments.make import make
from mzu.episodes.dataset import EpisodeDataset, Source, load_episodes
from mzu.episodes.doctor import findings as find
from mzu.episodes.doctor.alignment import ImageAlignment, StateAlignment
from mzu.episodes.doctor.environment_check import environment_findings, replay_findings
from mzu.episodes.doctor.findings import DataFinding
from mzu.episodes.doctor.layout import LayoutSample, layout_findings
from mzu.episodes.doctor.statistics import JpegTraces, Statistics
from mzu.episodes.episode import Episode
from mzu.episodes.readers.minari_format import has_checksum

_REPLAYED_EPISODES = 3


class Report(NamedTuple):
    """What the doctor found; shown as text, in a terminal as in a notebook.

    attribute   what it is
    name        of the dataset
    format      as in `EpisodeDataset`
    statistics  lengths, returns, ranges, counts of actions
    findings    what is wrong, doubtful or to be noted: severity, what, where, why, advice
    alignment   {shift of the rewards: how well they agree with what is seen}, or None
    skipped     faults that were left out
    is_wrong    whether one of the findings is called wrong

    >>> report.statistics.num_episodes, [finding.severity for finding in report.findings]
    (400, ['doubtful', 'doubtful', 'note'])
    """

    name: str
    format: str
    statistics: Statistics
    findings: list[DataFinding]
    alignment: dict[int, float] | None  # shift of the rewards to how well they agree with what is seen
    skipped: int
    unchecked: list[str]  # what could not be looked at, and why

    @property
    def is_wrong(self) -> bool:
        return any(finding.severity == "wrong" for finding in self.findings)

    def __repr__(self) -> str:
        from mzu.episodes.doctor.report import report_text

        return report_text(self)


def check(
    data: EpisodeDataset | Source,
    environment: Environment | str | None = None,
    progress: Callable[[EpisodeDataset], Iterable[Episode]] | None = None,
) -> Report:
    """Reads all episodes once, and says what would make training on them wrong or doubtful.

    data          what `load_episodes` takes or gives; load with skip_bad, so that all faults are seen and not the first
    environment   or its id; its spaces are compared, and rewards, observations and ends where it can be replayed
    progress      wraps the iterator, for a progress bar

    >>> report = mzu.check("embedded:catch", "catch")
    >>> report.is_wrong
    False
    """
    if isinstance(environment, str):
        with make(environment) as made:
            return check(data, made, progress)
    dataset = data if isinstance(data, EpisodeDataset) else load_episodes(data, skip_bad=True)
    statistics, lossy = Statistics(), JpegTraces()
    after_step = dataset.format == "rlu" or getattr(environment, "id", "").startswith("dm_control:")
    images, states, sample = ImageAlignment(), StateAlignment(after_step), LayoutSample()
    first: list[Episode] = []
    for episode in dataset if progress is None else progress(dataset):
        statistics.add(episode)
        if len(statistics.forms) > 1:
            continue
        if episode.observations.ndim == 4:
            images.add(episode)
            lossy.add(episode)
        else:
            states.add(episode)
            sample.add(episode)
        if len(first) < _REPLAYED_EPISODES and environment is not None:
            first.append(episode)
    is_image = statistics.observation_shape is not None and len(statistics.observation_shape) == 3
    judged = images.judge() if is_image else states.judge()
    findings = [*find.fault_findings(dataset), *find.form_findings(statistics), *find.extra_key_findings(dataset)]
    replayed = False
    if statistics.num_episodes:
        findings += find.repeat_findings(statistics)
        findings += find.end_findings(statistics)
        findings += find.action_findings(statistics, dataset)
        findings += find.observation_findings(statistics, lossy, is_image)
        findings += find.reward_findings(statistics, judged.shift, dataset.reward_shift, is_image)
        findings += find.duplicate_findings(statistics)
        if environment is not None and len(statistics.forms) == 1:
            findings += environment_findings(statistics, environment)
            if not any(finding.severity == "wrong" for finding in findings):
                found, replayed = replay_findings(first, environment)
                if not replayed:
                    others, replayed = layout_findings(sample, statistics.low, statistics.high, environment)
                    # Single steps say what whole episodes could not.
                    found = [*(one for one in found if one.severity != "note" or not replayed), *others]
                findings += found
    findings.sort(key=lambda finding: ("wrong", "doubtful", "note").index(finding.severity))
    unchecked = [] if replayed else find.unchecked(judged, environment)
    if dataset.format == "minari" and not has_checksum(dataset.files[0]):
        unchecked.append("changed bits (Minari's files hold no checksum)")
    return Report(dataset.name, dataset.format, statistics, findings, judged.scores, dataset.skipped, unchecked)
