"""The kernels and the plain reference search are the same search, for every model and setting."""

import os
import pathlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_trees import assert_same_tree

from mzu.config import SearchConfig
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import random_weights
from mzu.networks.model import GaussianPolicy, TabularModel
from mzu.search import reference
from mzu.search import search as search_module
from mzu.search.improvement import reference as plain_operators
from mzu.search.randomness import Randomness, draw_gumbels, draw_randomness
from mzu.search.search import search

# Plain Python under NUMBA_DISABLE_JIT is slow, and the kernels are the same lines.
EXAMPLES = 15 if os.environ.get("NUMBA_DISABLE_JIT") else 60


class TabularGaussian(TabularModel):
    """A tabular world with continuous actions: an action's sign in each dimension decides where it leads."""

    def __init__(self, rng, states, dimensions):
        num_signs = 2**dimensions
        super().__init__(
            rng.integers(0, states, (states, num_signs)),
            rng.normal(size=(states, num_signs)),
            value=rng.normal(size=states),
        )
        self.mean = rng.normal(0, 0.8, (states, dimensions))
        self.scale = rng.uniform(0.05, 1.5, (states, dimensions))

    def policy(self, states):
        return GaussianPolicy(self.mean[states], self.scale[states])

    def initial(self, observations):
        states, _, value = super().initial(observations)
        return states, self.policy(states), value

    def recurrent(self, hidden, actions):
        signs = (np.asarray(actions) > 0) @ (2 ** np.arange(actions.shape[1]))
        states, reward, _, value = super().recurrent(hidden, signs)
        return states, reward + 0.1 * np.sum(actions, axis=1), self.policy(states), value


def tabular_model(rng, states, actions):
    return TabularModel(
        rng.integers(0, states, (states, actions)),
        rng.normal(size=(states, actions)),
        rng.normal(0, 2, (states, actions)),
        rng.normal(0, 3, states),
    )


@st.composite
def ways_to_improve(draw):
    """Selection, first evaluations and operator, as far as they go together."""
    improvement = draw(st.sampled_from(["visits", "advantage", "completed_q", "one_step"]))
    if improvement == "one_step":
        return {"improvement": improvement, "first_evaluations": draw(st.sampled_from([None, True]))}
    selection = draw(st.sampled_from(["puct", "puct", "gumbel"]))
    return {
        "improvement": improvement,
        "selection": selection,
        "first_evaluations": draw(st.sampled_from([None, False] if selection == "gumbel" else [None, False, True])),
        "gumbel_candidates": draw(st.sampled_from([1, 2, 3, 16])),
        "advantage_temperature": draw(st.sampled_from([0.5, 1.0])),
        "advantage_clip": draw(st.sampled_from([0.3, 3.0])),
    }


