"""Recorded episodes are what the environment did, the same for the same seed."""

import numpy as np
from made_worlds import saved_network

from mzu.acting.collect import collect, record, trained_policy
from mzu.environments.make import make


def same(first, second):
    return all(np.array_equal(getattr(first, n), getattr(second, n)) for n in ("observations", "actions", "rewards"))


def test_an_episode_is_what_the_environment_did():
    (episode,) = collect(make("catch"), "heuristic", episodes=1, seed=4)
    assert episode.observations.shape == (10, 10, 5, 1) and episode.observations.dtype == np.uint8
    assert episode.rewards.tolist() == [0] * 8 + [1] and (episode.terminated, episode.truncated) == (True, False)
    # Each action moved the paddle from the observation before it to the one after it.
    paddles = episode.observations[:-1, -1, :, 0].argmax(axis=1)
    assert np.array_equal(np.diff(paddles), episode.actions[:-1] - 1)


def test_continuous_actions_and_time_limits_are_recorded_as_such():
    (episode,) = collect(make("point", dimensions=3), "random", episodes=1)
    assert episode.actions.shape == (25, 3) and episode.actions.dtype == np.float32
    assert (episode.terminated, episode.truncated) == (False, True)


def test_episode_i_depends_on_the_seed_and_on_i_only():
    five, two = (list(collect(make("point"), "mixture", episodes=n, seed=7)) for n in (5, 2))
    assert all(same(a, b) for a, b in zip(five, two, strict=False))
    assert not same(five[0], five[1])
    assert not same(five[0], next(collect(make("point"), "mixture", seed=8)))


def test_a_mixture_reaches_from_the_heuristic_to_random_play():
    returns = {
        policy: np.array([e.total_reward for e in collect(make("CartPole-v1"), policy, episodes=30)])
        for policy in ("random", "mixture", "heuristic")
    }
    assert returns["random"].mean() < returns["mixture"].mean() < returns["heuristic"].mean() == 500
    assert returns["mixture"].min() < 60 and returns["mixture"].max() > 300


def test_a_policy_of_ones_own_can_be_recorded():
    episode = record(make("chain"), lambda observation, rng: 1, np.random.default_rng(0), "all right")
    assert len(episode) == 10 and episode.total_reward == 1 and episode.source == "all right"


def test_a_trained_network_plays_by_search_what_it_has_learned(tmp_path):
    """Identity pays for repeating the observation; a policy head that copies it is the trained network."""
    from mzu.config import Config
    from mzu.networks.saving import save_network

    network, path = saved_network(tmp_path)
    size = network.spaces.num_actions
    first, head = network.representation.get_layer("first"), network.prediction.get_layer("policy")
    first.kernel.assign(np.eye(network.spaces.observation_shape[0], 16))
    first.bias.assign(np.zeros(16))
    head.kernel.assign(20 * np.eye(16, size))
    save_network(network, path)
    environment = make("identity")
    policy = trained_policy(environment, path, Config().override("search.num_simulations=4"))
    (episode,) = collect(environment, policy, episodes=1, seed=0)
    assert episode.total_reward == len(episode)
    (noisy,) = collect(environment, policy, episodes=1, seed=0, noise=1.0)
    assert noisy.total_reward < len(noisy)
