"""The reanalyse fraction: whether the next game is a stored one (paper, section "Reanalyse"; notebook 04_reanalyse)."""

import numpy as np


class FractionController:
    """Holds the share of stored positions among all searched ones at `fraction`.

    With `actual` the share so far, it aims at f + (f - actual) / 2. Games differ in length, so a share of positions is not
    a share of games: the chance that the next game is stored follows from the mean lengths of both kinds so far.
    """

    def __init__(self, fraction: float):
        self.fraction = fraction
        self.positions = {True: 0, False: 0}  # stored, fresh
        self.games = {True: 0, False: 0}

    @property
    def actual(self) -> float:
        """The share of stored positions so far; the fraction itself before the first."""
        total = sum(self.positions.values())
        return self.positions[True] / total if total else self.fraction

    @property
    def aim(self) -> float:
        return float(np.clip(self.fraction + (self.fraction - self.actual) / 2, 0.0, 1.0))

    def count(self, stored: int, fresh: int) -> None:
        """That many positions were searched."""
        self.positions[True] += stored
        self.positions[False] += fresh

    def choose_stored(self, rng: np.random.Generator, available: bool = True) -> bool:
        """Whether the next game is a stored one; `available` says whether there is any."""
        draw = rng.random()  # always drawn, so that the random numbers that follow do not depend on the answer
        stored = available and draw < self.chance
        if self.fraction == 1.0 and not available:
            raise ValueError("reanalyse.fraction is 1, but there is no stored game to play; give a dataset with --data")
        self.games[stored] += 1
        return bool(stored)

    @property
    def chance(self) -> float:
        """The probability that the next game is a stored one."""
        if self.fraction in (0.0, 1.0):
            return self.fraction
        # Before the first game of a kind has begun both count as equally long.
        length = {kind: max(self.positions[kind], 1) / max(self.games[kind], 1) for kind in (True, False)}
        stored, fresh = self.aim / length[True], (1 - self.aim) / length[False]
        return stored / (stored + fresh)

    def state(self) -> dict[str, np.ndarray]:
        return {"counts": np.array([*self.positions.values(), *self.games.values()])}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        stored, fresh, stored_games, fresh_games = (int(count) for count in state["counts"])
        self.positions, self.games = {True: stored, False: fresh}, {True: stored_games, False: fresh_games}
