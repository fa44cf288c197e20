"""`Player`: fresh and stored games in lockstep, one search for all of them (paper, section "Reanalyse").

    stored games   replay what happened; their action joins the candidates of a sampled search
    fresh games    take an action drawn from the improved policy

A stored game is a game like any other: online is fraction 0, offline is 1, and no other code knows the difference.
Notebook 07_training_system.
"""

import time
from typing import NamedTuple

import numpy as np

from mzu.config import Config
from mzu.environments.environment import Environment
from mzu.episodes.episode import Episode
from mzu.games.fresh_game import DoesNotRepeat, FreshGame
from mzu.games.piece import piece_of
from mzu.games.search_games import Games, search_games, take_actions
from mzu.games.stored_game import StoredGame
from mzu.nested_arrays import inside, under
from mzu.networks.model import Model
from mzu.reanalyse.buffers import Mixture
from mzu.reanalyse.fraction import FractionController
from mzu.replay.segment import Segment
from mzu.search.improvement.advantage import RunningScale
from mzu.search.search import sample_actions


class Played(NamedTuple):
    """What one round of play brought: finished segments for the replay, and finished fresh episodes."""

    segments: list[Segment]
    episodes: list[Episode]


class Player:
    """Keeps `acting.games` games going. `environments` has one world for every game (None where none is ever fresh)."""

    def __init__(
        self,
        config: Config,
        model: Model,
        sources: Mixture,
        environments: list[Environment] | None,
        rng: np.random.Generator,
    ):
        self.config, self.model, self.sources, self.rng = config, model, sources, rng
        self.environments = environments
        self.fraction = FractionController(config.reanalyse.fraction)
        self.games: list[StoredGame | FreshGame] = []
        self.seconds = {"search": 0.0, "games": 0.0}  # time spent searching, and in the games: environments, recording
        self.scale = RunningScale() if config.search.improvement == "advantage" else None

    @property
    def advantage_scale(self) -> float | None:
        """The running scale that the searches of the moment measure advantages by, where there is one."""
        return None if self.scale is None else self.scale.value

    def advance(self, temperature: float) -> Played:
        """One position of every game is searched; finished games give way to new ones."""
        if not self.games:
            self.games = self._filled([None] * self.config.acting.games)
        games = self.games
        if self.config.searches:
            self._search(games, temperature)
        else:
            self._evaluate(games)
        segments = [segment for game in games for segment in game.pop_segments()]
        stored = sum(game.is_stored for game in games)
        self.fraction.count(stored, len(games) - stored)
        episodes = [game.episode() for game in games if game.finished and not game.is_stored]
        for episode in episodes:
            self.sources.add(episode)
        self.games = self._filled([None if game.finished else game for game in games])
        return Played(segments, episodes)

    def _search(self, games: Games, temperature: float) -> None:
        """Searches the current position of every game, and lets it go on."""
        start = time.perf_counter()
        result = search_games(self.model, games, self.config, self.rng, self.advantage_scale)
        if self.scale is not None:
            self.scale.update(result.spread)
        actions = sample_actions(result, temperature, self.rng)
        searched = time.perf_counter()
        take_actions(games, actions, result, self.config)
        self.seconds["search"] += searched - start
        self.seconds["games"] += time.perf_counter() - searched

    def _evaluate(self, games: Games) -> None:
        """The network's own values stand in for searches that nobody would look at; all games are stored ones."""
        start = time.perf_counter()
        _, _, values = self.model.initial(np.stack([game.observation for game in games]))
        for game, value in zip(games, values, strict=True):
            game.take(None, None, None, value, value)
        self.seconds["games"] += time.perf_counter() - start

    def _filled(self, games: list[StoredGame | FreshGame | None]) -> list[StoredGame | FreshGame]:
        """A new game in every place that has None."""
        for place, game in enumerate(games):
            if game is None:
                stored_elsewhere = sum(other is not None and other.is_stored for other in games)
                games[place] = self._next_game(place, stored_elsewhere)
        return games

    def _next_game(self, place: int, stored_elsewhere: int) -> StoredGame | FreshGame:
        available = not self.sources.is_empty
        if self.fraction.choose_stored(self.rng, available, self.config.acting.games, stored_elsewhere):
            return StoredGame(piece_of(*self.sources.draw(self.rng), self.config), self.config)
        return self._fresh_game(place)

    def state(self) -> dict[str, np.ndarray]:
        """The games as far as they are played, as arrays."""
        arrays = under("fraction", self.fraction.state())
        arrays |= {} if self.scale is None else under("scale", self.scale.state())
        arrays["games"] = np.array(len(self.games))
        for place, game in enumerate(self.games):
            arrays |= under(f"game_{place}", game.state())
        return arrays

    def restore(self, state: dict[str, np.ndarray]) -> int:
        """Goes on where `state` was taken; fresh games are brought back by taking the same actions again.

        -> how many of them were not, since their environment does not repeat itself, and begin anew.
        """
        self.fraction.restore(inside(state, "fraction"))
        if self.scale is not None:
            self.scale.restore(inside(state, "scale"))
        self.games, begun_anew = [], 0
        for place in range(int(state["games"])):
            game = inside(state, f"game_{place}")
            try:
                self.games.append(self._restored(place, game))
            except DoesNotRepeat:
                self.games.append(self._fresh_game(place))
                begun_anew += 1
        return begun_anew

    def _restored(self, place: int, state: dict[str, np.ndarray]) -> StoredGame | FreshGame:
        if "seed" in state:
            return FreshGame.from_state(state, self.environments[place], self.config)
        return StoredGame.from_state(state, self.config)

    def _fresh_game(self, place: int) -> FreshGame:
        return FreshGame(self.environments[place], int(self.rng.integers(2**31)), self.config)


def temperature_at(config: Config, step: int) -> float:
    """The temperature of the visit counts at a learner step (MuZero: 1, then 0.5 from half of the training on, ...)."""
    share = step / config.learning.training_steps
    return config.acting.temperatures[sum(share >= end for end in config.acting.temperature_ends)]
