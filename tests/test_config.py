"""The configuration: the paper's numbers, typed, checked, and readable from and to JSON."""

import dataclasses
import inspect
import json
import typing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mzu.config import Config, LearningConfig, SearchConfig


def test_the_defaults_are_the_papers():
    config = Config()
    assert config.search.num_simulations == 50
    assert config.search.discount == 0.997
    assert (config.search.dirichlet_fraction, config.search.injected_prior) == (0.25, 0.25)
    assert (config.network.num_blocks, config.network.width) == (10, 512)
    assert (config.replay.capacity, config.replay.segment_length) == (50_000, 500)
    assert (config.replay.priority_exponent, config.replay.importance_exponent) == (1, 1)
    assert (config.learning.batch_size, config.learning.training_steps) == (1024, 1_000_000)
    assert (config.learning.learning_rate, config.learning.weight_decay) == (1e-4, 1e-4)
    assert (config.learning.td_steps, config.learning.unroll_steps) == (5, 5)
    assert config.learning.target_network_period == 100
    assert (config.evaluation.episodes, config.evaluation.max_policy_scale) == (300, 0.05)


def test_every_field_names_where_its_default_comes_from():
    for section in typing.get_type_hints(Config).values():
        if dataclasses.is_dataclass(section):
            source = inspect.getsource(section)
            for field in dataclasses.fields(section):
                line = next(line for line in source.splitlines() if line.strip().startswith(f"{field.name}:"))
                assert "  # " in line, f"{section.__name__}.{field.name}"


def test_json_goes_out_and_comes_back_equal():
    config = Config().override(
        "search.num_sampled_actions=20", "network.width=auto", "acting.temperatures=1,0.5,0", "seed=7"
    )
    assert Config.from_json(config.to_json()) == config
    assert json.loads(config.to_json())["search"]["num_sampled_actions"] == 20


def test_missing_keys_keep_their_defaults():
    assert Config.from_json('{"search": {"num_simulations": 8}}') == Config(search=SearchConfig(num_simulations=8))


@pytest.mark.parametrize(
    "assignment, path, value",
    [
        ("search.num_simulations=16", ("search", "num_simulations"), 16),
        ("search.num_simulations=16.0", ("search", "num_simulations"), 16),
        ("search.discount=1", ("search", "discount"), 1.0),
        ("learning.learning_rate=1e-3", ("learning", "learning_rate"), 1e-3),
        ("search.num_sampled_actions=none", ("search", "num_sampled_actions"), None),
        ("search.normaliser=siblings", ("search", "normaliser"), "siblings"),
        ("network.scale_hidden=True", ("network", "scale_hidden"), True),
        ("network.width=auto", ("network", "width"), "auto"),
        ("acting.temperatures=1,0.5,0", ("acting", "temperatures"), (1.0, 0.5, 0.0)),
    ],
)
def test_an_override_is_typed(assignment, path, value):
    section, field = path
    found = getattr(getattr(Config().override(assignment), section), field)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "assignment, sentence",
    [
        ("search.num_simulatons=3", "'search.num_simulatons' is not a setting; did you mean 'search.num_simulations'?"),
        ("serch.discount=1", "'serch' is not a setting; did you mean 'search'?"),
        ("search.xyz=1", "'search.xyz' is not a setting; known are search.num_simulations, "),
        ("search=1", "'search' is a section, not a field"),
        ("seed.x=1", "'seed' is a field"),
        ("search.num_simulations", "is not an override; write section.field=value"),
        ("search.num_simulations=many", "search.num_simulations is 'many', but must be a whole number"),
        ("search.num_simulations=2.5", "search.num_simulations is 2.5, but must be a whole number"),
        ("search.num_simulations=true", "must be a whole number"),
        ("search.discount=2", "search.discount is 2.0, but must lie between 0 and 1"),
        ("search.normaliser=mean", "search.normaliser is 'mean', but must be 'minmax' or 'siblings'"),
        ("search.num_sampled_actions=x", "must be a whole number or none"),
        ("network.scale_hidden=1", "network.scale_hidden is 1, but must be true or false"),
        ("acting.temperatures=a", "must be a list of numbers"),
        ("acting.temperatures=1", "acting.temperature_ends has 2 entries, but 1 temperatures need 0"),
        ("learning.learning_rate=0", "learning.learning_rate is 0.0, but must be a positive number"),
        ("network.scalar_head=gauss", "'categorical' or 'hl_gauss' or 'regression'"),
        ("network.bins_per_unit=0", "network.bins_per_unit is 0, but must be at least 1"),
        ("network.bins_per_unit=0.5", "network.bins_per_unit is 0.5, but must be a whole number"),
        ("network.hl_gauss_sigma=0", "network.hl_gauss_sigma is 0.0, but must be a positive number"),
        ("learning.consistency_loss_scale=-1", "learning.consistency_loss_scale is -1.0, but must be at least 0"),
        ("learning.max_gradient_norm=-1", "learning.max_gradient_norm is -1.0, but must be at least 0"),
        ("learning.weight_average=1", "learning.weight_average is 1.0, but must be at least 0 and below 1, such as"),
        ("learning.weight_average=-0.1", "learning.weight_average is -0.1, but must be at least 0 and below 1"),
    ],
)
def test_a_bad_override_is_refused_with_a_sentence(assignment, sentence):
    with pytest.raises(ValueError) as error:
        Config().override(assignment)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("{", "The config is not valid JSON (line 1"),
        ("[]", "'config' is [], but must be an object with named fields"),
        ('{"search": 3}', "'search' is 3, but must be an object with named fields"),
        ('{"search": {"discout": 1}}', "did you mean 'search.discount'?"),
        ('{"search": {"num_simulations": "8"}}', "search.num_simulations is '8', but must be a whole number"),
        ('{"seed": null}', "seed is None, but must be a whole number"),
    ],
)
def test_bad_json_is_refused_with_a_sentence(text, sentence):
    with pytest.raises(ValueError) as error:
        Config.from_json(text)
    assert sentence in str(error.value)


