"""An operator that is steady: prior * exp(clipped advantage), in units of a running scale (notebook 08_unplugged).

    A_k   q_k - sum of p_j q_j                                      what the tree says of a candidate
    A_i   r + discount * v(next) - v(root)                          the injected one, where what followed is asked
    w_k   p_k * exp(clip(A_k / (T s), -c, c)), normalised

s is a running mean, over all searches of a run, of sqrt(sum of p_k A_k^2). Visit counts and Gumbel's sigma stretch the
values of every single search to the range from 0 to 1, so that noise decides where nothing is at stake; s keeps small
differences small. The clip limits how far one target may move from the prior: no ratio of weights changes by more than
exp(2 c).

Each kind of value has a baseline that makes the same mistake: the model's values are compared with the mean of the
model's, what really followed with the network's value of the real state. Compared with each other, the error of the
model in this state would look like an advantage.
"""

import numpy as np

from mzu.search.improvement.root import Root


def advantages(root: Root) -> np.ndarray:
    """A [B, K]; 0 where there is no candidate, or none that was evaluated."""
    stored = ~np.isnan(root.stored_value)
    is_stored = stored[:, None] & (np.arange(root.prior.shape[1]) == root.injected[:, None])
    known = ~np.isnan(root.q) & ~is_stored & (root.prior > 0)
    prior, q = np.where(known, root.prior, 0.0), np.where(known, root.q, 0.0)
    share = prior.sum(axis=1, keepdims=True)
    baseline = (prior * q).sum(axis=1, keepdims=True) / np.where(share > 0, share, 1.0)
    advantage = np.where(known, q - baseline, 0.0)
    return np.where(is_stored, (root.stored_value - root.raw_value)[:, None], advantage)


def spread_of(root: Root, advantage: np.ndarray) -> np.ndarray:
    """sqrt(sum of p_k A_k^2) [B]: how far the candidates of one root lie apart."""
    return np.sqrt((root.prior * advantage**2).sum(axis=1) / root.prior.sum(axis=1))


def advantage_policy(root: Root, advantage: np.ndarray, scale, temperature: float, clip: float) -> np.ndarray:
    """w [B, K] from A [B, K]; `scale` is one number, or one for each root."""
    unit = np.broadcast_to(np.asarray(scale, float) * temperature, root.raw_value.shape)[:, None]
    # Where nothing differs, nothing is to be preferred: 0 / 0 is no advantage.
    ratio = np.divide(advantage, unit, out=np.zeros_like(advantage), where=unit > 0)
    weights = root.prior * np.exp(np.clip(ratio, -clip, clip))
    return weights / weights.sum(axis=1, keepdims=True)


class RunningScale:
    """s, a running mean of the spreads of all searches so far: of about the last 1 / (1 - decay) batches.

    Part of a run's state. The first batch is measured by the spread of each root, since nothing else is known.
    """

    decay = 0.99

    def __init__(self):
        self.total, self.weight = 0.0, 0.0

    @property
    def value(self) -> float | None:
        return self.total / self.weight if self.weight else None

    def update(self, spread: np.ndarray) -> None:
        """Takes the spreads [B] of a batch of searches in."""
        self.total = self.decay * self.total + (1 - self.decay) * float(np.mean(spread))
        self.weight = self.decay * self.weight + (1 - self.decay)

    def state(self) -> dict[str, np.ndarray]:
        return {"total": np.array(self.total), "weight": np.array(self.weight)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.total, self.weight = float(state["total"]), float(state["weight"])
