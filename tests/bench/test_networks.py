"""`mzu bench networks` reports what it promises, and the benchmarks that need no TensorFlow do not import it."""

import json
import subprocess
import sys

import pytest

from mzu.bench import networks
from mzu.commands.cli import main


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(networks, "SIZES", [(8, 1)])
    monkeypatch.setattr(networks, "BATCHES", [2])
    monkeypatch.setattr(networks, "PICTURE_SIZES", [(4, 0)])
    monkeypatch.setattr(networks, "PICTURE_BATCHES", [1])
    monkeypatch.setattr(networks, "SIMULATIONS", 4)
    monkeypatch.setattr(networks, "TRAINING_BATCH", 4)
    monkeypatch.setattr(networks, "UNROLL_STEPS", 1)


def test_the_records_hold_times_and_their_ratios(tiny, capsys):
    assert main(["bench", "networks", "--json", "--repetitions", "1"]) == 0
    records = json.loads(capsys.readouterr().out)
    (searched, pictures), (trained,) = records["search"], records["training"]
    assert (pictures["observation"], pictures["width"], pictures["batch"]) == ("10x10x4", 4, 1)
    assert (searched["width"], searched["blocks"], searched["batch"], searched["simulations"]) == (8, 1, 2, 4)
    assert searched["ratio"] == pytest.approx(searched["keras_ms"] / searched["twin_ms"])
    assert trained["ratio"] == pytest.approx(trained["plain_ms"] / trained["jit_ms"])
    assert trained["adamw_ratio"] == pytest.approx(trained["keras_adamw_ms"] / trained["jit_ms"])
    assert searched["refresh_ms"] > 0


def test_a_table_has_a_line_for_each_record(capsys):
    networks._table([{"width": 64, "ratio": 12.345}], {"width": "width", "ratio": "Keras / twin"}, quiet=False)
    assert capsys.readouterr().out.splitlines() == ["width  Keras / twin", "   64         12.35"]


def test_fewer_than_one_repetition_is_refused(capsys):
    assert main(["bench", "networks", "--repetitions", "0"]) == 2
    assert "--repetitions is 0" in capsys.readouterr().err


def test_the_search_benchmark_does_not_import_tensorflow():
    code = """
import sys
from mzu.commands.cli import main
try:
    main(["bench", "search", "--help"])
except SystemExit:
    assert "mzu.bench.search" in sys.modules
    assert "tensorflow" not in sys.modules
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert "--peers" in process.stdout
