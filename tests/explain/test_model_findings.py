"""Each planted mistake of a model is the one that is found."""

import dataclasses

import numpy as np
import pytest
from made_models import (
    ACTIONS,
    RETURNS,
    Drifting,
    Ignoring,
    Late,
    Noisy,
    made_table,
    names,
    report_of,
    table_system,
)  # fmt: skip

from mzu.environments.spaces import Spaces
from mzu.explain.model_findings import findings
from mzu.networks.compiled.compile_model import model_for_search
from mzu.networks.network import build_network


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
