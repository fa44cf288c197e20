"""`kernel` and `kernel_part`: Numba's `njit` with an on-disk cache that can never be stale.

Numba's own cache looks only at the file of the cached function: edit a helper in another file and the old machine code
runs on. Here the cache lives in a folder named by a hash of every source file that holds kernels (and of the settings
that change the machine code), so an edit always compiles anew. `NUMBA_DISABLE_JIT=1` turns kernels into plain Python.

A cache is code that will run. It is used only where nobody but this user may write, and each file of it carries a
checksum: a damaged one is compiled again, a full disk done without, and both are said. `mzu doctor` looks at it.

No kernel may be compiled with "fastmath", and none can be: its numbers would depend on the cache. The process that
compiles a kernel calls each part in the copy that was compiled on its own; one that loads the kernel from the cache
calls the copy inside it, which was optimised a second time. Only where the order of every sum is written in the source
do both give the same digits (`networks/compiled/rows.py`).
"""

import functools
import getpass
import hashlib
import logging
import os
import pathlib
import re
import shutil
import stat
import tempfile

import numba
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.serialize import pickle
from numba.extending import intrinsic

_PACKAGE = pathlib.Path(__file__).parent
_KERNEL_SOURCES = (
    "compilation.py",
    *("search/*.py", "search/improvement/*.py"),
    *("networks/compiled/*.py", "networks/constants.py"),
    "bench/search.py",
    "episodes/readers/tfrecord.py",
    "replay/priorities.py",
)
KERNEL_OPTIONS = {
    "no_cfunc_wrapper": True,
    "nogil": True,  # the cores work on their rows at the same time
    "error_model": "numpy",  # no branch for division by zero
    "_nrt": False,  # kernels allocate nothing, so no references are counted: halves the time to compile
}
_KEPT_VERSIONS = 8  # folders of older sources that stay, for those who switch between branches


def kernel_part(function):
    """Decorator for a function that only kernels call: compiled into them, and faster to compile than a kernel."""
    return numba.njit(**KERNEL_OPTIONS, no_cpython_wrapper=True)(function)


def kernel(function):
    """Decorator: compile with Numba, without the global interpreter lock, cached on disk by source hash."""
    compiled = numba.njit(**KERNEL_OPTIONS)(function)
    # Somebody who edits while this process is still importing must not leave a mixture of old and new in the cache.
    if numba.config.DISABLE_JIT or cache_folder() is None or cache_folder().name != source_hash():
        return compiled
    # A function's cache is placed when it is made; other users of Numba in this process keep their own setting.
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        compiled._cache = _KernelCache(function)
    finally:
        numba.config.CACHE_DIR = previous
    return compiled


class _KernelCache(FunctionCache):
    """Numba's cache of one function, in files with checksums; what cannot be kept is compiled in every process."""

    def __init__(self, function):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, signature, data):
        try:
            super().save_overload(signature, data)
        except OSError as error:
            _say(f"The kernel cache {cache_folder()} cannot be written ({error.strerror}); kernels are not kept in it")


