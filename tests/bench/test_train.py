"""`mzu bench train` reports what it promises, and counts the matrix products of a learner step."""

import json

import pytest

from mzu.bench import train
from mzu.commands.cli import main
from mzu.config import Config
from mzu.presets import Preset

TINY = Config().override(
    "environment=identity", "reanalyse.fraction=0", "network.width=8", "network.num_blocks=1",
    "network.value_support=2", "network.reward_support=2", "search.num_simulations=4", "learning.batch_size=4",
    "learning.unroll_steps=2", "learning.td_steps=1", "learning.jit_compile=false", "replay.segment_length=10",
    "replay.capacity=20", "replay.start_size=40", "acting.games=4", "acting.positions_per_step=4",
)  # fmt: skip


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(train, "preset", lambda name: Preset(TINY, name))


def test_a_record_holds_rates_shares_and_the_multiple_of_gemm(tiny, capsys):
    assert main(["bench", "train", "--presets", "tiny", "--steps", "5", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["preset"] == "tiny"
    assert record["positions_per_second"] == pytest.approx(4 * record["learner_steps_per_second"])
    assert record["times_gemm"] == pytest.approx(record["learner_ms"] / record["gemm_ms"])
    assert all(record[part] >= 0 for part in ("learn", "search", "games", "replay", "targets"))
    assert 0 < record["learn"] <= 1 and record["cores_busy"] > 0


def test_the_table_has_a_line_for_the_preset(tiny, capsys):
    assert main(["bench", "train", "--presets", "tiny", "--steps", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[0] == "tiny"


def test_the_matrix_products_are_those_of_one_learner_step():
    """B = 4 positions, U = 2 unrolled steps, 4 observations and actions, 8 hidden units, 5 categories per scalar."""
    trainer = train.Trainer(TINY)
    count = sum(x.shape[0] * x.shape[1] * w.shape[1] * (3 if whole else 2) for x, w, whole in train.layers_of(trainer))
    representation = 4 * (4 * 8 * 2 + 2 * 8 * 8 * 3)
    dynamics = 8 * (4 * 8 * 2 + 3 * 8 * 8 * 3 + 8 * 5 * 3)
    prediction = 12 * (8 * 4 * 3 + 8 * 5 * 3)
    assert count == representation + dynamics + prediction
    trainer.close()


def test_fewer_than_one_step_is_refused(capsys):
    assert main(["bench", "train", "--steps", "0"]) == 2
    assert "--steps is 0" in capsys.readouterr().err
