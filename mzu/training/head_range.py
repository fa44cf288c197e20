"""`HeadRange`: notices rewards and values of a size that the network's heads cannot learn.

A categorical head ends at a largest number (`network.value_support`, `network.reward_support`), and everything beyond
is learned as that number, silently. A head that learns by regression has no end, but its squared error grows with the
number, until nothing else is learned. Both tell little apart where all that an episode is worth is a small part of one
category, or of a squared error of order 1.

A run says so as soon as it can be known: of rewards, and of the discounted rewards that followed a position until its
episode's end, as soon as an episode is there; of targets, when one is made; that all are small, after `SETTLED` learner
steps.
"""

import math
from collections.abc import Iterable

import numpy as np

from mzu.config import Config
from mzu.networks.scalars import inverse_transform, transform

ROOM = 1.2  # of the support that is advised beyond what was seen: better play earns more
REGRESSION_END = 60  # after h: a squared error of 3,600, where the policy's loss is about 1
MOST_OUTPUTS = 1200  # of a head that is advised: 601 in the paper
TOO_SMALL = 0.05  # after h, in categories: values of 0.1
FINE = 10  # categories that the largest of small values is advised to reach
MODERATE = 20  # after h: what the largest of large values is advised to be divided down to, 422
CATEGORIES = "--set network.scalar_head=categorical --set learning.value_loss_scale=1"
SETTLED = 100  # learner steps until it is said that all is small


class HeadRange:
    """Looks at rewards, episodes and targets; `take_news` gives each sentence once."""

    def __init__(self, config: Config):
        self._network, self._discount = config.network, config.search.discount
        self._is_regression = config.network.scalar_head == "regression"
        self._supports = {kind: getattr(config.network, f"{kind}_support") for kind in ("reward", "value")}
        self._ends = {
            kind: _number_at(REGRESSION_END if self._is_regression else support + 0.5)
            for kind, support in self._supports.items()
        }
        self._largest = dict.fromkeys(self._ends, 0.0)  # of what really followed, and of targets
        self._worth = 0.0  # the largest of what really followed: no network had a say in it
        self._steps = 0
        self._said: set[str] = set()
        self._news: list[str] = []

    def look_at_rewards(self, rewards: Iterable[float]) -> None:
        """Rewards of one episode, to its end [T]: each of them, and what each position was worth."""
        if "value" in self._said:
            return
        rewards = np.asarray(rewards, np.float64)
        worth, worths = 0.0, []
        for reward in rewards[::-1].tolist():
            worth = reward + self._discount * worth
            worths.append(worth)
        self._worth = max(self._worth, np.abs(worths).max(initial=0.0), np.abs(rewards).max(initial=0.0))
        self._look("reward", rewards)
        self._look("value", np.array(worths))

    def look_at_targets(self, targets) -> None:
        """The targets of a learner step's batch, where they count (`mzu.learning.targets.Targets`)."""
        self._look("reward", targets.rewards * targets.reward_mask)
        self._look("value", targets.values * targets.value_mask)
        self._steps += 1
        if self._steps == SETTLED:
            self._look_whether_small()

    def take_news(self) -> list[str]:
        """What was noticed since the last call: at most one sentence on rewards and one on values in a run."""
        news, self._news = self._news, []
        return news

    def _look(self, kind: str, numbers: np.ndarray) -> None:
        largest = float(np.abs(numbers).max(initial=0.0))
        self._largest[kind] = max(self._largest[kind], largest)
        if kind in self._said or largest <= self._ends[kind]:
            return
        self._said.add(kind)
        if self._is_regression:
            reason = "which a head that learns by regression hardly reaches, and learns instead of the policy"
        else:
            support = self._supports[kind]
            reason = (
                f"but network.{kind}_support={support} ends at {_shown(_number_at(support))}, and larger ones are "
                "learned as that"
            )
        self._news.append(f"{kind}s reach {_shown(largest)}, {reason}; {self._advice(kind)}")

    def _advice(self, kind: str) -> str:
        """What to do about numbers that are too large."""
        enough = {kind: math.ceil(ROOM * _category(largest)) for kind, largest in self._largest.items()}
        if 2 * enough[kind] * self._network.bins_per_unit > MOST_OUTPUTS:
            shrunk = 10 ** math.ceil(math.log10(self._largest[kind] / _number_at(MODERATE)))
            return f"divide the rewards by {shrunk:,} in the environment or in the data"
        if not self._is_regression:
            return f"train anew with --set network.{kind}_support={enough[kind]}"
        supports = [
            f"--set network.{name}_support={enough[name]}" for name in enough if enough[name] > self._supports[name]
        ]
        return f"train anew with {CATEGORIES} {' '.join(supports)}"

    def _look_whether_small(self) -> None:
        """Everything that was seen is small; where nothing was seen yet, it may be anything."""
        bins = 1 if self._is_regression else self._network.bins_per_unit
        if self._worth == 0 or self._said or _category(self._worth) * bins > TOO_SMALL:
            return
        grown = 10 ** math.ceil(-math.log10(self._worth))
        fine = math.ceil(FINE / _category(self._worth))
        setting = (
            f", or train anew with {CATEGORIES} --set network.value_support=1 --set network.reward_support=1 --set "
            f"network.bins_per_unit={fine}"
        )
        self._news.append(
            f"no episode so far was worth more than {_shown(self._worth)}, and the heads hardly tell such numbers "
            f"apart; multiply the rewards by {grown:,} in the environment or in the data"
            + (setting if 2 * fine <= MOST_OUTPUTS else "")
        )


def _category(number: float) -> float:
    """Where a number lies: h."""
    return float(np.asarray(transform(np.float64(number))))


def _number_at(category: float) -> float:
    """What a category stands for: h^-1."""
    return float(np.asarray(inverse_transform(np.float64(category))))


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
