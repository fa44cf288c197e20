"""What keeps a student's code to itself: limits, no network, no other processes, no files but its own folder.

The process restricts itself before it runs any of that code, with what Linux offers to every user; nothing here needs
root, and root is restricted like everybody else.

- resource limits: memory, processor time, size of a file
- no capabilities: root may not restart the machine, set its clock or raise a limit
- a system call filter (seccomp): no other processes, no sockets; nothing is sent to other processes or set for them,
  permissions stay as they are
- a network namespace: no network interface but an empty loopback
- Landlock: reads Python, its packages and the system's libraries; writes its own folder; sees no other file's content

On macOS there are the limits only, and the network is kept away by Python: `isolate` says so, and every page of grades
does. Windows has nothing of all this, and `submission.py` grades nothing there.
"""

import contextlib
import ctypes
import errno
import os
import platform
import resource
import signal
import site
import struct
import sys
from pathlib import Path

MZU = Path(__file__).resolve().parents[1]
READABLE = [
    *("/usr", "/lib", "/lib64", "/bin", "/nix/store", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/etc/localtime", "/etc/fonts", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/mime.types"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems"),
    *("/proc/sys/vm", "/sys/devices/system", "/dev/urandom", "/dev/random", "/dev/zero"),
]
WITHOUT_LINUX = (
    *("it may read and write all files of this user", "it may start processes, and outlive the grading"),
    *("the network is kept away by Python only", "the limit of its memory may not hold"),
)
FILE_BYTES = 64 * 2**20  # of one file that the code writes
CLONE_NEWUSER, CLONE_NEWNET, CLONE_THREAD = 0x10000000, 0x40000000, 0x10000
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
CAPABILITIES_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def isolate(folder: Path, memory_bytes: int, processor_seconds: int) -> list[str]:
    """Restricts this process, which must have one thread only, for good; returns what the system does not offer."""
    if not sys.platform.startswith("linux"):
        _limit(memory_bytes, processor_seconds)
        _guard_sockets()
        return [f"{what} (no Linux)" for what in WITHOUT_LINUX]
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # it must not outlive the process that grades
    _limit(memory_bytes, processor_seconds)
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # both filters below ask for it
    own_network = _libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0
    _libc.capset(struct.pack("=Ii", CAPABILITIES_VERSION, 0), bytes(2 * 3 * 4))  # of this process, to none
    missing = _restrict_files(folder)
    filtered = _filter_system_calls()
    if not filtered:
        missing.append("it may start processes (no system call filter)")
    if not (filtered or own_network):
        _guard_sockets()
        missing.append("the network is kept away by Python only (no network namespace, no system call filter)")
    return missing


def _limit(memory_bytes: int, processor_seconds: int) -> None:
    with contextlib.suppress(OSError):  # the first to be ended where the machine runs out of memory
        Path("/proc/self/oom_score_adj").write_text("1000")
    limits = {
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_CPU: processor_seconds,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, wanted in limits.items():
        _, hard = resource.getrlimit(kind)
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(kind, (limit, limit))
        except ValueError:  # macOS knows the limit of memory, and refuses it
            if sys.platform.startswith("linux"):
                raise


def _guard_sockets() -> None:
    import socket

    def refuse(*arguments, **options):
        raise PermissionError(errno.EPERM, "There is no network while notebooks are graded")

    socket.socket = socket.create_connection = socket.getaddrinfo = refuse


# --- Landlock -----------------------------------------------------------------------------------------------------

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all architectures
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
# The rights that each version of Landlock's interface knows: files, then network, then signals and abstract sockets.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}


def _restrict_files(folder: Path) -> list[str]:
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return ["it may read and write all files of this user (no Landlock)"]
    handled = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    network, scoped = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    rules = struct.pack("=QQQ", handled, network, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _libc.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return [f"it may read and write all files of this user (Landlock: {os.strerror(ctypes.get_errno())})"]
    read = _EXECUTE | _READ_FILE | _READ_DIR
    for path in readable_paths():
        with contextlib.suppress(OSError):  # not every kind of file system knows such rules
            _allow(ruleset, path, read)
    _allow(ruleset, Path("/dev/null"), read | _WRITE_FILE | _TRUNCATE & handled)
    _allow(ruleset, folder, handled)
    if _libc.syscall(_RESTRICT_SELF, ruleset, 0):
        return [f"it may read and write all files of this user (Landlock: {os.strerror(ctypes.get_errno())})"]
    os.close(ruleset)
    return [] if version >= 3 else ["it may empty files of this user (a Landlock without the right to truncate)"]


def readable_paths() -> list[Path]:
    """What Python and the library need. Not the folder that mzu was cloned into: solutions or grades may be in it."""
    packages = [path for path in [*sys.path, site.getusersitepackages()] if Path(path).name.endswith("-packages")]
    paths = [sys.prefix, sys.base_prefix, *packages, MZU, *READABLE]
    return [Path(path) for path in paths if os.path.exists(path)]


def _allow(ruleset: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights &= -1 if os.path.isdir(path) else _OF_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        if _libc.syscall(_ADD_RULE, ruleset, 1, rule, 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
    finally:
        os.close(descriptor)


# --- seccomp ------------------------------------------------------------------------------------------------------

# System calls by architecture: its name for the filter, how processes and threads are made, and what is refused.
_CALLS = {
    "x86_64": {
        "architecture": 0xC000003E,
        "clone": 56,
        "prlimit64": 302,
        "fcntl": 72,
        "ioctl": 16,
        "refused": {
            "processes": (57, 58),  # fork, vfork
            "sockets": (41, 425),  # socket, io_uring_setup
            "signals": (62, 200, 234, 129, 297, 424),  # kill, tkill, tgkill, their queueing twins, pidfd_send_signal
            "other processes": (101, 310, 311, 438),  # ptrace, process_vm_readv, process_vm_writev, pidfd_getfd
            "limits": (160,),  # setrlimit
            "priorities": (141, 142, 144, 203, 251, 314),  # setpriority, sched_set*, ioprio_set: also of the teacher
        },
        "ignored": (90, 91, 268, 452, 92, 93, 94, 260),  # chmod and chown in all forms
    },
    "aarch64": {
        "architecture": 0xC00000B7,
        "clone": 220,
        "prlimit64": 261,
        "fcntl": 25,
        "ioctl": 29,
        "refused": {
            "sockets": (198, 425),
            "signals": (129, 130, 131, 138, 240, 424),
            "other processes": (117, 270, 271, 438),
            "limits": (164,),
            "priorities": (140, 118, 119, 122, 30, 274),
        },
        "ignored": (52, 53, 452, 54, 55),
    },
}
_CLONE3 = 435
# Who gets a signal when a file becomes ready is set by F_SETOWN, F_SETOWN_EX (fcntl), FIOSETOWN, SIOCSPGRP (ioctl).
_SET_OWNER = {"fcntl": (8, 15), "ioctl": (0x8901, 0x8902)}
_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # instructions of the filter
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where the filter finds them; an argument has 8 bytes


def _filter_system_calls() -> bool:
    """Refuses what a solution has no need of; False where that does not work on this machine."""
    calls = _CALLS.get(platform.machine())
    if calls is None:
        return False
    program = b"".join(struct.pack("=HBBI", *instruction) for instruction in _filter(calls))
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(instructions))
    return _libc.prctl(PR_SET_SECCOMP, 2, header, 0, 0) == 0


def _filter(calls: dict) -> list[tuple[int, int, int, int]]:
    """The filter's instructions: operation, how many to skip if true, if false, operand."""

    def unless(operation: int, operand: int, *then: tuple) -> list[tuple]:
        """Does `then` where the comparison is false."""
        return [(operation, len(then), 0, operand), *then]

    def where(operation: int, operand: int, *then: tuple) -> list[tuple]:
        return [(operation, 0, len(then), operand), *then]

    refuse = (_RETURN, 0, 0, _ERROR | errno.EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    program = [(_LOAD, 0, 0, _ARCHITECTURE), *unless(_EQUAL, calls["architecture"], refuse), (_LOAD, 0, 0, _NUMBER)]
    program += where(_AT_LEAST, 0x40000000, refuse)  # another numbering of the same calls (x32)
    for numbers in calls["refused"].values():
        for number in numbers:
            program += where(_EQUAL, number, refuse)
    for number in calls["ignored"]:  # copying a file asks for it, and must not fail
        program += where(_EQUAL, number, (_RETURN, 0, 0, _ERROR))
    # The C library then falls back to clone, whose flags a filter can read.
    program += where(_EQUAL, _CLONE3, (_RETURN, 0, 0, _ERROR | errno.ENOSYS))
    flags, new_limit = (_LOAD, 0, 0, _ARGUMENTS), (_LOAD, 0, 0, _ARGUMENTS + 2 * 8)
    new_limit_upper = (_LOAD, 0, 0, _ARGUMENTS + 2 * 8 + 4)
    program += where(_EQUAL, calls["clone"], flags, *where(_BITS, CLONE_THREAD, allow), refuse)
    for name, commands in _SET_OWNER.items():
        command = (_LOAD, 0, 0, _ARGUMENTS + 8)
        refused = [part for number in commands for part in where(_EQUAL, number, refuse)]
        program += where(_EQUAL, calls[name], command, *refused, allow)
    only_read = [new_limit, *unless(_EQUAL, 0, refuse), new_limit_upper, *unless(_EQUAL, 0, refuse), allow]
    return [*program, *where(_EQUAL, calls["prlimit64"], *only_read), allow]
