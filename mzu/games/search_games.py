"""One search for fresh and stored games side by side (paper, section "Reanalyse").

    stored games   their action joins the candidates of a sampled search (notebook 06_action_injection)
    fresh games    may have actions that are not legal

`Player` and `mzu.explain` search by these functions, and so they see the same.
"""

from collections.abc import Sequence

import numpy as np

from mzu.config import Config
from mzu.games.fresh_game import FreshGame
from mzu.games.stored_game import StoredGame
from mzu.networks.model import Model
from mzu.search.search import SearchResult, search
from mzu.search.tree import ROOT

Games = Sequence[StoredGame | FreshGame]


def search_games(
    model: Model,
    games: Games,
    config: Config,
    rng: np.random.Generator,
    scale: float | None = None,
    record: bool = False,
) -> SearchResult:
    """Searches the current position of every game; `scale` and `record` as in `search`."""
    return search(
        model,
        np.stack([game.observation for game in games]),
        config.search,
        rng,
        **injection_of(model, games, config),
        legal_actions=stack_masks([game.legal_actions for game in games]),
        scale=scale,
        record=record,
    )


def take_actions(games: Games, actions: np.ndarray, result: SearchResult, config: Config) -> None:
    """Every game records what its search found and goes on: a fresh one by its action, a stored one as it did."""
    sampled = config.search.num_sampled_actions is not None
    raw_values = result.tree.nodes["raw_value"][:, ROOT]
    policies = result.policy.astype(np.float32)
    for row, game in enumerate(games):
        candidates = result.actions[row] if sampled else None
        game.take(actions[row], policies[row], candidates, result.value[row], raw_values[row])


def injection_of(model: Model, games: Games, config: Config) -> dict[str, np.ndarray]:
    """The arguments of a search in which the stored actions of stored games join their candidates; {} if none does.

    With `search.stored_value=data` they bring along what really followed them, which keeps the improved policy near the
    data.
    """
    inject = np.array([game.is_stored for game in games])
    if not (config.injects and inject.any()):
        return {}
    nothing = np.zeros_like(next(game.action for game in games if game.is_stored))
    actions = np.array([game.action if game.is_stored else nothing for game in games])
    injection = {"injected_actions": actions, "inject": inject}
    if config.search.stored_value == "data":
        injection["stored_values"] = _stored_values(model, games, config)
    return injection


def _stored_values(model: Model, games: Games, config: Config) -> np.ndarray:
    """Reward + discount * value [B] of what really followed the stored actions; NaN for fresh games."""
    stored = [game.is_stored for game in games]
    rewards, following, terminal = zip(
        *(game.followed_by() if game.is_stored else (np.nan, game.observation, False) for game in games), strict=True
    )
    _, _, values = model.initial(np.stack(following))
    values = np.array(rewards) + config.search.discount * np.where(terminal, 0.0, values)
    return np.where(stored, values, np.nan)


def stack_masks(masks: list[np.ndarray | None]) -> np.ndarray | None:
    """Legal actions [B, A] of masks [A], of which None allows all; None where all are None."""
    size = next((len(mask) for mask in masks if mask is not None), None)
    return None if size is None else np.array([np.ones(size, bool) if mask is None else mask for mask in masks])
