"""The compiled network gives Keras' numbers, and a search cannot tell the two apart."""

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mzu.bench.networks import make_training_step, random_training_batch
from mzu.config import NetworkConfig, SearchConfig
from mzu.environments.spaces import Spaces
from mzu.networks.compiled.compile_model import compile_model, model_for_search, refresh
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.keras_model import KerasModel
from mzu.networks.network import build_network
from mzu.networks.scalars import inverse_transform
from mzu.search.search import search

SMALL = NetworkConfig(width=24, num_blocks=2, value_support=10, reward_support=4)
DISCRETE, CONTINUOUS, PICTURES = (Spaces((5,), 3), Spaces((5,), 2, continuous=True), Spaces((6, 4, 2), 3))
LARGE_PICTURES = Spaces((18, 4, 1), 3)

configs = st.builds(
    NetworkConfig,
    width=st.integers(2, 70),
    num_blocks=st.integers(0, 3),
    prediction_blocks=st.integers(0, 2),
    scale_hidden=st.booleans(),
    scalar_head=st.sampled_from(["categorical", "hl_gauss", "regression"]),
    bins_per_unit=st.sampled_from([1, 3]),
    value_support=st.sampled_from([1, 7, 8, 300]),
    reward_support=st.sampled_from([1, 7, 8, 300]),
)
states = st.builds(
    Spaces, st.integers(1, 35).map(lambda size: (size,)), num_actions=st.integers(1, 20), continuous=st.booleans()
)

picture_configs = st.builds(
    NetworkConfig,
    width=st.integers(2, 40),
    num_blocks=st.integers(0, 2),
    prediction_blocks=st.integers(0, 1),
    scale_hidden=st.booleans(),
    scalar_head=st.sampled_from(["categorical", "regression"]),
    value_support=st.sampled_from([1, 8]),
    reward_support=st.sampled_from([1, 7]),
)
pictures = st.builds(
    Spaces,
    st.tuples(st.integers(1, 16), st.integers(1, 16), st.integers(1, 7)),
    num_actions=st.integers(1, 8),
    continuous=st.booleans(),
    observation_dtype=st.sampled_from(["float32", "uint8"]),
)


def assert_same_numbers(network, twin, seed=0, batch=5, max_policy_scale=np.inf):
    """Compares `initial` and two steps of `recurrent`, to 1e-4 of the numbers' own size."""
    rng = np.random.default_rng(seed)
    plain = KerasModel(network, max_policy_scale, jit_compile=False)
    observations, actions, *_ = random_training_batch(rng, network.spaces, batch, unroll_steps=2)
    width = network.config.width
    ours, theirs = twin.initial(observations), plain.initial(observations)
    assert_outputs_close(ours, theirs, width)
    for step in range(2):
        acted = actions[:, step].numpy()
        ours, theirs = twin.recurrent(ours[0], acted), plain.recurrent(theirs[0], acted)
        assert_outputs_close(ours, theirs, width)


def assert_outputs_close(ours, theirs, width):
    (hidden, *ours), (plain_hidden, *theirs) = ours, theirs
    plain_hidden = np.reshape(plain_hidden, (len(plain_hidden), -1, width))  # a picture's positions one by one
    hidden = hidden.reshape(*plain_hidden.shape[:2], -1)
    assert (hidden[..., width:] == 0).all()
    for one, other in zip([hidden[..., :width], *ours], [plain_hidden, *theirs], strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * max(np.abs(other).max(), 0.1))


@given(config=configs, spaces=states, seed=st.integers(0, 1000))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_compiled_and_keras_agree_for_any_network(random_network, config, spaces, seed):
    network = random_network(config, spaces, seed)
    assert_same_numbers(network, compile_model(network), seed)


@given(config=picture_configs, spaces=pictures, seed=st.integers(0, 1000))
@settings(max_examples=6, deadline=None, derandomize=True)
def test_they_agree_for_any_network_of_small_pictures(random_network, config, spaces, seed):
    network = random_network(config, spaces, seed)
    assert_same_numbers(network, compile_model(network), seed, batch=3)


