"""`kernel` and `kernel_part`: Numba's `njit` with an on-disk cache that can never be stale.

Numba's own cache looks only at the file of the cached function: edit a helper in another file and the old machine code
runs on. Here the cache lives in a folder named by a hash of every source file that holds kernels (and of the settings
that change the machine code), so an edit always compiles anew. `NUMBA_DISABLE_JIT=1` turns kernels into plain Python.

No kernel may be compiled with "fastmath", and none can be: its numbers would depend on the cache. The process that
compiles a kernel calls each part in the copy that was compiled on its own; one that loads the kernel from the cache
calls the copy inside it, which was optimised a second time. Only where the order of every sum is written in the source
do both give the same digits (`networks/compiled/rows.py`).
"""

import functools
import getpass
import hashlib
import os
import pathlib
import shutil
import tempfile

import numba
from numba import types
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
_OPTIONS = {
    "no_cfunc_wrapper": True,
    "nogil": True,  # the cores work on their rows at the same time
    "error_model": "numpy",  # no branch for division by zero
    "_nrt": False,  # kernels allocate nothing, so no references are counted: halves the time to compile
}
_KEPT_VERSIONS = 8  # folders of older sources that stay, for those who switch between branches


def kernel_part(function):
    """Decorator for a function that only kernels call: compiled into them, and faster to compile than a kernel."""
    return numba.njit(**_OPTIONS, no_cpython_wrapper=True)(function)


def kernel(function):
    """Decorator: compile with Numba, without the global interpreter lock, cached on disk by source hash."""
    # A function's cache is placed when it is decorated; other users of Numba in this process keep their own setting.
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    # Somebody who edits while this process is still importing must not leave a mixture of old and new in the cache.
    unchanged = cache_folder().name == source_hash()
    try:
        return numba.njit(cache=unchanged, **_OPTIONS)(function)
    finally:
        numba.config.CACHE_DIR = previous


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
def cache_folder() -> pathlib.Path:
    """The folder of the compiled kernels for exactly these sources and settings."""
    base = _writable_base()
    folder = base / source_hash()
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    versions = sorted((path for path in base.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for old in versions[:-_KEPT_VERSIONS]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


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


def _writable_base() -> pathlib.Path:
    """NUMBA_CACHE_DIR, else the user's cache folder, else (a read-only home) a temporary folder of this user."""
    user_cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    for candidate in (os.environ.get("NUMBA_CACHE_DIR"), user_cache):
        if candidate:
            base = pathlib.Path(candidate).expanduser() / "mzu" / "kernels"
            try:
                base.mkdir(parents=True, exist_ok=True)
                if os.access(base, os.W_OK):
                    return base
            except OSError:
                continue
    base = pathlib.Path(tempfile.gettempdir()) / f"mzu-kernels-{getpass.getuser()}"
    base.mkdir(mode=0o700, exist_ok=True)
    return base
