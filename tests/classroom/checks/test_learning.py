"""What assignment 5 calls right, in NumPy, is what the library does in its replay and in Keras."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from mzu.classroom.checks import learning
from mzu.config import LearningConfig, ReplayConfig
from mzu.environments.spaces import Spaces
from mzu.learning.losses import Predictions, unrolled_losses
from mzu.learning.targets import Targets
from mzu.networks import scalars
from mzu.replay.priorities import Priorities
from mzu.replay.replay import Replay
from mzu.replay.segment import Segment


def replay_of(priorities, alpha, beta, uniform_share):
    """A replay of one segment with these priorities [N]."""
    positions = len(priorities)
    settings = ReplayConfig(
        1, positions, priority_exponent=alpha, importance_exponent=beta, uniform_share=uniform_share
    )
    replay = Replay(settings, Spaces((1,), 2), unroll_steps=1, td_steps=1, candidates=0, sampled=False)
    segment = Segment(
        observations=np.zeros((positions + 1, 1), np.float32),
        actions=np.zeros(positions, np.int32),
        rewards=np.zeros(positions, np.float32),
        ended=True,
        terminated=True,
        search_policy=None,
        search_actions=None,
        search_value=np.zeros(positions, np.float32),
        priorities=priorities,
    )
    replay.add(segment)
    return replay


@pytest.mark.parametrize(
    ("alpha", "beta", "share"), [(1.0, 1.0, 0.0), (0.6, 0.4, 0.1), (2.0, 0.5, 0.3), (0.0, 1.0, 0.2)]
)
@pytest.mark.parametrize("equal", [0, 2, 5])
def test_probabilities_and_weights_are_the_replays(alpha, beta, share, equal):
    rng = np.random.default_rng(0)
    search_values, targets = rng.normal(size=(2, 5))
    targets[:equal] = search_values[:equal]
    replay = replay_of(np.abs(search_values - targets), alpha, beta, share)
    probabilities = learning.draw_probabilities(search_values, targets, alpha, share)
    np.testing.assert_allclose([replay.priority(i)["probability"] for i in range(5)], probabilities)
    drawn = np.tile(np.flatnonzero(probabilities), 2)  # a position that is never drawn has no weight
    weights, _ = learning.weighted_loss(rng.random(len(drawn)), probabilities[drawn], 5, beta)
    np.testing.assert_allclose(replay.at(drawn, rng).weights, weights, rtol=1e-6)


def test_the_loss_of_a_batch_is_on_average_that_of_all_positions():
    rng = np.random.default_rng(0)
    losses, probabilities = rng.random(5), rng.dirichlet(np.ones(5))
    of_pairs = [
        [learning.weighted_loss(losses[pair], probabilities[pair], 5, 1.0)[1] for pair in ([i, j] for j in range(5))]
        for i in range(5)
    ]
    np.testing.assert_allclose(probabilities @ of_pairs @ probabilities, losses.mean())


def test_the_sum_tree_is_the_replays():
    rng = np.random.default_rng(0)
    tree, sums = Priorities(16), learning.sum_tree(np.zeros(16))
    for leaf, priority in zip(rng.integers(16, size=60), rng.integers(0, 8, 60) / 4, strict=True):
        tree.set(np.array([leaf]), np.array([priority]))
        learning.set_priority(sums, leaf, priority)
        np.testing.assert_array_equal(sums, learning.sum_tree(tree.get(np.arange(16))))
        if tree.total:
            masses = np.append(rng.uniform(0, tree.total, 5), [0.0, tree.total])
            assert [learning.find_leaf(sums, mass) for mass in masses] == tree.find(masses).tolist()


def test_the_two_hot_distribution_is_the_networks():
    numbers = np.array([0.0, 0.3, -0.3, 2.0, -5.0, 8.0, 40.0, -40.0, 1000.0])
    for support in (1, 3, 10):
        wanted = scalars.two_hot(scalars.transform(np.float32(numbers)), 2 * support + 1)
        np.testing.assert_allclose(learning.two_hot(numbers, support), wanted, atol=2e-6)


@pytest.mark.parametrize("unroll_steps", [0, 1, 4])
def test_the_losses_of_the_three_heads_are_the_learners(unroll_steps):
    rng = np.random.default_rng(unroll_steps)
    rows, actions, support, positions = 6, 3, 2, unroll_steps + 1
    policy_logits = rng.normal(size=(rows, positions, actions))
    policy_logits[0] *= 1000  # exp would overflow
    value_logits = rng.normal(size=(rows, positions, 2 * support + 1))
    reward_logits = rng.normal(size=(rows, positions, 2 * support + 1))  # that of step 0 is no prediction
    policy = rng.dirichlet(np.ones(actions), (rows, positions))
    values, rewards = rng.normal(size=(2, rows, positions))
    masks = np.float64(rng.random((3, rows, positions)) < 0.7)
    masks[2, :, 0] = 0
    targets = Targets(
        rewards=rewards[:, 1:],
        reward_mask=masks[2, :, 1:],
        values=values,
        value_mask=masks[1],
        policy_actions=np.zeros((rows, positions, 0), np.int32),
        policy_weights=policy,
        policy_mask=masks[0],
    )
    predictions = Predictions(policy_logits, value_logits, reward_logits[:, 1:] if unroll_steps else None, None)
    as_tensors = tf.nest.map_structure(
        lambda array: None if array is None else tf.constant(np.float32(array)), (predictions, targets)
    )
    config = LearningConfig(unroll_steps=unroll_steps)
    losses = unrolled_losses(*as_tensors, np.zeros((rows, positions), np.int32), config, continuous=False)

    def distributions(scalar):
        return learning.two_hot(scalar.ravel(), support).reshape(rows, positions, -1)

    ours = [
        learning.head_loss(policy_logits, policy, masks[0]),
        learning.head_loss(value_logits, distributions(values), masks[1]),
        learning.head_loss(reward_logits, distributions(rewards), masks[2]),
    ]
    for name, loss in zip(("policy", "value", "reward"), ours, strict=True):
        np.testing.assert_allclose(getattr(losses, name), loss, rtol=2e-5, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(losses.total, sum(ours), rtol=2e-5)


def test_the_checks_start_without_tensorflow():
    program = "import sys, mzu.classroom.checks.targets, mzu.classroom.checks.learning as _; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "mzu.classroom.checks.learning" in loaded
    assert not {"tensorflow", "keras"} & set(loaded)
