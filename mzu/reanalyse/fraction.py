"""The reanalyse fraction: whether the next game is a stored one (paper, section "Reanalyse"; notebook 04_reanalyse)."""

import numpy as np


class FractionController:
    """Chooses the kind of each new game so that `fraction` of all searched positions are stored ones.

    Games are played in lockstep: every round searches one position of each. If stored games have a share f of the
    places, they have a share f of the searched positions, however long the games are. So they should have f * places of
    the places, plus as many as it takes to make up, within the length of one game, for the stored positions that are
    missing so far.

    A place that becomes free gets a stored game if at least one more is wanted, and a fresh one if none is. If less
    than one more is wanted, chance decides, and the two kinds share the place in time. Whoever plays longer games has
    it for longer, so the chance of each kind is divided by the mean length of its games.
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

        `available` says whether there is any; `stored_elsewhere` of the other places - 1 games are stored ones.
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
