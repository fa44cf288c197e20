"""How far a model can be trusted: perfect models pass, and each planted mistake is the one that is found."""

import dataclasses
import json

import numpy as np
import pytest
from made_models import (
    ACTIONS,
    STATES,
    Drifting,
    Ignoring,
    Late,
    Noisy,
    TableWorld,
    made_table,
    point_system,
    table_system,
)  # fmt: skip

from mzu.environments.spaces import Spaces
from mzu.explain.model_depth import by_depth, correlation, draw_positions, errors, good_depth, node_depths
from mzu.explain.model_findings import NOTHING, findings
from mzu.explain.model_ranking import expressible_values, ranking, ranking_statistics
from mzu.explain.model_report import ModelReport, report_model
from mzu.networks.compiled.compile_model import model_for_search
from mzu.networks.network import build_network


def report_of(system, make_environment, **options):
    return report_model(system, episodes=0, make_environment=make_environment, **options)


def names(report):
    return [finding["name"] for finding in report.findings]


# Perfect models.


@pytest.mark.parametrize("made", [table_system, point_system])
def test_a_perfect_model_has_no_error_and_no_regret(made):
    report = report_of(*made())
    assert len(report.depth["rows"]) >= 11  # 0..10: at least ten steps, though only three are unrolled in training
    for row in report.depth["rows"][1:]:
        assert row["value"]["rmse"] < 1e-5 and row["value"]["correlation"] == pytest.approx(1)
        assert row["reward"]["rmse"] < 1e-5 and row["reward"]["correlation"] == pytest.approx(1)
    assert report.ranking["evidence"] == "world"
    for group in report.ranking["groups"]:
        assert group["correlation"] == pytest.approx(1) and group["regret"] == pytest.approx(0, abs=1e-6)
        assert group["world_spread"] == pytest.approx(group["model_spread"], rel=1e-4)
    assert names(report) == [] and NOTHING in report.text()


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


# Planted mistakes.


def test_searches_deeper_than_the_model_is_good_for():
    report = report_of(*table_system(Drifting(made_table(), good=2), "learning.unroll_steps=1"))
    assert names(report) == ["searches go deeper than the model is good for"]
    (finding,) = report.findings
    assert "at depth 3" in finding["says"] and "search.max_depth=2" in finding["advice"]
    assert "learning.unroll_steps, now 1" in finding["advice"]
    shallow = report_of(*table_system(Drifting(made_table(), good=2), "search.num_simulations=2"))
    assert names(shallow) == []  # two simulations do not get there


def test_a_dynamics_that_ignores_its_action():
    report = report_of(*table_system(Ignoring(made_table())))
    assert "the dynamics ignores its action" in names(report)
    (group,) = report.ranking["groups"]
    assert group["model_spread"] < 1e-9 and group["world_spread"] > 0.1
    assert group["correlation"] == 0 and group["regret"] == pytest.approx(1)  # all are equal: as good as at random


def test_a_network_whose_dynamics_ignores_its_action():
    system, make_environment = table_system(None, "network.width=8", "network.num_blocks=1")
    network = build_network(system.config.network, Spaces((1,), ACTIONS), seed=0)
    rng = np.random.default_rng(0)
    for variable in network.trainable_variables:
        variable.assign(np.asarray(variable) + rng.normal(scale=0.3, size=variable.shape))
    found = {}
    for zeroed in (False, True):
        if zeroed:
            kernel = next(one for one in network.trainable_variables if one.path == "first_of_action/kernel")
            kernel.assign(np.zeros(kernel.shape))
        found[zeroed] = names(report_of(dataclasses.replace(system, model=model_for_search(network)), make_environment))
    name = "the dynamics ignores its action"
    assert name in found[True] and name not in found[False]


def test_rewards_that_are_predicted_one_step_late():
    report = report_of(*table_system(Late(made_table())))
    assert "rewards are predicted one step late" in names(report)
    late, same, early = report.depth["shifts"]
    # At the first step of every unroll it knows no step before and says 0: it is not quite 1.
    assert late > 0.7 and same < 0.5 and early < 0.5


