"""The files of a dataset, found together with what is missing of their set.

Sets of files are named as TensorFlow names them, `train-00007-of-00100`. Notebook 09_real_data.
"""

import functools
import gzip
import re
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from mzu.available_memory import available_memory, shown_bytes
from mzu.episodes.readers.faults import Fault, MissingFiles, OnFault

SHARD = re.compile(r"(?P<prefix>.+)-(?P<index>\d{5})-of-(?P<count>\d{5})")
# What Python raises when compressed bytes are cut off, altered, or no GZIP at all.
GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)
# And when the directory of a zip file is damaged: places that are none, unknown methods, passwords, versions.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error, NotImplementedError, RuntimeError)


def shard_name(prefix: str, index: int, count: int) -> str:
    return f"{prefix}-{index:05d}-of-{count:05d}"


def find_shards(folder: Path, prefix: str, on_fault: OnFault) -> list[Path]:
    """The files `<prefix>-<i>-of-<n>` of a folder in order; a set that is not complete is a fault."""
    matches = [(SHARD.fullmatch(path.name), path) for path in sorted(folder.iterdir()) if path.is_file()]
    found = [(match, path) for match, path in matches if match and re.fullmatch(prefix, match["prefix"])]
    groups: dict[tuple[str, int], set[int]] = {}
    for match, _ in found:
        groups.setdefault((match["prefix"], int(match["count"])), set()).add(int(match["index"]))
    for (name, count), indices in groups.items():
        missing = sorted(set(range(count)) - indices)
        if missing:
            names = ", ".join(shard_name(name, index, count) for index in missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            what = f"{len(missing)} of the {count} files of the set are missing: {names}{more}"
            on_fault(MissingFiles(f"{what}; download them, or pass skip_bad (--skip-bad) to read the others", folder))
    return [path for _, path in found]


def check_not_empty(path: Path) -> None:
    """A fault for a file that is not there or has no bytes."""
    if not path.is_file():
        raise Fault("there is no such file", path)
    if path.stat().st_size == 0:
        raise Fault("the file is empty; download or write it again", path)


def check_fits(size: int, path: Path, record: int | None = None, field: str | None = None) -> None:
    """A fault where `size` bytes are more than there is memory, before any of them is read."""
    if size > available_memory():
        what = f"reading it takes {shown_bytes(size)}, but there are {shown_bytes(available_memory())} of memory"
        raise Fault(f"{what}; is the file what it says it is?", path, record, field)


def array_header(file) -> tuple[tuple[int, ...], bool, np.dtype]:
    """What numpy wrote before the numbers of an array: shape, whether they run by columns, type; else a ValueError."""
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return read(file)
    except (TypeError, SyntaxError, tokenize.TokenError) as error:
        raise ValueError(f"its header is no header of numpy ({type(error).__name__})") from None


def gzip_size(path: Path) -> int:
    """The bytes after decompression, all of which are read: the checksum of a GZIP file stands at its very end.

    A file that has not changed since is not read again by this process.
    """
    state = path.stat()
    return _gzip_size(path, state.st_size, state.st_mtime_ns)


@functools.cache
def _gzip_size(path: Path, size: int, changed: int) -> int:
    total = 0
    with gzip.open(path, "rb") as file:
        while piece := file.read(1 << 22):
            total += len(piece)
    return total
