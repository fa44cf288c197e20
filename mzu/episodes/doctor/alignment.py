"""Does a reward belong to its step or to a neighbour? Found out from the data alone.

`rewards[t]` must follow `actions[t]`: what earned it shows in `observations[t + 1]`. A dataset that is off by one
teaches a wrong reward at every step, silently; `load_episodes(..., reward_shift=1)` repairs it. Notebook
10_dataset_doctor.

What no look at the data can tell, and the report says so: rewards that hardly change (or come too seldom), rewards that
nothing observed explains, and, of states in an unknown environment, a reward for the state after the step from one for
the state before the next: moved by one step, the first is the second.
"""

from typing import NamedTuple

import numpy as np

from mzu.episodes.episode import Episode

SHIFTS = (-2, -1, 0, 1, 2)  # by how many steps rewards may have to move to later ones; 0 is right
MOST_STEPS = 20_000
_PIECE = 1000  # frames at a time, which bounds the memory
_PIXEL_CHANGE = 8  # grey levels; below that it may be the resizing
_RANDOM_FEATURES = 200
_PIECE_OF_PLAY = 25  # steps; neighbours are alike, pieces are taken as independent


class Judgement(NamedTuple):
    """By how many steps rewards must move to later ones, the shifts that cannot be told from this one, all scores.

    Where nothing can be said `shift` is 0 and all others are unclear; without enough rewards there are no scores.
    """

    shift: int
    unclear: tuple[int, ...]
    scores: dict[int, float] | None


def _nothing_said(scores: dict[int, float] | None) -> Judgement:
    return Judgement(0, tuple(shift for shift in SHIFTS if shift), scores)


class ImageAlignment:
    """How well some pixel's changes go with the rewards, for each shift; a score display does so perfectly.

    At shift k the change from frame t + k to t + k + 1 is compared with "rewards[t] is not zero", pixel by pixel: the
    correlation of two yes-or-no series. `scores` holds the mean over the best few pixels, 1 for perfect agreement.
    """

    BEST_PIXELS = 8

    def __init__(self):
        self.steps = self.events = 0
        self._together = self._changes = None

    def add(self, episode: Episode) -> None:
        frames = episode.observations.reshape(len(episode) + 1, -1)
        for start in range(0, len(episode), _PIECE):
            stop = min(start + _PIECE, len(episode))
            if self.steps < MOST_STEPS and stop - start >= 8:
                self._add_piece(frames[start : stop + 1], episode.rewards[start:stop])

    def _add_piece(self, frames: np.ndarray, rewards: np.ndarray) -> None:
        changed = np.abs(np.diff(frames.astype(np.int16), axis=0)) > _PIXEL_CHANGE  # [t]: from frame t to t + 1
        first, last = -min(SHIFTS), len(changed) - max(SHIFTS)
        rewarded = rewards[first:last] != 0
        if self._together is None:
            self._together = np.zeros((len(SHIFTS), frames.shape[1]))
            self._changes = np.zeros_like(self._together)
        for row, shift in enumerate(SHIFTS):
            window = changed[first + shift : last + shift]
            self._together[row] += window[rewarded].sum(axis=0)
            self._changes[row] += window.sum(axis=0)
        self.steps += len(rewarded)
        self.events += int(rewarded.sum())

    def scores(self) -> dict[int, float] | None:
        """Shift to score; None where there are too few rewards to say anything."""
        if self.events < 5 or self.events > 0.5 * self.steps:
            return None
        rate, change = self.events / self.steps, self._changes / self.steps
        spread = np.sqrt(np.maximum(change * (1 - change), 1e-12) * rate * (1 - rate))
        correlation = (self._together / self.steps - change * rate) / spread
        best = np.sort(correlation, axis=1)[:, -self.BEST_PIXELS :].mean(axis=1)
        return dict(zip(SHIFTS, best.tolist(), strict=True))

    def judge(self) -> Judgement:
        """Another shift must agree almost perfectly, and the present one must not."""
        scores = self.scores()
        if scores is None:
            return _nothing_said(scores)
        highest = max(scores.values())
        best = min((shift for shift in scores if scores[shift] > highest - 0.1), key=abs)
        shift = best if scores[best] > 0.8 and scores[0] < 0.6 * scores[best] else 0
        if scores[shift] < 0.3:
            return _nothing_said(scores)
        return Judgement(shift, tuple(k for k in SHIFTS if k != shift and scores[k] > 0.8 * scores[shift]), scores)


