"""The part of `mzu data convert` that reads a table of steps: which column is what, asked where it is not said."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mzu.episodes.dataset import load_episodes
from mzu.episodes.episode import Episode
from mzu.episodes.readers.tables import SUFFIXES, StepTable, episodes_from_table, read_table
from mzu.episodes.writing import write_episodes

NEEDED = ("observations", "action", "reward", "episode")
FURTHER = ("terminated", "truncated")
# How such columns are often called.
USUAL = {
    "episode": r"(episode|ep|traj|trajectory|run|rollout|trial|session)(_?(id|number|nr|index))?",
    "action": r"(a|act|actions?|u|controls?|commands?|cmd|torque|force)([_.\[]?\d+\]?)?",
    "reward": r"(r|rew|rwd|rewards?)",
    "terminated": r"(terminated|terminals?|dones?|finished|failed|failure)",
    "truncated": r"(truncated|time_?outs?|time_?limit)",
    "step": r"(t|time|steps?|ticks?|time_?step|index|unnamed.*|)",
}
_SHOWN_STEPS = 3


def add_arguments(parser) -> None:
    """Options of `mzu data convert` that are about tables."""
    table = parser.add_argument_group("tables", "which column is what; on a terminal it asks for what is not given")
    table.add_argument("--observations", metavar="A,B,C", help="columns of what was observed")
    # `action` is info, check or convert already.
    table.add_argument(
        "--action",
        dest="action_column",
        metavar="D",
        help="column of the action; several, with commas, where it has parts",
    )
    table.add_argument("--reward", metavar="E", help="column of what the action earned")
    table.add_argument("--episode", metavar="ID", help="column that is the same in all rows of an episode")
    table.add_argument("--terminated", metavar="F", help="column that is 1 where nothing could follow")
    table.add_argument("--truncated", metavar="G", help="column that is 1 where an episode was cut off")
    table.add_argument("--action-bounds", metavar="LOW,HIGH", help="of continuous actions, such as -2,2")


def is_table(source: str) -> bool:
    """Whether the source is a table's file."""
    return Path(source).suffix in SUFFIXES


def refuse_options(arguments) -> None:
    """What is about tables says nothing about other sources."""
    for name in (*NEEDED, *FURTHER, "action_bounds"):
        if _given(arguments, name) is not None:
            option, tables = name.replace("_", "-"), ", ".join(SUFFIXES)
            raise ValueError(
                f"--{option} is about tables ({tables}); {arguments.source} says itself what its arrays are"
            )


def run(arguments) -> int:
    """Reads the table, shows the first episode, and writes all of them, whole or not at all."""
    if Path(arguments.target).exists():
        raise ValueError(f"{arguments.target} exists; choose another name, or remove it")
    table = read_table(arguments.source)
    roles = {name: _given(arguments, name) for name in (*NEEDED, *FURTHER)}
    if any(roles[name] is None for name in NEEDED):
        roles = ask_roles(table, roles) if sys.stdin.isatty() else _refuse_incomplete(table, roles)
    columns = {name: text if name not in NEEDED[:2] else _split(text) for name, text in roles.items()}
    bounds = None if arguments.action_bounds is None else _bounds(arguments.action_bounds)
    if bounds is None and sys.stdin.isatty():
        bounds = ask_bounds(table, columns["action"])
    episodes = episodes_from_table(
        table, **columns, action_bounds=bounds, reward_shift=arguments.reward_shift,
        say=lambda text: print(f"mzu: {text}", file=sys.stderr),
    )[: arguments.limit]  # fmt: skip
    print(shown_episode(episodes[0], columns["observations"], columns["action"]))
    write_episodes(arguments.target, episodes, load_episodes(episodes).infer_spaces, arguments.format, arguments.files)
    steps, ended = sum(map(len, episodes)), sum(episode.terminated for episode in episodes)
    print(f"wrote {arguments.target}: {len(episodes)} episodes, {steps} steps, {ended} terminated")
    print(
        f"Check it before you train: `mzu data check {arguments.target}`, with --env ID where there is an environment"
    )
    return 0


def guessed_roles(table: StepTable) -> dict[str, str | None]:
    """Which columns are what, by their names: observations are numbers that are nothing else."""
    names = {
        role: [name for name in table.columns if re.fullmatch(usual, name.lower())] for role, usual in USUAL.items()
    }
    taken = {name for columns in names.values() for name in columns}
    others = [name for name, column in table.columns.items() if name not in taken and column.dtype.kind == "f"]
    guessed = {role: names[role][0] if names[role] else None for role in ("reward", "episode", *FURTHER)}
    return guessed | {"observations": ",".join(others) or None, "action": ",".join(names["action"]) or None}


