"""Atari reference scores of the paper's two per-game tables, normalised scores, and what to say about many games.

    human-normalised   (agent - random) / (human - random)             caption of the table "Atari for individual games"
    data-normalised    (agent - random) / (online DQN - random)        figure "Atari performance improvement"

1 is as good as the human, or as the DQN whose play the offline data are; 0 is random play. The paper's percentages are
these times 100. The random scores of the two tables differ a little: each table is normalised with its own.
"""

import functools
import json
from importlib import resources

import numpy as np
from scipy import stats

from mzu.environments.held_actions import split_id

HUMAN, RL_UNPLUGGED = "human", "rl_unplugged"
# The score that counts as 1 in each table.
REFERENCE = {HUMAN: "human", RL_UNPLUGGED: "online_dqn"}


@functools.cache
def table(name: str) -> dict[str, dict[str, float]]:
    """One of the two tables: {game: {column: score}}.

    name            games  columns
    "human"         57     random, human, muzero_no_op, muzero_sticky, muzero_res2_adam
    "rl_unplugged"  46     random, online_dqn, bc, dqn, iqn, bcq, rem, and with the MuZero network muzero_policy_bc,
                           muzero_crr, muzero_max_value, muzero_mcts (all three supervised), muzero_unplugged
    """
    text = resources.files("mzu.environments").joinpath("atari_scores.json").read_text()
    tables = json.loads(text)
    if name not in tables:
        raise ValueError(f"There is no table '{name}' of scores; known are {', '.join(tables)}")
    columns = tables[name]["columns"]
    return {game: dict(zip(columns, row, strict=True)) for game, row in tables[name]["games"].items()}


def normalised_score(game: str, score, reference: str = RL_UNPLUGGED):
    """(score - random) / (reference - random) for one game; `score` may be an array.

    `game` as in the tables or as in ids: "ms pacman", "MsPacman", "atari:MsPacman", "atari:MsPacman?repeat=2".

    >>> round(normalised("Pong", 20.6), 3)
    1.062
    """
    row = table(reference)[_game_name(game, reference)]
    return (np.asarray(score, np.float64) - row["random"])[()] / (row[REFERENCE[reference]] - row["random"])


def normalised_column(column: str, reference: str = RL_UNPLUGGED) -> np.ndarray:
    """The normalised scores [games] of one column of a table, such as "muzero_unplugged"."""
    rows = table(reference)
    columns = next(iter(rows.values()))
    if column not in columns:
        raise ValueError(f"The table '{reference}' has no column '{column}'; known are {', '.join(columns)}")
    return np.array([normalised_score(game, row[column], reference) for game, row in rows.items()])


def mean(scores) -> float:
    """Mean over everything. A few games with enormous scores decide it."""
    return float(np.mean(scores))


def median(scores) -> float:
    """Median over games of the mean over runs, scores [games] or [runs, games]. Half of the games could be 0."""
    return float(np.median(_rows(scores).mean(axis=0)))


def interquartile_mean(scores) -> float:
    """Mean of the middle half of all runs of all games: the lowest and the highest quarter are left out.

    As robust as the median, but every game in the middle counts (Agarwal et al. 2021, "Deep RL at the Edge of the
    Statistical Precipice").
    """
    return float(stats.trim_mean(scores, 0.25, axis=None))


def stratified_interval(scores, statistic, rng: np.random.Generator, samples: int = 2000, confidence: float = 0.95):
    """(low, high), the range in which `statistic` of other runs like these would lie: stratified percentile bootstrap.

    scores [runs, games]. In every sample the runs are drawn anew with replacement, for each game by itself, so that
    every game stays in (Agarwal et al. 2021). A statistic of several numbers gives lists of as many. With one run there
    is nothing to draw from, and that is an error.
    """
    scores = _rows(scores)
    runs, games = scores.shape
    if runs < 2:
        raise ValueError("The interval needs scores [runs, games] of at least 2 runs, but there is 1")
    if not 0 < confidence < 1 or samples < 1:
        raise ValueError(f"confidence is {confidence} and samples {samples}, but must be in (0, 1) and at least 1")
    drawn = rng.integers(runs, size=(samples, runs, games))
    values = [statistic(np.take_along_axis(scores, rows, axis=0)) for rows in drawn]
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0).tolist()
    return low, high


def _rows(scores) -> np.ndarray:
    scores = np.atleast_2d(np.asarray(scores, np.float64))
    if scores.ndim != 2 or scores.size == 0 or not np.isfinite(scores).all():
        raise ValueError(f"scores have shape {scores.shape}, but must be finite numbers [games] or [runs, games]")
    return scores


def _game_name(game: str, reference: str) -> str:
    """`game` as the table spells it; ids write the words together."""
    wanted = split_id(game)[0].removeprefix("atari:").replace(" ", "").replace("_", "").lower()
    for known in table(reference):
        if known.replace(" ", "") == wanted:
            return known
    raise ValueError(f"The table '{reference}' has no game '{game}'; known are {', '.join(table(reference))}")
