"""One folder, one writer: a file in it says which process writes there (`RunFolder.locked`, `mzu reproduce`).

The file is created exclusively, which every system can. A process that was killed leaves it behind: such a lock is
recognised by its process, which is gone, or by the boot of the machine, which is another one, and it is taken over.
"""

import contextlib
import ctypes
import json
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

from mzu.files import named_errors

LOCK = "run.lock"
_SECONDS_TO_WRITE = 10.0  # an empty lock is being written; one that stays empty was left by a kill in between


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else writes into the folder meanwhile; a sentence where another process does."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    owner = {"process": os.getpid(), "host": platform.node(), "boot": _boot(), "began": _began(os.getpid())}
    text = json.dumps(owner | {"since": time.strftime("%Y-%m-%d %H:%M:%S")}) + "\n"
    _take(path, text)
    try:
        yield
    finally:
        # Somebody who believed this process dead may have removed it.
        with contextlib.suppress(OSError):
            if path.read_text() == text:
                path.unlink()


def _take(path: Path, text: str) -> None:
    for _ in range(2):
        try:
            with named_errors(path), path.open("x") as file, _removed_unless_written(path):
                file.write(text)
                file.flush()
            return
        except FileExistsError:
            _remove_stale(path)
    raise ValueError(f"{path.parent} has just been taken by another process ({path}); wait for it")


@contextlib.contextmanager
def _removed_unless_written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError:  # a full disk
        path.unlink()
        raise


def _remove_stale(path: Path) -> None:
    """Removes a lock that nobody holds any more; a sentence where somebody does."""
    try:
        text, age = path.read_text(), time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return
    try:
        owner = json.loads(text)
        process, host = int(owner["process"]), str(owner["host"])
    except (ValueError, KeyError, TypeError):
        owner, process, host = {}, 0, "?"
    if owner and not _is_stale(owner, process, host):
        raise ValueError(
            f"{path.parent} is in use by process {process} on {host} since {owner.get('since', '?')}; wait for it or "
            f"end it, or remove {path} if that process is gone"
        )
    if not owner and age < _SECONDS_TO_WRITE:
        raise ValueError(f"{path.parent} is just being taken by another process ({path}); wait for it")
    # Renamed first, since two processes may have found the same stale lock: only one of them can.
    aside = path.with_name(f"{LOCK}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, aside)
        if aside.read_text() == text:
            aside.unlink()
        else:  # it was another one's, taken a moment ago
            os.replace(aside, path)


def _is_stale(owner: dict, process: int, host: str) -> bool:
    if host != platform.node():
        return False  # it cannot be asked from here
    if owner.get("boot") != _boot():
        return True
    return not _is_running(process) or owner.get("began") != _began(process)


def _boot() -> str:
    """What tells one boot of the machine from another; empty where the system does not say."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _began(process: int) -> str:
    """When a process began, in the system's own count, which tells it from a later one of the same number; or empty."""
    return "".join(_stat(process)[19:20])


def _stat(process: int) -> list[str]:
    """What Linux says of a process, from its state on; empty where there is none, or no Linux."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return []


def _is_running(process: int) -> bool:
    """Only looks: nothing is ever sent to a process whose number was read from a file."""
    if process <= 0:
        return False
    if os.name == "nt":
        # os.kill would end it. 0x1000: the right to ask; 259: still active.
        kernel = ctypes.windll.kernel32
        handle, status = kernel.OpenProcess(0x1000, False, process), ctypes.c_ulong()
        known = bool(handle) and bool(kernel.GetExitCodeProcess(handle, ctypes.byref(status)))
        kernel.CloseHandle(handle)
        return known and status.value == 259
    if Path("/proc/self/stat").exists():
        return _stat(process)[:1] not in ([], ["Z"])  # a zombie has ended
    try:
        os.getpgid(process)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
