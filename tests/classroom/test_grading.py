"""A student's code in its own process: whatever it does costs its question, and nothing leaves its folder."""

import ast
import dataclasses
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import made_assignment
import nbformat
import numpy as np
import pytest

from mzu.classroom import build, grading, handed_in, isolation, plain_values
from mzu.classroom.handed_in import HandedIn
from mzu.classroom.question import Wrong, judge
from mzu.classroom.submission import Limits, Submission

TWICE, SUM, COUNT = made_assignment.QUESTIONS
DOUBLE = "def double(number):\n    return 2 * number\n"
LIMITS = Limits(seconds=2, memory=1)
PATIENT = Limits(seconds=60, memory=1)  # where nothing hangs, a busy machine must not make it look so

needs_landlock = pytest.mark.skipif(
    isolation._libc.syscall(isolation._CREATE_RULESET, None, 0, 1) < 3, reason="needs a kernel with Landlock"
)


def made_notebook(*cells):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def judged(*cells, question=TWICE, limits=LIMITS):
    """The message, "" where the function is right; and the submission."""
    with Submission(made_notebook(*cells), limits) as asked:
        return message_of(asked, question), asked


def message_of(asked, question):
    try:
        judge(question, asked.caller(question), question.inputs(False))
    except Wrong as wrong:
        return str(wrong)
    return ""


def test_right_and_wrong_functions_get_the_messages_of_the_notebook():
    cells = [
        "import numpy as np",
        "def double(number):\n    return number ** 2",
        "def discounted(rewards, discount):\n    return np.dot(rewards, discount ** np.arange(len(rewards)))",
        "def count_up(counts):\n    np.add(counts, 1, out=counts)",
    ]
    with Submission(made_notebook(*cells), PATIENT) as asked:
        message = message_of(asked, TWICE)
        assert "it should give 2, but gives 1." in message and "two times, not a square" in message
        assert message_of(asked, SUM) == "" and message_of(asked, COUNT) == ""


def test_lines_for_ipython_leave_the_rest_of_their_cell_alone():
    lines = "%matplotlib inline\n!ls\n%load_ext nothing_like_it\nfiles = !ls\n%pip install nothing\nexit()\n"
    message, asked = judged(lines + DOUBLE, limits=PATIENT)
    assert message == "" and not asked.failed


@pytest.fixture
def victim():
    """A process for hostile cells to act on: where nothing stops them, they harm nobody else."""
    with made_assignment.victim() as process:
        yield process


def state_of(process):
    """What a hostile cell tries to change."""
    limit = resource.prlimit(process.pid, resource.RLIMIT_CPU)
    priority = os.getpriority(os.PRIO_PROCESS, process.pid)
    return process.poll(), limit, priority, os.sched_getaffinity(process.pid)


def test_a_cell_that_fails_costs_nothing_else():
    failing = {
        "import sys; sys.exit(3)": "stops with SystemExit: 3",
        "def again(): again()\nagain()": "stops with RecursionError",
        "held = bytearray(2 * 2**30)": "stops with MemoryError",
        "this is no Python": "stops with SyntaxError",
        "import os\nif os.fork() == 0: os._exit(0)": "Operation not permitted",
        "import subprocess; subprocess.run(['true'])": "Operation not permitted",
        "input()": "stops with EOFError",
        "import socket; socket.socket(socket.AF_INET)": "stops with PermissionError",
        "import socket; socket.socket(socket.AF_INET6)": "stops with PermissionError",
        "import socket; socket.socket(socket.AF_UNIX)": "stops with PermissionError",
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40))": "not allowed to raise",
        "open('large', 'wb').write(bytes(80 * 2**20))": "File too large",
    }
    message, asked = judged(*failing, DOUBLE, limits=PATIENT)
    assert message == ""
    assert set(asked.failed) == set(range(len(failing)))
    for found, how in zip(asked.failed.values(), failing.values(), strict=True):
        assert how in found


