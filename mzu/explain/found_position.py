"""`look_at`: a position of a stored episode is searched, and what the learner would be given of it is put together."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from mzu.explain.system import System
from mzu.games.piece import Piece
from mzu.games.stored_game import StoredGame
from mzu.learning.targets import Targets
from mzu.replay.replay import Batch, new_replay
from mzu.replay.segment import Segment
from mzu.search.search import SearchResult


@dataclass(frozen=True, eq=False)
class Found:
    """What was found out about a position.

    field        meaning
    episode      its number; `step` the position in it
    game         the stored game of the piece that holds it, at the position; the piece begins at `start`
    results      searches of t..t + U, as far as the piece reaches; the first with its history. Empty if not searched
    new          batch with those results, and the targets it gets
    handle       the position in the system's replay, or None
    given        batch from there and its targets: what the learner would be given now; None if it is not there
    copies       how often the replay holds the piece
    """

    episode: int
    step: int
    game: StoredGame
    results: list[SearchResult]
    new: tuple[Batch, Targets]
    handle: int | None
    given: tuple[Batch, Targets] | None
    copies: int

    @property
    def start(self) -> int:
        return self.step - self.game.position

    @property
    def learned(self) -> tuple[Batch, Targets]:
        """What the learner would learn from: the replay's, else what a search of now gives."""
        return self.given or self.new


def search_rng(system: System, episode: int, step: int) -> np.random.Generator:
    """The random numbers of a position's search: the same whenever it is explained."""
    return np.random.default_rng([system.config.seed, episode, step])


def look_at(system: System, episode: int, step: int) -> Found:
    """Searches the position and the U that follow it, and puts together what the learner would be given."""
    game = system.game(episode, step)
    piece, place = game.piece, game.position
    results = []
    if system.config.searches:
        for number in range(step, step + min(system.config.learning.unroll_steps + 1, piece.length - place)):
            rng = search_rng(system, episode, number)
            results.append(system.search(system.game(episode, number), rng, record=number == step))
    handle, copies = find_in_replay(system, piece, step - place, place)
    rng = np.random.default_rng(0)  # of the actions behind the end
    given = None
    if handle is not None:
        batch = system.replay.at(np.array([handle]), rng)
        given = batch, system.targets(batch)
    batch = _new_batch(system, piece, place, results)
    new = batch, system.targets(batch)
    return Found(episode, step, game, results, new, handle, given, copies)


def find_in_replay(system: System, piece: Piece, start: int, place: int) -> tuple[int | None, int]:
    """The handle of the newest copy of a position, and how many copies there are; the piece begins at `start`.

    A copy in which observations, actions or rewards went wrong counts too: the checks will say so.
    """
    if system.replay is None or not len(system.replay):
        return None, 0
    data = {"rewards": piece.rewards, "actions": piece.actions, "observations": piece.observations}
    for without in (None, "actions", "observations", "rewards"):
        wanted = {name: array for name, array in data.items() if name != without}
        handles = system.replay.find(**wanted)
        if without and len(handles):
            handles = np.setdiff1d(handles, _of_other_episodes(system, start, wanted))
        if len(handles):
            return int(handles[-1]) + place, len(handles)
    return None, 0


def _of_other_episodes(system: System, start: int, wanted: dict[str, np.ndarray]) -> np.ndarray:
    """Handles of pieces that look like the wanted one because another episode went the same way."""
    handles = [np.zeros(0, np.int64)]
    for number, stored in enumerate(system.episodes):
        if start < len(stored):
            other = system.game(number, start).piece
            if all(np.array_equal(getattr(other, name), array) for name, array in wanted.items()):
                handles.append(system.replay.find(other.rewards, other.actions, other.observations))
    return np.concatenate(handles)


def _new_batch(system: System, piece: Piece, place: int, results: list[SearchResult]) -> Batch:
    """The batch of the position as if its piece had just been searched, from a replay with nothing else in it."""
    config, candidates = system.config, max((result.policy.shape[1] for result in results), default=0)
    policy, value = np.zeros((piece.length, candidates), np.float32), np.zeros(piece.length, np.float32)
    actions = np.zeros((piece.length, candidates, *piece.actions.shape[1:]), piece.actions.dtype)
    for number, result in enumerate(results):
        policy[place + number], value[place + number] = result.policy[0], result.value[0]
        actions[place + number] = result.actions[0]
    sampled = config.search.num_sampled_actions is not None
    replay = new_replay(
        dataclasses.replace(config, replay=dataclasses.replace(config.replay, capacity=1)), system.frame_spaces
    )
    replay.add(
        Segment(
            piece.observations, piece.actions, piece.rewards, piece.ended, piece.terminated,
            policy if results else None, actions if results and sampled else None, value, np.ones(piece.length),
        )
    )  # fmt: skip
    return replay.at(np.array([place]), np.random.default_rng(0))
