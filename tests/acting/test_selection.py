"""Policy, value and search as ways to choose an action, in worlds where they must differ."""

import types

import numpy as np
import pytest
from made_worlds import STATES, VECTORS, LookUpModel, gaussian, preferring

import mzu.acting.selection
from mzu.acting.selection import make_selection, one_step_values, policy_modes
from mzu.config import Config, NetworkConfig
from mzu.networks.model import TabularModel
from mzu.networks.network import build_network

RNG = np.random.default_rng(0)


class ThreeTemptations(TabularModel):
    """From state 0 the policy likes action 0, action 1 has a reward of 1, action 2 leads to where 3 is to be had.

    State 2, behind action 2, has the value 0 for the network: only who looks two steps ahead knows what is there.
    """

    def __init__(self):
        next_state = [[1, 1, 2], [1, 1, 1], [1, 1, 1]]
        reward = [[0, 1, 0], [0, 0, 0], [3, 3, 3]]
        super().__init__(next_state, reward, logits=[[1, 0, 0], [0, 0, 0], [0, 0, 0]])

    def initial(self, observations):
        return super().initial(np.asarray(observations)[:, 0])


def selection_of(monkeypatch, model, select, *settings, spaces=STATES):
    monkeypatch.setattr(mzu.acting.selection, "model_for_search", lambda network, max_policy_scale: model)
    network = types.SimpleNamespace(spaces=spaces, action_value=None)
    config = Config().override("search.num_simulations=200", "search.discount=0.9", *settings)
    return make_selection(network, config, select)


OBSERVATIONS = np.zeros((2, 2), np.float32)


@pytest.mark.parametrize(("select", "action"), [("policy", 0), ("value", 1), ("search", 2)])
def test_policy_value_and_search_choose_what_each_of_them_can_see(monkeypatch, select, action):
    choose = selection_of(monkeypatch, ThreeTemptations(), select)
    np.testing.assert_array_equal(choose(OBSERVATIONS, RNG), [action, action])


@pytest.mark.parametrize(("select", "action"), [("policy", 1), ("value", 2), ("search", 1)])
def test_illegal_actions_are_not_chosen(monkeypatch, select, action):
    choose = selection_of(monkeypatch, ThreeTemptations(), select)
    legal = {"policy": [False, True, True], "value": [False, False, True], "search": [True, True, False]}[select]
    both = choose(OBSERVATIONS, RNG, np.array([legal, [True, True, True]]))
    assert both[0] == action
    assert both[1] == {"policy": 0, "value": 1, "search": 2}[select]  # the other row is not concerned


def test_value_takes_the_best_reward_plus_discounted_value(monkeypatch):
    # Values behind the three actions are 1, 2, 4 and the rewards 2, 1, 0; all depends on the discount.
    model = TabularModel(
        [[1, 2, 3], [1] * 3, [2] * 3, [3] * 3], [[2, 1, 0], [0] * 3, [0] * 3, [0] * 3], value=[0, 1, 2, 4]
    )
    candidates = np.array([[0, 1, 2]], np.int32)
    np.testing.assert_allclose(one_step_values(model, np.array([0]), candidates, 0.5), [[2.5, 2, 2]])
    np.testing.assert_allclose(one_step_values(model, np.array([0]), candidates, 0.9), [[2.9, 2.8, 3.6]])
    model.initial = lambda observations: TabularModel.initial(model, np.asarray(observations)[:, 0])
    chosen = [
        int(selection_of(monkeypatch, model, "value", f"search.discount={discount}")(OBSERVATIONS, RNG)[0])
        for discount in (0.5, 0.9)
    ]
    assert chosen == [0, 2]


def test_search_has_no_noise(monkeypatch):
    # With a fraction of 1 the priors would be nothing but noise, and the choice arbitrary.
    settings = ("search.dirichlet_fraction=1", "search.num_simulations=8")
    choose = selection_of(monkeypatch, LookUpModel(preferring(1, 2.0)), "search", *settings)
    actions = choose(np.zeros((100, 2), np.float32), np.random.default_rng(0))
    np.testing.assert_array_equal(actions, 1)


# Continuous actions


def test_the_mode_of_a_gaussian_is_its_mean_within_the_bounds():
    model = LookUpModel(gaussian([1.7, -0.25], [0.3, 0.3]))
    modes = policy_modes(model, OBSERVATIONS)
    np.testing.assert_array_equal(modes, np.float32([[1, -0.25]] * 2))
    assert modes.dtype == np.float32