def ask_roles(table: StepTable, roles: dict, ask: Callable[[str], str] = input) -> dict:
    """Asks for what is not given; an empty answer takes the guess in brackets."""
    print(_columns_text(table))
    guesses = guessed_roles(table)
    questions = {
        "observations": "columns of what is observed, with commas between",
        "action": "column of the action (several where it has parts)",
        "reward": "column of the reward that the action earned",
        "episode": "column that tells episodes apart",
        "terminated": "column that is 1 where nothing could follow (- for none)",
        "truncated": "column that is 1 where an episode was cut off (- for none)",
    }
    answers = dict(roles)
    for name in (*NEEDED, *FURTHER):
        if answers[name] is not None:
            continue
        guess = guesses[name] or ("-" if name in FURTHER else "")
        while True:
            answer = ask(f"{questions[name]} [{guess}]: ").strip() or guess
            unknown = [part for part in _split(answer) if part not in table.columns]
            if name in FURTHER and answer == "-":
                answer, unknown = None, []
            if answer != "" and not unknown:
                break
            print(f"There is no column {unknown[0]!r}." if unknown else "One is needed.")
        answers[name] = answer
    return answers


def ask_bounds(table: StepTable, actions: list[str], ask: Callable[[str], str] = input) -> tuple[float, float] | None:
    """Asks between which bounds continuous actions lie, where that is not [-1, 1]; what occurs is the guess."""
    done = np.stack([table.numbers(name) for name in actions], axis=1)
    done = done[np.isfinite(done).all(axis=1)]
    whole = len(actions) == 1 and (done == np.round(done)).all()
    if not len(done) or (whole and done.min() >= 0) or np.abs(done).max() <= 1:
        return None
    guess = f"{done.min():g},{done.max():g}"
    return _bounds(
        ask(f"lowest and highest action that there can be, with a comma between [{guess}]: ").strip() or guess
    )


def shown_episode(episode: Episode, observations: list[str], actions: list[str]) -> str:
    """The first and last steps of an episode as a table, so that one sees whether it was understood."""
    header = ["step", *observations, *(f"action {name}" for name in actions), "reward"]
    chosen = list(range(min(_SHOWN_STEPS, len(episode))))
    chosen += [step for step in range(len(episode) - 2, len(episode)) if step not in chosen and step >= 0]
    rows = [header]
    for step in chosen:
        action = np.atleast_1d(episode.actions[step])
        rows.append(
            [str(step), *map(_shown, episode.observations[step]), *map(_shown, action), _shown(episode.rewards[step])]
        )
    end = "terminated" if episode.terminated else "cut off"
    rows.append([end, *map(_shown, episode.observations[-1]), *[""] * len(actions), ""])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    if len(chosen) < len(episode):
        lines.insert(1 + _SHOWN_STEPS, "...")
    kind = "continuous" if episode.is_continuous else "discrete"
    title = f"The first episode: {len(episode)} steps, {kind} actions, return {episode.total_reward:.4g}"
    return "\n".join([title, *lines])


def _given(arguments, name: str) -> str | None:
    return getattr(arguments, "action_column" if name == "action" else name)


def _refuse_incomplete(table: StepTable, roles: dict) -> dict:
    missing = [f"--{name}" for name in NEEDED if roles[name] is None]
    guesses = guessed_roles(table)
    maybe = " ".join(f"--{name} {guesses[name]}" for name in NEEDED if guesses[name])
    hint = f"; perhaps {maybe}" if maybe else ""
    names = ", ".join(name or "(one without a name)" for name in table.columns)
    raise ValueError(f"{table.name} has the columns {names}: say which are what with {', '.join(missing)}{hint}")


def _columns_text(table: StepTable) -> str:
    lines = [f"{table.name}: {len(next(iter(table.columns.values())))} rows; column, and what stands in the first ones"]
    width = max(len(name or "(none)") for name in table.columns)
    for name, column in table.columns.items():
        lines.append(f"  {name or '(none)':<{width}}  {', '.join(map(_shown, column[:4]))}")
    return "\n".join(lines)


def _shown(value) -> str:
    return value if isinstance(value, str) else f"{float(value):.4g}"


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _bounds(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ValueError(
            f"--action-bounds is {text!r}, but must be two numbers: LOW,HIGH, such as --action-bounds=-2,2"
        ) from None
    return low, high
