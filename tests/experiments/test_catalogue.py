"""Every experiment can be run: its settings are possible, its claims speak of what it has."""

import pytest

from mzu.experiments.catalogue import EXPERIMENTS, experiment
from mzu.experiments.definition import run_config, run_name
from mzu.experiments.tasks import TASKS, task
from mzu.learning.learner import check_possible


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
