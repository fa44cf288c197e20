"""Data of another layout than the environment's are noticed, by steps that are taken again."""

import dataclasses

import numpy as np
import pytest
from made_findings import assert_found, check

from mzu.acting.collect import collect
from mzu.environments.make import make
from mzu.episodes.doctor.layout import LayoutSample


def played(id, episodes=6, steps=40, policy="random"):
    """Random play that does not say its seed, so that no episode can be replayed from its beginning."""
    environment = make(id)
    environment.max_steps = steps
    found = collect(environment, policy, episodes, seed=300)
    return [dataclasses.replace(episode, seed=None, repeat=None) for episode in found]


def changed(episodes, **functions):
    """The episodes with some arrays changed, each by a function."""
    return [
        dataclasses.replace(episode, **{name: change(getattr(episode, name)) for name, change in functions.items()})
        for episode in episodes
    ]


@pytest.fixture(scope="module")
def walker():
    return played("dm_control:walker-walk")


def test_walker_data_with_height_and_velocity_swapped_are_wrong(walker):
    environment = make("dm_control:walker-walk")
    assert_found(check(walker, environment), "note", "goes on as the data do, and earns what they earned")
    # DM Control returns orientations, height, velocity; RL Unplugged and mzu have the height last.
    swapped = changed(walker, observations=lambda seen: np.concatenate([seen[:, :14], seen[:, 23:], seen[:, 14:23]], 1))
    assert not check(swapped).is_wrong  # the data alone say nothing
    report = check(swapped, environment)
    assert_found(report, "wrong", "parts in the order orientations, height, velocity; read like that, they fit")


def test_other_actions_units_and_rewards_are_told_apart():
    episodes, environment = played("CartPole-v1"), make("CartPole-v1")
    assert_found(check(episodes, environment), "note", "goes on as the data do")
    turned = changed(episodes, actions=lambda actions: 1 - actions)
    assert_found(check(turned, environment), "wrong", r"actions are numbered otherwise \(0 is 1, 1 is 0 here\)")
    assert_found(
        check(changed(episodes, rewards=lambda rewards: 3 * rewards), environment),
        "wrong",
        "other rewards for the same states and actions: 1 instead of 3",
    )
    degrees = changed(episodes, observations=lambda seen: np.float32(seen * [1, 1, 180 / np.pi, 180 / np.pi]))
    assert_found(check(degrees, environment), "wrong", "degrees instead of radians")
    assert_found(check(episodes, make("CartPole-v1?repeat=2")), "wrong", "actions were held for 1 step")


def test_actions_of_another_scale_are_found():
    episodes, environment = played("Pendulum-v1"), make("Pendulum-v1")
    halved = changed(episodes, actions=lambda actions: actions / 2)
    assert_found(check(halved, environment), "wrong", "actions would have to be multiplied by 2")


def test_what_nothing_explains_is_said_with_the_number_and_the_step():
    episodes, environment = played("CartPole-v1"), make("CartPole-v1")
    report = check(changed(episodes, observations=lambda seen: np.float32(seen / 3 + 1)), environment)
    assert_found(report, "wrong", "from the stored states, CartPole-v1 does not go on as the data do")
    assert "stored is" in report.findings[0].where


def test_worlds_that_cannot_be_set_are_compared_by_where_episodes_begin():
    episodes, environment = played("chain"), make("chain")
    assert not check(episodes, environment).is_wrong
    other = changed(episodes, observations=lambda seen: np.roll(seen, 4, axis=1))
    report = check(other, environment)
    assert_found(report, "wrong", "columns stand in another order: number 5 holds number 1")
    lifted = changed(episodes, observations=lambda seen: seen + np.float32(0.77))
    assert_found(check(lifted, environment), "doubtful", "12 of 12 numbers begin elsewhere than in chain")


def test_steps_are_sampled_from_all_over_the_data():
    sample = LayoutSample()
    for episode in played("CartPole-v1", episodes=80, steps=10):
        sample.add(episode)
    assert len(sample.starts) == 80 and len(sample.steps) == 12
    assert max(step.episode for step in sample.steps) > 40
