"""The two logs of a run, log.csv and timing.csv: tables that grow line by line (tutorials/metrics.md)."""

import csv
import io
from pathlib import Path

from mzu.files import named_errors
from mzu.training.seals import check_as_written, unseal, write_sealed


def append_row(path: Path, row: dict) -> None:
    """Appends a row. The first one decides the columns, also where an older version has begun the file."""
    text = io.StringIO()
    columns = list(row)
    is_new = not path.exists()
    if is_new:
        unseal(path)  # it was moved away
    else:
        with named_errors(path), path.open(newline="", encoding="utf-8") as file:
            columns = next(csv.reader(file), columns)
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    if is_new:
        writer.writeheader()
    writer.writerow(row)
    with named_errors(path), path.open("a", encoding="utf-8") as file:
        file.write(text.getvalue())


def logged_rows(path: Path) -> list[dict[str, float]]:
    """The rows as numbers; empty cells are NaN; none where there is no such file."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            # A kill in the middle of a write can leave half a line at the end, which has too few cells.
            rows = [row for row in csv.DictReader(file) if None not in row.values()]
        rows = [{key: float(value) if value else float("nan") for key, value in row.items()} for row in rows]
    except FileNotFoundError:  # also where a run that begins anew takes it away at this moment
        return []
    except (ValueError, TypeError, csv.Error) as error:
        raise ValueError(f"{path} is not a log of mzu ({error}); move it away to look at the run without it") from None
    check_as_written(path)
    return rows


def keep_rows(path: Path, step: int) -> None:
    """Takes out the rows behind a step: what a killed run wrote after its last checkpoint happens again."""
    if not path.exists():
        return
    check_as_written(path)
    # A kill in the middle of a write can leave half a line at the end, even half a header.
    lines = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
    kept = [line for line in lines[1:] if int(line.split(",")[0]) <= step]
    if kept:
        write_sealed(path, "".join([lines[0], *kept]))
    else:
        unseal(path)
        path.unlink()