@settings(deadline=None)
@given(st.floats(1e-9, 1e3), st.integers(1, 10**9))
def test_numbers_survive_the_round_trip_exactly(rate, steps):
    config = Config(learning=LearningConfig(learning_rate=rate, training_steps=steps))
    assert Config.from_json(config.to_json()) == config
    assert Config().override(f"learning.learning_rate={rate!r}").learning.learning_rate == rate


def test_a_config_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().search.discount = 1.0


def test_two_fields_that_must_fit_together_can_be_changed_together():
    config = Config().override("acting.temperatures=1.0,0.1", "acting.temperature_ends=0.3")
    assert config.acting.temperatures == (1.0, 0.1) and config.acting.temperature_ends == (0.3,)
    with pytest.raises(ValueError, match="temperature_ends has 2 entries"):
        Config().override("acting.temperatures=1.0,0.1")


@pytest.mark.parametrize(
    "settings",
    [
        {"search": {"num_simulations": 16}, "seed": 3},
        {"search.num_simulations": 16, "seed": np.int64(3)},
        {"search": SearchConfig(num_simulations=16), "seed": 3.0},
    ],
)
def test_settings_are_replaced_by_sections_by_parts_of_them_and_by_path(settings):
    config = Config(learning=LearningConfig(td_steps=3))
    replaced = config.replace(**settings)
    assert replaced == Config(seed=3, search=SearchConfig(num_simulations=16), learning=LearningConfig(td_steps=3))
    assert config.search.num_simulations == 50 and type(replaced.seed) is int


def test_two_fields_that_must_fit_together_are_replaced_together():
    config = Config().replace(acting={"temperatures": (1, 0), "temperature_ends": [0.5]})
    assert config.acting.temperatures == (1.0, 0.0) and config.acting.temperature_ends == (0.5,)


@pytest.mark.parametrize(
    "assignment, settings",
    [
        ("search.num_simulation=16", {"search": {"num_simulation": 16}}),
        ("search.num_simulations=many", {"search.num_simulations": "many"}),
        ("search.num_simulations=0", {"search": {"num_simulations": 0}}),
        ("search=3", {"search": 3}),
        ("seed.x=3", {"seed.x": 3}),
        ("search.normaliser=tallest", {"search": {"normaliser": "tallest"}}),
        ("serach.discount=1", {"serach": {"discount": 1}}),
    ],
)
def test_a_mistake_in_python_gets_the_sentence_of_the_command_line(assignment, settings):
    with pytest.raises(ValueError) as said:
        Config().override(assignment)
    with pytest.raises(ValueError) as also:
        Config().replace(**settings)
    assert str(also.value) == str(said.value)


def test_text_is_not_parsed_in_python():
    with pytest.raises(ValueError, match=r"search\.num_simulations is '16', but must be a whole number"):
        Config().replace(search={"num_simulations": "16"})


def test_the_differences_of_a_config_make_it_of_the_defaults():
    assert Config().differences() == []
    settings = ("search.num_sampled_actions=20", "acting.temperatures=1.0,0.5,0.0", "learning.jit_compile=false")
    config = Config(environment="catch").override(*settings)
    assert Config().override(*config.differences()) == config
    assert set(config.differences()) == {"environment=catch", *settings}
