"""Crash-safe writing: a file or folder appears under its final name whole or not at all, whatever happens."""

import contextlib
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[pathlib.Path]:
    """A temporary path to write a file or a folder to; it takes the name `path` only after all is safely on the disk.

    After a crash `path` is the old file or the new one. The temporary path lies in a folder of its own beside `path`,
    so that renaming it is one step for the file system, and has its name, from which some writers take the format.
    """
    path = pathlib.Path(path)
    with named_errors(path), _written_whole(path) as temporary:
        yield temporary


@contextlib.contextmanager
def named_errors(path: pathlib.Path) -> Iterator[None]:
    """Makes the system's errors say which file was being written: of a full disk they name none, or a temporary one."""
    try:
        yield
    except OSError as error:
        of_hdf5 = re.search(r"errno = (\d+)", str(error))  # which hides the system's number in its words
        number = int(of_hdf5.group(1)) if of_hdf5 else error.errno
        if number is None or not (error.filename is None or ".tmp" in str(error.filename)):
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


@contextlib.contextmanager
def _written_whole(path: pathlib.Path) -> Iterator[pathlib.Path]:
    if path.is_dir() and any(path.iterdir()):
        raise ValueError(f"The folder {path} exists and is not empty; choose another name, or remove it")
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        temporary = folder / path.name
        yield temporary
        # The content must reach the disk before the name does, or a power cut leaves an empty file under it.
        if temporary.is_dir():
            for file in sorted(temporary.rglob("*")):
                _flush_to_disk(file)
            if path.is_dir():
                path.rmdir()
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
