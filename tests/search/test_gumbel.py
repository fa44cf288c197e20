"""Gumbel MuZero's search is that of mctx, DeepMind's search library for JAX.

`gumbel_mctx.json` holds what `mctx.gumbel_muzero_policy` (0.0.71, 64 bits) found in small tabular worlds, with the
Gumbel noise that it drew.
"""

import json
import pathlib

import numpy as np
import pytest

from mzu.config import SearchConfig
from mzu.networks.model import TabularModel
from mzu.search import search as search_module
from mzu.search.gumbel import considered_visits
from mzu.search.improvement.reference import considered
from mzu.search.search import sample_actions, search

CASES = json.loads((pathlib.Path(__file__).parent / "gumbel_mctx.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_visits_policy_and_action_are_those_of_mctx(case, monkeypatch):
    model = TabularModel(*(case[name] for name in ("next_state", "reward", "logits", "value")))
    config = SearchConfig(
        num_simulations=case["simulations"],
        discount=case["discount"],
        selection="gumbel",
        improvement="completed_q",
        gumbel_candidates=case["considered"],
    )
    monkeypatch.setattr(search_module, "draw_gumbels", lambda *_: np.array(case["gumbels"]))
    result = search(model, np.array(case["states"]), config, np.random.default_rng(0), record=True)
    assert result.visits.tolist() == case["visits"]
    np.testing.assert_allclose(result.policy, case["weights"], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(result.value, case["root_value"], rtol=1e-5)
    assert sample_actions(result, 1.0, np.random.default_rng(0)).tolist() == case["action"]
    scores = result.history.value_terms + result.history.prior_terms
    for b, s, step in np.argwhere(result.history.nodes >= 0):
        assert result.history.candidates[b, s, step] == np.nanargmax(scores[b, s, step])


@pytest.mark.parametrize("candidates", [1, 2, 3, 5, 16])
@pytest.mark.parametrize("simulations", [1, 4, 50])
def test_the_order_of_sequential_halving_is_that_of_its_plain_twin(candidates, simulations):
    assert considered_visits(candidates, simulations).tolist() == considered(candidates, simulations)


def test_sequential_halving_gives_every_round_the_same_share():
    """Of 16 candidates in 64 simulations: 16 once, the better 8 twice, 4 four times, 2 eight times."""
    order = considered_visits(16, 64).tolist()
    of_four = [visits for visits in range(3, 7) for _ in range(4)]
    of_two = [visits for visits in range(7, 15) for _ in range(2)]
    assert order == [0] * 16 + [1] * 8 + [2] * 8 + of_four + of_two


def test_without_noise_the_best_prior_wins_among_equal_values():
    model = TabularModel(np.zeros((1, 3), int), np.zeros((1, 3)), [[0.0, 1.0, 0.5]])
    config = SearchConfig(num_simulations=8, selection="gumbel", improvement="completed_q", gumbel_scale=0.0)
    result = search(model, np.array([0]), config, np.random.default_rng(0))
    assert result.chosen.tolist() == [1]
    np.testing.assert_allclose(result.policy[0], np.exp([0, 1, 0.5]) / np.exp([0, 1, 0.5]).sum())
