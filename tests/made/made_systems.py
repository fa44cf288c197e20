"""Systems so small that a position is explained in milliseconds: random episodes, tables or networks with few weights.

All positions are in the replay. Random numbers everywhere, so that each tells where it came from.
"""

import dataclasses
import functools

import numpy as np

from mzu.config import Config
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.explain.system import System
from mzu.explain.toy import played
from mzu.networks.compiled.compile_model import model_for_search
from mzu.networks.model import TabularModel
from mzu.networks.network import build_network
from mzu.replay.replay import new_replay
from mzu.replay.segment import split_lengths
from mzu.training.inputs import network_spaces

TINY = (
    "network.width=8",
    "network.num_blocks=1",
    "network.value_support=5",
    "network.reward_support=5",
    "search.num_simulations=7",
    "search.discount=0.9",
    "replay.segment_length=4",
    "replay.capacity=32",
    "learning.unroll_steps=2",
    "learning.td_steps=2",
    "learning.jit_compile=false",
)
SETTINGS = {
    "tabular": (),
    "discrete": ("search.num_sampled_actions=3", "search.sampling_temperature=2"),
    "gaussian": ("search.num_sampled_actions=4", "learning.value_loss_scale=0.25"),
    "image": ("network.frame_stack=2",),
}
FRAMES = {
    "tabular": Spaces((1,), 3),
    "discrete": Spaces((3,), 3),
    "gaussian": Spaces((3,), 2, continuous=True),
    "image": Spaces((6, 6, 1), 3, observation_dtype="uint8"),
}
KINDS = tuple(SETTINGS)
STATES = 5  # of the tables
ENDS = ((9, True), (6, False), (3, True))  # steps of the episodes, and whether they terminate


class Table(TabularModel):
    """A `TabularModel` that is shown the number of a state as an observation [B, 1]."""

    def initial(self, observations):
        return super().initial(np.asarray(observations)[..., 0])


@functools.cache
def made_system(kind: str, *settings: str) -> System:
    """A system with its replay; do not change it, other tests have the same one."""
    config, frames = Config().override(*TINY, *SETTINGS[kind], *settings), FRAMES[kind]
    spaces, rng = network_spaces(config, frames), np.random.default_rng(5)
    if kind == "tabular":
        network, model, target = None, _table(rng), _table(rng)
    else:
        network = _network(config, spaces, rng)
        model, target = model_for_search(network), model_for_search(_network(config, spaces, rng))

    def target_values(observations):
        batch, positions = observations.shape[:2]
        _, _, values = target.initial(observations.reshape(batch * positions, *observations.shape[2:]))
        return np.asarray(values).reshape(batch, positions)

    episodes = [_episode(frames, rng, *end) for end in ENDS]
    system = System(kind, config, spaces, frames, episodes, model, target_values, network=network, steps=30)
    return played(system) if config.searches else _without_search(system)


def positions(system: System) -> list[tuple[int, int]]:
    """Every (episode, step)."""
    return [(number, step) for number, episode in enumerate(system.episodes) for step in range(len(episode))]


def _without_search(system: System) -> System:
    """The system with a replay of its episodes, whose positions nobody searched."""
    replay = new_replay(system.config, system.frame_spaces)
    for number, episode in enumerate(system.episodes):
        for start, _ in split_lengths(len(episode), system.config.replay.segment_length):
            game = system.game(number, start)
            while not game.finished:
                game.take(None, None, None, 0.0, 0.0)
            replay.add(*game.pop_segments())
    return dataclasses.replace(system, replay=replay)


def _table(rng) -> Table:
    shape = (STATES, 3)
    next_state = rng.integers(0, STATES, shape)
    return Table(next_state, rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=STATES))


def _network(config: Config, spaces: Spaces, rng):
    """A network none of whose outputs is 0, as those of a fresh one are."""
    network = build_network(config.network, spaces, seed=0)
    for variable in network.trainable_variables:
        variable.assign(np.asarray(variable) + rng.normal(scale=0.2, size=variable.shape))
    return network


def _episode(frames: Spaces, rng, steps: int, terminated: bool) -> Episode:
    shape = (steps + 1, *frames.observation_shape)
    if frames.is_image:
        observations = rng.integers(0, 256, shape).astype(np.uint8)
    elif frames.observation_shape == (1,):
        observations = rng.integers(0, STATES, shape).astype(np.float32)
    else:
        observations = rng.normal(size=shape).astype(np.float32)
    if frames.continuous:
        actions = rng.uniform(-1, 1, (steps, frames.num_actions)).astype(np.float32)
    else:
        actions = rng.integers(0, frames.num_actions, steps).astype(np.int32)
    rewards = rng.normal(size=steps).astype(np.float32)
    return Episode(observations, actions, rewards, terminated=terminated, truncated=not terminated)
