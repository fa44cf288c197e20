"""Bad input gets one clear sentence before anything runs."""

import numpy as np
import pytest

from mzu.config import SearchConfig
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import random_weights
from mzu.networks.model import GaussianPolicy, TabularModel
from mzu.search.search import search, visit_distribution


class Stub:
    """A model that returns what it is told to."""

    def __init__(self, policy, value=0.0, reward=0.0):
        self.policy, self.value, self.reward = policy, value, reward

    def initial(self, observations):
        batch = len(observations)
        return np.zeros((batch, 2)), self.policy(batch), np.full(batch, self.value)

    def recurrent(self, hidden, actions):
        batch = len(hidden)
        return hidden, np.full(batch, self.reward), self.policy(batch), np.full(batch, self.value)


def discrete(batch):
    return np.zeros((batch, 3))


def gaussian(batch):
    return GaussianPolicy(np.zeros((batch, 2)), np.ones((batch, 2)))


SAMPLED = {"num_sampled_actions": 4}


@pytest.mark.parametrize(
    "model, settings, arguments, sentence",
    [
        (Stub(lambda b: np.full((b, 3), np.nan)), {}, {}, "not finite in row 0 at the root"),
        (Stub(discrete, value=np.nan), {}, {}, "not finite in row 0 at the root"),
        (Stub(discrete, reward=np.inf), {}, {}, "not finite in row 0 at simulation 0"),
        (Stub(lambda b: GaussianPolicy(np.zeros((b, 2)), np.zeros((b, 2)))), SAMPLED, {}, "not finite in row 0"),
        (Stub(lambda b: np.zeros((b + 1, 3))), {}, {}, r"policy has shape \(3, 3\), but must be \[2, actions\]"),
        (Stub(lambda b: GaussianPolicy(np.zeros((b, 2)), np.zeros((b, 3)))), SAMPLED, {}, "mean has shape"),
        (Stub(gaussian), {}, {}, "Continuous actions must be sampled; set search.num_sampled_actions"),
        (Stub(discrete), {}, {"legal_actions": np.zeros((2, 3), bool)}, r"legal_actions\[0\] allows no action"),
        (Stub(discrete), {}, {"legal_actions": np.ones((2, 4), bool)}, r"must be bool \(2, 3\)"),
        (Stub(discrete), {}, {"legal_actions": np.ones((2, 3))}, "legal_actions is float64"),
        (Stub(gaussian), SAMPLED, {"legal_actions": np.ones((2, 2), bool)}, "has no action to mask"),
        (
            Stub(discrete),
            SAMPLED,
            {"injected_actions": np.array([0, 3])},
            r"injected_actions\[1\] is 3, outside .* 0\.\.2",
        ),
        (Stub(discrete), SAMPLED, {"injected_actions": np.zeros(2)}, "discrete actions must be whole numbers"),
        (
            Stub(gaussian),
            SAMPLED,
            {"injected_actions": np.array([[0, 0], [0, 1.5]])},
            r"injected_actions\[1\] is .*-1\.\.1",
        ),
        (
            Stub(gaussian),
            SAMPLED,
            {"injected_actions": np.full((2, 2), np.nan)},
            r"injected_actions\[0\] is \[nan nan\]",
        ),
        (Stub(gaussian), SAMPLED, {"injected_actions": np.zeros((2, 3))}, r"has shape \(2, 3\), but must be \(2, 2\)"),
        (Stub(gaussian), SAMPLED, {"inject": np.ones(2, bool)}, "inject is given without injected_actions"),
        (
            Stub(gaussian),
            SAMPLED,
            {"injected_actions": np.zeros((2, 2)), "inject": np.ones(3, bool)},
            "one switch per row",
        ),
    ],
)
def test_a_bad_search_is_refused_with_a_sentence(model, settings, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        search(
            model, np.zeros((2, 1)), SearchConfig(num_simulations=3, **settings), np.random.default_rng(0), **arguments
        )


def test_a_row_that_is_switched_off_may_hold_any_injected_action():
    injected, inject = np.array([[0.0, 0.0], [np.nan, 9.0]]), np.array([True, False])
    config = SearchConfig(num_simulations=3, **SAMPLED)
    result = search(Stub(gaussian), np.zeros((2, 1)), config, np.random.default_rng(0), injected, inject)
    assert result.injected.tolist() == [4, -1]


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="observations is empty"):
        search(Stub(discrete), np.zeros((0, 1)), SearchConfig(), np.random.default_rng(0))


def test_the_compiled_model_names_what_is_wrong_with_observations_and_weights():
    rng = np.random.default_rng(0)
    weights = random_weights(rng, 4, 2, 8, 1)
    model = CompiledModel(weights)
    with pytest.raises(ValueError, match=r"observations have shape \(2, 5\), but this network takes \[B, 4\]"):
        search(model, np.zeros((2, 5)), SearchConfig(), rng)
    with pytest.raises(ValueError, match=r"observations\[1\] holds NaN"):
        search(model, np.array([[0, 0, 0, 0], [0, np.nan, 0, 0]]), SearchConfig(), rng)
    weights.dynamics.layers[0].kernel[0, 0] = np.nan
    with pytest.raises(ValueError, match="weights hold NaN or infinity"):
        model.refresh(weights)


@pytest.mark.parametrize(
    "settings, sentence",
    [
        ({"num_simulations": 0}, "search.num_simulations is 0, but must be at least 1"),
        ({"num_sampled_actions": 0}, "search.num_sampled_actions is 0, but must be at least 1"),
        ({"dirichlet_alpha": 0.0}, "search.dirichlet_alpha is 0.0, but must be a positive number"),
        ({"discount": float("nan")}, "search.discount is nan, but must lie between 0 and 1"),
        ({"injected_prior": 1.0}, "search.injected_prior is 1.0"),
    ],
)
def test_a_bad_setting_is_refused_when_it_is_written_down(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        SearchConfig(**settings)


def test_bad_tables_and_temperatures_are_refused():
    with pytest.raises(ValueError, match=r"reward has shape \(1, 2\), but next_state asks for \(2, 2\)"):
        TabularModel([[0, 1], [0, 1]], [[0, 0]])
    with pytest.raises(ValueError, match=r"next_state must hold states 0\.\.0"):
        TabularModel([[1]], [[0]])
    with pytest.raises(ValueError, match="temperature is -1, but must be 0 or more"):
        visit_distribution(np.array([[1, 2]]), -1)
