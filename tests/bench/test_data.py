"""`mzu bench data` reports every format."""

import json

import pytest

from mzu.bench import data
from mzu.commands.cli import main


def test_the_benchmark_has_a_record_for_each_format(capsys, monkeypatch):
    monkeypatch.setattr(data, "control_episodes", lambda count, make=data.control_episodes: make(count, 20))
    monkeypatch.setattr(data, "atari_episodes", lambda count, make=data.atari_episodes: make(count, 20))
    assert main(["bench", "data", "--json", "--episodes", "2", "--repetitions", "1"]) == 0
    records = {record["format"]: record for record in json.loads(capsys.readouterr().out)}
    assert {"rlu", "rlu_atari", "dqn_replay", "npz states", "npz frames"} <= records.keys()
    for record in records.values():
        assert record["episodes"] == 2 and record["file_mb"] > 0
        ratio = record["read_steps_per_second"] / record["read_episodes_per_second"]
        assert ratio == pytest.approx(20)
    assert main(["bench", "data", "--episodes", "1", "--repetitions", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(records) and len({len(line) for line in lines}) == 1
    assert main(["bench", "data", "--episodes", "0"]) == 2
