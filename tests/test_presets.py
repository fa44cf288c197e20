"""Presets: the paper's numbers, classroom-sized ones that fit their data, and sensible settings for anything else."""

import pytest

from mzu.config import ActingConfig
from mzu.environments.make import make
from mzu.episodes.dataset import load_episodes
from mzu.episodes.embedded import RECIPES
from mzu.learning.learner import check_possible
from mzu.presets import DEFAULT, PRESETS, default_config, preset
from mzu.replay.segment import split_lengths
from mzu.training.inputs import check_config


def test_the_papers_atari_settings():
    config = preset("paper_atari").config
    assert (config.network.num_blocks, config.network.width, config.network.frame_stack) == (10, 256, 4)
    assert (config.search.num_simulations, config.search.discount) == (50, 0.997)
    assert (config.replay.capacity, config.replay.segment_length) == (50_000, 500)
    assert (config.replay.priority_exponent, config.replay.importance_exponent) == (1, 1)
    assert (config.learning.batch_size, config.learning.training_steps) == (1024, 1_000_000)
    assert (config.learning.learning_rate, config.learning.weight_decay) == (1e-4, 1e-4)
    assert (config.learning.unroll_steps, config.learning.td_steps) == (5, 5)
    assert config.learning.target_network_period == 100
    assert (config.reanalyse.fraction, config.evaluation.episodes) == (1, 300)
    assert config.differences() == ["network.width=256", "network.frame_stack=4"]  # all else are the defaults


def test_the_papers_control_settings_differ_from_atari_only_where_the_paper_says():
    assert set(preset("paper_control").config.differences()) == {
        "search.discount=0.99",
        "search.num_sampled_actions=20",
        "replay.capacity=2000",
        "learning.td_steps=0",
    }
    config = preset("paper_control").config
    assert (config.network.width, config.network.num_blocks) == (512, 10)
    assert (config.search.injected_prior, config.evaluation.max_policy_scale) == (0.25, 0.05)


def test_the_default_is_an_offline_comparison_on_an_embedded_dataset():
    assert PRESETS[DEFAULT].compare and PRESETS[DEFAULT].config.data == "embedded:held_cartpole"


@pytest.mark.parametrize("name", [name for name in PRESETS if PRESETS[name].compare])
def test_an_offline_preset_has_the_environment_and_about_the_size_of_its_dataset(name):
    config = preset(name).config
    recipe = RECIPES[config.data.removeprefix("embedded:")]
    assert config.environment == recipe.environment and config.reanalyse.fraction == 1
    segments = recipe.steps / config.replay.segment_length
    if recipe.is_embedded:
        lengths = map(len, load_episodes(config.data))
        segments = sum(len(list(split_lengths(length, config.replay.segment_length))) for length in lengths)
    assert 0.5 * segments <= config.replay.capacity <= 2 * segments


def _check_against_environment(config):
    with make(config.environment) as environment:
        check_config(config, environment.spaces, has_data=config.data is not None)
    check_possible(config)


IN_SECONDS = [name for name in PRESETS if not (PRESETS[name].config.environment or "dm_control").startswith("dm_")]


@pytest.mark.parametrize("name", IN_SECONDS)
def test_a_preset_fits_its_environment(name):
    _check_against_environment(preset(name).config)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["swingup", "swingup_offline", "cheetah_offline"])
def test_a_preset_fits_its_control_task(name):
    _check_against_environment(preset(name).config)


def test_no_environment_preset_is_left_out_above():
    with_environment = {name for name in PRESETS if PRESETS[name].config.environment}
    assert set(IN_SECONDS) | {"swingup", "swingup_offline", "cheetah_offline"} == with_environment


def test_an_unknown_preset_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"There is no preset 'cartpole_ofline'; did you mean 'cartpole_offline'\?"):
        preset("cartpole_ofline")
    with pytest.raises(ValueError, match=r"there are cartpole_offline, .* --env Humanoid-v5"):
        preset("Humanoid-v5")


@pytest.mark.parametrize(
    "id, continuous, image",
    [
        ("MountainCar-v0", False, False),
        ("Pendulum-v1", True, False),
        ("identity_image", False, True),
        ("atari:Pong", False, True),
        ("atari:Pong?repeat=2", False, True),
    ],
)
def test_any_other_environment_gets_settings_by_its_spaces(id, continuous, image):
    config = default_config(id)
    assert config.environment == id and 0 < config.reanalyse.fraction < 1
    assert (config.search.num_sampled_actions == 20) == continuous
    assert (config.network.width == default_config("identity_image").network.width) == image
    assert config.network.frame_stack == (4 if id.startswith("atari:") else 1)
    with make(id, **({"stack": 1} if id.startswith("atari:") else {})) as environment:
        check_config(config, environment.spaces, has_data=False)


@pytest.mark.parametrize(
    "names, discount",
    [
        ({"environment": "CartPole-v1"}, 0.99),
        ({"environment": "CartPole-v1?repeat=4"}, 0.961),
        ({"data": "embedded:held_swingup"}, 0.961),  # recorded with actions held for four steps
    ],
)
def test_a_held_action_is_discounted_as_the_steps_that_it_lasts(names, discount):
    assert default_config(**names).search.discount == discount


def test_a_world_without_a_limit_gets_one_and_atari_keeps_its_own():
    assert default_config("CliffWalking-v1").acting.max_episode_steps == 2000
    assert default_config("atari:Pong").acting.max_episode_steps == ActingConfig().max_episode_steps


def test_online_continuous_actions_are_evaluated_as_they_were_played_and_offline_as_in_the_paper():
    assert default_config("Pendulum-v1").evaluation.max_policy_scale == 1
    assert default_config(data="embedded:swingup").evaluation.max_policy_scale == 0.05


def test_data_alone_are_learned_from_offline():
    config = default_config(data="embedded:swingup")
    assert config.environment is None and config.reanalyse.fraction == 1 and config.search.num_sampled_actions == 20
    assert config.search.improvement == "advantage" and config.network.scalar_head == "regression"


def test_data_of_discrete_actions_keep_the_papers_operator():
    config = default_config(data="embedded:cartpole")
    assert config.search.improvement == "visits" and config.search.max_depth == 2
    assert config.network.scalar_head == "regression"
