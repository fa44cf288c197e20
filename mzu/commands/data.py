"""`mzu data info | check | convert`: look at a dataset, examine it, write it in another format.

The formats: tutorials/data.md; notebook 09_real_data.
"""

import itertools
import sys
import warnings

import tqdm

from mzu.available_memory import shown_bytes
from mzu.commands import convert_table
from mzu.episodes.dataset import EpisodeDataset, load_episodes
from mzu.episodes.writing import FORMATS, write_episodes
from mzu.files import written_whole


def add_arguments(parser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    info = actions.add_parser("info", help="what a dataset holds: episodes, lengths, returns, ends, actions")
    check = actions.add_parser("check", help="examine a dataset: exit status 1 when training on it would be wrong")
    convert = actions.add_parser("convert", help="write a dataset in another format")
    for action in (info, check, convert):
        action.add_argument(
            "source",
            metavar="SOURCE",
            help="a path, or embedded:NAME, rlu:TASK, rlu_atari:GAME, dqn_replay:GAME/RUN, minari:ID; convert also "
            "takes a table, as .csv, .tsv or .parquet",
        )
        action.add_argument("--root", help="the folder that holds the downloaded files of a named dataset")
        action.add_argument("--reward-shift", type=int, help="move rewards this many steps later (default 0)")
        action.add_argument(
            "--fraction", type=float, default=1.0, help="DQN Replay: first part of each file, such as 0.01"
        )
        action.add_argument("--num-actions", type=int, help="of a discrete action space, where the format does not say")
        action.add_argument("--quiet", action="store_true", help="no progress bar")
    for action in (info, convert):
        action.add_argument("--skip-bad", action="store_true", help="count what cannot be read, and go on")
    check.add_argument(
        "--env",
        help="compare with this environment, such as atari:Asterix or 'dm_control:cartpole-swingup?repeat=4'",
    )
    check.add_argument("--html", metavar="FILE", help="also write the report as one HTML file with plots")
    convert.add_argument("target", metavar="TARGET", help="NAME.npz, or a folder for the other formats")
    convert.add_argument("--format", choices=FORMATS, help="default: npz for *.npz, else what suits the data")
    convert.add_argument(
        "--files", type=int, default=1, help="rlu, rlu_atari: how many files to spread the episodes over"
    )
    convert.add_argument("--limit", type=int, help="write only the first so many episodes")
    convert_table.add_arguments(convert)


def run(arguments) -> int:
    return {"info": run_info, "check": run_check, "convert": run_convert}[arguments.action](arguments)


def run_info(arguments) -> int:
    """Numbers about a dataset: episodes, steps, returns, ends, observations, actions, files."""
    from mzu.episodes.doctor.report import summary_text
    from mzu.episodes.doctor.statistics import Statistics

    dataset = _load(arguments, arguments.skip_bad)
    statistics = Statistics()
    for episode in _progress(dataset, arguments):
        statistics.add(episode)
    print(summary_text(dataset.name, dataset.format, statistics))
    print(f"{'files':<12} {len(dataset.files)}, {shown_bytes(dataset.num_bytes)}")
    _report_skipped(dataset)
    return 0


def run_check(arguments) -> int:
    """The dataset doctor, as text and as a page; 1 where training on the data would be wrong."""
    from mzu.episodes.doctor.check import check
    from mzu.episodes.doctor.report import report_html

    dataset = _load(arguments, skip_bad=True)
    report = check(dataset, arguments.env, lambda episodes: _progress(episodes, arguments))
    print(report)
    if arguments.html:
        with written_whole(arguments.html) as temporary:
            temporary.write_text(report_html(report), encoding="utf-8")
    return 1 if report.is_wrong else 0


def run_convert(arguments) -> int:
    """A dataset in another format, written whole or not at all."""
    for name in ("limit", "files"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise ValueError(f"--{name} is {value}, but must be at least 1")
    if convert_table.is_table(arguments.source):
        return convert_table.run(arguments)
    convert_table.refuse_options(arguments)
    dataset = _load(arguments, arguments.skip_bad)
    episodes = itertools.islice(_progress(dataset, arguments), arguments.limit)
    write_episodes(arguments.target, episodes, dataset.infer_spaces, arguments.format, arguments.files)
    _report_skipped(dataset)
    print(f"wrote {arguments.target}")
    return 0


def _load(arguments, skip_bad: bool) -> EpisodeDataset:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = load_episodes(
            arguments.source,
            arguments.root,
            skip_bad=skip_bad,
            reward_shift=arguments.reward_shift or 0,
            fraction=arguments.fraction,
            num_actions=arguments.num_actions,
        )
    for warning in caught:
        print(f"mzu: {warning.message}", file=sys.stderr)
    return dataset


def _progress(dataset: EpisodeDataset, arguments):
    return tqdm.tqdm(
        dataset, total=dataset.num_episodes, unit=" episodes", disable=arguments.quiet or None, leave=False
    )


def _report_skipped(dataset: EpisodeDataset) -> None:
    if dataset.skipped:
        print(f"mzu: left out {dataset.skipped} that could not be read, first: {dataset.faults[0]}", file=sys.stderr)
