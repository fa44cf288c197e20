"""How a model ranks the actions of a state, and what its value head can express, by hand."""

import dataclasses

import numpy as np
import pytest
from made_models import (
    STATES,
    TableWorld,
    made_table,
    report_of,
    table_system,
)  # fmt: skip

from mzu.explain.model_ranking import expressible_values, ranking, ranking_statistics


def test_a_perfect_model_ranks_nearby_states_right_where_no_episode_can_be_replayed():
    system, _ = table_system()
    ranks = ranking(system.model, system.episodes, system.config, None, np.random.default_rng(0))
    (group,) = ranks["groups"]
    assert ranks["evidence"] == "nearby" and ranks["neighbours"] == 10
    assert ranks["distance"] == 0 < ranks["typical_distance"]  # so many steps in twelve states
    assert group["correlation"] == pytest.approx(1) and group["regret"] == pytest.approx(0, abs=1e-6)


def test_episodes_of_another_world_do_not_count():
    system, make_environment = table_system()
    other = made_table()
    other.next_state[:] = (other.next_state + 1) % STATES  # it starts in the same states, but goes elsewhere
    assert report_of(system, lambda: TableWorld(other)).ranking["evidence"] == "nearby"
    without_seeds = [dataclasses.replace(episode, seed=None) for episode in system.episodes]
    report = report_of(dataclasses.replace(system, episodes=without_seeds), make_environment)
    assert report.ranking["evidence"] == "nearby"
    assert "weaker evidence" in report.text()


def test_the_comparison_within_states_by_hand():
    real = np.array([[1.0, 0.0, 2.0], [5.0, 5.0, 5.0], [0.0, 4.0, np.nan]])
    predicted = np.array([[0.5, 0.0, 1.0], [1.0, 2.0, 3.0], [1.0, 1.0, np.nan]])
    found = ranking_statistics(predicted, real)
    # The first state is ranked right, the second makes no difference, the third is one big tie of two candidates.
    assert found["states"] == 3 and found["decided"] == 2
    assert found["correlation"] == pytest.approx((1 + 0) / 2)
    assert found["regret"] == pytest.approx((0 + 2) / (1 + 2))
    assert found["world_spread"] == pytest.approx((np.sqrt(2 / 3) + 0 + 2) / 3)


def test_illegal_actions_are_no_candidates():
    system, make_environment = table_system()
    legal = np.array([True, False, True])
    restricted, free = (
        report_of(system, maker).ranking["groups"][0]
        for maker in (lambda: TableWorld(made_table(), legal), make_environment)
    )
    assert restricted["correlation"] == free["correlation"] == pytest.approx(1)
    assert restricted["world_spread"] != pytest.approx(free["world_spread"], rel=0.01)


def test_one_bin_by_hand():
    config = table_system(None, "network.scalar_head=categorical", "network.value_support=20")[0].config.network
    found = expressible_values(config, np.array([-8.0, 8.0, 8.0]), np.array([0.5]))
    # h(8) = 2.008; h^-1(2.508) = 11.227 and h^-1(1.508) = 5.264.
    assert found["typical_value"] == 8 and found["bin"] == pytest.approx(5.963, abs=0.002)
    assert found["largest_value"] == pytest.approx(422.4, abs=0.1) and found["at_the_end"] == 0
    assert expressible_values(config, np.array([410.0]), np.zeros(1))["at_the_end"] == 1