class _CheckedFiles(IndexDataCacheFile):
    """An index and the machine code that it names, each pickled behind its SHA-256."""

    def _load_index(self):
        version, stamp, overloads = self._read(self._index_path) or (None, None, {})
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads):
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name):
        return self._read(self._data_path(name))

    def _save_data(self, name, data):
        self._write(self._data_path(name), data)

    def _read(self, path):
        try:
            data = checked_bytes(pathlib.Path(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _say(f"The kernel cache is damaged ({error}); the kernel is compiled again")
            return None
        return pickle.loads(data)

    def _write(self, path, content):
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(data).digest() + data)


def checked_bytes(path: pathlib.Path) -> bytes:
    """What a file of the cache holds; a ValueError where it is not what was written."""
    content = path.read_bytes()
    digest, data = content[:32], content[32:]
    if hashlib.sha256(data).digest() != digest:
        raise ValueError(f"{path} does not match its checksum")
    return data


@intrinsic
def _never_inline(typing_context):
    def codegen(context, builder, signature, arguments):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


# Called inside a kernel part: it stays a function of its own. A long one that is called from several places would
# otherwise be optimised again at each.
never_inline = (lambda: None) if numba.config.DISABLE_JIT else _never_inline


@functools.cache
def cache_folder() -> pathlib.Path | None:
    """The folder of the compiled kernels for exactly these sources and settings; None where there is no safe place.

    Under NUMBA_CACHE_DIR, else the user's cache folder, else (a read-only home) a temporary folder of this user.
    """
    user_cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    places = [os.environ.get("NUMBA_CACHE_DIR"), user_cache]
    bases = [pathlib.Path(os.path.expanduser(place)) / "mzu" / "kernels" for place in places if place]
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    for base in (*bases, pathlib.Path(tempfile.gettempdir()) / f"mzu-kernels-{user}"):
        try:
            base.parent.mkdir(parents=True, exist_ok=True)
            base.mkdir(mode=0o700, exist_ok=True)
            _keep_private(base)
            folder = base / source_hash()
            folder.mkdir(exist_ok=True)
            os.utime(folder)
            if os.access(folder, os.W_OK):
                _remove_old_versions(base)
                return folder
        except OSError:  # no such home, or nothing may be written there
            continue
        except ValueError as error:
            _say(f"{error}; kernels are not kept there")
    _say("There is no folder for compiled kernels, so every process compiles them anew; set NUMBA_CACHE_DIR to one")
    return None


def cache_trouble() -> str:
    """What is wrong with the kernel cache, in a sentence; empty where nothing is (`mzu doctor`)."""
    folder = cache_folder()
    if folder is None:
        return "the kernel cache has no folder that only you may write to"
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 20))
        for path in sorted(folder.rglob("*.nb[ic]")):
            checked_bytes(path)
    except OSError as error:
        return f"the kernel cache {folder} cannot be written ({error.strerror})"
    except ValueError as error:
        return f"the kernel cache is damaged: {error}"
    return ""


def _keep_private(base: pathlib.Path) -> None:
    """Refuses a folder in which somebody else could put code. One of this user's that was open to others is emptied."""
    if not hasattr(os, "getuid"):
        return  # Windows keeps a user's folders from the others
    state = base.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid():
        raise ValueError(f"{base} is not a folder of your own")
    for parent in (base.parent.resolve(), *base.parent.resolve().parents):
        state = parent.stat()
        is_open = state.st_mode & stat.S_IWOTH and not state.st_mode & stat.S_ISVTX
        if is_open or state.st_uid not in (0, os.getuid()):
            raise ValueError(f"{base} lies in {parent}, where others may put a folder in its place")
    if base.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        base.chmod(0o700)
        for version in _versions(base):
            shutil.rmtree(version, ignore_errors=True)
        _say(f"{base} could be written by others: it was emptied, and is yours alone now")


def _remove_old_versions(base: pathlib.Path) -> None:
    for old in sorted(_versions(base), key=lambda path: path.stat().st_mtime)[:-_KEPT_VERSIONS]:
        shutil.rmtree(old, ignore_errors=True)


def _versions(base: pathlib.Path) -> list[pathlib.Path]:
    return [path for path in base.iterdir() if re.fullmatch("[0-9a-f]{16}", path.name) and path.is_dir()]


@functools.cache
def _say(sentence: str) -> None:
    """Once in a process, however many kernels it concerns."""
    logging.getLogger("mzu").warning("mzu: %s", sentence)


def kernel_sources() -> list[pathlib.Path]:
    """The files that kernels are made of, with the constants that are compiled into them."""
    return sorted(path for pattern in _KERNEL_SOURCES for path in _PACKAGE.glob(pattern))


def source_hash() -> str:
    """Hash of all kernel sources and of the Numba settings that decide what they compile to."""
    digest = hashlib.sha256()
    for path in kernel_sources():
        digest.update(str(path.relative_to(_PACKAGE)).encode() + path.read_bytes())
    settings = (numba.__version__, numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.CPU_NAME)
    digest.update(repr(settings).encode())
    return digest.hexdigest()[:16]
