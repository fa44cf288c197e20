"""The reference scores are the paper's: recomputing its medians and means from its tables gives its numbers."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mzu.environments import scores


@pytest.mark.parametrize(
    "column, median, mean",
    [
        ("muzero_no_op", 741.7, 2183.6),
        ("muzero_sticky", 692.9, 2188.4),
        ("muzero_res2_adam", 1006.4, 2856.2),
    ],
)
def test_the_human_normalised_scores_of_the_paper_come_out(column, median, mean):
    values = 100 * scores.normalised_column(column, scores.HUMAN)
    assert len(values) == 57
    assert round(scores.median(values), 1) == median and round(scores.mean(values), 1) == mean


@pytest.mark.parametrize(
    "column, median, mean",
    [
        ("bc", 53.3, 48.5),
        ("dqn", 86.2, 89.5),
        ("iqn", 100.8, 96.1),
        ("bcq", 107.5, 120.0),
        ("rem", 107.9, 113.5),
        ("muzero_policy_bc", 54.0, 46.9),
        ("muzero_crr", 155.6, 271.2),
        ("muzero_max_value", 159.2, 359.4),
        ("muzero_mcts", 169.7, 394.8),
        ("muzero_unplugged", 265.3, 595.5),
    ],
)
def test_the_data_normalised_scores_of_the_paper_come_out(column, median, mean):
    values = 100 * scores.normalised_column(column)
    assert len(values) == 46
    assert round(scores.median(values), 1) == median and round(scores.mean(values), 1) == mean


def test_unplugged_is_worse_than_its_data_in_two_games():
    assert (scores.normalised_column("muzero_unplugged") < 1).sum() == 2


def test_single_numbers_of_the_tables():
    human, offline = scores.table("human"), scores.table("rl_unplugged")
    assert human["alien"] == {
        "random": 227.75,
        "human": 7127.8,
        "muzero_no_op": 84300.22,
        "muzero_sticky": 56834.58,
        "muzero_res2_adam": 70192.35,
    }
    assert human["skiing"]["random"] == -17098.09 and human["zaxxon"]["muzero_res2_adam"] == 154131.86
    assert offline["pong"]["random"] == -20.3 and offline["pong"]["online_dqn"] == 18.2
    assert offline["zaxxon"]["muzero_unplugged"] == 16143.5 and "surround" not in offline


def test_every_number_of_the_tables_stands_in_the_paper():
    folder = os.environ.get("MZU_FIXTURES")
    paper = Path(folder or ".").parent / "paper" / "muzero_unplugged.tex"
    if not folder or not paper.is_file():
        pytest.skip("needs the paper's source next to the folder MZU_FIXTURES")
    rows = [line.split("&") for line in paper.read_text().replace(",", "").replace("\\textbf{", "").splitlines()]
    for name, num_cells in ((scores.HUMAN, 9), (scores.RL_UNPLUGGED, 13)):
        for game, row in scores.table(name).items():
            (cells,) = [cells for cells in rows if cells[0].strip() == game and len(cells) == num_cells]
            printed = [float(cell.strip(" }\\%")) for cell in cells[1:]]
            # The table of human-normalised scores has a percentage after each agent's score.
            wanted = printed if name == scores.RL_UNPLUGGED else printed[:2] + printed[2::2]
            assert list(row.values()) == wanted, (name, game)


def test_random_play_is_0_and_the_reference_1():
    assert scores.normalised_score("MsPacman", 248.0) == 0 and scores.normalised_score("ms pacman", 4171.5) == 1
    assert scores.normalised_score("atari:MsPacman", 6951.6, scores.HUMAN) == 1
    assert np.allclose(scores.normalised_score("Pong", [-20.3, 18.2, 56.7]), [0, 1, 2])


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: scores.normalised_score("Surround", 1), "no game 'Surround'; known are alien"),
        (lambda: scores.table("monkeys"), "no table 'monkeys'"),
        (lambda: scores.normalised_column("ppo"), "no column 'ppo'; known are random"),
        (lambda: scores.stratified_interval([[1.0, 2.0]], scores.mean, None), "at least 2 runs"),
        (lambda: scores.median([[1.0, np.nan]]), "finite numbers"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end():
    assert scores.interquartile_mean([100, 1, 2, 3, 4, 5, 6, -100]) == (2 + 3 + 4 + 5) / 4
    # Over runs and games together, not game by game.
    assert scores.interquartile_mean([[0, 0, 8, 8], [1, 2, 3, 4]]) == np.mean([1, 2, 3, 4])


def test_the_median_is_over_games_of_means_over_runs():
    assert scores.median([[0, 5, 9], [2, 5, 91]]) == 5
    assert scores.median([[0, 10], [4, 20]]) == (2 + 15) / 2


def test_the_bootstrap_interval_is_that_of_the_normal_distribution_where_this_is_known():
    rng = np.random.default_rng(0)
    runs = rng.normal(3, 1, (400, 1))
    low, high = scores.stratified_interval(runs, scores.mean, rng, samples=2000)
    expected = stats.norm.interval(0.95, runs.mean(), runs.std() / 20)
    assert np.allclose((low, high), expected, atol=0.02)


def test_the_bootstrap_draws_runs_within_each_game_and_never_games():
    rng = np.random.default_rng(0)
    apart = np.tile([0.0, 100.0], (5, 1))  # the two games differ, the runs of each do not
    assert scores.stratified_interval(apart, scores.mean, rng, samples=200) == (50, 50)
    # Runs of different games are drawn independently: rows that cancel out as a whole do not stay together.
    cancelling = np.array([[1.0, -1.0], [-1.0, 1.0]])
    low, high = scores.stratified_interval(cancelling, scores.mean, rng, samples=500)
    assert low < -0.4 and high > 0.4
