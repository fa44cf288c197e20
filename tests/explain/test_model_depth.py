"""A model's errors by depth, and how deep searches go, by hand."""

import dataclasses

import numpy as np
import pytest
from made_models import (
    made_table,
    report_of,
    table_system,
)  # fmt: skip

from mzu.explain.model_depth import by_depth, correlation, draw_positions, errors, good_depth, node_depths


def test_errors_by_hand():
    found = errors(np.array([1.0, 3.0, 5.0]), np.array([1.0, 1.0, 4.0]))
    assert found["bias"] == 1 and found["rmse"] == pytest.approx(np.sqrt(5 / 3)) and found["spread"] == np.sqrt(2)
    assert found["correlation"] == pytest.approx(6 / np.sqrt(8 * 6)) and found["count"] == 3
    assert correlation(np.ones(3), np.arange(3.0)) is None


def test_depths_of_nodes_by_hand():
    parents = np.array([[-1, 0, 1, 1, 3], [-1, 0, 0, 0, 2]])
    assert node_depths(parents).tolist() == [[0, 1, 2, 2, 3], [0, 1, 1, 1, 2]]


def test_the_depths_of_a_search_are_those_of_its_history():
    system, make_environment = table_system(None, "search.num_simulations=20")
    found = system.search(system.game(0, 3), np.random.default_rng(0), record=True)
    assert node_depths(found.tree.nodes["parent"])[0, 1:].tolist() == found.history.depth[0].tolist()
    shares = report_of(system, make_environment).searches["shares"]
    assert sum(shares) == pytest.approx(1) and shares[0] > 0


def test_a_terminal_observation_is_not_compared_and_a_truncated_one_is():
    system, _ = table_system()
    episode = next(episode for episode in system.episodes if episode.terminated and len(episode) > 2)
    last = len(episode) - 1
    for ended, depths in ((episode, 1), (dataclasses.replace(episode, terminated=False, truncated=True), 2)):
        positions = draw_positions([ended], 1, np.random.default_rng(0))._replace(steps=[last])
        rows = by_depth(system.model, positions, system.config)["rows"]
        assert len(rows) == depths


def test_the_model_is_unrolled_twice_as_far_as_in_training_and_as_deep_as_searches_go():
    system, _ = table_system(table=made_table(ends=False))
    positions = draw_positions(system.episodes, 10, np.random.default_rng(0))._replace(steps=[0] * 10)
    for settings, deepest, depths in ((3, 0.0, 10), (6, 0.0, 12), (3, 11.2, 12)):
        config = system.config.override(f"learning.unroll_steps={settings}")
        assert by_depth(system.model, positions, config, deepest)["rows"][-1]["depth"] == depths


def test_the_last_depth_before_the_error_exceeds_the_spread():
    rows = [{"depth": depth, "value": {"rmse": depth * 0.5, "spread": 1.2, "size": 9.0}} for depth in range(6)]
    assert good_depth(rows) == 2
    assert good_depth(rows[:3]) == np.inf