@pytest.mark.slow
@given(kind=st.one_of(st.tuples(configs, states), st.tuples(picture_configs, pictures)), seed=st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_compiled_and_keras_agree_for_very_many_networks(random_network, kind, seed):
    config, spaces = kind
    network = random_network(config, spaces, seed)
    assert_same_numbers(network, compile_model(network), seed)


@pytest.mark.parametrize("scalar_head", ["categorical", "hl_gauss", "regression"])
def test_they_agree_on_heads_with_four_categories_per_unit(random_network, scalar_head):
    network = random_network(dataclasses.replace(SMALL, scalar_head=scalar_head, bins_per_unit=4), DISCRETE)
    assert network.prediction.output_shape[1] == (None, 1 if scalar_head == "regression" else 81)
    twin = compile_model(network)
    assert_same_numbers(network, twin)
    twin.network = twin.network._replace(bins_per_unit=1)
    if scalar_head != "regression":
        with pytest.raises(AssertionError):
            assert_same_numbers(network, twin)


def test_the_last_of_four_categories_per_unit_stands_for_the_end_of_the_support(random_network):
    network = random_network(dataclasses.replace(SMALL, scalar_head="hl_gauss", bins_per_unit=4), DISCRETE)
    network.prediction.get_layer("value").bias.assign(1000 * np.eye(81)[-1])
    for model in (compile_model(network), KerasModel(network, jit_compile=False)):
        np.testing.assert_allclose(model.initial(np.zeros((1, 5)))[2], inverse_transform(10.0), rtol=1e-5)


@pytest.mark.parametrize("spaces", [DISCRETE, CONTINUOUS, PICTURES], ids=["discrete", "continuous", "pictures"])
def test_they_still_agree_after_training_steps_and_a_refresh(spaces):
    network = build_network(SMALL, spaces)
    twin = compile_model(network)
    step = make_training_step(network, jit_compile=False, learning_rate=1e-2)
    for seed in range(5):
        step(*random_training_batch(np.random.default_rng(seed), spaces, 32, unroll_steps=1))
    with pytest.raises(AssertionError):
        assert_same_numbers(network, twin)  # the twin has not heard of the new weights yet
    refresh(twin, network)
    assert_same_numbers(network, twin)


def test_the_evaluation_scale_is_capped_in_both(random_network):
    network = random_network(SMALL, CONTINUOUS)
    twin = compile_model(network, max_policy_scale=0.05)
    assert_same_numbers(network, twin, max_policy_scale=0.05)
    _, policy, _ = twin.initial(np.zeros((1, 5)))
    assert policy.scale.max() == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("spaces", "sampled"),
    [(DISCRETE, None), (DISCRETE, 4), (CONTINUOUS, 6), (PICTURES, None)],
    ids=["all", "sampled", "gaussian", "pictures"],
)
def test_a_search_through_either_gives_the_same_visits(random_network, spaces, sampled):
    network = random_network(SMALL, spaces, seed=2)
    config = SearchConfig(num_simulations=30, num_sampled_actions=sampled)
    rng = np.random.default_rng(0)
    observations, actions, *_ = random_training_batch(rng, spaces, 6)
    injected = actions[:, 0].numpy() if sampled else None
    twin, plain = (
        search(model, observations.numpy(), config, np.random.default_rng(1), injected)
        for model in (compile_model(network), KerasModel(network))
    )
    assert len(np.unique(twin.visits)) > 2
    np.testing.assert_array_equal(twin.visits, plain.visits)
    np.testing.assert_allclose(twin.value, plain.value, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(twin.actions, plain.actions, rtol=1e-4, atol=1e-5)


def test_a_search_of_large_pictures_runs_and_is_repeatable(random_network):
    network = random_network(NetworkConfig(width=8, num_blocks=1, value_support=5, reward_support=5), LARGE_PICTURES)
    model = model_for_search(network)
    observations = np.random.default_rng(0).random((3, 18, 4, 1))
    first, again = (
        search(model, observations, SearchConfig(num_simulations=8), np.random.default_rng(1)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.visits, again.visits)
    assert first.tree.hidden.shape == (3, 9, 5, 1, 8)


def test_the_search_uses_the_twin_where_there_is_one():
    assert isinstance(model_for_search(build_network(SMALL, DISCRETE)), CompiledModel)
    assert isinstance(model_for_search(build_network(SMALL, PICTURES)), CompiledModel)
    large = build_network(SMALL, LARGE_PICTURES)
    assert isinstance(model_for_search(large), KerasModel)
    with pytest.raises(ValueError, match="Pictures of 18x4 have no compiled twin, which takes at most 16x16"):
        compile_model(large)


@pytest.mark.parametrize("spaces", [PICTURES, LARGE_PICTURES], ids=["compiled", "keras"])
def test_both_models_refuse_what_is_no_picture_of_0_to_255(spaces):
    model = model_for_search(build_network(SMALL, dataclasses.replace(spaces, observation_dtype="uint8")))
    with pytest.raises(ValueError, match=r"observations are float64, but this network takes pictures of whole numbers"):
        model.initial(np.zeros((2, *spaces.observation_shape)))


def test_a_keras_model_sees_new_weights_at_once_and_another_networks_after_a_refresh(random_network):
    network, other = build_network(SMALL, DISCRETE), random_network(SMALL, DISCRETE)
    model = KerasModel(network, jit_compile=False)
    observations = np.ones((1, 5))
    assert model.initial(observations)[2] == 0
    bias = network.prediction.get_layer("value").bias
    bias.assign(np.arange(len(bias.numpy())))
    assert model.initial(observations)[2] != 0
    refresh(model, other)
    assert model.initial(observations)[2] == KerasModel(other, jit_compile=False).initial(observations)[2]


def test_a_refresh_leaves_the_arrays_of_a_search_under_way_alone(random_network):
    network = random_network(SMALL, DISCRETE)
    twin = compile_model(network)
    under_way = twin.network
    matrices = under_way.matrices.copy()
    refresh(twin, random_network(SMALL, DISCRETE, seed=1))
    np.testing.assert_array_equal(under_way.matrices, matrices)
    assert (twin.network.matrices != matrices).any()


def test_a_refresh_of_the_64_wide_network_takes_less_than_a_millisecond():
    config = NetworkConfig(width=64, num_blocks=2, value_support=10, reward_support=10)
    network = build_network(config, Spaces((8,), 4))
    twin = compile_model(network)
    times = []
    for _ in range(200):
        start = time.perf_counter()
        refresh(twin, network)
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-3


def test_weights_that_are_not_finite_are_refused(random_network):
    for value in (np.nan, np.inf, -np.inf):
        network = random_network(SMALL, DISCRETE)
        twin = compile_model(network)
        kernel = network.dynamics.get_layer("block_1_layer_0").kernel
        weights = kernel.numpy()
        weights[3, 4] = value
        kernel.assign(weights)
        with pytest.raises(ValueError, match="NaN or infinity"):
            refresh(twin, network)


def test_observations_of_another_shape_are_refused_by_both():
    network = build_network(SMALL, DISCRETE)
    for model in (compile_model(network), KerasModel(network)):
        with pytest.raises(ValueError, match=r"observations have shape \(2, 4\), but this network takes \[B, 5\]"):
            model.initial(np.zeros((2, 4)))


def test_the_constants_of_the_twin_are_the_ones_keras_uses(random_network):
    """A network whose norm sees almost no variance shows the epsilon: were it another one, the twins would differ."""
    network = random_network(dataclasses.replace(SMALL, num_blocks=0), DISCRETE)
    first = network.representation.get_layer("first")
    first.kernel.assign(first.kernel * 1e-3)
    first.bias.assign(first.bias * 1e-2)
    assert_same_numbers(network, compile_model(network))
