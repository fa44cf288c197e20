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
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.games.fresh_game import FreshGame
from mzu.games.stored_game import StoredGame
from mzu.nested_arrays import inside, under
from mzu.networks.model import Model
from mzu.reanalyse.buffers import Mixture
from mzu.reanalyse.fraction import FractionController
from mzu.replay.pieces import Piece, tail_length
from mzu.replay.segment import Segment
from mzu.replay.trace import SearchTrace
from mzu.search.improvement.advantage import RunningScale
from mzu.search.search import sample_actions, search
from mzu.search.tree import ROOT


class Played(NamedTuple):
    """What one round of play brought: finished segments for the replay, and finished fresh episodes."""

    segments: list[Segment]
    episodes: list[Episode]


class Player:
    """Keeps `acting.games` games going. `environments` has one world for every game (None where none is ever fresh)."""

    def __init__(
        self,
        config: Config,
        spaces: Spaces,
        model: Model,
        sources: Mixture,
        environments: list[Environment] | None,
        rng: np.random.Generator,
    ):
        self.config, self.spaces, self.model, self.sources, self.rng = config, spaces, model, sources, rng
        self.environments = environments
        self.fraction = FractionController(config.reanalyse.fraction)
        self.games: list[StoredGame | FreshGame] = []
        self.seconds = {"search": 0.0, "games": 0.0}  # time spent searching, and in the games: environments, recording
        self.scale = RunningScale() if config.search.improvement == "advantage" else None
        self._searches = config.learning.policy_loss == "reanalyse" or config.learning.td_steps == 0

    @property
    def advantage_scale(self) -> float | None:
        """The running scale that the searches of the moment measure advantages by, where there is one."""
        return None if self.scale is None else self.scale.value

    def advance(self, temperature: float) -> Played:
        """One position of every game is searched; finished games give way to new ones."""
        if not self.games:
            self.games = self._filled([None] * self.config.acting.games)
        games = self.games
        self._improve(games, temperature)
        segments = [segment for game in games for segment in game.pop_segments()]
        stored = sum(game.is_stored for game in games)
        self.fraction.count(stored, len(games) - stored)
        episodes = [game.episode() for game in games if game.finished and not game.is_stored]
        for episode in episodes:
            self.sources.add(episode)
        self.games = self._filled([None if game.finished else game for game in games])
        return Played(segments, episodes)

    def _improve(self, games, temperature: float) -> None:
        """Searches the current position of every game, and lets it go on."""
        start = time.perf_counter()
        observations = np.stack([game.observation for game in games])
        if not self._searches:
            # Behaviour cloning and CRR learn from the stored actions; the search would not be looked at.
            _, _, values = self.model.initial(observations)
            for game, value in zip(games, values, strict=True):
                game.take(None, None, None, value, value)
            self.seconds["games"] += time.perf_counter() - start
            return
        result = search(
            self.model,
            observations,
            self.config.search,
            self.rng,
            **self._injection(games),
            legal_actions=self._legal(games),
            scale=self.advantage_scale,
        )
        if self.scale is not None:
            self.scale.update(result.spread)
        actions = sample_actions(result, temperature, self.rng)
        searched = time.perf_counter()
        raw_values = result.tree.nodes["raw_value"][:, ROOT]
        policies = result.policy.astype(np.float32)
        sampled = self.config.search.num_sampled_actions is not None
        for row, game in enumerate(games):
            candidates = result.actions[row] if sampled else None
            game.take(actions[row], policies[row], candidates, result.value[row], raw_values[row])
        self.seconds["search"] += searched - start
        self.seconds["games"] += time.perf_counter() - searched

    def _injection(self, games) -> dict:
        """The stored actions of stored games join their candidates, or keep the improved policy near the data."""
        if not self.config.injects:
            return {}
        inject = np.array([game.is_stored for game in games])
        if not inject.any():
            return {}
        nothing = np.zeros(self.spaces.num_actions, np.float32) if self.spaces.continuous else 0
        actions = [game.action if game.is_stored else nothing for game in games]
        # Stored actions may lie a rounding error outside of the bounds (`BOUND_TOLERANCE`); candidates may not.
        actions = np.clip(actions, -1, 1) if self.spaces.continuous else np.array(actions)
        injection = {"injected_actions": actions, "inject": inject}
        if self.config.search.stored_value == "data":
            injection["stored_values"] = self._stored_values(games)
        return injection

    def _stored_values(self, games) -> np.ndarray:
        """Reward + discount * value [B] of what really followed the stored actions; NaN for fresh games."""
        stored = [game.is_stored for game in games]
        rewards, following, terminal = zip(
            *(game.followed_by() if game.is_stored else (np.nan, game.observation, False) for game in games),
            strict=True,
        )
        _, _, values = self.model.initial(np.stack(following))
        values = np.array(rewards) + self.config.search.discount * np.where(terminal, 0.0, values)
        return np.where(stored, values, np.nan)

    def _legal(self, games) -> np.ndarray | None:
        masks = [game.legal_actions for game in games]
        if all(mask is None for mask in masks):
            return None
        return np.array([np.ones(self.spaces.num_actions, bool) if mask is None else mask for mask in masks])

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
            return self._stored_game(self.sources.draw(self.rng), SearchTrace(self.config))
        return self._fresh_game(place, int(self.rng.integers(2**31)), SearchTrace(self.config))

    def _stored_game(self, piece: Piece, trace: SearchTrace) -> StoredGame:
        return StoredGame(piece, self.config.network.frame_stack, trace)

    def _fresh_game(self, place: int, seed: int, trace: SearchTrace) -> FreshGame:
        tail, stack = tail_length(self.config.learning), self.config.network.frame_stack
        return FreshGame(self.environments[place], seed, self.config.replay.segment_length, tail, stack, trace)

    def state(self) -> dict[str, np.ndarray]:
        """The games as far as they are played, as arrays."""
        arrays = under("fraction", self.fraction.state())
        arrays |= {} if self.scale is None else under("scale", self.scale.state())
        arrays["games"] = np.array(len(self.games))
        for place, game in enumerate(self.games):
            arrays |= under(f"game_{place}", _game_state(game))
        return arrays

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Goes on where `state` was taken; fresh games are brought back by taking the same actions again."""
        self.fraction.restore(inside(state, "fraction"))
        if self.scale is not None:
            self.scale.restore(inside(state, "scale"))
        self.games = [self._restore_game(place, inside(state, f"game_{place}")) for place in range(int(state["games"]))]

    def _restore_game(self, place: int, state: dict[str, np.ndarray]) -> StoredGame | FreshGame:
        trace = SearchTrace(self.config)
        trace.restore(inside(state, "trace"))
        if "seed" not in state:
            ends = (bool(flag) for flag in state["ends"])
            arrays = (state["observations"], state["actions"], state["rewards"])
            return self._stored_game(Piece(*arrays, int(state["length"]), *ends), trace)
        game = self._fresh_game(place, int(state["seed"]), trace)
        for action in state["actions"]:
            game.apply(action if self.spaces.continuous else int(action))
        same = np.array_equal(game.observation, state["observation"]) and np.array_equal(game.rewards, state["rewards"])
        if not same:
            raise ValueError(
                f"{game.environment.id} does not repeat itself: the same seed and actions led to other observations or "
                "rewards, so this run cannot go on exactly where it stopped; start it anew"
            )
        game.segmented = int(state["segmented"])
        return game


def temperature_at(config: Config, step: int) -> float:
    """The temperature of the visit counts at a learner step (MuZero: 1, then 0.5 from half of the training on, ...)."""
    share = step / config.learning.training_steps
    return config.acting.temperatures[sum(share >= end for end in config.acting.temperature_ends)]


def _game_state(game) -> dict[str, np.ndarray]:
    arrays = under("trace", game.trace.state())
    if game.is_stored:
        piece = game.piece
        arrays |= {"observations": piece.observations, "actions": piece.actions, "rewards": piece.rewards}
        return arrays | {"length": np.array(piece.length), "ends": np.array([piece.ended, piece.terminated])}
    arrays |= {"seed": np.array(game.seed), "actions": game.action_array(), "observation": game.observation}
    return arrays | {"rewards": np.array(game.rewards, float), "segmented": np.array(game.segmented)}