def test_a_cell_can_neither_end_nor_change_another_process(victim):
    start = f"import fcntl, os, resource, signal, socket, struct\nvictim = {victim.pid}"
    attempts = [
        "os.kill(victim, signal.SIGKILL)",
        "resource.prlimit(victim, resource.RLIMIT_CPU, (1, 1))",
        "os.setpriority(os.PRIO_PROCESS, victim, 19)",
        "os.sched_setaffinity(victim, list(os.sched_getaffinity(victim))[:1])",
        "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, victim)",
        "fcntl.ioctl(socket.socketpair()[0], 0x8901, struct.pack('i', victim))",
    ]
    before = state_of(victim)
    message, asked = judged(start, *attempts, DOUBLE, limits=PATIENT)
    assert message == "" and state_of(victim) == before
    assert set(asked.failed) == set(range(1, len(attempts) + 1))
    for found in asked.failed.values():
        assert "stops with PermissionError" in found


def test_root_grades_without_the_rights_of_root():
    """Filters name calls, and root has many that nobody thinks of: none of its capabilities is left."""
    look = "[held] = [line for line in open('/proc/self/status') if line.startswith('CapEff')]\n"
    message, asked = judged(look + "assert int(held.split()[1], 16) == 0, held", DOUBLE, limits=PATIENT)
    assert message == "" and not asked.failed


def test_cells_that_do_not_end_or_end_the_process_are_left_out():
    deaf = "import time\nwhile True:\n    try:\n        time.sleep(9)\n    except KeyboardInterrupt: pass"
    crash, leave = "import ctypes; ctypes.string_at(0)", "import os; os._exit(3)"
    # After each cell that takes the process with it all others run again, so the endless one that does not comes last.
    message, asked = judged(crash, leave, deaf, DOUBLE + "while True: print('flood ' * 1000)")
    assert message == "", "what a cell defined before its endless loop counts"
    assert sorted(asked.problems) == [
        "code cell 1 ends its process (SIGSEGV)",
        "code cell 2 ends its process",
        "code cell 3 did not end within 2 seconds",
        "code cell 4 did not end within 2 seconds",
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while True: pass", "did not end within 2 seconds. It was called with\n    number = 1"),
        ("import os; os._exit(0)", "ends its process"),
        ("import ctypes; ctypes.string_at(0)", "ends its process (SIGSEGV)"),
    ],
)
def test_a_call_that_ends_the_process_costs_its_question_only(body, words):
    cells = ["def double(number):\n    " + body, "def count_up(counts):\n    counts += 1"]
    with Submission(made_notebook(*cells), LIMITS) as asked:
        assert words in message_of(asked, TWICE)
        assert message_of(asked, COUNT) == ""


def test_a_call_that_fails_costs_its_question_only():
    bodies = {
        "import sys; sys.exit(0)": "stops with SystemExit",
        "raise KeyboardInterrupt": "stops with KeyboardInterrupt",
        "raise NotImplementedError": "double is not written yet",
        "return double(number)": "stops with RecursionError",
        "return bytearray(2 * 2**30)": "stops with MemoryError",
        "return object()": "but gives <object object at",
        "return 'x' * 2**26": "gives a result of more than 32 MiB",
    }
    cells = [f"def double{number}(number):\n    {body}" for number, body in enumerate(bodies)]
    cells[3] = cells[3].replace("return double(", "return double3(")
    with Submission(made_notebook(*cells), PATIENT) as asked:
        for number, words in enumerate(bodies.values()):
            question = dataclasses.replace(TWICE, name=f"double{number}")
            assert words.replace("double", f"double{number}") in message_of(asked, question)


def test_a_missing_function_says_why():
    with Submission(made_notebook("def double(number) return 2", "if False:\n    def count_up(): 1"), PATIENT) as asked:
        assert "is not defined: its cell stops with SyntaxError" in message_of(asked, TWICE)
        assert "although a cell looks" in message_of(asked, COUNT)
        assert message_of(asked, SUM) == "Question 9.2: discounted is not defined; its cell is missing."


def test_all_calls_of_a_check_share_one_time_limit_and_all_cells_ten():
    limits = Limits(seconds=0.25, memory=1)
    slow = "import time\ndef double(number):\n    time.sleep(0.2)\n    return 2 * number"
    assert "did not end within 0.25 seconds" in judged(slow, limits=limits)[0]
    message, _ = judged(*["import time; time.sleep(0.23)"] * 12, DOUBLE, limits=limits)
    assert "was not run: the cells took more than 10 times the limit" in message


