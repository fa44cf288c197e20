"""A collapse: a run that plays far worse than it did on the way."""

FAR = 0.5  # share of the best return that is lost


def is_collapse(mean: float, high: float, best: float) -> bool:
    """Whether an evaluation lies far below the best one on the way; `high` is the upper end of its interval."""
    return mean < best - FAR * abs(best) and high < best - 0.5 * FAR * abs(best)
