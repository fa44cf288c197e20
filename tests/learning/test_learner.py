"""The learner's steps: what a weight does to a row, what decays, when the target network follows, what is reported."""

import dataclasses
import math

import numpy as np
import pytest
import tensorflow as tf
from made_batches import made_batch, made_config

from mzu.config import NetworkConfig, ReplayConfig
from mzu.environments.spaces import Spaces
from mzu.learning.learner import METRICS, Diverged, Learner
from mzu.learning.losses import unroll
from mzu.networks.network import build_network
from mzu.networks.scalars import scalar_from_logits
from mzu.replay.replay import Replay
from mzu.replay.segment import Segment

STATES = Spaces((2,), 3)
NETWORK = NetworkConfig(width=8, num_blocks=1, value_support=3, reward_support=3)
SMOOTH = dataclasses.replace(NETWORK, scalar_head="hl_gauss", bins_per_unit=4)
OPTIONS = ("learning.consistency_loss_scale=1", "learning.max_gradient_norm=1", "learning.weight_average=0.9")


@pytest.fixture
def without_graphs():
    """Line by line: a graph takes seconds to trace, which do not pay for one or two steps."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def traced_learners():
    """Two learners whose step is traced once for all tests, and the state that they begin with."""
    learners = [made_learner(), made_learner()]
    return learners, learners[0].state()


@pytest.fixture
def learners(traced_learners):
    """Two equal learners at their first step: learning rate 0.01, no weight decay, target network every 2 steps."""
    learners, state = traced_learners
    for learner in learners:
        learner.restore(state)
    return learners


@pytest.fixture
def learner(learners):
    return learners[0]


def made_learner(*assignments, network=NETWORK):
    """A learner of a small network whose heads are random too; the same one for the same settings."""
    settings = (
        *("learning.learning_rate=0.01", "learning.training_steps=100", "learning.weight_decay=0"),
        "learning.target_network_period=2",
    )
    made = build_network(network, STATES, seed=1)
    rng = np.random.default_rng(3)
    for variable in made.trainable_variables:
        variable.assign(variable + rng.normal(0, 0.1, variable.shape).astype(np.float32))
    return Learner(made_config(*settings, *assignments), made)


def three_rows(**given):
    rewards, left, terminated = [[1, 2, 4, 8], [0.5], [3, -1]], [4, 1, 2], [False, True, False]
    return made_batch(rewards, left, terminated, **given)


def learn(learner, batch):
    """One step from the batch, with the targets of the moment."""
    return learner.step(batch, learner.targets(batch))


def weights_of(learner):
    return {name: array.copy() for name, array in learner.network.read_weights().items()}


def assert_equal_weights(first, second, **tolerance):
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_allclose(array, second[name], **{"rtol": 0, "atol": 0} | tolerance, err_msg=name)


# Importance weights


def test_a_row_of_weight_zero_might_as_well_not_be_there(learners):
    first, second = learners
    batch = three_rows(weights=[1.5, 0.0, 1.5])
    other_row = {name: array.copy() for name, array in batch._asdict().items()}
    for array in (other_row["rewards"], other_row["observations"], other_row["search_policy"]):
        array[1] = 0.3
    metrics, _ = learn(first, batch)
    other, _ = learn(second, batch._replace(**other_row))
    assert metrics["value_loss"] != other["value_loss"]  # the row is another one
    assert metrics["loss"] == pytest.approx(other["loss"], rel=1e-5)
    assert metrics["gradient_norm"] == pytest.approx(other["gradient_norm"], rel=1e-4)
    assert_equal_weights(weights_of(first), weights_of(second), atol=1e-5)


def test_the_loss_is_the_mean_of_the_weighted_rows(learner):
    each = []
    state = learner.state()
    for row in range(3):
        learner.restore(state)
        each.append(learn(learner, three_rows(weights=3.0 * np.eye(3)[row]))[0]["loss"])
    learner.restore(state)
    metrics, _ = learn(learner, three_rows(weights=[0.5, 1.0, 2.0]))
    assert metrics["loss"] == pytest.approx(np.dot(each, [0.5, 1.0, 2.0]) / 3, rel=1e-5)


def test_the_gradient_grows_with_the_weights(learners):
    once, twice = learners
    one, _ = learn(once, three_rows())
    two, _ = learn(twice, three_rows(weights=[2, 2, 2]))
    assert two["gradient_norm"] == pytest.approx(2 * one["gradient_norm"], rel=1e-4)
    assert two["loss"] == pytest.approx(2 * one["loss"], rel=1e-5)
    assert two["value_loss"] == pytest.approx(one["value_loss"], rel=1e-5)  # the parts are reported as they are


# The optimiser


def test_kernels_shrink_by_the_weight_decay_times_the_cosine_and_nothing_else_does(without_graphs):
    learner = made_learner("learning.weight_decay=0.1", "learning.training_steps=10")
    batch = three_rows(weights=[0, 0, 0])  # no gradient at all
    before = weights_of(learner)
    targets, factor = learner.targets(batch), 1.0
    for step in range(2):
        learner.step(batch, targets)
        factor *= 1 - 0.1 * (1 + math.cos(math.pi * step / 10)) / 2
    for name, after in weights_of(learner).items():
        kept = factor if name.endswith("kernel") else 1.0
        np.testing.assert_allclose(after, kept * before[name], rtol=1e-5, err_msg=name)
    assert any(name.endswith("kernel") for name in before)
    assert {name.rsplit("/")[-1] for name in before} == {"kernel", "bias", "gamma", "beta"}


def test_weight_decay_does_not_pass_through_the_moments_of_the_gradient(without_graphs):
    # Decoupled: with and without decay the first step of Adam moves a weight by the same amount, decay comes on top.
    plain, decayed = made_learner(), made_learner("learning.weight_decay=0.1")
    before = weights_of(plain)
    for learner in (plain, decayed):
        learn(learner, three_rows())
    name = "dynamics/block_0_layer_0/kernel"
    moved, moved_and_shrunk = (weights_of(learner)[name] - before[name] for learner in (plain, decayed))
    np.testing.assert_allclose(moved_and_shrunk, moved - 0.1 * before[name], atol=1e-6)


def test_learning_one_batch_again_and_again_lowers_every_loss(learner):
    batch = three_rows()
    targets = learner.targets(batch)
    metrics = [learner.step(batch, targets)[0] for _ in range(60)]
    assert tuple(metrics[0]) == METRICS
    for name in ("loss", "policy_loss", "value_loss", "reward_loss"):
        assert metrics[-1][name] < 0.9 * metrics[0][name], name


# The target network


def test_the_target_network_follows_every_period_and_only_then(learner):
    batch = three_rows()
    targets = learner.targets(batch)
    first = learner.target_values(batch.bootstrap_observations)
    learner.step(batch, targets)
    learner.refresh_target()
    np.testing.assert_array_equal(learner.target_values(batch.bootstrap_observations), first)
    learner.step(batch, targets)
    np.testing.assert_array_equal(learner.target_values(batch.bootstrap_observations), first)
    learner.refresh_target()
    flat = batch.bootstrap_observations.reshape(-1, 2)
    expected = scalar_from_logits(learner.network.initial(flat).value).numpy().reshape(3, 3)
    assert np.abs(expected - first).max() > 1e-3
    np.testing.assert_allclose(learner.target_values(batch.bootstrap_observations), expected, rtol=1e-4, atol=1e-5)


def test_targets_are_made_with_the_target_network_and_a_step_leaves_it_alone(learner):
    batch = three_rows()
    before = learner.targets(batch)
    target = [variable.numpy() for variable in learner.target_network.trainable_variables]
    learn(learner, batch)
    for variable, array in zip(learner.target_network.trainable_variables, target, strict=True):
        np.testing.assert_array_equal(variable.numpy(), array)
    for name, array in learner.targets(batch)._asdict().items():
        np.testing.assert_array_equal(array, getattr(before, name), err_msg=name)
    # 1 + 2 / 2 + V / 4, two steps later, by the target network.
    value = learner.target_values(batch.bootstrap_observations)[0, 0]
    assert before.values[0, 0] == pytest.approx(2 + value / 4, rel=1e-5)


# Priorities


def test_priorities_are_the_distance_of_search_value_and_target_row_by_row(learner):
    batch = three_rows(search_value=[[10, 0, 0], [20, 0, 0], [-30, 0, 0]])
    targets = learner.targets(batch)
    _, priorities = learner.step(batch, targets)
    np.testing.assert_allclose(priorities, np.abs([10, 20, -30] - targets.values[:, 0]), rtol=1e-6)
    assert priorities[1] == pytest.approx(20 - 0.5)  # a terminal end: z is the one reward


def test_with_td_0_priorities_are_the_distance_of_search_value_and_prediction(without_graphs):
    learner = made_learner("learning.td_steps=0")
    batch = three_rows(td_steps=0, search_value=[[10, 0, 0], [20, 0, 0], [-30, 0, 0]])
    predicted = scalar_from_logits(learner.network.initial(batch.observations).value).numpy()  # before the step
    _, priorities = learn(learner, batch)
    assert np.ptp(predicted) > 1e-3
    np.testing.assert_allclose(priorities, np.abs([10, 20, -30] - predicted), rtol=1e-4)


def test_priorities_come_back_to_the_positions_they_belong_to(without_graphs):
    """Through the replay: afterwards every position that was drawn has |nu - z| of its own."""
    learner = made_learner("learning.td_steps=1", "learning.unroll_steps=1")
    config = ReplayConfig(capacity=2, segment_length=5, uniform_share=1.0)
    replay = Replay(config, STATES, unroll_steps=1, td_steps=1, candidates=3, sampled=False)
    rng = np.random.default_rng(0)
    for number in range(2):
        replay.add(
            Segment(
                observations=rng.normal(size=(6, 2)).astype(np.float32),
                actions=np.zeros(5, np.int32),
                rewards=np.float32(10 * number + np.arange(5)),
                ended=True,
                terminated=True,
                search_policy=np.full((5, 3), 1 / 3, np.float32),
                search_actions=None,
                search_value=np.float32(100 * np.arange(5)),
                priorities=np.full(5, 777.0),
            )
        )
    batch = replay.sample(64, rng)
    targets = learner.targets(batch)
    _, priorities = learner.step(batch, targets)
    replay.update(batch.positions, priorities)
    kept = replay.state()["priorities_to_the_alpha"]
    expected = np.full(10, 777.0)
    for row, position in enumerate(batch.positions):
        value = learner.target_values(batch.bootstrap_observations[row : row + 1])[0, 0]
        reward = 10 * (position // 5) + position % 5
        is_last = position % 5 == 4
        expected[position] = abs(100 * (position % 5) - reward - (0 if is_last else 0.5 * value))
    assert set(batch.positions) == set(range(10))
    np.testing.assert_allclose(kept, expected, rtol=1e-4)


# Without a model


def test_without_unrolling_the_action_values_are_learned_and_the_dynamics_is_left_alone():
    head = NetworkConfig(width=8, num_blocks=1, value_support=3, reward_support=3, action_value_head=True)
    settings = ("learning.unroll_steps=0", "learning.td_steps=1", "learning.policy_loss=behaviour_cloning")
    learner = made_learner(*settings, "learning.training_steps=400", network=head)
    batch = made_batch([[2.0], [-1.0]], [1, 1], [True, True], 0, 1, actions=[[2], [0]])
    before = weights_of(learner)
    targets = learner.targets(batch)
    for _ in range(150):
        metrics, _ = learner.step(batch, targets)
    assert metrics["reward_loss"] == 0
    for name, after in weights_of(learner).items():
        assert (after == before[name]).all() == name.startswith("dynamics"), name
    logits = learner.network.action_value(learner.network.representation(batch.observations))
    values = scalar_from_logits(logits).numpy()
    assert values[0, 2] == pytest.approx(2, abs=0.2) and values[1, 0] == pytest.approx(-1, abs=0.2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["learning.unroll_steps=0"], "unroll_steps=0 trains no model"),
        (["learning.unroll_steps=0", "learning.policy_loss=crr", "learning.td_steps=0"], "crr needs values of its own"),
        (["learning.policy_loss=crr", "learning.td_steps=0"], "crr needs values of its own"),
        (
            ["learning.unroll_steps=0", "learning.policy_loss=crr", "learning.consistency_loss_scale=2"],
            "consistency_loss_scale is 2.0, but with learning.unroll_steps=0 there are no hidden states",
        ),
        *(
            (
                ["learning.behaviour_loss_scale=0.2", f"learning.policy_loss={loss}"],
                f"behaviour_loss_scale is 0.2, but .* learning.policy_loss={loss} learns from stored actions only",
            )
            for loss in ("behaviour_cloning", "crr")
        ),
    ],
)
def test_settings_that_cannot_be_learned_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        made_learner(*settings)


# Options: a behaviour term, consistency, a limit for the gradient, averaged weights


def test_the_behaviour_term_is_part_of_the_policy_loss(without_graphs):
    plain, behaving = made_learner(), made_learner("learning.behaviour_loss_scale=0.2")
    batch = three_rows()
    predictions = unroll(plain.network, batch.observations, tf.constant(batch.actions), 2, 0.5)
    values, likelihoods = plain.target_values(batch.following_observations), tf.nn.log_softmax(predictions.policy)
    expected, counted = 0.0, []
    for row, k in np.ndindex(3, 3):
        left = batch.steps_left[row] - k
        following = 0 if batch.terminated[row] and left == 1 else values[row, k + 1]
        if left > 0 and batch.rewards[row, k] + 0.5 * following - values[row, k] > 0:
            counted.append((row, k))
            expected -= 0.2 * float(likelihoods[row, k, batch.actions[row, k]]) / 3 / (2 if k else 1)
    assert {k for _, k in counted} == {0, 1, 2} and (2, 1) not in counted  # -1 is the reward there
    without, metrics = (learn(learner, batch)[0] for learner in (plain, behaving))
    assert metrics["policy_loss"] == pytest.approx(without["policy_loss"] + expected, rel=1e-5)
    assert metrics["loss"] == pytest.approx(without["loss"] + expected, rel=1e-5)
    assert metrics["value_loss"] == without["value_loss"] and tuple(metrics) == METRICS


def test_the_consistency_loss_is_reported_and_part_of_the_loss(without_graphs):
    plain, consistent = made_learner(), made_learner("learning.consistency_loss_scale=3")
    without, _ = learn(plain, three_rows())
    metrics, _ = learn(consistent, three_rows())
    assert tuple(metrics) == (*METRICS, "consistency_loss")
    assert 0 < metrics["consistency_loss"] < 4
    assert metrics["loss"] == pytest.approx(without["loss"] + 3 * metrics["consistency_loss"], rel=1e-5)
    assert metrics["value_loss"] == pytest.approx(without["value_loss"], rel=1e-5)


def test_rows_of_weight_zero_have_no_say_in_consistency_either(without_graphs):
    learner = made_learner("learning.consistency_loss_scale=3")
    metrics, _ = learn(learner, three_rows(weights=[0, 0, 0]))
    assert metrics["consistency_loss"] > 0 and metrics["loss"] == metrics["gradient_norm"] == 0


def test_learning_one_batch_again_and_again_makes_the_hidden_states_consistent():
    learner = made_learner("learning.consistency_loss_scale=2")
    batch = three_rows()
    targets = learner.targets(batch)
    first, *_, last = [learner.step(batch, targets)[0]["consistency_loss"] for _ in range(60)]
    assert last < 0.5 * first


def test_the_reported_length_of_the_gradient_is_that_before_it_is_limited(without_graphs):
    plain, limited = made_learner(), made_learner("learning.max_gradient_norm=0.01")
    norms = [learn(learner, three_rows())[0]["gradient_norm"] for learner in (plain, limited)]
    assert norms[0] == norms[1] > 0.1
    np.testing.assert_allclose(limited.optimiser.mean, plain.optimiser.mean * (0.01 / norms[0]), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.999])
def test_averaged_weights_follow_their_recursion(without_graphs, share):
    learner = made_learner(f"learning.weight_average={share}")
    assert learner.evaluated_network is learner.network  # before the first step there is nothing to average
    seen = []
    for _ in range(3):
        learn(learner, three_rows())
        seen.append(weights_of(learner))
        averaged = learner.evaluated_network.read_weights()
        # Step i of n counts d^(n - i): for 1/2 and three steps 1/7, 2/7 and 4/7.
        counts = share ** np.arange(len(seen) - 1, -1, -1)
        expected = {name: np.tensordot(counts / counts.sum(), [step[name] for step in seen], 1) for name in averaged}
        assert_equal_weights(averaged, expected, atol=1e-6)
    name = "prediction/value/kernel"
    assert np.abs(averaged[name] - seen[-1][name]).max() > 1e-3  # it lags behind


def test_averaged_weights_change_nothing_in_what_is_learned(learner, without_graphs):
    averaging = made_learner("learning.weight_average=0.9")
    for _ in range(3):
        rows = [learn(one, three_rows()) for one in (learner, averaging)]
        assert rows[0][0] == pytest.approx(rows[1][0], rel=1e-6)
        for one in (learner, averaging):
            one.refresh_target()
    assert_equal_weights(weights_of(averaging), weights_of(learner), atol=1e-6)
    assert learner.evaluated_network is learner.network


def test_a_restored_learner_has_its_averaged_weights_again():
    first, second = (made_learner(*OPTIONS, network=SMOOTH) for _ in range(2))
    batch = three_rows()
    for _ in range(2):
        learn(first, batch)
    second.restore({name: array.copy() for name, array in first.state().items()})
    for _ in range(2):
        rows = [learn(learner, batch) for learner in (first, second)]
        assert rows[0][0] == rows[1][0]
    assert_equal_weights(*(learner.evaluated_network.read_weights() for learner in (first, second)))
    assert_equal_weights(*(weights_of(learner) for learner in (first, second)))


@pytest.mark.parametrize("scalar_head", ["categorical", "hl_gauss", "regression"])
@pytest.mark.parametrize("policy_loss", ["reanalyse", "behaviour_cloning", "crr"])
def test_every_option_goes_with_every_head_and_policy_loss(without_graphs, policy_loss, scalar_head):
    head = dataclasses.replace(SMOOTH, scalar_head=scalar_head, action_value_head=True)
    learner = made_learner(*OPTIONS, f"learning.policy_loss={policy_loss}", network=head)
    batch = three_rows()
    targets = learner.targets(batch)
    values = learner.target_values(batch.bootstrap_observations)
    logits = learner.target_network.initial(batch.bootstrap_observations[:, 0]).value
    np.testing.assert_allclose(values[:, 0], scalar_from_logits(logits, 4), rtol=1e-4, atol=1e-5)
    metrics = [learner.step(batch, targets)[0] for _ in range(12)]
    assert metrics[-1]["loss"] < metrics[0]["loss"]
    predicted = scalar_from_logits(learner.network.initial(batch.observations).value, 4)
    assert learner.step(batch, targets)[0]["value"] == pytest.approx(np.mean(predicted), rel=1e-4)


# Going on later, and going wrong


def test_a_restored_learner_goes_on_as_if_nothing_had_happened(learners):
    first, second = learners
    batch = three_rows()
    learn(second, three_rows(weights=[1, 2, 3]))  # whatever it did before
    for _ in range(3):
        learn(first, batch)
    state = {name: array.copy() for name, array in first.state().items()}
    second.restore(state)
    assert second.steps == 3
    for _ in range(3):
        rows = [learn(learner, batch) for learner in (first, second)]
        assert rows[0][0] == rows[1][0]
        np.testing.assert_array_equal(rows[0][1], rows[1][1])
    assert_equal_weights(weights_of(first), weights_of(second))
    np.testing.assert_array_equal(state["steps"], 3)


def test_the_state_holds_the_target_network_of_the_moment(learners):
    first, second = learners
    batch = three_rows()
    for _ in range(3):
        learn(first, batch)
        first.refresh_target()
    second.restore(first.state())
    expected = first.target_values(batch.bootstrap_observations)
    np.testing.assert_array_equal(second.target_values(batch.bootstrap_observations), expected)
    now = scalar_from_logits(first.network.initial(batch.bootstrap_observations[:, 0]).value).numpy()
    assert np.abs(now - expected[:, 0]).max() > 1e-4  # step 3 is not in it yet


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_step(learner):
    good, bad = three_rows(), made_batch([[1, float("nan")], [1], [1]], [2, 1, 1], [False, False, True])
    learn(learner, good)
    targets = learner.targets(bad)
    with pytest.raises(Diverged, match="learner step 2 is not finite") as raised:
        learner.step(bad, targets)
    assert raised.value.step == 2 and raised.value.batch is bad and raised.value.targets is targets
