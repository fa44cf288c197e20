"""The one-file tutorial does what the library does: the same search, targets and loss on the same random inputs.

A comparison is a function of the module, so that it can be held against copies with a bug planted: it must notice each.
"""

import ast
import importlib.util
import sys
import types
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from mzu.config import Config, LearningConfig, SearchConfig
from mzu.learning import losses as library_losses
from mzu.learning.targets import Targets, make_targets
from mzu.networks import scalars
from mzu.networks.model import TabularModel
from mzu.replay.replay import Batch
from mzu.search.search import search as library_search

FILE = Path(__file__).parents[2] / "tutorials" / "muzero_unplugged.py"
SMALL = {"WIDTH": 16, "BLOCKS": 1, "VALUE_SUPPORT": 4, "REWARD_SUPPORT": 3, "ACTIONS": 3}
LENGTHS = [1, 2, 3, 5, 7, 12, 30]  # of episodes: shorter than n, than U, than both together, and longer


def load(old="", new="", **settings):
    """The tutorial as a module of its own, with some text replaced and some of its settings changed."""
    spec = importlib.util.spec_from_file_location("muzero_unplugged", FILE)
    module = importlib.util.module_from_spec(spec)
    source = FILE.read_text()
    assert source.count(old) == 1 or not old, f"{old!r} stands {source.count(old)} times in {FILE.name}, not once"
    exec(compile(source.replace(old, new) if old else source, str(FILE), "exec"), module.__dict__)
    for name, value in settings.items():
        assert hasattr(module, name)
        setattr(module, name, value)
    return module


def random_network(muzero, rng):
    """A small network; its heads, which start as zeros, have something to say."""
    keras.utils.set_random_seed(0)
    network = muzero.Network(rng.normal(size=(50, 4)).astype(np.float32))
    for weight in network.weights:
        weight.assign(weight + rng.normal(scale=0.3, size=weight.shape))
    return network


# The comparisons