def test_a_model_that_does_not_know_the_end_is_not_called_late():
    table = made_table()
    table.reward[:-1] = 1.0  # all that varies is that nothing is earned behind the end, and this model does not know it
    blind = made_table()
    blind.reward[:] = 1.0 + 0.01 * np.random.default_rng(0).normal(size=blind.reward.shape)
    report = report_of(*table_system(blind, table=table))
    assert not any("one step" in name for name in names(report))


@pytest.mark.parametrize(("shift", "word"), [(-1, "late"), (1, "early")])
def test_data_whose_rewards_are_shifted(shift, word):
    system, make_environment = table_system()
    moved = []
    for episode in system.episodes:
        rewards = np.concatenate([[0], episode.rewards, [0]]).astype(np.float32)
        moved.append(dataclasses.replace(episode, rewards=rewards[1 + shift : 1 + shift + len(episode)]))
    report = report_of(dataclasses.replace(system, episodes=moved), make_environment)
    assert f"the stored rewards are one step {word}" in names(report)
    assert "mzu data check" in str(report)


def test_differences_far_below_one_bin():
    table = made_table(values=400.0, ends=False)  # a bin is about 40 wide there, and actions differ by about 1
    report = report_of(*table_system(Noisy(table, 4.0), "network.scalar_head=categorical", table=table))
    assert names(report)[1:] == ["the differences between actions are far below one bin of the value head"]
    assert "network.scalar_head=regression" in report.findings[1]["advice"]
    report = report_of(*table_system(Noisy(table, 4.0), table=table))
    assert names(report)[1:] == ["the values cannot tell actions apart"]  # the same numbers, but no bins to blame
    report = report_of(*table_system(Noisy(table, 0.1), "network.scalar_head=categorical", table=table))
    assert names(report) == []  # small against the bins, but ranked well


def test_values_and_rewards_beyond_the_support():
    table = made_table(values=40.0)
    settings = ("network.scalar_head=categorical", "network.value_support=5", "network.reward_support=1")
    report = report_of(*table_system(None, *settings, table=table))
    assert "values lie at the end of the value head's support" in names(report)
    assert "network.value_support" in report.text() and "rewards are larger" not in report.text()
    table.reward[0] = 5.0
    assert "rewards are larger than the reward head can express" in names(
        report_of(*table_system(None, *settings, table=table))
    )


RETURNS = [
    {"name": "policy", "simulations": 0, "mean": 400.0, "low": 390.0, "high": 410.0, "episodes": 5},
    {"name": "policy with noise", "simulations": None, "mean": 800.0, "low": 780.0, "high": 820.0, "episodes": 5},
    {"name": "value", "simulations": 1, "mean": 500.0, "low": 100.0, "high": 900.0, "episodes": 5},
    {"name": "search", "simulations": 16, "mean": 460.0, "low": 450.0, "high": 470.0, "episodes": 5},
    {"name": "search", "simulations": 200, "mean": 200.0, "low": 190.0, "high": 210.0, "episodes": 5},
]


def test_what_returns_tell():
    perfect = report_of(*table_system())
    sections = (perfect.depth, perfect.searches, perfect.ranking, perfect.head)
    hangs, fall = findings(*sections, RETURNS)
    assert hangs.name == "the policy's mode hangs where its noise does not" and "800 (780 .. 820)" in hangs.says
    assert fall.name == "returns fall with simulations" and "search.num_simulations=16" in fall.advice
    assert "200 simulations earn 200 (190 .. 210), 16 simulations earn 460" in fall.says
    assert "the values that a search reads are suspect" in fall.advice  # this model is perfect
    noisy = [row | {"low": row["mean"] - 500, "high": row["mean"] + 500} for row in RETURNS]
    assert findings(*sections, noisy) == []  # the intervals touch: nothing is known
    best = [RETURNS[0] | {"mean": 900.0, "low": 890.0, "high": 910.0}, *RETURNS[1:]]
    assert "evaluation.select=policy" in findings(*sections, best)[0].advice
    close = [RETURNS[0], *(row | {"mean": 388.0, "low": 387.0, "high": 389.0} for row in RETURNS[2:])]
    assert findings(*sections, close) == []  # lower for sure, but by three hundredths


