"""Tables of steps become episodes: a CSV or parquet file, or a pandas frame, with a row for every step.

A row holds what was observed, what was done then, and what that earned. An episode's last row may hold an observation
only (no action, no reward): the one after the last action. Where there is none, a terminal end repeats the last
observation, and of an episode that was cut off the last step is dropped, since values are bootstrapped there.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mzu.config_fields import did_you_mean
from mzu.episodes.dataset import shift_rewards
from mzu.episodes.doctor.alignment import StateAlignment
from mzu.episodes.episode import Episode
from mzu.episodes.readers.faults import Fault
from mzu.extras import require

SUFFIXES = (".csv", ".tsv", ".parquet")
_TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "": np.nan}
_NAMED = 5  # rows that a sentence names
_SEVERAL = 3  # episodes whose equal lengths are no chance


class StepTable(NamedTuple):
    """Columns by name, float64 or text; `rows` says how row i is called: a file's lines count from 1, the head is one.

    >>> StepTable({"a": np.zeros(2)}, "steps.csv", "line", 2).place(0)
    'line 2'
    """

    columns: dict[str, np.ndarray]
    name: str
    rows: str
    first: int

    def place(self, row: int) -> str:
        """What messages call a row."""
        return f"{self.rows} {self.first + row}"

    def places(self, rows) -> str:
        """The first few of some rows: "lines 2, 9 and 14 more"."""
        numbers = [str(self.first + int(row)) for row in rows]
        more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
        return f"{self.rows}{'s' if len(numbers) > 1 else ''} {', '.join(numbers[:_NAMED])}{more}"

    def column(self, name: str) -> np.ndarray:
        """The column of that name; a sentence says which there are."""
        if name not in self.columns:
            raise Fault(f"there is no column {name!r}; {did_you_mean(name, self.columns)}", self.name)
        return self.columns[name]

    def numbers(self, name: str) -> np.ndarray:
        """The column as float64; a cell that holds none is named by its row."""
        column = self.column(name)
        if column.dtype.kind == "f":
            return column
        for row, cell in enumerate(column):
            if _number(cell) is None:
                raise Fault(f"{self.place(row)}: column {name} is {str(cell)!r}, but must be a number", self.name)
        return np.array([_number(cell) for cell in column], np.float64)


class Roles(NamedTuple):
    """Which columns are what: `observations` and `action` several or one, the others one each, or None."""

    observations: Sequence[str]
    action: Sequence[str]
    reward: str
    episode: str
    terminated: str | None = None
    truncated: str | None = None


def read_table(source) -> StepTable:
    """A file of SUFFIXES, or a pandas frame (anything with `columns` and their arrays)."""
    if not isinstance(source, str | Path):
        columns = {str(name): _typed(np.asarray(source[name])) for name in source.columns}
        return StepTable(columns, "the frame", "row", 0)
    path = Path(source)
    if path.suffix == ".parquet":
        require("pyarrow", f"Reading {path}")
        import pyarrow.parquet

        try:
            found = pyarrow.parquet.read_table(path)
        except (pyarrow.ArrowException, ValueError) as error:
            raise Fault(f"the file cannot be read as parquet ({error})", path) from None
        columns = {name: _typed(np.array(found[name].to_pylist(), object)) for name in found.column_names}
        return StepTable(columns, str(path), "row", 0)
    return _read_csv(path)


def episodes_from_table(
    source,
    observations: Sequence[str],
    action: str | Sequence[str],
    reward: str,
    episode: str,
    terminated: str | None = None,
    truncated: str | None = None,
    *,
    action_bounds: tuple[float, float] | None = None,
    reward_shift: int | None = None,
    say: Callable[[str], None] = print,
) -> list[Episode]:
    """The episodes of a CSV or parquet file or of a pandas frame; the columns are given by their names.

    action          one column of whole numbers (discrete), or columns of continuous actions
    episode         rows of one episode stand together and have the same entry here
    terminated      1 in the row after which nothing can follow; truncated: where the episode was cut off
    action_bounds   (low, high) of continuous actions, which are mapped to [-1, 1]
    reward_shift    by how many rows rewards move to later ones: -1 where a reward stands beside the observation that it
                    came with. None: 0, and rewards that seem to stand elsewhere are refused
    say             is told what was supposed

    >>> with open("steps.csv", "w") as file:
    ...     print("run,x,go,pay,done", "7,0,1,2,0", "7,1,0,3,1", sep=chr(10), file=file)
    >>> (episode,) = mzu.episodes_from_table("steps.csv", ["x"], "go", "pay", "run", "done")
    >>> episode.actions.tolist(), episode.rewards.tolist(), episode.terminated
    ([1, 0], [2.0, 3.0], True)
    """
    table = source if isinstance(source, StepTable) else read_table(source)
    action = [action] if isinstance(action, str) else list(action)
    roles = Roles(list(observations), action, reward, episode, terminated, truncated)
    if not roles.observations or not roles.action:
        raise ValueError("There must be at least one column of observations and one of actions")
    pieces = _pieces(table, roles.episode)
    shift = 0 if reward_shift is None else reward_shift
    seen = np.stack([table.numbers(name) for name in roles.observations], axis=1)
    done = np.stack([table.numbers(name) for name in roles.action], axis=1)
    earned = table.numbers(roles.reward)
    if reward_shift is None:
        _refuse_late_rewards(table, roles, pieces, earned)
    is_open = np.array([bool(np.isnan(done[stop - 1]).all()) for _, stop in pieces])  # the last row is no step
    if shift == -1:
        is_open[:] = True
        earned = np.append(earned[1:], np.nan)
    needed = np.ones(len(earned), bool)
    needed[[stop - 1 for (_, stop), last in zip(pieces, is_open, strict=True) if last]] = False
    _refuse_not_finite(table, roles.observations, seen, np.ones(len(seen), bool))
    _refuse_not_finite(table, roles.action, done, needed)
    _refuse_not_finite(table, [roles.reward], earned[:, None], needed, moved=shift == -1)
    actions = _actions(table, roles.action, done, needed, action_bounds)
    ends = _ends(table, roles, pieces, say)
    found, short = [], []
    for (start, stop), last_is_open, is_terminal in zip(pieces, is_open, ends, strict=True):
        states = seen[start:stop].astype(np.float32)
        steps = stop - start
        if not last_is_open and is_terminal:
            states = np.concatenate([states, states[-1:]])
        else:
            steps -= 1
        if steps < 1:
            short.append(start)
            continue
        source_name = f"{table.name}, episode {table.columns[roles.episode][start]}, from {table.place(start)}"
        rewards = earned[start : start + steps].astype(np.float32)
        made = Episode(
            states, actions[start : start + steps], rewards, is_terminal, not is_terminal, source=source_name
        )
        found.append(made if shift == -1 else shift_rewards(made, shift))
    if short:
        say(f"{len(short)} episodes without a whole step are left out ({table.places(short)})")
    if not found:
        raise Fault("there is no whole step in any episode; is the right column given as episode?", table.name)
    dropped = sum(not last and not end for last, end in zip(is_open, ends, strict=True))
    if dropped:
        say(
            f"of {dropped} episodes that were cut off the last step is dropped: the observation after it is not in the "
            "table, and values are bootstrapped from there"
        )
    if reward_shift is None:
        _refuse_misaligned(table, found, roles.reward)
    return found


def _pieces(table: StepTable, name: str) -> list[tuple[int, int]]:
    """(first row, row behind the last) of each episode."""
    column = table.column(name)
    if len(column) == 0:
        raise Fault("the table has no rows", table.name)
    missing = np.flatnonzero(np.isnan(column)) if column.dtype.kind == "f" else np.flatnonzero(column == "")
    if len(missing):
        raise Fault(f"{table.place(missing[0])}: column {name} is empty, so the row belongs to no episode", table.name)
    begins = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    first: dict = {}
    for begin in begins:
        earlier = first.setdefault(column[begin], begin)
        if earlier != begin:
            raise Fault(
                f"the rows of episode {column[begin]} are apart: some begin at {table.place(earlier)}, others at "
                f"{table.place(begin)}; sort the table by episode and time",
                table.name,
            )
    return list(zip(map(int, begins), [*map(int, begins[1:]), len(column)], strict=True))


def _refuse_late_rewards(table: StepTable, roles: Roles, pieces, earned: np.ndarray) -> None:
    """A reward that stands beside the observation it came with: the first rows of all episodes have none."""
    first = np.array([start for start, _ in pieces])
    others = np.delete(earned, first)
    empty = np.isnan(earned[first])
    none = np.nan_to_num(earned[first]) == 0
    if len(first) < 2 or not len(others) or not (empty.all() or (none.all() and np.mean(others == 0) < 0.1)):
        return
    what = "empty" if empty.all() else "0"
    raise Fault(
        f"column {roles.reward} is {what} in the first row of every episode ({table.places(first)}): rewards seem to "
        "stand beside the observation they came with; move them by --reward-shift -1, or keep them by --reward-shift 0",
        table.name,
    )


def _refuse_not_finite(table: StepTable, names, numbers: np.ndarray, needed: np.ndarray, moved: bool = False) -> None:
    wrong = np.argwhere(~np.isfinite(numbers) & needed[:, None])
    if len(wrong):
        row, column = wrong[0]
        rows = np.unique(wrong[:, 0])
        more = f"; so are others: {table.places(rows + moved)}" if len(rows) > 1 else ""
        what = "empty" if np.isnan(numbers[row, column]) else f"{numbers[row, column]:g}"
        where = table.place(row + moved)
        raise Fault(f"{where}: column {names[column]} is {what}, but must be a finite number{more}", table.name)


def _actions(table: StepTable, names, done: np.ndarray, needed: np.ndarray, bounds) -> np.ndarray:
    """Whole numbers [N], or continuous actions [N, D] in [-1, 1]."""
    if bounds is not None:
        low, high = bounds
        if not low < high:
            raise ValueError(f"The bounds of actions are {low:g} and {high:g}, but the first must be the lower one")
        done = 2 * (done - low) / (high - low) - 1
    elif len(names) == 1 and (done[needed] == np.round(done[needed])).all():
        row = int(np.argmin(np.where(needed, done[:, 0], 0)))
        if done[row, 0] < 0:
            raise Fault(
                f"{table.place(row)}: column {names[0]} is {done[row, 0]:g}, but actions are numbered from 0; if they "
                "are continuous, say between which bounds: --action-bounds LOW,HIGH",
                table.name,
            )
        return np.nan_to_num(done[:, 0]).astype(np.int32)
    outside = np.argwhere((np.abs(done) > 1 + 1e-6) & needed[:, None])
    if len(outside):
        row, column = outside[0]
        limits = "[-1, 1]" if bounds is None else f"the bounds {bounds[0]:g} and {bounds[1]:g}"
        value = table.columns[names[column]][row]
        raise Fault(
            f"{table.place(row)}: column {names[column]} is {value}, outside of {limits}; give the bounds of "
            "the actions: --action-bounds LOW,HIGH",
            table.name,
        )
    return np.clip(np.nan_to_num(done), -1, 1).astype(np.float32)


def _ends(table: StepTable, roles: Roles, pieces, say) -> list[bool]:
    """Whether each episode terminates; marks in the middle of an episode are refused."""
    marks = {}
    for kind in ("terminated", "truncated"):
        name = getattr(roles, kind)
        marks[kind] = np.zeros(pieces[-1][1], bool) if name is None else table.numbers(name) > 0
        last = {stop - 1 for _, stop in pieces}
        inside = [row for row in np.flatnonzero(marks[kind]) if int(row) not in last]
        # The mark may stand at the last step, before a row that holds the last observation only.
        if inside:
            before = {
                stop - 2: stop - 1 for start, stop in pieces if stop - start > 1 and _no_step(table, roles, stop - 1)
            }
            for row in [row for row in inside if int(row) in before]:
                marks[kind][before[int(row)]] = True
            inside = [row for row in inside if int(row) not in before]
        if inside:
            start, stop = next(piece for piece in pieces if piece[0] <= inside[0] < piece[1])
            raise Fault(
                f"{table.place(inside[0])}: column {name} marks an end, but episode "
                f"{table.columns[roles.episode][start]} goes on until {table.place(stop - 1)}; is "
                "another column the episode's?",
                table.name,
            )
    lengths = {stop - start for start, stop in pieces}
    if len(pieces) >= _SEVERAL and len(lengths) == 1 and all(marks["terminated"][stop - 1] for _, stop in pieces):
        say(
            f"all {len(pieces)} episodes terminate after exactly {lengths.pop()} rows: if that is a time limit, after "
            f"which something could follow, name the column otherwise: --truncated {roles.terminated}"
        )
    unmarked = [stop - 1 for _, stop in pieces if not (marks["terminated"][stop - 1] or marks["truncated"][stop - 1])]
    if unmarked and (roles.terminated or roles.truncated):
        say(f"{len(unmarked)} episodes end without a mark ({table.places(unmarked)}): they count as cut off")
    elif unmarked:
        say(
            "no column says which episodes terminated, so all count as cut off, and values are bootstrapped at their "
            "ends; if failures end episodes, name the column: --terminated COLUMN"
        )
    return [bool(marks["terminated"][stop - 1]) for _, stop in pieces]


def _no_step(table: StepTable, roles: Roles, row: int) -> bool:
    return all(np.isnan(table.numbers(name)[row]) for name in roles.action)


def _refuse_misaligned(table: StepTable, episodes: list[Episode], name: str) -> None:
    alignment = StateAlignment()
    for episode in episodes:
        alignment.add(episode)
    shift = alignment.judge().shift
    if shift:
        where = "before" if shift > 0 else "after"
        raise Fault(
            f"column {name} seems to stand {abs(shift)} rows {where} the action that earned it (from "
            f"{table.place(0)} on; the observations explain it best when moved by {shift:+d}); move it by "
            f"--reward-shift {shift}, or keep it by --reward-shift 0",
            table.name,
        )


def _read_csv(path: Path) -> StepTable:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head = file.readline()
            file.seek(0)
            delimiter = "\t" if path.suffix == ".tsv" else ";" if head.count(";") > head.count(",") else ","
            rows = list(_rows(csv.reader(file, delimiter=delimiter), path))
    except (UnicodeDecodeError, csv.Error) as error:
        raise Fault(f"the file cannot be read as a table ({error})", path) from None
    if not rows:
        raise Fault("the file is empty", path)
    names = [name.strip() for name in rows[0]]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Fault(f"two columns are called {twice[0]!r}; rename one", path)
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else [() for _ in names]
    typed = (_typed(np.array(column, object)) for column in columns)
    return StepTable(dict(zip(names, typed, strict=True)), str(path), "line", 2)


def _rows(reader, path: Path) -> Iterator[list[str]]:
    """The rows, all as long as the first; empty lines at the end are none."""
    width = None
    for row in reader:
        if not row:
            continue
        width = width or len(row)
        if len(row) != width:
            what = f"line {reader.line_num}: the row has {len(row)} cells, but the head has {width}"
            raise Fault(f"{what}; was the file written to the end?", path)
        yield row


def _typed(column: np.ndarray) -> np.ndarray:
    """float64 where all cells are numbers or empty, else text."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    numbers = [_number(cell) for cell in column]
    if None in numbers:
        return np.array(["" if cell is None else str(cell).strip() for cell in column], object)
    return np.array(numbers, np.float64)


def _number(cell) -> float | None:
    """A cell's number; NaN for an empty one, None for text."""
    text = "" if cell is None else str(cell).strip()
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    try:
        return float(text)
    except ValueError:
        return None
