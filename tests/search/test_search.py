"""Searches whose right answer was worked out by hand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mzu.config import SearchConfig
from mzu.networks.model import GaussianPolicy, TabularModel
from mzu.search.search import sample_actions, search, visit_distribution

NO_NOISE = {"dirichlet_fraction": 0.0}


def two_armed_bandit():
    """From state 0, arm 0 pays 1 and arm 1 pays 0; after that nothing happens any more."""
    return TabularModel(next_state=[[1, 2], [1, 1], [2, 2]], reward=[[1, 0], [0, 0], [0, 0]])


def run(model, config, states=(0,), seed=0, **arguments):
    return search(model, np.array(states), config, np.random.default_rng(seed), **arguments)


def test_a_search_with_one_simulation():
    # Priors softmax([0, log 3]) = 1/4, 3/4: action 1 is taken. Its reward is 2, the next value 10, discount 0.9.
    model = TabularModel([[0, 1], [0, 1]], [[5, 2], [0, 0]], [[0, math.log(3)], [0, 0]], [4, 10])
    result = run(model, SearchConfig(num_simulations=1, discount=0.9, **NO_NOISE))
    assert_allclose(result.prior, [[0.25, 0.75]])
    assert result.visits.tolist() == [[0, 1]]
    assert_allclose(result.policy, [[0, 1]])
    assert_allclose(result.value, [(4 + (2 + 0.9 * 10)) / 2])  # the root's own value, and one simulation's
    assert_allclose(result.tree.bounds, [[11, 11]])


def test_the_two_armed_bandit_simulation_by_simulation():
    config = SearchConfig(num_simulations=5, discount=1.0, **NO_NOISE)
    result = run(two_armed_bandit(), config, record=True)
    # Arm 0 comes first (a tie, the first wins) and its normalised value is 1 from then on. Arm 1 has only its prior
    # term 0.5 * c(N), with c(N) = sqrt(N) * (log((N + 19653) / 19652) + 1.25), which beats 1 + 0.5 * c(N) / (1 + n)
    # for the first time at N = 5, n = 4: 1.398 against 1.280 (at N = 4, n = 3: 1.250 against 1.313).
    assert result.history.candidates[0, :, 0].tolist() == [0, 0, 0, 0, 1]
    assert result.visits.tolist() == [[4, 1]]
    assert_allclose(result.value, [4 / 6])  # the root's own 0, four times 1, once 0
    c = [math.sqrt(n) * (math.log((n + 19653) / 19652) + 1.25) for n in range(6)]
    assert_allclose(result.history.prior_terms[0, 3, 0], [0.5 * c[4] / 4, 0.5 * c[4]])
    assert_allclose(result.history.value_terms[0, 3, 0], [1, 0])
    assert_allclose(result.history.prior_terms[0, 4, 0], [0.5 * c[5] / 5, 0.5 * c[5]])


def test_before_two_values_are_known_the_value_enters_as_it_is():
    result = run(two_armed_bandit(), SearchConfig(num_simulations=2, **NO_NOISE), record=True)
    assert_allclose(result.history.bounds[0, 1], [1, 1])
    assert_allclose(result.history.value_terms[0, 1, 0], [1, 0])


def test_an_arm_that_was_never_taken_can_be_as_good_as_its_node():
    config = SearchConfig(num_simulations=3, discount=1.0, unvisited_value="parent", **NO_NOISE)
    result = run(two_armed_bandit(), config, record=True)
    # Arm 0 pays 1, so the root is worth (0 + 1) / 2, then (0 + 1 + 1) / 3, and so is arm 1 until it is taken: at N = 2
    # (no range yet) 0.5 + 0.884 against 1 + 0.442, at N = 3 (range 0..1) 0.667 + 1.083 against 1 + 0.361.
    assert_allclose(result.history.value_terms[0, :, 0], [[0, 0], [1, 1 / 2], [1, 2 / 3]])
    assert result.history.candidates[0, :, 0].tolist() == [0, 0, 1]


def binary_tree(depth, rng):
    """A deterministic tree of two actions a level with random rewards, then an absorbing state. Returns V* as well."""
    inner = 2**depth - 1
    next_state = np.array([[2 * s + 1, 2 * s + 2] for s in range(inner)])
    next_state = np.vstack([np.minimum(next_state, inner), [[inner, inner]]])
    reward = np.vstack([rng.random((inner, 2)), [[0, 0]]])
    optimal = np.zeros(inner + 1)
    for state in reversed(range(inner)):
        optimal[state] = max(reward[state, a] + 0.9 * optimal[next_state[state, a]] for a in (0, 1))
    return TabularModel(next_state, reward), optimal


@pytest.mark.parametrize("unvisited", ["lowest", "parent"])
@pytest.mark.parametrize("normaliser", ["minmax", "siblings"])
def test_with_a_perfect_model_the_search_converges_to_the_optimal_value_and_action(normaliser, unvisited):
    # The value is a mean over all simulations, exploring ones too: it nears the optimum only as their share falls.
    model, optimal = binary_tree(4, np.random.default_rng(1))
    config = {"discount": 0.9, "normaliser": normaliser, "unvisited_value": unvisited, **NO_NOISE}
    errors, shares = [], []
    for simulations in (8, 64, 512, 4096):
        result = run(model, SearchConfig(num_simulations=simulations, **config))
        best = int(np.argmax([model.reward[0, a] + 0.9 * optimal[model.next_state[0, a]] for a in (0, 1)]))
        errors.append(abs(result.value[0] - optimal[0]))
        shares.append(result.policy[0, best])
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.06 * optimal[0]
    assert shares[-1] == max(shares) > 0.95


def test_the_discount_is_applied_once_per_step():
    # A corridor 0 -> 1 -> 2 -> 3 with value 1 at its end only: seen from the root it is worth discount^3.
    model = TabularModel([[1], [2], [3], [3]], np.zeros((4, 1)), value=[0, 0, 0, 1])
    result = run(model, SearchConfig(num_simulations=3, discount=0.5, **NO_NOISE))
    assert_allclose(result.value, [0.5**3 / 4])
    assert_allclose(result.tree.nodes["value"][0], [0.5**3 / 4, 0.5**2 / 3, 0.5 / 2, 1])


def test_a_reward_belongs_to_the_edge_on_which_it_is_earned():
    # The second step pays 1: worth 1 at node 1, discount at the root, nothing at node 2.
    model = TabularModel([[1], [2], [2]], [[0], [1], [0]])
    result = run(model, SearchConfig(num_simulations=2, discount=0.5, **NO_NOISE))
    assert_allclose(result.tree.nodes["value"][0], [0.5 / 3, 1 / 2, 0])
    assert_allclose(result.tree.edges["reward"][0, :, 0], [0, 1, 0])


def test_rows_of_a_batch_do_not_see_each_other():
    model = TabularModel([[0, 1], [0, 1]], [[1, 0], [100, -100]], value=[0, 1000])
    alone = run(model, SearchConfig(num_simulations=20, **NO_NOISE), states=[0])
    together = run(model, SearchConfig(num_simulations=20, **NO_NOISE), states=[0, 1, 0])
    for row in (0, 2):
        assert together.visits[row].tolist() == alone.visits[0].tolist()
        assert together.value[row] == alone.value[0]


def test_illegal_actions_get_no_prior_and_no_visit():
    legal = np.array([[True, False, True], [False, True, False]])
    model = TabularModel(np.zeros((1, 3), int), [[0, 50, 1]], [[0, 5, math.log(3)]])
    result = run(model, SearchConfig(num_simulations=30, **NO_NOISE), states=[0, 0], legal_actions=legal)
    assert_allclose(result.prior, [[0.25, 0, 0.75], [0, 1, 0]])
    assert (result.visits[~legal] == 0).all()
    assert result.visits.sum(axis=1).tolist() == [30, 30]
    # Below the root everything may be tried: action 1 pays 50 there.
    assert result.tree.edges["visits"][0, 1:, 1].sum() > 0


def test_root_noise_mixes_a_dirichlet_draw_into_the_root_only():
    model = TabularModel(np.zeros((1, 4), int), np.zeros((1, 4)), np.log([[0.1, 0.2, 0.3, 0.4]]))
    config = SearchConfig(num_simulations=3, dirichlet_alpha=0.5, dirichlet_fraction=0.25)
    result = run(model, config, states=[0] * 4000)
    noise = (result.prior - 0.75 * np.array([0.1, 0.2, 0.3, 0.4])) / 0.25
    assert_allclose(noise.sum(axis=1), 1)
    assert noise.min() >= -1e-12
    # Mean 1 / 4 and variance (1/4)(3/4) / (4 alpha + 1) of a symmetric Dirichlet(0.5), within 4 standard errors.
    assert_allclose(noise.mean(axis=0), 0.25, atol=4 * math.sqrt(0.0625 / 4000))
    assert_allclose(noise.var(axis=0), 0.0625, rtol=0.1)
    assert_allclose(result.tree.edges["prior"][:, 1:], np.broadcast_to([0.1, 0.2, 0.3, 0.4], (4000, 3, 4)))


def test_root_noise_changes_what_the_search_visits():
    model = TabularModel(np.zeros((1, 5), int), np.zeros((1, 5)))
    visited = {
        fraction: run(model, SearchConfig(num_simulations=10, dirichlet_fraction=fraction), states=[0] * 50).visits
        for fraction in (0.0, 1.0)
    }
    assert (visited[0.0] == visited[0.0][0]).all()
    assert len({tuple(row) for row in visited[1.0]}) > 10


def test_a_tiny_dirichlet_alpha_does_not_underflow():
    model = TabularModel(np.zeros((1, 3), int), np.zeros((1, 3)))
    config = SearchConfig(num_simulations=1, dirichlet_alpha=1e-3, dirichlet_fraction=1.0)
    prior = run(model, config, states=[0] * 200).prior
    assert np.isfinite(prior).all()
    assert_allclose(prior.sum(axis=1), 1)


def test_the_same_generator_state_gives_the_same_search_and_another_one_another():
    model = TabularModel(np.zeros((1, 6), int), np.zeros((1, 6)))
    first, same, other = (run(model, SearchConfig(num_simulations=12), states=[0] * 5, seed=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(first.prior, same.prior)
    np.testing.assert_array_equal(first.visits, same.visits)
    assert (first.prior != other.prior).any()


def test_temperature_sharpens_the_visit_distribution():
    visits = np.array([[1, 3, 0]])
    assert_allclose(visit_distribution(visits, 1.0), [[0.25, 0.75, 0]])
    assert_allclose(visit_distribution(visits, 0.5), [[0.1, 0.9, 0]])
    assert_allclose(visit_distribution(visits, 0), [[0, 1, 0]])
    assert_allclose(visit_distribution(np.array([[2, 2]]), 0), [[1, 0]])
    assert_allclose(visit_distribution(np.array([[1, 1000]]), 0.001), [[0, 1]])


def test_actions_are_drawn_in_proportion_to_the_visits():
    result = run(two_armed_bandit(), SearchConfig(num_simulations=5, **NO_NOISE), states=[0] * 5000)
    actions = sample_actions(result, 1.0, np.random.default_rng(0))
    assert result.visits[0].tolist() == [4, 1]
    assert abs(np.mean(actions == 1) - 0.2) < 4 * math.sqrt(0.2 * 0.8 / 5000)
    assert (sample_actions(result, 0, np.random.default_rng(0)) == 0).all()


def test_a_sampled_candidate_is_translated_to_its_action():
    """A world in which every wrong translation shows: from each state only action 5 of 6 pays."""

    class OnlyFive(TabularModel):
        def recurrent(self, hidden, actions):
            assert set(np.asarray(actions).tolist()) <= {4, 5}  # the only ones that the policy proposes
            return super().recurrent(hidden, actions)

    logits = [[-50.0] * 4 + [0.0, 0.0]]
    model = OnlyFive(np.zeros((1, 6), int), [[0, 0, 0, 0, 0, 1]], logits)
    config = SearchConfig(num_simulations=40, num_sampled_actions=30, **NO_NOISE)
    result = run(model, config, states=[0] * 3)
    assert result.actions[:, :2].tolist() == [[4, 5]] * 3
    assert (result.visits[:, 1] > result.visits[:, 0]).all()
    assert (result.visits[:, 2:] == 0).all()


class GaussianArm:
    """One state, continuous actions; the reward is `pay(action)`."""

    def __init__(self, pay, mean=(0.0,), scale=(1.0,)):
        self.pay, self.mean, self.scale = pay, np.array([mean]), np.array([scale])

    def policy(self, batch):
        return GaussianPolicy(np.repeat(self.mean, batch, 0), np.repeat(self.scale, batch, 0))

    def initial(self, observations):
        batch = len(observations)
        return np.zeros(batch), self.policy(batch), np.zeros(batch)

    def recurrent(self, hidden, actions):
        return hidden, self.pay(actions), self.policy(len(hidden)), np.zeros(len(hidden))


def test_the_injected_action_joins_the_root_with_its_prior_and_the_others_share_the_rest():
    model = GaussianArm(lambda actions: actions[:, 0], scale=(0.1,))
    config = SearchConfig(num_simulations=10, num_sampled_actions=3, injected_prior=0.25, **NO_NOISE)
    inject = np.array([True, False])
    result = run(model, config, states=[0, 0], injected_actions=np.array([[0.5], [0.5]]), inject=inject)
    assert_allclose(result.prior, [[0.25, 0.25, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3, 0]])
    assert result.injected.tolist() == [3, -1]
    assert result.actions[0, 3] == 0.5
    # Root only: below it there are three candidates.
    candidates = np.count_nonzero(result.tree.edges["prior"], axis=2)
    assert (candidates[:, 1:][result.tree.nodes["visits"][:, 1:] > 0] == 3).all()


def test_a_search_finds_a_good_action_that_only_injection_offers():
    pay = lambda actions: np.where(np.abs(actions[:, 0] - 0.9) < 1e-3, 1.0, 0.0)  # noqa: E731
    model = GaussianArm(pay, mean=(-0.5,), scale=(0.1,))
    config = SearchConfig(num_simulations=50, num_sampled_actions=10, **NO_NOISE)
    blind = run(model, config)
    seeing = run(model, config, injected_actions=np.array([[0.9]], np.float32))
    assert blind.value[0] == 0
    assert np.argmax(seeing.visits[0]) == seeing.injected[0]


def test_an_injected_action_that_was_sampled_anyway_is_not_doubled():
    # Nearly all samples of N(5, 0.1) are clipped to 1: one candidate, which is the injected action too.
    model = GaussianArm(lambda actions: actions[:, 0], mean=(5.0,), scale=(0.1,))
    config = SearchConfig(num_simulations=4, num_sampled_actions=6, **NO_NOISE)
    result = run(model, config, injected_actions=np.array([[1.0]]))
    assert_allclose(result.prior, [[1, 0, 0, 0, 0, 0, 0]])
    assert result.injected.tolist() == [0]
    # And a discrete one: action 0 is drawn every time.
    model = TabularModel(np.zeros((1, 3), int), np.zeros((1, 3)), [[0, -1000, -1000]])
    result = run(model, config, injected_actions=np.array([0]))
    assert_allclose(result.prior[0, 0], 1)
    other = run(model, config, injected_actions=np.array([2]))
    assert_allclose(other.prior[0, :2], [0.75, 0.25])
    assert other.actions[0, :2].tolist() == [0, 2]


def test_injection_takes_the_place_of_the_noise():
    model = GaussianArm(lambda actions: actions[:, 0], scale=(0.1,))
    config = SearchConfig(num_simulations=2, num_sampled_actions=3, dirichlet_fraction=1.0)
    result = run(model, config, injected_actions=np.array([[0.5]]))
    assert_allclose(result.prior, [[0.25] * 4])


@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
def test_sampled_priors_are_pi_times_beta_hat_over_beta(temperature):
    pi = np.array([0.5, 0.3, 0.2])
    beta = pi ** (1 / temperature) / (pi ** (1 / temperature)).sum()
    model = TabularModel(np.zeros((1, 3), int), np.zeros((1, 3)), [np.log(pi)])
    config = SearchConfig(num_simulations=1, num_sampled_actions=10, sampling_temperature=temperature, **NO_NOISE)
    rows = 4000
    result = run(model, config, states=[0] * rows)
    counts = np.zeros((rows, 3))
    for k in range(10):
        exists = result.prior[:, k] > 0
        action = result.actions[exists, k]
        counts[exists, action] = result.prior[exists, k] * beta[action] / pi[action] * 10
    # What the prior says was drawn is a whole number of draws, ten in all, and distributed as beta.
    assert_allclose(counts, counts.round(), atol=1e-9)
    assert (counts.sum(axis=1).round() == 10).all()
    assert_allclose(counts.mean(axis=0) / 10, beta, atol=4 * math.sqrt(0.25 / (10 * rows)))
    # So the prior is right on average: an estimate of pi.
    mean_prior = (counts / 10 * pi / beta).mean(axis=0)
    assert_allclose(mean_prior, pi, atol=0.02)


@pytest.mark.parametrize("temperature", [1.0, 0.7, 1.6])
def test_gaussian_priors_estimate_expectations_under_pi_whatever_the_sampling_temperature(temperature):
    model = GaussianArm(lambda actions: actions[:, 0], mean=(0.3, -0.8), scale=(0.4, 0.5))
    config = SearchConfig(num_simulations=1, num_sampled_actions=20, sampling_temperature=temperature, **NO_NOISE)
    result = run(model, config, states=[0] * 4000)
    draws = np.clip(np.random.default_rng(0).normal([0.3, -0.8], [0.4, 0.5], (400_000, 2)), -1, 1)
    assert np.abs(result.actions).max() <= 1
    for statistic in (lambda a: a[..., 0], lambda a: a[..., 1] ** 2, lambda a: (a[..., 1] == -1).astype(float)):
        estimate = (result.prior * statistic(result.actions)).sum(axis=1).mean()
        assert_allclose(estimate, statistic(draws).mean(), atol=0.015)


def test_samples_that_meet_at_the_bound_are_one_candidate():
    model = GaussianArm(lambda actions: actions[:, 0], mean=(0.8,), scale=(1.0,))
    config = SearchConfig(num_simulations=1, num_sampled_actions=20, **NO_NOISE)
    result = run(model, config, states=[0] * 50)
    for prior, actions in zip(result.prior, result.actions[..., 0], strict=True):
        candidates = actions[prior > 0]
        assert len(set(candidates.tolist())) == len(candidates)
        assert_allclose(prior.sum(), 1)
    # About 42 % of the draws lie above 1: their common candidate holds about that prior.
    at_bound = (result.prior * (result.actions[..., 0] == 1)).sum(axis=1)
    assert abs(at_bound.mean() - 0.4207) < 0.08
