"""The reanalyse fraction: whether the next game is a stored one (paper, section "Reanalyse"; notebook 04_reanalyse)."""

import numpy as np


class FractionController:
    """Chooses the kind of each new game so that `fraction` of all searched positions are stored ones.

    A player has a number of places, with one game in each. Every round searches one position of every game. So what
    counts is how many places hold stored games: with a fraction of 0.25 and 8 places, 2 of them should.

    When a game ends, its place becomes free, and this is how the next game is chosen:

    1. How many places should hold stored games? fraction * places. If too few stored positions were searched so far,
       some more, so that they are made up for within about one game.
    2. How many of the other places hold one? If one more or several are wanted, the next game is a stored one; if none
       is wanted, a fresh one.
    3. If only a part of one is wanted, say 0.3, this place should hold stored games in 0.3 of the rounds, and chance
       decides. The chance is not 0.3 itself: if stored games are longer than fresh ones, each of them keeps the place
       for longer, and fewer of them are needed. So the chance of each kind is divided by the mean length of its games.
    """

    def __init__(self, fraction: float):
        self.fraction = fraction
        self.stored_positions = self.fresh_positions = 0  # searched so far
        self.stored_games = self.fresh_games = 0  # begun so far

    @property
    def actual(self) -> float:
        """The share of stored positions so far; the fraction itself before the first."""
        total = self.stored_positions + self.fresh_positions
        return self.stored_positions / total if total else self.fraction

    @property
    def missing(self) -> float:
        """Stored positions that are missing so far; negative where there were too many."""
        return self.fraction * (self.stored_positions + self.fresh_positions) - self.stored_positions

    def count(self, stored: int, fresh: int) -> None:
        """That many positions were searched."""
        self.stored_positions += stored
        self.fresh_positions += fresh

    def choose_stored(
        self, rng: np.random.Generator, available: bool = True, places: int = 1, stored_elsewhere: int = 0
    ) -> bool:
        """Whether the next game is a stored one.

        available         whether there is any stored game
        places            how many games are played side by side, this one included
        stored_elsewhere  how many of the others are stored ones
        """
        draw = rng.random()  # always drawn, so that the random numbers that follow do not depend on the answer
        stored = available and draw < self.chance(places, stored_elsewhere)
        if self.fraction == 1.0 and not available:
            raise ValueError("reanalyse.fraction is 1, but there is no stored game to play; give a dataset with --data")
        if stored:
            self.stored_games += 1
        else:
            self.fresh_games += 1
        return bool(stored)

    def chance(self, places: int = 1, stored_elsewhere: int = 0) -> float:
        """The probability that the next game is a stored one."""
        if self.fraction in (0.0, 1.0):
            return self.fraction
        # Positions per game of each kind; before the first game of a kind has begun both count as equally long.
        stored_length = max(self.stored_positions, 1) / max(self.stored_games, 1)
        fresh_length = max(self.fresh_positions, 1) / max(self.fresh_games, 1)
        wanted = self.fraction * places + self.missing / max(stored_length, fresh_length)
        share = min(max(wanted - stored_elsewhere, 0.0), 1.0)  # of this place
        stored, fresh = share / stored_length, (1 - share) / fresh_length
        return stored / (stored + fresh)

    def state(self) -> dict[str, np.ndarray]:
        counts = (self.stored_positions, self.fresh_positions, self.stored_games, self.fresh_games)
        return {"counts": np.array(counts)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        counts = (int(count) for count in state["counts"])
        self.stored_positions, self.fresh_positions, self.stored_games, self.fresh_games = counts
