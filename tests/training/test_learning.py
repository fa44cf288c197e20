"""Whether it learns, on real problems: minutes each, so all of them are slow. `-s` shows the numbers."""

import time

import numpy as np
import pytest

from mzu.experiments.tasks import TASKS
from mzu.presets import preset
from mzu.training.trainer import Trainer

pytestmark = pytest.mark.slow


def train(config, until=None, period=100, episodes=20, select=None):
    """Trains to the end, or until the mean return of evaluation episodes reaches `until` -> (trainer, last mean)."""
    start, trainer, mean = time.perf_counter(), Trainer(config), None
    while trainer.steps < config.learning.training_steps:
        trainer.step()
        if until is not None and trainer.steps % period == 0:
            mean = trainer.evaluate(episodes, select).mean
            if mean >= until:
                break
    if until is None:
        mean = trainer.evaluate(episodes, select).mean
    trainer.close()
    minutes = (time.perf_counter() - start) / 60
    reanalyse = config.reanalyse
    print(
        f"\nseed {config.seed}, fraction {reanalyse.fraction}, inject {reanalyse.inject_actions}: {mean:.1f} after "
        f"{trainer.steps} learner steps, {trainer.fresh_steps} environment steps, {trainer.stored_steps} stored "
        f"positions, {minutes:.1f} minutes"
    )
    return trainer, mean


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cartpole_is_learned_from_scratch(seed):
    _, mean = train(preset("cartpole").config.override(f"seed={seed}"), until=475)
    assert mean >= 475


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_reanalysing_saves_at_least_half_of_the_environment_steps(seed):
    """The same number of searches and learner steps; the first time that 20 evaluation episodes have a mean of 195."""
    config = preset("cartpole").config.override(f"seed={seed}")
    often, mean_often = train(config.override("reanalyse.fraction=0.8"), until=195, period=50)
    never, mean_never = train(config.override("reanalyse.fraction=0"), until=195, period=50)
    assert mean_often >= 195 and mean_never >= 195
    assert often.fresh_steps <= 0.5 * never.fresh_steps


def test_the_trajectory_s_action_must_be_injected_to_learn_from_data_with_six_action_dimensions(tmp_path):
    """Cheetah run, from 100 recorded episodes; two seeds each."""
    from mzu.commands.cli import main

    path = tmp_path / "cheetah.npz"
    assert main(["collect", "--recipe", "cheetah", "--out", str(path)]) == 0
    task = TASKS["cheetah"]
    config = task.base.override(*task.settings, f"data={path}")
    means = {}
    for inject in (True, False):
        runs = [config.override(f"reanalyse.inject_actions={inject}", f"seed={seed}") for seed in (0, 1)]
        means[inject] = [train(run, episodes=10)[1] for run in runs]
    assert np.min(means[True]) > np.max(means[False]) + 50
