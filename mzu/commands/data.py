"""`mzu data info | check | convert`: look at a dataset, examine it, write it in another format.

The formats: tutorials/data.md; notebook 09_real_data.
"""

import contextlib
import sys
import warnings
from pathlib import Path

import tqdm

from mzu.episodes.dataset import EpisodeDataset, load_episodes
from mzu.files import written_whole

TARGETS = ("npz", "rlu", "rlu_atari", "minari")


def add_arguments(parser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    info = actions.add_parser("info", help="what a dataset holds: episodes, lengths, returns, ends, actions")
    check = actions.add_parser("check", help="examine a dataset: exit status 1 when training on it would be wrong")
    convert = actions.add_parser("convert", help="write a dataset in another format")
    for action in (info, check, convert):
        action.add_argument(
            "source",
            metavar="SOURCE",
            help="a path, or embedded:NAME, rlu:TASK, rlu_atari:GAME, dqn_replay:GAME/RUN, minari:ID",
        )
        action.add_argument("--root", help="the folder that holds the downloaded files of a named dataset")
        action.add_argument("--reward-shift", type=int, default=0, help="move rewards this many steps later")
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
    convert.add_argument("--format", choices=TARGETS, help="default: npz for *.npz, else what suits the data")
    convert.add_argument(
        "--files", type=int, default=1, help="rlu, rlu_atari: how many files to spread the episodes over"
    )
    convert.add_argument("--limit", type=int, help="write only the first so many episodes")


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
    print(f"{'files':<12} {len(dataset.files)}, {_size(dataset)}")
    _report_skipped(dataset)
    return 0


def run_check(arguments) -> int:
    """The dataset doctor, as text and as a page; 1 where training on the data would be wrong."""
    from mzu.episodes.doctor.check import check_dataset
    from mzu.episodes.doctor.report import report_html, report_text

    dataset = _load(arguments, skip_bad=True)
    with contextlib.ExitStack() as stack:
        environment = None
        if arguments.env:
            from mzu.environments.make import make

            environment = stack.enter_context(make(arguments.env))
        report = check_dataset(dataset, environment, lambda episodes: _progress(episodes, arguments))
    print(report_text(report))
    if arguments.html:
        with written_whole(arguments.html) as temporary:
            temporary.write_text(report_html(report), encoding="utf-8")
    return 1 if report.is_wrong else 0


def run_convert(arguments) -> int:
    """A dataset in another format, written whole or not at all."""
    dataset = _load(arguments, arguments.skip_bad)
    target = Path(arguments.target)
    format = arguments.format or ("npz" if target.suffix == ".npz" else None)
    if arguments.limit is not None and arguments.limit < 1:
        raise ValueError(f"--limit is {arguments.limit}, but must be at least 1")
    if format == "npz":
        from mzu.episodes.readers.npz import write_npz

        _refuse_existing(target)
        write_npz(target, _limited(dataset, arguments))
    else:
        _convert_to_folder(dataset, target, format, arguments)
    _report_skipped(dataset)
    print(f"wrote {target}")
    return 0


def _convert_to_folder(dataset: EpisodeDataset, target: Path, format: str | None, arguments) -> None:
    from mzu.episodes.readers import minari_format, rlu_atari, rlu_control

    if arguments.files < 1:
        raise ValueError(f"--files is {arguments.files}, but must be at least 1")
    spaces = dataset.infer_spaces()
    format = format or ("rlu" if spaces.continuous and not spaces.is_image else "rlu_atari")
    if format == "minari":
        minari_format.write_minari(target, _limited(dataset, arguments), spaces)
    elif format == "rlu":
        known = target.name in rlu_control.ACTION_DIMENSIONS
        task = rlu_control.control_task(target.name) if known else rlu_control.own_task(target.name, spaces)
        rlu_control.write_control(target, _limited(dataset, arguments), task, arguments.files)
    else:
        rlu_atari.write_atari(target, _limited(dataset, arguments), num_shards=arguments.files)


def _load(arguments, skip_bad: bool) -> EpisodeDataset:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = load_episodes(
            arguments.source,
            arguments.root,
            skip_bad=skip_bad,
            reward_shift=arguments.reward_shift,
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


def _limited(dataset: EpisodeDataset, arguments):
    for number, episode in enumerate(_progress(dataset, arguments)):
        if number == arguments.limit:
            return
        yield episode


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise ValueError(f"{target} exists; choose another name, or remove it")


def _report_skipped(dataset: EpisodeDataset) -> None:
    if dataset.skipped:
        print(f"mzu: left out {dataset.skipped} that could not be read, first: {dataset.faults[0]}", file=sys.stderr)


def _size(dataset: EpisodeDataset) -> str:
    files = [
        inner for path in dataset.files for inner in ([path] if path.is_file() else path.rglob("*")) if inner.is_file()
    ]
    size = sum(path.stat().st_size for path in files)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
