"""Runs are named by what they learn."""

import dataclasses

import pytest
from made_experiments import EXPERIMENT, TASK

from mzu.config import Config
from mzu.experiments.catalogue import EXPERIMENTS, experiment
from mzu.experiments.definition import run_config, run_name
from mzu.experiments.tasks import TASKS, task
from mzu.learning.learner import check_possible


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


def test_a_mistyped_name_gets_advice():
    with pytest.raises(ValueError, match="no experiment 'overal'; did you mean 'overall'"):
        experiment("overal")
    with pytest.raises(ValueError, match="no task 'cartpol'; did you mean 'cartpole'"):
        task("cartpol")


@pytest.mark.parametrize("item", EXPERIMENTS.values(), ids=lambda item: item.name)
def test_every_experiment_can_be_planned(item):
    """Settings are known and possible, and claims speak of variants and measures that exist."""
    for task_name in item.tasks:
        for variant in item.variants:
            config = run_config(TASKS[task_name], variant, 0)
            check_possible(config)
            assert config.learning.unroll_steps > 0 or "search" not in {m.select for m in variant.measures}
    for claim in item.claims:
        assert set(claim.tasks) <= set(item.tasks)
        for side in filter(None, (claim.better, claim.worse)):
            assert all(side.measure in item.variant(variant).measures for variant in side.variants)


@pytest.mark.parametrize("item", EXPERIMENTS.values(), ids=lambda item: item.name)
def test_the_variants_of_an_experiment_differ_in_what_they_learn(item):
    for task_name in item.tasks:
        names = [run_name(task_name, run_config(TASKS[task_name], variant, 0)) for variant in item.variants]
        assert len(set(names)) == len(names)


def test_experiments_share_runs():
    names = {
        (item.name, variant.name): run_name("cartpole", run_config(TASKS["cartpole"], variant, 0))
        for item in (EXPERIMENTS["overall"], EXPERIMENTS["ablations"])
        for variant in item.variants
    }
    assert names["overall", "behaviour_cloning"] == names["ablations", "supervised_5"]
    assert names["overall", "unplugged"] == names["ablations", "unplugged"]


def test_measures_do_not_belong_to_a_run():
    variant = EXPERIMENT.variant("fast")
    other = dataclasses.replace(variant, measures=variant.measures[:1], title="another")
    assert run_config(TASK, variant, 0) == run_config(TASK, other, 0)