@needs_landlock
def test_files_of_others_can_be_neither_read_nor_written(tmp_path, victim):
    secret = tmp_path / "grades.csv"
    secret.write_text("student,points\nanna,6\n")
    attempts = [
        "open(path, 'w')",
        "open(path, 'a')",
        "open(path).read()",
        "os.remove(path)",
        "os.truncate(path, 0)",
        "os.rename(path, 'mine')",
        "os.rename('own', path)",
        "os.link(path, 'mine')",
        "os.symlink(path, 'mine'); open('mine', 'w')",
        "os.mkdir(path + '.folder')",
        "os.listdir(os.path.dirname(path))",
        "shutil.copy(path, 'copy')",
        f"open('/proc/{victim.pid}/environ').read()",
        f"open('/proc/{victim.pid}/cmdline').read()",
    ]
    start = f"import os, shutil\npath = {str(secret)!r}\nopen('own', 'w').close()"
    _, asked = judged(start, *attempts, DOUBLE, limits=PATIENT)
    assert asked.not_isolated == []
    assert set(asked.failed) == set(range(1, len(attempts) + 1))
    for how in asked.failed.values():
        assert "Errno 13" in how or "Errno 18" in how
    assert secret.read_text() == "student,points\nanna,6\n"
    assert [path.name for path in tmp_path.iterdir()] == ["grades.csv"]


@needs_landlock
def test_the_installed_checks_can_be_read_but_not_changed(tmp_path):
    script = tmp_path / "script"
    script.touch(mode=0o600)
    before = grading.fingerprint()
    message, asked = judged(
        f"import os, mzu.classroom.question as module\nos.chmod({str(script)!r}, 0o777)",
        "open(module.__file__, 'r+').close()",  # writes nothing, also where it may
        "module.judge = module.same = lambda *given: True",
        "def double(number): return 0",
        limits=PATIENT,
    )
    assert list(asked.failed) == [1] and "PermissionError" in asked.failed[1]
    assert script.stat().st_mode & 0o777 == 0o600 and grading.fingerprint() == before
    assert "is not right yet" in message


def test_its_own_folder_is_writable_and_gone_afterwards_and_the_teachers_environment_is_not_in_it(monkeypatch):
    monkeypatch.setenv("MZU_SECRET", "1")
    code = (
        "import os\nopen('mine', 'w').write('1')\ndef double(number): return [os.getcwd(), 'MZU_SECRET' in os.environ]"
    )
    message, _ = judged(code, limits=PATIENT)
    folder, has_secret = ast.literal_eval(message.split("but gives ")[1].split("]")[0] + "]")
    assert "mzu-grade-" in folder and not os.path.exists(folder)
    assert has_secret is False