class StateAlignment:
    """How well the transition t + shift explains how rewards change at t: 1 - error / variance on unseen steps.

    The explanation is least squares on squares, products and random smooth features of the transition: observation,
    action, next observation; only the last two where rewards are known to be for the state after the step. Changes from
    step to step are explained rather than the rewards themselves, which neighbours share where motion is smooth.
    """

    def __init__(self, after_step: bool = False):
        self.steps = 0
        self._after_step = after_step
        self._rows = []

    def add(self, episode: Episode) -> None:
        """Takes an episode's states, actions and rewards into account, until there are enough."""
        if self.steps >= MOST_STEPS or len(episode) < 8 or episode.observations.ndim != 2:
            return
        first, last = -min(SHIFTS), min(len(episode) - max(SHIFTS), MOST_STEPS)
        actions = episode.actions if episode.is_continuous else episode.actions[:, None]
        parts = [actions, episode.observations[1:]]
        if not self._after_step:
            parts.append(episode.observations[:-1])
        transitions = np.concatenate(parts, axis=1)
        windows = [transitions[first + shift : last + shift] for shift in SHIFTS]
        self._rows.append((np.stack(windows), episode.rewards[first:last], np.arange(last - first) > 0))
        self.steps += last - first

    def judge(self) -> Judgement:
        """Another shift must leave clearly less unexplained.

        Among those that explain about as much as the best: the one nearest to where the rewards are now.
        """
        found = self._errors()
        if found is None:
            return _nothing_said(None)
        errors, variance, pieces = found
        left = {shift: float(np.mean(error) / variance) for shift, error in errors.items()}
        scores = {shift: 1 - unexplained for shift, unexplained in left.items()}
        left = {shift: max(unexplained, 0.005) for shift, unexplained in left.items()}  # below that it is all the same

        def is_worse(one: int, other: int) -> bool:
            """Whether `one` leaves clearly more than `other`, by more than the chance of a few pieces of play."""
            more = np.bincount(pieces, errors[one] - errors[other])
            return left[other] < 0.9 * left[one] and more.mean() > 2.5 * more.std() / np.sqrt(len(more))

        least = min(left, key=left.get)
        best = min((shift for shift in SHIFTS if not is_worse(shift, least)), key=abs)
        if left[best] > 0.8:
            return _nothing_said(scores)
        shift = best if left[best] < 0.8 * left[0] else 0
        return Judgement(shift, tuple(k for k in SHIFTS if k != shift and not is_worse(k, shift)), scores)

    def _errors(self):
        """{shift: squared errors on unseen steps}, their variance, and the piece of play that each step belongs to."""
        if self.steps < 400:
            return None
        transitions = np.concatenate([rows[0] for rows in self._rows], axis=1).astype(np.float64)
        within = np.concatenate([rows[2] for rows in self._rows])[1:]  # no difference across two episodes
        changes = np.diff(np.concatenate([rows[1] for rows in self._rows]).astype(np.float64))[within]
        judged = np.random.default_rng(0).random(len(changes)) < 0.3
        if min(changes[judged].std(), changes[~judged].std()) < 1e-9:
            return None
        errors = {}
        for shift, inputs in zip(SHIFTS, transitions, strict=True):
            features = np.diff(_features(inputs, most=len(changes) // 8), axis=0)[within]
            fit = _ridge(features[~judged], changes[~judged])
            errors[shift] = (features[judged] @ fit - changes[judged]) ** 2
        return errors, changes[judged].var(), np.flatnonzero(judged) // _PIECE_OF_PLAY


def _features(inputs: np.ndarray, most: int) -> np.ndarray:
    """[steps, F] with F at most about `most`, so that a short dataset is not learnt by heart."""
    scaled = np.clip((inputs - inputs.mean(axis=0)) / (inputs.std(axis=0) + 1e-6), -5, 5)
    columns = [np.ones((len(scaled), 1)), scaled, scaled**2]
    size = scaled.shape[1]
    if size * (size - 1) // 2 <= most // 2:
        columns += [scaled[:, i : i + 1] * scaled[:, i + 1 :] for i in range(size - 1)]
    rng = np.random.default_rng(0)
    count = min(_RANDOM_FEATURES, most // 2)
    weights = rng.normal(size=(size, count)) / np.sqrt(size)
    return np.concatenate([*columns, np.tanh(scaled @ weights + rng.normal(size=count))], axis=1)


def _ridge(features: np.ndarray, targets: np.ndarray) -> np.ndarray:
    gram = features.T @ features
    gram[np.diag_indices_from(gram)] += 1e-5 * np.trace(gram) / len(gram)
    return np.linalg.solve(gram, features.T @ targets)