def compare_scalars(muzero):
    x = np.concatenate([np.linspace(-500, 500, 1001), np.linspace(-1, 1, 101)]).astype(np.float32)
    np.testing.assert_allclose(muzero.h(x), scalars.transform(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(muzero.h_inverse(x / 20), scalars.inverse_transform(x / 20), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(muzero.h_inverse(muzero.h(x)), x, rtol=1e-5, atol=1e-5)
    logits = np.random.default_rng(0).normal(size=(len(x), 21)).astype(np.float32)
    np.testing.assert_allclose(muzero.scalar(logits), scalars.scalar_from_logits(logits), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(muzero.scalar_loss(logits, x), scalars.scalar_loss(logits, x), rtol=1e-5)


def compare_search(muzero):
    rng = np.random.default_rng(0)
    muzero.ACTIONS, muzero.SIMULATIONS, muzero.DISCOUNT = 3, 40, 0.9
    for _ in range(5):
        shape = (30, 3)
        model = TabularModel(
            rng.integers(30, size=shape), rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=30)
        )
        compare_searches(muzero, model, np.arange(30), 1e-10)


def compare_searches(muzero, model, observations, tolerance):
    visits, values = muzero.search(model, observations)
    config = SearchConfig(num_simulations=muzero.SIMULATIONS, discount=muzero.DISCOUNT, dirichlet_fraction=0.0)
    expected = library_search(model, observations, config, np.random.default_rng(0))
    np.testing.assert_array_equal(visits, expected.visits)
    np.testing.assert_allclose(values, expected.value, rtol=tolerance, atol=tolerance)


def compare_targets(muzero, folder):
    """Every position of random episodes, through the file."""
    rng = np.random.default_rng(0)
    muzero.ACTIONS, muzero.DISCOUNT, muzero.UNROLL_STEPS, muzero.TD_STEPS = 3, 0.9, 4, 3
    episodes = made_episodes(rng)
    data = muzero.load_dataset(write_episodes(folder / "episodes.npz", episodes))
    rows = len(data.end)
    network_values, policy = rng.normal(size=rows).astype(np.float32), rng.dirichlet(np.ones(3), rows)
    searched = rng.random(rows) < 0.7
    targets = muzero.Targets(policy, searched, muzero.n_step_returns(data, network_values))
    ours = muzero.make_batch(data, targets, data.positions, rng)
    batch = library_batch(episodes, policy, searched, 4, 3)
    settings = ("search.discount=0.9", "learning.unroll_steps=4", "learning.td_steps=3")
    expected = make_targets(batch, Config().override(*settings), lambda seen: network_values[seen[..., 0]])
    observed = np.concatenate([episode["observations"][:-1] for episode in episodes])
    np.testing.assert_array_equal(ours.observations, observed)
    np.testing.assert_array_equal(ours.known[:, :-1], expected.reward_mask)
    np.testing.assert_array_equal(ours.known, expected.value_mask)
    np.testing.assert_array_equal(ours.has_policy, expected.policy_mask)
    np.testing.assert_array_equal(ours.rewards * ours.known[:, :-1], expected.rewards * expected.reward_mask)
    np.testing.assert_allclose(ours.values * ours.known, expected.values * expected.value_mask, rtol=1e-5, atol=1e-6)
    masked = (array * expected.policy_mask[:, :, None] for array in (ours.policy, expected.policy_weights))
    np.testing.assert_allclose(*masked, rtol=1e-6)
    happened = np.arange(4) < batch.steps_left[:, None]
    np.testing.assert_array_equal(ours.actions[happened], batch.actions[:, :-1][happened])


def made_episodes(rng):
    """Episodes of 3 actions, the first half terminated and the second half truncated."""
    return [
        {
            "observations": rng.normal(size=(length + 1, 4)).astype(np.float32),
            "actions": rng.integers(3, size=length).astype(np.int32),
            "rewards": rng.normal(size=length).astype(np.float32),
            "terminated": np.array(terminated),
            "truncated": np.array(not terminated),
        }
        for terminated in (True, False)
        for length in LENGTHS
    ]


def write_episodes(path, episodes):
    """The episodes as the package stores its own."""
    numbered = enumerate(episodes)
    np.savez(path, **{f"{k:06d}/{name}": array for k, episode in numbered for name, array in episode.items()})
    return path


def library_batch(episodes, policy, searched, unroll_steps, td_steps):
    """Every position of the episodes as a Batch of the library, number by number.

    Rows are counted as the tutorial does: over all episodes, with one for the observation that each ends with. An
    observation of the batch is the number of its row, so that a target network can look its value up.
    """
    positions, first = [], 0
    for episode in episodes:
        steps = len(episode["actions"])
        for t in range(steps):
            places = range(t, t + unroll_steps + 1)
            rewards = [*episode["rewards"][t:], *np.zeros(unroll_steps + td_steps)]
            positions.append(
                {
                    "positions": first + t,
                    "observations": [first + t],
                    "actions": [episode["actions"][place] if place < steps else 0 for place in places],
                    "rewards": np.float32(rewards[: unroll_steps + td_steps]),
                    "steps_left": steps - t,
                    "ended": True,
                    "terminated": bool(episode["terminated"]),
                    "bootstrap_observations": [[first + min(place + td_steps, steps)] for place in places],
                    "following_observations": np.zeros((0, 1)),
                    "search_policy": [policy[first + min(place, steps)] for place in places],
                    "search_actions": np.zeros((unroll_steps + 1, 0), np.int32),
                    "search_value": np.zeros(unroll_steps + 1),
                    "searched": [bool(searched[first + min(place, steps)]) for place in places],
                    "weights": 1.0,
                }
            )
        first += steps + 1
    return Batch(**{name: np.array([position[name] for position in positions]) for name in Batch._fields})


def compare_loss(muzero):
    """The loss of every position and the gradient of every weight, with the same network in both."""
    rng = np.random.default_rng(0)
    for name, value in SMALL.items():
        setattr(muzero, name, value)
    network, rows, steps = random_network(muzero, rng), 9, muzero.UNROLL_STEPS + 1
    arrays = muzero.Batch(
        observations=rng.normal(size=(rows, 4)).astype(np.float32),
        actions=rng.integers(3, size=(rows, steps - 1)).astype(np.int32),
        rewards=rng.normal(scale=5, size=(rows, steps - 1)).astype(np.float32),
        values=rng.normal(scale=20, size=(rows, steps)).astype(np.float32),
        policy=rng.dirichlet(np.ones(3), (rows, steps)).astype(np.float32),
        known=np.float32(rng.random((rows, steps)) < 0.7),
        has_policy=np.float32(rng.random((rows, steps)) < 0.7),
    )
    ours = muzero.Batch(*map(tf.constant, arrays))
    targets = Targets(
        rewards=ours.rewards,
        reward_mask=ours.known[:, :-1],
        values=ours.values,
        value_mask=ours.known,
        policy_actions=np.zeros((rows, steps, 0), np.int32),
        policy_weights=ours.policy,
        policy_mask=ours.has_policy,
    )
    parts = {name: getattr(network, name) for name in ("representation", "dynamics", "prediction")}
    same_network = types.SimpleNamespace(**parts, action_value=None)
    with tf.GradientTape(persistent=True) as tape:
        losses = muzero.unrolled_losses(network, ours)
        predictions = library_losses.unroll(same_network, ours.observations, ours.actions, steps - 1, 0.5)
        settings = LearningConfig(unroll_steps=steps - 1)
        expected = library_losses.unrolled_losses(predictions, targets, ours.actions, settings, continuous=False).total
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    weights = [weight.value for weight in network.weights]
    gradients = (tape.gradient(loss, weights) for loss in (losses, expected))
    for own, theirs in zip(*gradients, strict=True):
        np.testing.assert_allclose(tf.convert_to_tensor(own), tf.convert_to_tensor(theirs), rtol=1e-3, atol=1e-4)


# The claims


def test_it_is_one_file_of_at_most_350_lines_without_the_library():
    source = FILE.read_text()
    assert len(source.splitlines()) <= 350
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    roots = {(getattr(node, "module", None) or node.names[0].name).split(".")[0] for node in imports}
    assert roots - sys.stdlib_module_names == {"gymnasium", "keras", "numpy", "tensorflow", "tqdm"}


def test_h_its_inverse_and_the_categories_are_the_librarys():
    compare_scalars(load())


def test_it_visits_what_the_librarys_search_visits():
    compare_search(load())


def test_it_visits_the_same_with_a_network():
    muzero, rng = load(**SMALL), np.random.default_rng(1)
    network = random_network(muzero, rng)
    model = types.SimpleNamespace(
        initial=lambda observations: [tensor.numpy() for tensor in network.initial(observations)],
        recurrent=lambda hidden, actions: [tensor.numpy() for tensor in network.recurrent(hidden, actions)],
    )
    compare_searches(muzero, model, rng.normal(size=(64, 4)).astype(np.float32), 1e-5)


def test_noise_is_mixed_into_the_prior_of_the_root_and_of_no_other_node():
    muzero, rng = load(ACTIONS=3), np.random.default_rng(0)
    next_state, reward = rng.integers(1, 20, size=(20, 3)), rng.normal(size=(20, 3))  # nothing leads back to 0
    logits, value, noise = rng.normal(size=(20, 3)), rng.normal(size=20), np.array([0.7, 0.2, 0.1])
    told = types.SimpleNamespace(dirichlet=lambda alpha, size: np.tile(noise, (size, 1)))
    visits, _ = muzero.search(TabularModel(next_state, reward, logits, value), np.zeros(1, int), told)
    prior = np.exp(logits[0]) / np.exp(logits[0]).sum()
    mixed = logits.copy()
    mixed[0] = np.log((1 - muzero.NOISE_SHARE) * prior + muzero.NOISE_SHARE * noise)
    expected, _ = muzero.search(TabularModel(next_state, reward, mixed, value), np.zeros(1, int))
    np.testing.assert_array_equal(visits, expected)


def test_targets_and_masks_of_every_position_are_the_librarys(tmp_path):
    compare_targets(load(), tmp_path)


def test_reanalyse_searches_stored_positions_again_with_the_weights_of_the_moment(tmp_path):
    muzero, rng = load(**SMALL, REANALYSE_BATCH=20), np.random.default_rng(0)
    data = muzero.load_dataset(write_episodes(tmp_path / "episodes.npz", made_episodes(rng)))
    network, policies = random_network(muzero, rng), []
    for _ in range(2):
        rows = len(data.end)
        targets = muzero.Targets(np.zeros((rows, 3)), np.zeros(rows, bool), np.zeros(rows))
        muzero.reanalyse(network, data, targets, np.random.default_rng(1))
        assert 10 < targets.searched.sum() <= 20 and set(np.flatnonzero(targets.searched)) <= set(data.positions)
        np.testing.assert_allclose(targets.policy.sum(axis=1), targets.searched)
        policies.append(targets.policy)
        for weight in network.weights:
            weight.assign(-weight)
    np.testing.assert_array_equal(*(policy.any(axis=1) for policy in policies))  # the same rows
    assert (policies[0] != policies[1]).any()


def test_the_loss_and_its_gradient_are_the_librarys():
    compare_loss(load())


GROWS = "value = tree.reward[b, node] + DISCOUNT * value  # Critical"
BUGS = {
    "the return does not grow on its way up": (compare_search, GROWS, "value = value  # Critical"),
    "the discount is missing on the way up": (compare_search, GROWS, GROWS.replace("DISCOUNT * ", "")),
    "a reward counts one step too high": (compare_search, GROWS, GROWS.replace("node", "tree.parent[b, node]")),
    "the backup skips what lies between leaf and root": (compare_search, "node = tree.parent[b, node]", "node *= 0"),
    "the root is not counted before the first simulation": (compare_search, "    backup(tree, 0, value)", "    value"),
    "what was never tried keeps the root's value": (
        compare_search, "np.where(child > 0, q, 0.0) + tree.prior", "q + tree.prior"
    ),
    "one range of values for all trees": (
        compare_search, "tree.low[b, None], tree.high[b, None]", "tree.low.min(), tree.high.max()"
    ),
    "rewards are late by one": (
        compare_targets, "append(episode, 0) for episode in rewards", "append(0, episode) for episode in rewards"
    ),
    "the mask of the bootstrap is missing": (compare_targets, "data.terminated & (reached == data.end)", "False"),
    "a truncated end is taken for a terminal one": (
        compare_targets, "data.terminated & (reached == data.end)", "reached == data.end"
    ),
    "the bootstrap is discounted n times where the data end earlier": (
        compare_targets, "DISCOUNT ** (reached - rows)", "DISCOUNT**TD_STEPS"
    ),
    "the value is bootstrapped one step early": (
        compare_targets, "np.minimum(rows + TD_STEPS, data.end)", "np.minimum(rows + TD_STEPS - 1, data.end)"
    ),
    "a policy is learned past the end": (compare_targets, "happened & targets.searched", "targets.searched"),
    "absorbing positions are not learned": (compare_targets, "happened | data.terminated[rows]", "happened"),
    "the whole gradient flows through the hidden state": (
        compare_loss, "0.5 * hidden + 0.5 * tf.stop_gradient(hidden)", "hidden"
    ),
    "the reward is compared with the next one": (compare_loss, "batch.rewards[:, k])", "batch.rewards[:, k - 1])"),
    "unrolled steps count as much as the first": (compare_loss, "1.0 if k == 0 else 1.0 / UNROLL_STEPS", "1.0"),
    "values are learned as they are": (compare_scalars, "clip_by_value(h(target)", "clip_by_value(target"),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_noticed(bug, tmp_path):
    compare, old, new = BUGS[bug]
    muzero = load(old, new)
    with pytest.raises(AssertionError):
        compare(muzero, tmp_path) if compare is compare_targets else compare(muzero)


def test_it_runs_from_the_data_to_the_table(monkeypatch, capsys):
    muzero = load(WIDTH=8, BLOCKS=1, SIMULATIONS=3, UNROLL_STEPS=1, BATCH=16, REANALYSE_BATCH=32)
    monkeypatch.setattr(sys, "argv", [str(FILE), "--steps", "3", "--episodes", "2"])
    muzero.main()
    lines = capsys.readouterr().out.splitlines()
    returns = {line[:-7].strip(): float(line[-7:]) for line in lines}
    assert returns.pop("dataset") == pytest.approx(98.7)
    assert list(returns) == ["behaviour cloning, policy", "MuZero Unplugged, policy", "MuZero Unplugged, search"]
    assert all(8 <= mean <= 500 for mean in returns.values())


@pytest.mark.slow
def test_it_learns_more_than_was_played_and_more_than_cloning_finds():
    """The dataset's mean is 99, and behaviour cloning earns about 183 with every seed."""
    muzero = load()
    network = muzero.train(muzero.load_dataset(muzero.DATA), seed=1, steps=1500)
    assert muzero.evaluate(network, 20, by_search=False) > 300
    assert muzero.evaluate(network, 20, by_search=True) > 300