@st.composite
def searches(draw):
    """A model and all arguments of a search of it."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["all", "categorical", "gaussian"]))
    states, actions, batch = draw(st.integers(2, 6)), draw(st.integers(1, 7)), draw(st.integers(1, 4))
    config = SearchConfig(
        num_simulations=draw(st.integers(1, 30)),
        discount=draw(st.sampled_from([0.0, 0.5, 0.997, 1.0])),
        normaliser=draw(st.sampled_from(["minmax", "siblings"])),
        unvisited_value=draw(st.sampled_from(["lowest", "parent"])),
        dirichlet_alpha=draw(st.sampled_from([0.03, 0.25, 3.0])),
        dirichlet_fraction=draw(st.sampled_from([0.0, 0.25, 1.0])),
        num_sampled_actions=None if kind == "all" else draw(st.integers(1, 8)),
        sampling_temperature=draw(st.sampled_from([1.0, 0.5, 2.0])),
        injected_prior=draw(st.sampled_from([0.1, 0.25, 0.9])),
        max_depth=draw(st.sampled_from([0, 1, 2, 5])),
        **draw(ways_to_improve()),
    )
    arguments = {"propose_mean": draw(st.booleans())}
    if kind == "gaussian":
        dimensions = draw(st.integers(1, 3))
        model = TabularGaussian(rng, states, dimensions)
    else:
        model = tabular_model(rng, states, actions)
        if draw(st.booleans()):
            legal = rng.random((batch, actions)) < 0.5
            legal[np.arange(batch), rng.integers(0, actions, batch)] = True
            arguments["legal_actions"] = legal
    if "legal_actions" not in arguments and draw(st.booleans()):
        if kind == "gaussian":
            # On the bounds too, where clipped samples meet the injected action.
            injected = rng.choice([-1.0, 1.0, 0.3], (batch, dimensions)).astype(np.float32)
        else:
            injected = rng.integers(0, actions, batch)
        arguments["injected_actions"] = injected
        if draw(st.booleans()):
            arguments["inject"] = rng.random(batch) < 0.5
    return model, rng.integers(0, states, batch), config, seed, arguments


@settings(max_examples=EXAMPLES, deadline=None)
@given(searches())
def test_kernels_and_reference_grow_the_same_trees(case):
    model, observations, config, seed, arguments = case
    result = search(model, observations, config, np.random.default_rng(seed), **arguments)
    roots = reference.search(model, observations, config, np.random.default_rng(seed), **arguments)
    for b, root in enumerate(roots):
        assert_same_tree(result.tree, b, root)
        allowed = result.prior[b] > 0
        visits = [edge.visits for edge in root.edges if edge.prior > 0]
        assert result.visits[b, allowed].tolist() == visits
        assert result.visits[b, ~allowed].sum() == 0
        assert sum(visits) == config.simulations
        plain = getattr(plain_operators, config.improvement)(root, config)
        np.testing.assert_allclose(result.policy[b, allowed], plain, atol=1e-12)
        assert (result.policy[b, ~allowed] == 0).all()


@settings(max_examples=EXAMPLES, deadline=None)
@given(searches())
def test_each_row_of_a_batch_equals_that_row_searched_alone(case):
    model, observations, config, seed, arguments = case
    drawn, gumbels = [], []

    def remember(*args):
        drawn.append(draw_randomness(*args))
        return drawn[-1]._replace(normals=drawn[-1].normals.copy())

    def remember_gumbels(*args):
        gumbels.append(draw_gumbels(*args))
        return gumbels[-1]

    inject = arguments.get("inject", np.full(len(observations), "injected_actions" in arguments))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "draw_randomness", remember)
        patch.setattr(search_module, "draw_gumbels", remember_gumbels)
        together = search(model, observations, config, np.random.default_rng(seed), **arguments)
        for b in range(len(observations)):
            if config.evaluates_first and inject.any() and not inject[b]:
                continue  # alone it has one place less at its root, and its simulations other random numbers
            row = slice(b, b + 1)
            patch.setattr(
                search_module, "draw_randomness", lambda *_, row=row: Randomness(*(a[row].copy() for a in drawn[0]))
            )
            patch.setattr(search_module, "draw_gumbels", lambda *args, row=row: gumbels[0][row, : args[2]])
            own = {name: value if name == "propose_mean" else value[row] for name, value in arguments.items()}
            alone = search(model, observations[row], config, None, **own)
            slots = alone.tree.edges.shape[2]  # one less where only other rows have an injected action
            for name in ("visits", "parent", "parent_candidate", "value", "raw_value"):
                np.testing.assert_array_equal(alone.tree.nodes[name][0], together.tree.nodes[name][b])
            for name in ("child", "visits", "prior", "reward", "value"):
                np.testing.assert_array_equal(alone.tree.edges[name][0], together.tree.edges[name][b, :, :slots])
            np.testing.assert_array_equal(alone.actions[0], together.actions[b, :slots])
            np.testing.assert_allclose(alone.policy[0], together.policy[b, :slots], rtol=1e-12)
            assert alone.value[0] == together.value[b]


WAYS = [{}, {"first_evaluations": False}, {"selection": "gumbel"}, {"max_depth": 2}, {"improvement": "one_step"}]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("prediction_blocks", [0, 1])
def test_the_compiled_network_is_searched_as_the_reference_searches_it(continuous, prediction_blocks, way):
    rng = np.random.default_rng(3)
    weights = random_weights(rng, 5, 3, 20, 2, continuous=continuous, prediction_blocks=prediction_blocks)
    model = CompiledModel(weights)
    observations = rng.normal(size=(7, 5)).astype(np.float32)
    config = SearchConfig(num_simulations=25, num_sampled_actions=6 if continuous else None, **way)
    injected = {"injected_actions": np.ones((7, 3), np.float32), "inject": np.arange(7) % 2 == 0} if continuous else {}
    result = search(model, observations, config, np.random.default_rng(0), **injected)
    roots = reference.search(model, observations, config, np.random.default_rng(0), **injected)
    for b, root in enumerate(roots):
        assert_same_tree(result.tree, b, root)


# With 6 samples of 4 actions some of the root's places stay empty: nobody evaluates them.
@pytest.mark.parametrize("way", [*WAYS, {"num_sampled_actions": 6}], ids=str)
def test_one_compiled_call_and_the_python_loop_give_the_same_search(way):
    rng = np.random.default_rng(4)
    model = CompiledModel(random_weights(rng, 5, 4, 33, 1))

    class Wrapped:
        """Hides that the model is compiled."""

        initial, recurrent = staticmethod(model.initial), staticmethod(model.recurrent)

    observations = rng.normal(size=(70, 5)).astype(np.float32)  # more than one piece for each core
    config = SearchConfig(num_simulations=12, **way)
    compiled = search(model, observations, config, np.random.default_rng(1))
    looped = search(Wrapped(), observations, config, np.random.default_rng(1))
    for name in ("nodes", "edges", "hidden", "bounds", "ends"):
        np.testing.assert_array_equal(getattr(compiled.tree, name), getattr(looped.tree, name))


def test_the_reference_search_fits_in_a_lecture():
    assert len(pathlib.Path(reference.__file__).read_text().splitlines()) <= 150
