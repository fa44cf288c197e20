"""Runs so small that they take seconds: the identity games, a network of width 16, a dozen learner steps."""

import contextlib

import numpy as np

from mzu.acting.collect import collect
from mzu.config import Config
from mzu.environments.make import make
from mzu.episodes.readers.npz import write_npz
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer

TINY = (
    "network.width=16",
    "network.num_blocks=1",
    "network.value_support=5",
    "network.reward_support=5",
    "search.num_simulations=4",
    "replay.segment_length=6",  # not a divisor of the 10 steps of an episode: segments end within games
    "replay.capacity=20",
    "replay.start_size=30",
    "acting.games=4",
    "acting.positions_per_step=6",  # not a multiple of the games: positions are owed from step to step
    "acting.refresh_period=2",  # checkpoints fall between two copies of the weights
    "learning.batch_size=16",
    "learning.unroll_steps=2",
    "learning.training_steps=13",
    "learning.learning_rate=1e-2",
    "learning.jit_compile=false",
    "evaluation.period=6",
    "evaluation.period_episodes=2",
    "evaluation.episodes=3",
    "run.log_period=3",
    "run.checkpoint_period=5",
)
OPTIONS = (
    *("network.scalar_head=hl_gauss", "network.bins_per_unit=2", "learning.consistency_loss_scale=1"),
    *("learning.max_gradient_norm=0.5", "learning.weight_average=0.8"),
)
ONLINE = (*TINY, "environment=identity", "reanalyse.fraction=0.5", "reanalyse.highest_return=1")
CONTINUOUS = (*TINY, "environment=identity_continuous", "reanalyse.fraction=1", "search.num_sampled_actions=3")


def write_data(path, id="identity_continuous", episodes=5):
    """A dataset of random play."""
    write_npz(path, collect(make(id), "random", episodes))
    return path


def tiny_config(kind, folder):
    """ "online": half fresh, half stored; "offline": continuous actions from a dataset that is written to `folder`."""
    if kind == "online":
        return Config().override(*ONLINE)
    data = folder / "data.npz"
    return Config().override(*CONTINUOUS, f"data={data if data.exists() else write_data(data)}")


def train(config, folder=None, on_step=None):
    """Trains in a folder, which is created or continued -> (the state in the end, whether the end was reached)."""
    if folder is not None:
        folder = RunFolder(folder) if folder.exists() else RunFolder.create(folder, config)
    with contextlib.closing(Trainer(config)) as trainer:
        finished = trainer.run(folder, on_step)
        return trainer.state(), finished


def assert_same_state(first, second):
    """Weights, optimiser, replay, games, random generators: all arrays are equal."""
    assert first.keys() == second.keys()
    different = [name for name in first if not np.array_equal(first[name], second[name])]
    assert different == [], f"{different} differ"
