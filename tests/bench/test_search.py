"""`mzu bench search` measures what it says, in records that other programs can read."""

import importlib.util
import json

import numpy as np
import pytest

from mzu.bench import search as bench
from mzu.bench.timing import best_times
from mzu.commands import cli
from mzu.config import SearchConfig
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.picture_weights import random_picture_weights
from mzu.networks.compiled.weights import random_weights
from mzu.search.search import search


def test_each_record_has_the_promised_fields_and_consistent_ratios(monkeypatch, capsys):
    monkeypatch.setattr(bench, "CASES", [(4, 16, 1, 3)])
    monkeypatch.setattr(bench, "PICTURE_CASES", [(16, 1, 2)])
    monkeypatch.setattr(bench, "SAMPLED_CASES", [2])
    assert cli.main(["bench", "search", "--json", "--repetitions", "1"]) == 0
    record, pictures, sampled = json.loads(capsys.readouterr().out)
    assert list(record) == [
        *("actions", "width", "blocks", "batch", "simulations"),
        *("mzu_ms", "mctx_ms", "mctx_gumbel_ms", "gemm_ms"),
        *("speedup", "gemm_fraction", "blas_to_tile", "tree_simulations_per_second"),
    ]
    assert record["mctx_ms"] is None and record["mctx_gumbel_ms"] is None and record["speedup"] is None
    assert record["gemm_fraction"] == pytest.approx(record["gemm_ms"] / record["mzu_ms"])
    assert record["tree_simulations_per_second"] > 0 and record["blas_to_tile"] > 0
    assert (pictures["width"], pictures["blocks"], pictures["batch"]) == (16, 1, 2)
    assert pictures["gemm_fraction"] == pytest.approx(pictures["gemm_ms"] / pictures["mzu_ms"])
    assert sampled["first_cost"] == pytest.approx(sampled["first_ms"] / sampled["without_ms"] - 1)


def test_the_table_has_a_line_per_case(monkeypatch, capsys):
    monkeypatch.setattr(bench, "CASES", [(4, 16, 1, 1), (3, 16, 1, 2)])
    monkeypatch.setattr(bench, "PICTURE_CASES", [(16, 1, 1)])
    monkeypatch.setattr(bench, "SAMPLED_CASES", [1])
    assert cli.main(["bench", "search", "--repetitions", "1"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 15 and "of GEMM limit" in lines[2] and "cost of first evaluations" in lines[13]
    assert lines[8].split()[:3] == ["planes", "blocks", "batch"]
    assert cli.main(["bench", "search", "--repetitions", "1", "--only", "pictures"]) == 0
    assert capsys.readouterr().out.strip().splitlines()[0] == lines[6]


def test_bad_options_are_refused_with_a_sentence(monkeypatch, capsys):
    assert cli.main(["bench", "search", "--repetitions", "0"]) == 2
    assert "--repetitions is 0, but must be at least 1" in capsys.readouterr().err
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert cli.main(["bench", "search", "--peers"]) == 2
    assert "pip install 'mzu[peers]'" in capsys.readouterr().err


def test_mctx_and_mzu_find_the_same_policy_with_the_same_network():
    pytest.importorskip("mctx")
    from mzu.bench.mctx_peer import mctx_search

    rng = np.random.default_rng(0)
    weights = random_weights(rng, 5, 4, 16, 2)
    observations = rng.normal(size=(16, 5)).astype(np.float32)
    config = SearchConfig(num_simulations=25, normaliser="siblings", dirichlet_fraction=0.0)
    ours = search(CompiledModel(weights), observations, config, rng).policy
    theirs = np.asarray(mctx_search(weights, observations, 25, dirichlet_fraction=0.0)())
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    gumbel = np.asarray(mctx_search(weights, observations, 25, "gumbel")())
    assert gumbel.shape == theirs.shape and not np.allclose(gumbel, theirs, atol=1e-3)


def test_mctx_and_mzu_find_the_same_policy_with_the_same_network_for_pictures():
    pytest.importorskip("mctx")
    from mzu.bench.mctx_peer import mctx_search

    rng = np.random.default_rng(0)
    weights = random_picture_weights(rng, (5, 4, 2), 4, 16, 1)
    observations = rng.normal(size=(4, 5, 4, 2)).astype(np.float32)
    config = SearchConfig(num_simulations=15, normaliser="siblings", dirichlet_fraction=0.0)
    ours = search(CompiledModel(weights), observations, config, rng).policy
    theirs = np.asarray(mctx_search(weights, observations, 15, dirichlet_fraction=0.0)())
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_contestants_take_turns_and_the_best_time_counts():
    order = []
    times = best_times({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repetitions=2, seconds=0)
    assert order == ["a", "a", "b", "b", "a", "b", "a", "b"]  # warm up, one measured call, then two rounds
    assert set(times) == {"a", "b"} and min(times.values()) > 0
