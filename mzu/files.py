"""Crash-safe writing: a file or folder appears under its final name whole or not at all, whatever happens.

An archive (.npz, .keras) is sealed besides: it says how many entries it has and how they are called, so that one which
a flipped bit took out of its table of contents is missed.
"""

import contextlib
import errno
import os
import pathlib
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator

FULL = (errno.ENOSPC, errno.EDQUOT)  # the disk, or what a user may have of it
_TEMPORARY = ".tmp"
_SEAL = b"mzu: "


@contextlib.contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[pathlib.Path]:
    """A temporary path to write a file or a folder to; it takes the name `path` only after all is safely on the disk.

    After a crash `path` is the old file or the new one. The temporary path lies in a folder of its own beside `path`,
    so that renaming it is one step for the file system, and has its name, from which some writers take the format.
    """
    path = pathlib.Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"{path} is no ordinary file, and would be replaced by one; choose the name of a file")
    if path.is_symlink():
        path = path.resolve()  # the link stays, and what it leads to is written
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
        named = OSError(number, os.strerror(number), str(path))
        if number in FULL:
            named.add_note("make room there, or choose another place")
        raise named from error


@contextlib.contextmanager
def _written_whole(path: pathlib.Path) -> Iterator[pathlib.Path]:
    if path.is_dir() and any(path.iterdir()):
        raise ValueError(f"The folder {path} exists and is not empty; choose another name, or remove it")
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = _temporary_folder(path)
    try:
        temporary = folder / path.name
        yield temporary
        # The content must reach the disk before the name does, or a power cut leaves an empty file under it.
        if temporary.is_dir():
            for file in sorted(temporary.rglob("*")):
                flush_to_disk(file)
            if path.is_dir():
                path.rmdir()
        flush_to_disk(temporary)
        os.replace(temporary, path)
        flush_to_disk(path.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_whole(path: pathlib.Path) -> None:
    """Removes a folder, which is there with all its files or not at all, whatever happens."""
    folder = _temporary_folder(path)
    os.replace(path, folder / path.name)
    shutil.rmtree(folder)


def remove_leftovers(folder: pathlib.Path) -> None:
    """Removes what a process left in `folder` that was killed inside of `written_whole` or `remove_whole`."""
    for leftover in folder.glob(f".*{_TEMPORARY}"):
        shutil.rmtree(leftover, ignore_errors=True)


def seal(archive: zipfile.ZipFile) -> None:
    """Notes in an archive that is being written which entries it has; numpy and Keras do not mind."""
    archive.comment = _seal_of(archive)


def check_seal(archive: zipfile.ZipFile) -> None:
    """Raises BadZipFile where an archive has other entries than it had when it was sealed; old ones have no seal."""
    if archive.comment.startswith(_SEAL) and archive.comment != _seal_of(archive):
        raise zipfile.BadZipFile(f"it has {len(archive.namelist())} entries, but was written with others")


def _seal_of(archive: zipfile.ZipFile) -> bytes:
    names = sorted(archive.namelist())
    return _SEAL + b"%d entries, names %08x" % (len(names), zlib.crc32("\n".join(names).encode()))


def _temporary_folder(path: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=_TEMPORARY, dir=path.parent))


def flush_to_disk(path: pathlib.Path) -> None:
    """Waits until what was written is where no power cut can reach it."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders; it keeps their entries itself
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
