"""Episodes that a run's agent plays for the model report."""

import contextlib

import numpy as np
from made_models import SMALL_RUN, offline_config

import mzu.explain
from mzu.config import Config
from mzu.environments.make import make
from mzu.explain.model_report import ModelReport, report_model
from mzu.explain.model_returns import gaussian_selection, record_episodes
from mzu.explain.system import open_system
from mzu.training.trainer import Trainer


def online_config():
    """Plays, without data."""
    return Config().override(*SMALL_RUN, "environment=identity", "reanalyse.fraction=0.5")


def test_a_trainer_of_continuous_actions_is_reported_with_its_returns(tmp_path):
    with contextlib.closing(Trainer(offline_config(tmp_path))) as trainer:
        report = mzu.explain.model(trainer, episodes=2)
        system = open_system(trainer)
    names = [(row["name"], row["simulations"]) for row in report.returns]
    assert names == [
        ("policy", 0), ("policy with noise", None), ("value", 1), ("search", 16), ("search", 50), ("search", 200),
    ]  # fmt: skip
    assert all(row["low"] <= row["mean"] <= row["high"] for row in report.returns)
    assert report.about["recorded"] is False and report.ranking["evidence"] == "world"
    assert [group["candidates"] for group in report.ranking["groups"]] == ["uniform", "from the policy"]
    again = report_model(system, episodes=0)
    assert (again.depth, again.ranking) == (report.depth, report.ranking)  # the same numbers whenever it is made
    assert isinstance(ModelReport.from_json(report.to_json()), ModelReport)


def test_noise_of_the_policy_is_as_small_as_in_evaluation(tmp_path):
    with contextlib.closing(Trainer(offline_config(tmp_path))) as trainer:
        config = trainer.config
        observations = np.tile(trainer.inputs.episodes[0].observations[:1], (500, 1))
        drawn = gaussian_selection(trainer.network, config)(observations, np.random.default_rng(0))
    assert 0.8 * config.evaluation.max_policy_scale < drawn.std() <= 1.1 * config.evaluation.max_policy_scale


def test_a_run_without_data_is_compared_with_games_of_its_own():
    config = online_config()
    with contextlib.closing(Trainer(config)) as trainer:
        report = report_model(open_system(trainer), episodes=0)
        games = record_episodes(
            open_system(trainer).model, config, lambda: make("identity"), np.random.default_rng(0), count=3
        )
    assert report.about["recorded"] and report.about["episodes"] == 10
    assert report.ranking["evidence"] == "world" and "10 episodes recorded for this report" in report.text()
    assert [len(game) for game in games] == [10, 10, 10] and all(game.seed is not None for game in games)
