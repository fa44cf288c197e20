"""Crash-safe writing: a file appears under its final name whole or not at all, whatever happens in between."""

import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable


def replace_file(path: str | os.PathLike, write: Callable[[pathlib.Path], None]) -> None:
    """Replaces `path` by what `write(temporary_path)` writes; after a crash it is the old file or the new one.

    The temporary file lies in a folder of its own beside `path`, so that renaming it is one step for the file system,
    and keeps its name, from which some writers take the format.
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        temporary = folder / path.name
        write(temporary)
        # The content must reach the disk before the name does, or a power cut leaves an empty file under it.
        _flush_to_disk(temporary)
        os.replace(temporary, path)
        _flush_to_disk(path.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _flush_to_disk(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
