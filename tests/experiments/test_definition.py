"""Runs are named by what they learn."""

import dataclasses

from made_experiments import EXPERIMENT, TASK

from mzu.config import Config
from mzu.experiments.definition import run_config, run_name


def name(*settings):
    return run_name("tiny", Config().override(*settings))


def test_a_run_has_the_settings_of_task_and_variant():
    config = run_config(TASK, EXPERIMENT.variant("fast"), seed=3)
    assert (config.seed, config.network.width, config.learning.learning_rate) == (3, 8, 1e-2)


def test_what_changes_what_is_learned_changes_the_name():
    plain = name()
    others = ["network.width=8", "evaluation.select=policy", "seed=1", "data=recipe:catch", "evaluation.period=7"]
    assert len({plain, *map(name, others)}) == 1 + len(others)


def test_what_is_only_kept_or_measured_does_not():
    assert name() == name("run.log_period=7", "evaluation.episodes=3", "data_root=elsewhere") == name("seed=0")


def test_the_name_tells_task_and_seed():
    assert name("seed=4").startswith("tiny-4-")


def test_normalised_scores_are_0_for_random_play_and_1_for_the_behaviour():
    assert [TASK.normalised(score) for score in (2.0, 6.0, 10.0)] == [0.0, 1.0, 2.0]


def test_measures_do_not_belong_to_a_run():
    variant = EXPERIMENT.variant("fast")
    other = dataclasses.replace(variant, measures=variant.measures[:1], title="another")
    assert run_config(TASK, variant, 0) == run_config(TASK, other, 0)