def test_the_process_does_not_outlive_the_one_that_grades(tmp_path):
    code = (
        "import nbformat.v4 as v4\n"
        "from mzu.classroom.submission import Limits, Submission\n"
        "endless = 'import os; open(str(os.getpid()), \"w\")\\nwhile True: pass'\n"
        "Submission(v4.new_notebook(cells=[v4.new_code_cell(endless)]), Limits(600, 1)).caller(None)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}) as teacher:
        while not (started := list(tmp_path.glob("mzu-grade-*/[0-9]*"))):
            assert teacher.poll() is None
            time.sleep(0.05)
        student = int(started[0].name)
        assert is_running(student)
        teacher.kill()
    deadline = time.monotonic() + 20
    while (lives_on := is_running(student)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if lives_on:
        os.kill(student, signal.SIGKILL)  # it would loop for ever
    assert not lives_on, "the student's process lives on"


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_where_the_kernel_offers_nothing_python_guards_sockets_and_the_report_says_so(tmp_path):
    code = (
        "from pathlib import Path\nfrom mzu.classroom import isolation\n"
        "class Nothing:\n    def __getattr__(self, name):\n        return lambda *given: -1\n"
        "isolation._libc = Nothing()\n"
        "print(isolation.isolate(Path('.'), 2**32, 100))\n"
        "import socket\n"
        "try:\n    socket.create_connection(('localhost', 9))\nexcept PermissionError as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "no Landlock" in found.stdout and "no system call filter" in found.stdout
    assert "There is no network while notebooks are graded" in found.stdout


# --- plain values ---


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        0.1,
        float("inf"),
        "text",
        [1, [2.0, "x"]],
        (1, (2,)),
        {"a": 1, 2: (3,), (0, 1): [None]},
        np.float32(0.5),
        np.arange(6).reshape(2, 3),
        np.zeros((0, 4)),
        np.array(True),
        np.arange(3, dtype=">f8"),
        [np.ones(2), {"k": np.int64(3)}],
    ],
    ids=repr,
)
def test_plain_values_come_back_as_they_were(value):
    def equal(one, other):
        if isinstance(one, np.ndarray | np.generic):
            return np.array_equal(one, other) and np.asarray(other).dtype.newbyteorder("=") == one.dtype.newbyteorder(
                "="
            )
        if isinstance(one, list | tuple):
            return type(one) is type(other) and all(map(equal, one, other))
        if isinstance(one, dict):
            return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
        return type(one) is type(other) and one == other

    assert equal(value, plain_values.from_bytes(plain_values.to_bytes(value)))


def test_what_is_not_plain_arrives_as_its_text_only():
    class Evil:
        def __reduce__(self):
            return os.system, ("touch evil",)

        def __repr__(self):
            return "evil"

    found = plain_values.from_bytes(plain_values.to_bytes([Evil(), {1, 2}, np.array([Evil()]), 1j]))
    assert [type(one) for one in found] == [plain_values.Foreign] * 4
    assert repr(found[0]) == "evil"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04",
        b"{",
        b'{"array": ["<f8", [1000000000000], ""]}',
        b'{"array": ["O", [1], "AAAAAAAAAAA="]}',
        b'{"array": ["<f8", [-1, -1], "AAAAAAAAAAA="]}',
        b'{"array": ["<f8", ["x"], ""]}',
        b'{"array": ["<f8", [0, 1180591620717411303424], ""]}',
        b'{"array": ["(1,f4", [], ""]}',
        b'{"array": [["<f8"], [], ""]}',
        b'{"array": 3}',
        b'{"dict": [[[1], 2]]}',
        b'{"unknown": 1}',
        b'{"tuple": [], "dict": []}',
        b"[" * 100_000 + b"]" * 100_000,
        b"[" * 50 + b"]" * 50,
        b"1" * 5000,
        b'"\xff"',
    ],
    ids=lambda data: repr(data[:20]),
)
def test_bytes_of_any_kind_are_refused_with_a_value_error(data):
    with pytest.raises(ValueError, match="hold no plain value"):
        plain_values.from_bytes(data)


def test_a_process_that_answers_in_its_own_way_is_found_out():
    # All open descriptors get a message; the loop that answers then finds its own answers out of order.
    forge = (
        "import os\n"
        "def double(number):\n"
        "    for descriptor in range(3, 50):\n"
        "        try: os.write(descriptor, (9).to_bytes(8) + b'not  json')\n"
        "        except OSError: pass\n"
        "    return 2 * number\n"
    )
    assert "disturbs the process" in judged(forge, limits=PATIENT)[0]
    forge = forge.replace("(9).to_bytes(8) + b'not  json'", "b'\\xff' * 8")
    assert "more than 32 MiB" in judged(forge, limits=PATIENT)[0]


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (b'{"array": ["(1,f4", [], ""]}', "disturbs the process it runs in"),
        # Not the number of any request: nobody waits for it.
        (b'{"dict": [["number", {"array": ["<i2", [2], "AAAAAA=="]}]]}', ""),
        # The answer to the first request, with words that the teacher would read as ours.
        (b'{"dict": [["number", 1], ["interrupted", "is a work of genius"]]}', "did not end within 60 seconds"),
    ],
    ids=["no type", "no number", "in our name"],
)
def test_a_cell_that_answers_in_its_own_way_stops_nobody(message, problem):
    forge = (
        f"import os\ndata = {len(message).to_bytes(8) + message!r}\n"
        "for descriptor in range(3, 50):\n"
        "    try: os.write(descriptor, data)\n"
        "    except OSError: pass\n"
    )
    message, asked = judged(forge, DOUBLE, limits=PATIENT)
    assert message == "" and asked.problems == ([f"code cell 1 {problem}"] if problem else [])


