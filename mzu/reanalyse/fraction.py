"""The reanalyse fraction: whether the next game is a stored one (paper, section "Reanalyse"; notebook 04_reanalyse)."""

import numpy as np


class FractionController:
    """Holds the share of stored positions among all searched ones at `fraction`.

    Games in lockstep are searched equally often, so stored games should have a share f of the places, however long the
    games are, and more of them while stored positions are missing: so many that what is missing is made up for in the
    time of one game. A place that becomes free is filled accordingly. What is left over is less than one place, which
    stored and fresh games share by chance. There a share of positions is not a share of games: a game is drawn the less
    often the longer games of its kind are.
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
    def missing(self) -> float:
        """Stored positions that are missing so far; negative where there were too many."""
        return self.fraction * sum(self.positions.values()) - self.positions[True]

    def count(self, stored: int, fresh: int) -> None:
        """That many positions were searched."""
        self.positions[True] += stored
        self.positions[False] += fresh

    def choose_stored(
        self, rng: np.random.Generator, available: bool = True, places: int = 1, stored_elsewhere: int = 0
    ) -> bool:
        """Whether the next game is a stored one.

        `available` says whether there is any; `stored_elsewhere` of the other places - 1 games are stored ones.
        """
        draw = rng.random()  # always drawn, so that the random numbers that follow do not depend on the answer
        stored = available and draw < self.chance(places, stored_elsewhere)
        if self.fraction == 1.0 and not available:
            raise ValueError("reanalyse.fraction is 1, but there is no stored game to play; give a dataset with --data")
        self.games[stored] += 1
        return bool(stored)

    def chance(self, places: int = 1, stored_elsewhere: int = 0) -> float:
        """The probability that the next game is a stored one."""
        if self.fraction in (0.0, 1.0):
            return self.fraction
        # Before the first game of a kind has begun both count as equally long.
        length = {kind: max(self.positions[kind], 1) / max(self.games[kind], 1) for kind in (True, False)}
        wanted = self.fraction * places + self.missing / max(length.values())
        share = min(max(wanted - stored_elsewhere, 0.0), 1.0)  # of this place
        stored, fresh = share / length[True], (1 - share) / length[False]
        return stored / (stored + fresh)

    def state(self) -> dict[str, np.ndarray]:
        return {"counts": np.array([*self.positions.values(), *self.games.values()])}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        stored, fresh, stored_games, fresh_games = (int(count) for count in state["counts"])
        self.positions, self.games = {True: stored, False: fresh}, {True: stored_games, False: fresh_games}
