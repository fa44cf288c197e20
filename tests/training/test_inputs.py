"""What cannot be trained on, or in, is refused in a sentence before anything runs."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from made_runs import ONLINE, TINY, write_data

from mzu.config import Config
from mzu.episodes.readers.npz import read_npz, write_npz
from mzu.training.inputs import load_inputs


class Strange(gymnasium.Env):
    """An environment with spaces of one's choice."""

    def __init__(self, observation_space, action_space, render_mode=None):
        self.observation_space, self.action_space = observation_space, action_space


@pytest.mark.parametrize(
    "spaces, sentence",
    [
        ((gymnasium.spaces.Text(5), gymnasium.spaces.Discrete(2)), "has the observation space Text"),
        ((gymnasium.spaces.Box(0, 1, (3,)), gymnasium.spaces.MultiDiscrete([2, 2])), "has the action space Multi"),
    ],
)
def test_unsupported_spaces_are_refused(spaces, sentence):
    kwargs = dict(zip(("observation_space", "action_space"), spaces, strict=True))
    gymnasium.register("mzu/Strange-v0", Strange, kwargs=kwargs)
    try:
        with pytest.raises(ValueError, match=sentence):
            load_inputs(Config().override(*ONLINE, "environment=mzu/Strange-v0"))
    finally:
        del gymnasium.registry["mzu/Strange-v0"]


@pytest.mark.parametrize(
    "id, of, sentence",
    [
        ("identity", "point", r"has observations of shape \(4,\), but .*|has 2 continuous actions, but identity has 4"),
        (
            "catch",
            "identity",
            r"has observations of shape \(4,\), but catch has \(10, 5, 1\); is this the dataset of an",
        ),
        ("Taxi-v4", "chain", r"has observations of shape \(12,\), but Taxi-v4 has \(500,\)"),
    ],
)
def test_the_dataset_of_another_environment_is_refused(tmp_path, id, of, sentence):
    data = write_data(tmp_path / "data.npz", of, episodes=1)
    with pytest.raises(ValueError, match=sentence) as error:
        load_inputs(Config().override(*TINY, f"environment={id}", f"data={data}"))
    assert "another environment" in str(error.value)


@pytest.mark.parametrize(
    "id, of, held",
    [
        ("identity", "identity?repeat=2", "2 steps, but in identity it is 1"),
        ("identity?repeat=2", "identity", "1 step, but in identity?repeat=2 it is 2"),
        ("identity?repeat=5", "identity?repeat=2", "2 steps, but in identity?repeat=5 it is 5"),
    ],
)
def test_data_with_actions_held_for_another_time_are_refused(tmp_path, id, of, held):
    data = write_data(tmp_path / "data.npz", of, episodes=2)
    settings = (*TINY, f"data={data}", "reanalyse.fraction=1")
    with pytest.raises(ValueError, match=r"data\.npz, record 0 was recorded with every action held for") as error:
        load_inputs(Config().override(*settings, f"environment={id}"))
    assert f"held for {held}; use --env '{of}', or data that were recorded in {id}" in str(error.value)
    assert len(load_inputs(Config().override(*settings, f"environment={of}")).episodes) == 2
    assert len(load_inputs(Config().override(*settings)).episodes) == 2  # without an environment nothing contradicts


def test_data_that_do_not_say_for_how_long_actions_were_held_are_believed(tmp_path):
    episodes = [dataclasses.replace(one, repeat=None) for one in read_npz(write_data(tmp_path / "a.npz", "identity"))]
    write_npz(tmp_path / "b.npz", episodes)
    config = Config().override(*TINY, "environment=identity?repeat=2", f"data={tmp_path / 'b.npz'}")
    assert len(load_inputs(config.override("reanalyse.fraction=1")).episodes) == 5


def test_actions_that_the_environment_does_not_have_are_refused(tmp_path):
    from mzu.acting.collect import collect
    from mzu.environments.make import make

    write_npz(tmp_path / "data.npz", collect(make("identity", size=6), "random", 3))
    # The same shape of observations, but only two actions.
    gymnasium.register(
        "mzu/Strange-v0",
        Strange,
        kwargs={
            "observation_space": gymnasium.spaces.Box(0, 1, (6,)),
            "action_space": gymnasium.spaces.Discrete(2),
        },
    )
    try:
        with pytest.raises(ValueError, match=r"has actions 0..5, but mzu/Strange-v0 has 2 \(0..1\); is this the data"):
            load_inputs(Config().override(*TINY, "environment=mzu/Strange-v0", f"data={tmp_path / 'data.npz'}"))
    finally:
        del gymnasium.registry["mzu/Strange-v0"]


@pytest.mark.parametrize(
    "settings, sentence",
    [
        ([], "neither an environment nor data"),
        (["environment=identity"], "reanalyse.fraction is 1, so all is learned from stored games, but there are none"),
        (["data=embedded:cartpole", "reanalyse.fraction=0.5"], "needs fresh games, but no environment is given"),
        (
            ["environment=identity", "reanalyse.fraction=0", "learning.policy_loss=crr"],
            "policy_loss=crr learns from stored actions only",
        ),
        (
            ["environment=identity", "reanalyse.fraction=0", "network.frame_stack=4"],
            "frame_stack is 4, but only images are stacked",
        ),
        (["environment=identity_continuous", "reanalyse.fraction=0"], "Continuous actions must be sampled"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        load_inputs(Config().override(*settings))


def test_data_beyond_the_memory_that_is_given_are_held_in_a_file(tmp_path):
    data = write_data(tmp_path / "data.npz", "identity", episodes=3)
    config = Config().override(*TINY, f"data={data}", "reanalyse.fraction=1")
    inside, outside = (load_inputs(one).episodes for one in (config, config.replace(run={"data_memory": 0})))
    assert all(inside[number] is inside[number] for number in range(3))
    assert not any(outside[number] is outside[number] for number in range(3))  # read anew whenever it is looked at
    for one, other in zip(inside, outside, strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)
    with pytest.raises(ValueError, match=r"run\.data_memory is -1"):
        config.replace(run={"data_memory": -1})
