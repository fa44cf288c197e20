"""Evaluation: every episode once, the same ones however many are played side by side, and how sure the mean is."""

import types

import numpy as np
import pytest
from made_worlds import STATES, Counter

import mzu.acting.evaluation
from mzu.acting.evaluation import Evaluation, bootstrap_interval, evaluate_selection
from mzu.config import Config, NetworkConfig
from mzu.environments.make import make
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network

LENGTHS = (1, 2, 5, 9, 3)


@pytest.fixture
def rounds(monkeypatch):
    """All actions are 1; -> the observations and legal actions of every round of the evaluation."""
    seen = []

    def make_selection(network, config, select, scale):
        def choose(observations, rng, legal=None):
            seen.append((observations, legal))
            return np.ones(len(observations), np.int32)

        return choose

    monkeypatch.setattr(mzu.acting.evaluation, "make_selection", make_selection)
    return seen


def evaluated(episodes, make_environment=lambda: Counter(LENGTHS), spaces=STATES, config=None, **settings):
    network = types.SimpleNamespace(spaces=spaces)
    return evaluate_selection(network, config or Config(), make_environment, episodes, **settings)


def test_every_episode_is_counted_once_and_in_order(rounds):
    worlds = []

    def make_environment():
        worlds.append(Recording())
        return worlds[-1]

    class Recording(Counter):
        def __init__(self):
            super().__init__(LENGTHS)
            self.resets = []

        def _reset(self, seed):
            self.resets.append(seed)
            return super()._reset(seed)

    evaluation = evaluated(120, make_environment)
    assert len(worlds) == 50
    # Episode i is the (i // 50)-th one of world i % 50.
    seeds = [worlds[number % 50].resets[number // 50] for number in range(120)]
    assert sum(len(world.resets) for world in worlds) == 120 == len(set(seeds))
    lengths = [worlds[0].length_of(seed) for seed in seeds]
    np.testing.assert_array_equal(evaluation.lengths, lengths)
    # Rewards are 10 * step + 1: an ended episode that was stepped again would have more (and raise an error).
    np.testing.assert_array_equal(evaluation.returns, [sum(10 * t + 1 for t in range(length)) for length in lengths])
    assert len(set(lengths)) == 5
    assert evaluation.mean == evaluation.returns.mean()


def test_discounted_returns_are_those_of_the_same_rewards(rounds):
    evaluation = evaluated(60, config=Config().override("search.discount=0.5"))
    expected = [sum(0.5**t * (10 * t + 1) for t in range(length)) for length in evaluation.lengths]
    np.testing.assert_allclose(evaluation.discounted, expected)


def test_the_episodes_do_not_depend_on_how_many_run_side_by_side(rounds, monkeypatch):
    fifty = evaluated(23)
    monkeypatch.setattr(mzu.acting.evaluation, "PARALLEL_EPISODES", 4)
    four = evaluated(23)
    np.testing.assert_array_equal(fifty.returns, four.returns)
    np.testing.assert_array_equal(fifty.lengths, four.lengths)
    np.testing.assert_array_equal(evaluated(7).returns, four.returns[:7])  # nor on how many there are
    assert (evaluated(23, seed=1).lengths != four.lengths).any()


def test_ended_episodes_of_states_are_not_searched_any_more(rounds):
    evaluation = evaluated(40)
    sizes = [len(observations) for observations, _ in rounds]
    assert sizes == [int((evaluation.lengths > step).sum()) for step in range(9)]
    for step, (observations, _) in enumerate(rounds):
        assert (observations[:, 1] == step).all()


def test_images_keep_their_batch_size_and_their_frames_are_stacked(rounds):
    spaces = Spaces((6, 5, 2), 3, observation_dtype="uint8")
    config = Config().override("network.frame_stack=2")

    class Shortened(Counter):
        """Frames full of the number 10 * length + step."""

        def __init__(self):
            super().__init__(LENGTHS, spaces=Spaces((6, 5, 1), 3, observation_dtype="uint8"))

        def _observation(self):
            return np.full((6, 5, 1), 10 * self.length_of(self.seed) + self.steps, np.uint8)

    evaluation = evaluated(8, Shortened, spaces, config)
    assert [observations.shape for observations, _ in rounds] == [(8, 6, 5, 2)] * 9
    for step, (observations, _) in enumerate(rounds):
        now = 10 * evaluation.lengths + np.minimum(step, evaluation.lengths)
        np.testing.assert_array_equal(observations[:, 0, 0, 1], now)
        np.testing.assert_array_equal(observations[:, 0, 0, 0], now - 1 if step else 0)


def test_legal_actions_are_shown_to_the_selection(rounds):
    class Masked(Counter):
        def __init__(self):
            super().__init__(LENGTHS)

        def legal_actions(self):
            return np.array([self.steps % 2 == 0, True, True])

    evaluated(6, Masked)
    for step, (observations, legal) in enumerate(rounds):
        assert legal.shape == (len(observations), 3) and legal.dtype == bool
        assert (legal[:, 0] == (step % 2 == 0)).all() and legal[:, 1:].all()
    rounds.clear()
    evaluated(6)
    assert all(legal is None for _, legal in rounds)


def test_the_pictures_of_the_first_episode_are_shown(rounds):
    class Drawing(Counter):
        def render(self):
            return (self.seed, self.steps)

    frames = []
    evaluation = evaluated(60, lambda: Drawing(LENGTHS), on_frame=frames.append)
    assert [step for _, step in frames] == list(range(evaluation.lengths[0] + 1))
    assert len({seed for seed, _ in frames}) == 1


def test_environments_are_closed_even_when_something_goes_wrong(rounds):
    worlds = []

    class Failing(Counter):
        closed = False

        def _step(self, action):
            raise RuntimeError("the world ends")

        def close(self):
            self.closed = True

    def make_environment():
        worlds.append(Failing())
        return worlds[-1]

    with pytest.raises(ValueError, match=r"counter failed in step 1 of the episode with seed \d+: RuntimeError: the"):
        evaluated(3, make_environment)
    assert len(worlds) == 3 and all(world.closed for world in worlds)


@pytest.mark.parametrize("select", ["policy", "search"])
def test_a_network_plays_the_same_episodes_in_batches_of_any_size(monkeypatch, select):
    network = build_network(NetworkConfig(width=8, num_blocks=0, value_support=2, reward_support=2), Spaces((4,), 4))
    config = Config().override("search.num_simulations=4")
    whole = evaluate_selection(network, config, lambda: make("identity"), 6, select)
    monkeypatch.setattr(mzu.acting.evaluation, "PARALLEL_EPISODES", 4)
    parts = evaluate_selection(network, config, lambda: make("identity"), 6, select)
    np.testing.assert_array_equal(whole.returns, parts.returns)
    assert (whole.lengths == 10).all()


# How sure is the mean


def test_the_interval_holds_the_mean_and_shrinks_with_more_episodes():
    returns = np.random.default_rng(0).normal(10, 2, 400)
    few, many = Evaluation(returns[:25], np.ones(25)), Evaluation(returns, np.ones(400))
    for evaluation in (few, many):
        low, high = evaluation.interval()
        assert low < evaluation.mean < high
        # Close to the normal approximation: 1.96 standard errors to both sides.
        error = evaluation.returns.std() / np.sqrt(len(evaluation.returns))
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert np.subtract(*many.interval()) > np.subtract(*few.interval()) / 2  # both negative: a quarter of the width


def test_the_interval_is_the_same_for_the_same_returns_and_wider_for_a_higher_level():
    returns = np.arange(20.0)
    assert bootstrap_interval(returns) == bootstrap_interval(returns)
    low, high = bootstrap_interval(returns, level=0.5)
    wide_low, wide_high = bootstrap_interval(returns, level=0.99)
    assert wide_low < low < high < wide_high
    assert bootstrap_interval([3.0, 3.0, 3.0]) == (3.0, 3.0)
