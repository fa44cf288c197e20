"""Other actions in stored states: copies of the environment do what replaying the way there does, to the last digit."""

import dataclasses

import numpy as np
import pytest

from mzu.acting.collect import collect
from mzu.environments.environment import random_action
from mzu.environments.make import make
from mzu.explain import branching
from mzu.explain.branching import branch

STEPS = (0, 3, 7)


def wanted(environment, count=3):
    rng = np.random.default_rng(0)
    return {step: [random_action(environment.spaces, rng) for _ in range(count)] for step in STEPS}


def recorded(id):
    with make(id) as environment:
        episode = next(episode for episode in collect(environment, "random", 5) if len(episode) > max(STEPS))
        return episode, wanted(environment)


@pytest.mark.parametrize(
    "id",
    ["CartPole-v1", "catch", "identity", "Pendulum-v1", "dm_control:cartpole-swingup", "dm_control:cheetah-run"],
)
def test_copies_and_replaying_lead_to_the_same(id, monkeypatch):
    episode, actions = recorded(id)
    copied = branch(lambda: make(id), episode, actions)
    monkeypatch.setattr(branching, "_can_be_copied", lambda environment: False)
    replayed = branch(lambda: make(id), episode, actions)
    assert list(copied.outcomes) == list(replayed.outcomes) == list(STEPS)
    for step in STEPS:
        for one, other in zip(copied.outcomes[step], replayed.outcomes[step], strict=True):
            assert np.array_equal(one.observation, other.observation)
            assert (one.reward, one.terminated) == (other.reward, other.terminated)
    np.testing.assert_array_equal(np.float32(copied.rewards), episode.rewards[: max(STEPS) + 1])
    assert copied.rewards == replayed.rewards


def test_the_stored_action_leads_to_the_stored_step():
    episode, _ = recorded("dm_control:cheetah-run")
    own = {step: [episode.actions[step]] for step in STEPS}
    for step, (outcome,) in branch(lambda: make("dm_control:cheetah-run"), episode, own).outcomes.items():
        assert np.array_equal(outcome.observation, episode.observations[step + 1])
        assert np.float32(outcome.reward) == episode.rewards[step]


def test_a_terminal_outcome_is_told():
    with make("CartPole-v1") as environment:
        episode = next(iter(collect(environment, "random", 1)))
    last = len(episode) - 1
    (outcome,) = branch(lambda: make("CartPole-v1"), episode, {last: [int(episode.actions[last])]}).outcomes[last]
    assert outcome.terminated and episode.terminated


def test_only_what_agrees_with_the_data_counts():
    episode, actions = recorded("CartPole-v1")
    without_seed = dataclasses.replace(episode, seed=None)
    assert branch(lambda: make("CartPole-v1"), without_seed, actions).outcomes == {}
    other = dataclasses.replace(episode, seed=episode.seed + 1)
    assert branch(lambda: make("CartPole-v1"), other, actions).outcomes == {}
    moved = episode.observations.copy()
    moved[4:] += 0.01  # another world from step 4 on: step 3 leads there
    found = branch(lambda: make("CartPole-v1"), dataclasses.replace(episode, observations=moved), actions)
    assert list(found.outcomes) == [0]


def test_an_environment_that_cannot_be_copied_is_replayed_while_that_is_affordable(monkeypatch):
    episode, actions = recorded("CartPole-v1")
    monkeypatch.setattr(branching, "_can_be_copied", lambda environment: False)
    monkeypatch.setattr(branching, "MOST_STEPS", 20)  # 4 for the step 0, then 16 for step 3
    assert list(branch(lambda: make("CartPole-v1"), episode, actions).outcomes) == [0, 3]


def test_copies_that_differ_from_the_environment_are_not_believed(monkeypatch):
    episode, actions = recorded("CartPole-v1")
    honest = branch(lambda: make("CartPole-v1"), episode, actions)

    def wrong(self, action):
        return branching.Outcome(np.zeros(4, np.float32), 0.0, False)

    monkeypatch.setattr(branching.BranchPoint, "take", wrong)
    found = branch(lambda: make("CartPole-v1"), episode, actions)
    for step in STEPS:
        for one, other in zip(found.outcomes[step], honest.outcomes[step], strict=True):
            assert np.array_equal(one.observation, other.observation)
