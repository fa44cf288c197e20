"""Worlds small enough to know every number of: a corridor of seven cells, and two rooms that fit on a sheet of paper.

Both are a `System` like a training run's, with tables in place of networks. Their replay is filled by playing the
stored episodes again, position by position, as a `Player` does.
"""

import dataclasses

import numpy as np

from mzu.config import Config
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.explain.system import System
from mzu.games.search_games import take_actions
from mzu.games.stored_game import StoredGame
from mzu.networks.model import TabularModel
from mzu.replay.replay import Replay, new_replay
from mzu.replay.segment import split_lengths
from mzu.search.search import sample_actions

# The corridor: cells 0..6, of which the last is the terminal one. Who moves gets what lies in the cell that is reached,
# less a tenth for every cell of the jump; who rests gets nothing.
CELLS = 7
PAY = np.array([0.0, 0.3, -0.4, 0.6, -0.2, 0.1, 2.0])
STEPS = (-1, 0, 1)  # actions: left, rest, right
JUMPS = (-2, -1, 0, 1, 2)
# What the value network says, about right, and what it said when the target network was copied from it. Neither knows
# that nothing follows after the last cell.
VALUES = np.array([0.9, 1.1, 1.5, 1.3, 1.6, 1.8, 0.4])
TARGET_VALUES = np.array([0.7, 0.8, 1.2, 1.2, 1.3, 1.6, 0.5])
EARLY_VALUES = np.array([1.9, 1.5, 1.1, 0.8, 0.5, 0.2, 0.1])  # of a network that had learned nothing yet
RIGHTWARD, LEFTWARD = 0.6, -2.0  # logit of a jump by one cell to the right, now and early

# The episodes: the cell that each starts in, and its jumps. The first is longer than a segment and reaches the last
# cell, the second is cut off, the third is short.
WALKS = (
    (0, (1, 1, -1, 1, 1, 0, 1, -1, 1, 1, 1)),
    (4, (-1, -1, 0, 1, -1, 1)),
    (4, (1, 1)),
)
WALKS_OF_JUMPS = (
    (0, (2, -1, 1, 2, 0, -2, 2, 1, 1)),
    (5, (-2, 1, -2, 0, 2, -1)),
    (3, (2, 1)),
)
CORRIDOR = (
    "search.num_simulations=16",
    "search.discount=0.9",
    "replay.segment_length=4",
    "replay.capacity=32",
    "learning.unroll_steps=2",
    "learning.td_steps=2",
)

PICTURE = (4, CELLS, 1)
BACKGROUND = np.uint8(90) + 4 * np.arange(CELLS, dtype=np.uint8)  # by column: grey, a little lighter to the right
BRIGHTER = 12  # grey levels by which the cell of the walker is lighter


class SeenTable(TabularModel):
    """A `TabularModel` whose states are shown as observations: their number [1], or a picture in which one column is
    lighter."""

    def initial(self, observations):
        return super().initial(seen_states(observations))


def seen_states(observations) -> np.ndarray:
    """Observations [..., 1] or pictures [..., height, width, 1] -> the states that they show [...]."""
    observations = np.asarray(observations)
    if observations.dtype == np.uint8:
        return np.argmax(observations[..., 0].mean(axis=-2) - BACKGROUND, axis=-1)
    return np.rint(observations[..., 0]).astype(np.int64)


def toy_system(sampled: bool = False, pictures: bool = False) -> System:
    """The corridor. `sampled`: five jumps, of which a search draws two; `pictures`: cells are seen as pictures."""
    jumps, walks = (JUMPS, WALKS_OF_JUMPS) if sampled else (STEPS, WALKS)
    config = Config().override(*CORRIDOR, *(("search.num_sampled_actions=2",) if sampled else ()))
    if pictures:
        spaces = Spaces(PICTURE, len(jumps), observation_dtype="uint8")
    else:
        spaces = Spaces((1,), len(jumps))
    model = corridor_model(jumps)
    system = System(
        name="the corridor",
        config=config,
        spaces=spaces,
        frame_spaces=spaces,
        episodes=[_walk(model, jumps, *walk, pictures) for walk in walks],
        model=model,
        target_values=lambda observations: TARGET_VALUES[seen_states(observations)],
        steps=200,
        target_steps=100,
    )
    return played(system)