# The numbers, by hand.


def test_errors_by_hand():
    found = errors(np.array([1.0, 3.0, 5.0]), np.array([1.0, 1.0, 4.0]))
    assert found["bias"] == 1 and found["rmse"] == pytest.approx(np.sqrt(5 / 3)) and found["spread"] == np.sqrt(2)
    assert found["correlation"] == pytest.approx(6 / np.sqrt(8 * 6)) and found["count"] == 3
    assert correlation(np.ones(3), np.arange(3.0)) is None


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


def test_depths_of_nodes_by_hand():
    parents = np.array([[-1, 0, 1, 1, 3], [-1, 0, 0, 0, 2]])
    assert node_depths(parents).tolist() == [[0, 1, 2, 2, 3], [0, 1, 1, 1, 2]]


def test_the_depths_of_a_search_are_those_of_its_history():
    system, make_environment = table_system(None, "search.num_simulations=20")
    found = system.search(system.game(0, 3), np.random.default_rng(0), record=True)
    assert node_depths(found.tree.nodes["parent"])[0, 1:].tolist() == found.history.depth[0].tolist()
    shares = report_of(system, make_environment).searches["shares"]
    assert sum(shares) == pytest.approx(1) and shares[0] > 0


def test_one_bin_by_hand():
    config = table_system(None, "network.scalar_head=categorical", "network.value_support=20")[0].config.network
    found = expressible_values(config, np.array([-8.0, 8.0, 8.0]), np.array([0.5]))
    # h(8) = 2.008; h^-1(2.508) = 11.227 and h^-1(1.508) = 5.264.
    assert found["typical_value"] == 8 and found["bin"] == pytest.approx(5.963, abs=0.002)
    assert found["largest_value"] == pytest.approx(422.4, abs=0.1) and found["at_the_end"] == 0
    assert expressible_values(config, np.array([410.0]), np.zeros(1))["at_the_end"] == 1


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


# The report as a whole.


def test_a_report_is_text_json_picture_and_page():
    report = report_of(*point_system())
    assert ModelReport.from_json(report.to_json()) == report
    assert json.loads(report.to_json())["format"] == "mzu model report 1"
    text = str(report)
    for words in ("By depth", "Ranking of actions", "uniform:", "from the policy:", "Value head", "regression"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 110
    full = dataclasses.replace(report, returns=RETURNS)
    titles = [panel.get_title() for panel in full.plot().axes]
    assert len(titles) == 5 and "mean return, 95 % interval" in titles
    assert len(report.plot().axes) == 4
    assert "<svg" in full._repr_html_() and "mean return" in full._repr_html_()
    page = full.page()
    assert page.startswith("<!doctype html>") and "http" not in page.replace("http://www.w3.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "").replace("https://matplotlib.org", "")


def test_the_short_form_needs_no_environment():
    system, _ = table_system(Drifting(made_table(), good=2), "learning.unroll_steps=1")
    report = report_of(system, None, ranked=False)
    assert report.ranking is None and report.returns == []
    assert names(report) == ["searches go deeper than the model is good for"]
    assert len(report.plot().axes) == 3


def test_reports_that_cannot_be_made():
    system, make_environment = table_system(None, "learning.unroll_steps=0")
    with pytest.raises(ValueError, match="its model of the world was never trained"):
        report_of(system, make_environment)
    system, make_environment = table_system()
    with pytest.raises(ValueError, match="episodes is -1, but must be 0"):
        report_model(system, episodes=-1)
    with pytest.raises(ValueError, match="no stored episodes"):
        report_of(dataclasses.replace(system, episodes=[]), make_environment)
    with pytest.raises(ValueError, match="not the JSON of a model report"):
        ModelReport.from_json("{")