def test_a_process_that_ends_by_a_signal_without_a_name_costs_its_cell_only():
    alarm = (
        "import ctypes, time\n"
        "libc, timer = ctypes.CDLL(None), ctypes.c_void_p()\n"
        "event = (ctypes.c_int * 16)(0, 0, 40)\n"  # value, then the signal; it goes to this process itself
        "libc.timer_create(0, event, ctypes.byref(timer))\n"
        "libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 1000), None)\n"
        "time.sleep(60)\n"
    )
    message, asked = judged(alarm, DOUBLE, limits=PATIENT)
    assert message == "" and asked.problems == ["code cell 1 ends its process (signal 40)"]


# --- a grade ---


@pytest.fixture
def made(monkeypatch, tmp_path):
    made_assignment.install(monkeypatch)
    source = made_assignment.write_source(tmp_path)
    return build.source_notebook(source), build.student_notebook(source)


def graded(tmp_path, notebook, name="anna", assignment=""):
    path = tmp_path / f"{name}.ipynb"
    nbformat.write(notebook, path)
    [grade] = grading.grade_all(handed_in.find([path]), assignment, 7, PATIENT)
    return grade


def test_the_solution_gets_all_points_and_the_untouched_notebook_none(made, tmp_path):
    solved, student = made
    best, worst = graded(tmp_path, solved), graded(tmp_path, student, "ben")
    assert [answer.points for answer in best.answers] == [2, 3, 1] and best.points == 6
    assert best.words == {"9.4": "Because what comes later counts less."}
    assert worst.points == 0 and worst.words == {"9.4": ""} and not worst.problems
    assert [answer.message for answer in worst.answers] == [
        f"Question {question.number}: {question.name} is not written yet." for question in made_assignment.QUESTIONS
    ]


def test_answers_that_are_right_on_the_examples_only_get_nothing(made, tmp_path):
    table = "def double(number):\n    return {1: 2, 2.5: 5.0}.get(number, 0)"
    grade = graded(tmp_path, made_assignment.changed(made[0], {"9-1": table}))
    assert [answer.points for answer in grade.answers] == [0, 3, 1]
    assert grade.answers[0].message.startswith("The visible checks pass, the hidden ones do not. Question 9.1")


def test_a_wrong_function_that_calls_another_wrong_one_says_so(made, tmp_path):
    answers = {
        "9-1": "def double(number):\n    return 0",
        "9-2": "def discounted(rewards, discount):\n    return double(len(rewards)) + count_up(1)",
    }
    grade = graded(tmp_path, made_assignment.changed(made[0], answers))
    assert [[called.number for called in answer.calls] for answer in grade.answers] == [[], ["9.1"], []]


def test_a_check_that_was_rewritten_is_not_run(made, tmp_path):
    rewritten = {"9-1-check": "def double(number):\n    return 2 * number"}
    assert graded(tmp_path, made_assignment.changed(made[1], rewritten)).points == 0


def test_the_seed_of_the_hidden_inputs_is_the_teachers(made, tmp_path):
    table = {number: 2 * number for (number,) in (*TWICE.examples, *TWICE.inputs(True, 2021))}
    code = f"def double(number):\n    return {table}.get(number, 0)"
    path = tmp_path / "anna.ipynb"
    nbformat.write(made_assignment.changed(made[0], {"9-1": code}), path)
    for seed, points in ((2021, 6), (7, 4)):
        [grade] = grading.grade_all(handed_in.find([path]), "", seed, PATIENT)
        assert grade.points == points


