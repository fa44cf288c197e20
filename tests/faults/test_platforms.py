"""Nothing in mzu/ needs Linux: what others lack is used behind a branch, and grading says where it is weaker."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mzu
from mzu.classroom import submission

PACKAGE = Path(mzu.__file__).parent
# `StudentProcess` refuses Windows before it starts the process that needs these, and `isolate` asks for Linux.
POSIX_ONLY = {"classroom/isolation.py", "classroom/student_process.py", "classroom/submission.py"}
MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "posix", "syslog"}
ATTRIBUTES = {
    *("os.fork", "os.forkpty", "os.kill", "os.killpg", "os.getpgid", "os.setsid", "os.setpgid", "os.getuid"),
    *("os.geteuid", "os.getgid", "os.sched_getaffinity", "os.sched_setaffinity", "os.nice", "os.uname", "os.wait"),
    *("os.waitpid", "os.mkfifo", "os.O_PATH", "os.O_DIRECTORY", "os.O_NOFOLLOW", "os.pipe2", "os.posix_fallocate"),
    *("signal.SIGKILL", "signal.SIGHUP", "signal.SIGALRM", "signal.SIGUSR1", "signal.SIGCHLD", "signal.SIGQUIT"),
    *("signal.alarm", "signal.setitimer", "signal.pause", "signal.pthread_kill", "multiprocessing.fork"),
}
KEYWORDS = {"pass_fds", "process_group", "start_new_session", "preexec_fn"}
PATHS = ("/tmp", "/proc", "/dev/", "/etc/", "/usr/", "/var/", "/sys/")
BRANCHES = ("sys.platform", "os.name", "hasattr(", "suppress(OSError", "except OSError", ".exists()")


def uses(tree):
    """(node, what) of everything in a module that not every system has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            yield node, node.module
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ATTRIBUTES:
            yield node, ast.unparse(node)
        elif isinstance(node, ast.keyword) and node.arg in KEYWORDS:
            yield node.value, node.arg
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(PATHS):
            yield node, node.value


def unguarded(text):
    """What is used by a function, or by the statement of a module, that has no branch for systems without it."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node, what in uses(tree):
        around = [one for one in [*functions, *tree.body] if one.lineno <= node.lineno <= one.end_lineno]
        smallest = min(around, key=lambda one: one.end_lineno - one.lineno)
        if not any(branch in ast.get_source_segment(text, smallest) for branch in BRANCHES):
            yield f"line {node.lineno}: {what}"


@pytest.mark.parametrize(
    "text, found",
    [
        ("import fcntl", ["line 1: fcntl"]),
        ("def f():\n    os.fork()", ["line 2: os.fork"]),
        ("def f():\n    if hasattr(os, 'fork'):\n        os.fork()", []),
        ("subprocess.Popen(a, process_group=0)", ["line 1: process_group"]),
        ("open('/tmp/x')", ["line 1: /tmp/x"]),
        ("def f():\n    with contextlib.suppress(OSError):\n        return open('/proc/stat')", []),
    ],
)
def test_what_not_every_system_has_is_found_unless_there_is_a_branch(text, found):
    assert list(unguarded(text)) == found


def test_nothing_in_the_package_needs_linux():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in POSIX_ONLY and (lines := list(unguarded(path.read_text(encoding="utf-8")))):
            found[name] = lines
    assert found == {}


def test_windows_grades_nothing_and_says_so(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ValueError, match="by means that Windows does not have; grade under Linux, WSL or macOS"):
        submission.StudentProcess(submission.Limits())


def test_a_system_that_is_no_linux_says_where_its_isolation_is_weaker(tmp_path):
    """In a process of its own, which believes that it runs on macOS: the limits it sets are its own."""
    code = f"""
import sys
sys.platform = "darwin"
from pathlib import Path
from mzu.classroom.isolation import isolate
print("\\n".join(isolate(Path({str(tmp_path)!r}), 2**33, 100)))
import socket
socket.socket()
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.stdout.splitlines() == [
        "it may read and write all files of this user (no Linux)",
        "it may start processes, and outlive the grading (no Linux)",
        "the network is kept away by Python only (no Linux)",
        "the limit of its memory may not hold (no Linux)",
    ]
    assert "PermissionError: [Errno 1] There is no network while notebooks are graded" in process.stderr