def test_value_goes_from_the_mean_towards_the_best_of_the_sampled_actions(monkeypatch):
    # The reward is highest at (0.5, -0.5), the mean of the policy at (0, 0).
    best = np.array([0.5, -0.5])
    model = LookUpModel(
        gaussian([0, 0], [0.5, 0.5]), reward=lambda hidden, actions: -((actions - best) ** 2).sum(axis=1)
    )
    settings = ("search.num_sampled_actions=500", "search.advantage_clip=100")

    def chosen(temperature):
        further = (*settings, f"search.advantage_temperature={temperature}")
        actions = selection_of(monkeypatch, model, "value", *further, spaces=VECTORS)(
            OBSERVATIONS, np.random.default_rng(0)
        )
        assert actions.shape == (2, 2) and actions.dtype == np.float32
        return actions

    np.testing.assert_allclose(chosen(0.01), [best] * 2, atol=0.15)
    distances = [np.linalg.norm(chosen(temperature) - best, axis=1) for temperature in (0.01, 0.3, 1, 3, 100)]
    assert (np.diff(distances, axis=0) > 0).all()  # the hotter, the less is believed
    np.testing.assert_allclose(chosen(1e6), 0, atol=0.05)


def test_a_choice_among_candidates_of_equal_value_is_their_mean_and_no_sample(monkeypatch):
    model = LookUpModel(gaussian([0.3, -0.2], [0.05, 0.05]), reward=lambda hidden, actions: 0 * actions[:, 0])
    for select in ("value", "search"):
        settings = ("search.num_sampled_actions=500", "search.improvement=advantage")
        choose = selection_of(monkeypatch, model, select, *settings, spaces=VECTORS)
        np.testing.assert_allclose(choose(OBSERVATIONS, np.random.default_rng(0)), [[0.3, -0.2]] * 2, atol=0.01)


def test_candidates_come_from_a_policy_of_scale_0_05():
    # A fresh network has mean 0 and scale 1: without the cap the candidates would lie far out, and so would their mean.
    network = build_network(NetworkConfig(width=8, num_blocks=0, value_support=2, reward_support=2), VECTORS)
    config = Config().override("search.num_simulations=20")  # without num_sampled_actions: 20 are taken
    observations = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    actions = make_selection(network, config, "search")(observations, np.random.default_rng(0))
    assert actions.shape == (50, 2)
    wide = make_selection(network, config.override("evaluation.max_policy_scale=10"), "search")
    wider = np.abs(wide(observations, np.random.default_rng(0))).max()
    assert np.abs(actions).max() < 0.05 < 0.2 < wider


# Without a model


def test_the_action_value_head_chooses_where_there_is_one():
    config = NetworkConfig(width=8, num_blocks=0, value_support=2, reward_support=2, action_value_head=True)
    network = build_network(config, STATES)
    bias = np.zeros((3, 5), np.float32)
    bias[:, 2] = 5  # all values about 0
    bias[1] = [0, 0, 0, 0, 9]  # except that of action 1
    network.action_value.get_layer("action_value").bias.assign(bias.reshape(-1))
    unrolls_nothing = Config().override("learning.unroll_steps=0", "learning.policy_loss=crr")
    choose = make_selection(network, unrolls_nothing, "value")
    np.testing.assert_array_equal(choose(OBSERVATIONS, RNG), [1, 1])
    np.testing.assert_array_equal(
        choose(OBSERVATIONS, RNG, np.array([[True, False, True], [False, True, True]])), [0, 1]
    )


def test_a_model_that_was_never_trained_is_not_searched():
    network = build_network(NetworkConfig(width=8, num_blocks=0, value_support=2, reward_support=2), STATES)
    config = Config().override("learning.unroll_steps=0", "learning.policy_loss=crr")
    for select in ("search", "value"):
        with pytest.raises(ValueError, match=f"cannot be selected by {select}: this run has learning.unroll_steps=0"):
            make_selection(network, config, select)
    assert make_selection(network, config, "policy")(OBSERVATIONS, RNG).shape == (2,)
    with pytest.raises(ValueError, match="'luck', but must be one of policy, value, search"):
        make_selection(network, Config(), "luck")
