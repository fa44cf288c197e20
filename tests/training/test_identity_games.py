"""The identity games: the observation names the right action. An agent that cannot learn them in seconds has a bug.

An episode has 10 steps with a reward of up to 1 each. Without looking at the observation nobody gets more than 2.5 of
10 (four actions) or 7.5 (continuous: always 0).
"""

import functools

import numpy as np
import pytest

import mzu.networks.compiled.compile_model
from mzu.config import Config
from mzu.environments.environment import random_action
from mzu.environments.make import make
from mzu.episodes.episode import Episode
from mzu.networks.keras_model import KerasModel
from mzu.training.inputs import RunInputs
from mzu.training.trainer import Trainer

SMALL = (
    *("network.width=32", "network.num_blocks=0", "network.value_support=5", "network.reward_support=5"),
    *("replay.segment_length=10", "replay.capacity=200", "replay.start_size=160", "acting.games=16"),
    *("learning.unroll_steps=1", "learning.td_steps=1", "learning.batch_size=64", "learning.learning_rate=1e-2"),
    *("search.discount=0.5", "learning.jit_compile=false", "evaluation.period=0"),
)
ONLINE = (*SMALL, "reanalyse.fraction=0")


def trained(*settings, inputs=None):
    """-> mean returns of 20 episodes (by search, by policy) after training."""
    config = Config().override(*settings)
    trainer = Trainer(config, inputs and inputs(config))
    try:
        trainer.run()
        return trainer.evaluate(20, "search").mean, trainer.evaluate(20, "policy").mean
    finally:
        trainer.close()


def test_discrete_actions_are_learned():
    by_search, by_policy = trained(
        *ONLINE, "environment=identity", "search.num_simulations=16", "acting.positions_per_step=16",
        "learning.training_steps=200",
    )  # fmt: skip
    assert by_search > 9.5 and by_policy > 9.5


def test_continuous_actions_are_learned():
    # The reward is that of the next step alone, and regression: as a mixture of categories it is learned more slowly.
    by_search, by_policy = trained(
        *ONLINE, "environment=identity_continuous", "search.num_simulations=32", "search.num_sampled_actions=10",
        "search.discount=0", "network.scalar_head=regression", "learning.batch_size=128", "acting.games=32",
        "acting.positions_per_step=32", "learning.training_steps=300",
    )  # fmt: skip
    assert by_search > 8.8 and by_policy > 8.8


def test_images_are_learned(monkeypatch):
    # XLA would compile the convolutions for longer than it takes to learn the game.
    monkeypatch.setattr(
        mzu.networks.compiled.compile_model, "KerasModel", functools.partial(KerasModel, jit_compile=False)
    )
    by_search, by_policy = trained(
        *ONLINE, "environment=identity_image", "search.num_simulations=8", "acting.positions_per_step=8",
        "network.width=16", "learning.training_steps=120",
    )  # fmt: skip
    assert by_search > 9.5 and by_policy > 9.5


def random_episodes(count):
    """What somebody did who does not look at the observation."""
    rng = np.random.default_rng(0)
    with make("identity") as world:
        for number in range(count):
            observations, actions, rewards, over = [world.reset(seed=number)], [], [], False
            while not over:
                actions.append(random_action(world.spaces, rng))
                observation, reward, terminated, truncated = world.step(actions[-1])
                observations.append(observation)
                rewards.append(reward)
                over = terminated or truncated
            yield Episode(np.stack(observations), np.int32(actions), np.float32(rewards), truncated=True)


@pytest.mark.parametrize(("policy_loss", "learns"), [("reanalyse", True), ("behaviour_cloning", False)])
def test_from_the_data_of_a_random_player_the_right_actions_are_learned_but_not_cloned(policy_loss, learns):
    def inputs(config):
        spaces = make("identity").spaces
        return RunInputs(config, spaces, spaces, list(random_episodes(200)))

    by_search, by_policy = trained(
        *SMALL, "environment=identity", "reanalyse.fraction=1", f"learning.policy_loss={policy_loss}",
        "search.num_simulations=16", "acting.positions_per_step=16", "learning.training_steps=300", inputs=inputs,
    )  # fmt: skip
    if learns:
        assert by_search > 9.5 and by_policy > 9.5
    else:
        assert by_policy < 6
