"""Players of small games, and stored episodes whose observations tell where they came from."""

import numpy as np
from made_worlds import STATES, Counter

from mzu.config import Config
from mzu.episodes.episode import Episode
from mzu.games.player import Player
from mzu.reanalyse.buffers import Demonstrations, Mixture, MostRecent


def made_config(*assignments):
    """Segments of 4 positions with a tail of U + n = 4; discount 1, so that search values are the model's own."""
    small = (
        *("acting.games=1", "search.num_simulations=8", "search.discount=1", "replay.segment_length=4"),
        *("learning.unroll_steps=2", "learning.td_steps=2", "reanalyse.fraction=0"),
    )
    return Config().override(*small, *assignments)


def made_player(config, model, environment=Counter, episodes=(), seed=0):
    """Stored games come from `episodes`, and from the fresh games once there are any."""
    length = config.replay.segment_length
    sources = Mixture({"data": (Demonstrations(episodes, length), 1.0), "recent": (MostRecent(1000, length), 1.0)})
    environments = None
    if config.reanalyse.fraction < 1:
        environments = [environment() for _ in range(config.acting.games)]
    return Player(config, model, sources, environments, np.random.default_rng(seed))


def play(player, rounds, temperature=1.0):
    """-> all segments, all finished fresh episodes."""
    played = [player.advance(temperature) for _ in range(rounds)]
    return [s for one in played for s in one.segments], [e for one in played for e in one.episodes]


def stored_episode(steps=10, action=0, number=0, spaces=STATES, **end):
    """Observations [number, t], the same action all the time, rewards 1, 2, 3, ..."""
    observations = np.stack([np.full(steps + 1, number), np.arange(steps + 1)], axis=1).astype(np.float32)
    actions = np.tile(np.float32(action), (steps, 1)) if spaces.continuous else np.full(steps, action, np.int32)
    end = end or {"terminated": True}
    return Episode(observations, actions, np.arange(1, steps + 1, dtype=np.float32), **end)


def step_as_value(observations):
    return observations[:, 1]
