"""A text that mzu wrote is known again; another one beside its seal is not taken for it."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mzu.training import seals
from mzu.training.seals import SEALS, check_as_written, is_sealed, seal_here, unseal, write_sealed

ROOT = Path(__file__).parents[2]
KILLS = 20


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "result.json"
    write_sealed(path, '{"mean": 123.4}\n')
    return path


def test_a_changed_digit_is_noticed_and_putting_it_back_helps(text):
    assert is_sealed(text)
    text.write_text('{"mean": 193.4}\n')
    with pytest.raises(ValueError, match=r"result.json is not as mzu wrote it; put it back, or remove .*seals.json to"):
        check_as_written(text)
    text.write_text('{"mean": 123.4}\n')
    check_as_written(text)


@pytest.mark.parametrize("changed", ["", '{"mean": 123.', '{"mean": 123.4 }\n', '\n{"mean": 123.4}\n'])
def test_every_change_is_noticed_but_for_what_is_added_behind(text, changed):
    text.write_text(changed)
    assert not is_sealed(text)


def test_without_its_seal_a_text_is_taken_as_it_is(text):
    text.write_text("other")
    (text.parent / SEALS).unlink()
    assert is_sealed(text)


def test_a_log_may_grow_behind_its_seal(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("step\n1\n2\n")
    seal_here(log, tmp_path / "not_there.csv")
    log.write_text("step\n1\n2\n3\n")
    assert is_sealed(log)
    log.write_text("step\n1\n7\n3\n")
    assert not is_sealed(log)
    unseal(log)
    assert is_sealed(log) and json.loads((tmp_path / SEALS).read_text()) == {}


def test_a_log_reaches_the_disk_before_its_seal(tmp_path, monkeypatch):
    """Otherwise a run could not go on after a power cut, which takes what had not."""
    log, events = tmp_path / "log.csv", []
    log.write_text("step\n1\n")
    monkeypatch.setattr(seals, "flush_to_disk", lambda path: events.append(path.name))
    monkeypatch.setattr(seals, "_note", lambda found: events.append("sealed"))
    seal_here(log)
    assert events == ["log.csv", "sealed"]


def test_a_crash_between_a_seal_and_its_text_leaves_the_text_before_sealed(text, monkeypatch):
    written = []

    def crash(path):
        written.append(path.name)
        if path == text:
            raise KeyboardInterrupt
        return whole(path)

    whole = seals.written_whole
    monkeypatch.setattr(seals, "written_whole", crash)
    with pytest.raises(KeyboardInterrupt):
        write_sealed(text, '{"mean": 200}\n')
    assert written == [SEALS, "result.json"]
    assert text.read_text() == '{"mean": 123.4}\n' and is_sealed(text)
    monkeypatch.setattr(seals, "written_whole", whole)
    write_sealed(text, '{"mean": 300}\n')
    assert is_sealed(text)


WRITER = """
import itertools, json, sys
from pathlib import Path
from mzu.files import remove_leftovers
from mzu.training.run_log import append_row, keep_rows, logged_rows
from mzu.training.seals import check_as_written, seal_here, write_sealed
folder = Path(sys.argv[1])
log, best = folder / "log.csv", folder / "best.json"
remove_leftovers(folder)
rows = logged_rows(log)  # refuses what is not as it was written
assert [row["step"] for row in rows] == list(range(len(rows)))
if best.exists():
    check_as_written(best)
kept = len(rows) * 2 // 3
keep_rows(log, kept - 1)
for step in itertools.count(kept):
    append_row(log, {"step": step, "loss": step / 2})
    if step % 3 == 0:
        seal_here(log)
    if step % 2 == 0:
        write_sealed(best, json.dumps({"step": step}))
    print(step, flush=True)
"""


def test_a_writer_that_is_killed_at_any_moment_finds_its_texts_sealed(tmp_path):
    """A resumed run takes rows out of its log and goes on; no kill may make it look like somebody else's."""
    draw = random.Random(0)
    for _ in range(KILLS):
        command = [sys.executable, "-c", WRITER, tmp_path]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)})
        try:
            assert child.stdout.readline(), "it refused what it had written itself"
            time.sleep(draw.uniform(0, 0.05))
        finally:
            child.kill()
            child.wait()
            child.stdout.close()


def test_texts_of_one_folder_keep_their_own_seals(text):
    other = text.with_name("config.json")
    write_sealed(other, "{}\n")
    assert is_sealed(text) and is_sealed(other)
    other.write_text("{ }\n")
    assert is_sealed(text) and not is_sealed(other)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"result.json": "x"}', '{"result.json": [3]}', '{"a": ["x"]}', "\xff", "[" * 100_000]
)
def test_damaged_seals_are_named(text, content):
    (text.parent / SEALS).write_text(content, encoding="latin-1")
    with pytest.raises(ValueError, match=r"seals.json is damaged; put it back from a copy, or remove it"):
        check_as_written(text)