def corridor_model(jumps=STEPS, early: bool = False) -> SeenTable:
    """The corridor as tables: moves and rewards are right, policy and values those of a network that is learning."""
    jumps = np.array(jumps)
    next_state = np.clip(np.arange(CELLS)[:, None] + jumps, 0, CELLS - 1)
    reward = np.where(jumps == 0, 0.0, PAY[next_state]) - 0.1 * np.abs(jumps)
    next_state[-1], reward[-1] = CELLS - 1, 0.0
    logits = np.tile((LEFTWARD if early else RIGHTWARD) * jumps, (CELLS, 1))
    return SeenTable(next_state, reward, logits, (EARLY_VALUES if early else VALUES).copy())


def _walk(model: TabularModel, jumps, cell: int, moves, pictures: bool) -> Episode:
    cells, actions, rewards = [cell], [jumps.index(move) for move in moves], []
    for action in actions:
        rewards.append(model.reward[cells[-1], action])
        cells.append(int(model.next_state[cells[-1], action]))
    terminated = cells[-1] == CELLS - 1
    return Episode(
        observations=np.stack([_picture(cell) for cell in cells]) if pictures else np.float32(cells)[:, None],
        actions=np.int32(actions),
        rewards=np.float32(rewards),
        terminated=terminated,
        truncated=not terminated,
        source="the corridor",
    )


def _picture(cell: int) -> np.ndarray:
    picture = np.tile(BACKGROUND[:, None], (PICTURE[0], 1, 1))
    picture[:, cell] += BRIGHTER
    return picture


def played(system: System, game: type = StoredGame, replay: Replay | None = None) -> System:
    """The system with a replay, filled by searching as many stored positions as its episodes have.

    Pieces of the episodes are played one after the other, as games of the class `game`; `replay` may hold some already.
    """
    config, rng = system.config, np.random.default_rng(system.config.seed)
    replay = new_replay(config, system.frame_spaces) if replay is None else replay
    waiting = iter(
        system.game(number, start).piece
        for number, episode in enumerate(system.episodes)
        for start, _ in split_lengths(len(episode), config.replay.segment_length)
    )
    playing = None
    for _ in range(sum(map(len, system.episodes))):
        if playing is None or playing.finished:
            playing = game(next(waiting), config)
        result = system.search(playing, rng)
        take_actions([playing], sample_actions(result, 1.0, rng), result, config)
        for segment in playing.pop_segments():
            replay.add(segment)
    return dataclasses.replace(system, replay=replay)


# Two rooms and the outside. Resting (0) earns nothing; going (1) from room 0 to room 1 earns 1, and from there to the
# outside, where everything ends, 4.
ROOMS = {
    "next_state": [[0, 1], [1, 2], [2, 2]],
    "reward": [[0.0, 1.0], [0.0, 4.0], [0.0, 0.0]],
    "logits": np.log([[0.6, 0.4], [0.2, 0.8], [0.6, 0.4]]),
    "value": [2.0, 2.0, 0.0],
}
ROOM_TARGET_VALUES = np.array([1.0, 3.0, 1.0])
TWO_ROOMS = (
    "search.num_simulations=3",
    "search.discount=0.5",
    "search.puct_init=1",
    "search.puct_base=1e12",  # the logarithm in the score vanishes
    "search.dirichlet_fraction=0",
    "replay.segment_length=4",
    "replay.capacity=1",
    "replay.uniform_share=0.2",
    "learning.unroll_steps=1",
    "learning.td_steps=1",
)


def two_rooms() -> System:
    """One episode of two steps, three simulations, no noise: every number can be worked out on paper."""
    episode = Episode(
        observations=np.float32([[0], [1], [2]]),
        actions=np.int32([1, 1]),
        rewards=np.float32([1, 4]),
        terminated=True,
        source="two rooms",
    )
    spaces = Spaces((1,), 2)
    system = System(
        name="two rooms",
        config=Config().override(*TWO_ROOMS),
        spaces=spaces,
        frame_spaces=spaces,
        episodes=[episode],
        model=SeenTable(**ROOMS),
        target_values=lambda observations: ROOM_TARGET_VALUES[seen_states(observations)],
        steps=200,
        target_steps=100,
    )
    return played(system)