def test_a_notebook_of_another_assignment_is_noticed(made, tmp_path):
    other = made[0]
    for cell in other.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.grade_id = cell.metadata.nbgrader.grade_id.replace("9-", "2-")
            cell.source = "pass"
    grade = graded(tmp_path, other, assignment="9_made")
    assert grade.points == 0 and grade.problems == ["its cells are of 2_search, not of 9_made"]


def test_answers_taken_from_the_library_are_pointed_out(made, tmp_path):
    answer = "from mzu.classroom.assignments import question\ndouble = question('9.1').right"
    notebook = made_assignment.changed(made[0], {"9-1": answer}, after="import mzu.classroom.checks.planning")
    assert handed_in.borrowed(notebook, made_assignment.QUESTIONS) == [
        "the answer to 9.1 seems to use the library; look at it",
        "a cell reaches for the answers of the checks; look at it",
    ]
    assert handed_in.borrowed(made[0], made_assignment.QUESTIONS) == []
    notebook = made_assignment.changed(made[0], {"9-2": "import math\ndef discounted(*given): return math.nan"})
    assert handed_in.borrowed(notebook, made_assignment.QUESTIONS) == []


def test_a_change_of_the_checks_stops_the_run(made, tmp_path, monkeypatch):
    prints = iter(["before", "after"])
    monkeypatch.setattr(grading, "fingerprint", lambda: next(prints))
    with pytest.raises(ValueError, match=r"changed while .*anna.ipynb was graded, so trust no grade from it on"):
        graded(tmp_path, made[0])


def test_checks_that_reject_their_own_solution_stop_the_run(made, tmp_path, monkeypatch):
    broken = made_assignment.Question(
        *("9.1", "Broken", 1, "double"), iter(range(100)).__next__, ((),), lambda rng: [()], {}
    )
    monkeypatch.setattr(sys.modules["mzu.classroom.checks.made"], "QUESTIONS", (broken,))
    with pytest.raises(Wrong):
        graded(tmp_path, made[0])


# --- what is handed in ---


@pytest.mark.parametrize(
    ("name", "student", "assignment"),
    [
        ("anna.ipynb", "anna", ""),
        ("anna_2_search.ipynb", "anna", "2_search"),
        ("2_search - Anna B.ipynb", "Anna B", "2_search"),
        ("anna/2_search.ipynb", "anna", "2_search"),
        ("submitted/anna/2_search/2_search.ipynb", "anna", "2_search"),
        ("submitted/anna/2_search/my work.ipynb", "anna", "2_search"),
        ("2_search/anna.ipynb", "anna", "2_search"),
    ],
)
def test_names_of_files_and_folders_say_who_and_what(tmp_path, name, student, assignment):
    path = tmp_path / "course" / name
    path.parent.mkdir(parents=True)
    path.touch()
    assert handed_in.find([tmp_path / "course"]) == [HandedIn(path, student, assignment)]


def test_copies_that_jupyter_makes_are_not_handed_in(tmp_path):
    for name in ("anna.ipynb", ".ipynb_checkpoints/anna-checkpoint.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [one.student for one in handed_in.find([tmp_path])] == ["anna"]
    with pytest.raises(ValueError, match="does not exist"):
        handed_in.find([tmp_path / "nobody"])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"{",
        b"[]",
        b"null",
        b'{"cells": 3, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
        b'{"cells": [{"cell_type": "code"}], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_file_that_is_no_notebook_is_a_row_with_a_problem(monkeypatch, tmp_path, content):
    made_assignment.install(monkeypatch)
    (tmp_path / "anna.ipynb").write_bytes(content)
    [grade] = grading.grade_all(handed_in.find([tmp_path]), "9_made", 7, PATIENT)
    assert "not a valid notebook" in grade.problems[0] and "\n" not in grade.problems[0]
    assert [answer.points for answer in grade.answers] == [0, 0, 0]


def test_an_old_notebook_and_lists_of_lines_are_read(tmp_path):
    cell = {"cell_type": "code", "input": ["x = 1\n", "y = 2"], "outputs": [], "language": "python", "metadata": {}}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": [cell]}]}
    (tmp_path / "old.ipynb").write_text(json.dumps(old))
    assert handed_in.read_notebook(tmp_path / "old.ipynb").cells[0].source == "x = 1\ny = 2"
