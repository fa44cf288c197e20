"""`HeadRange`: notices rewards and values that lie beyond what the network's heads can express.

A categorical head ends at a largest number (`network.value_support`, `network.reward_support`), and everything beyond
is learned as that number, silently. A run says so as soon as it can be known: of rewards, and of the discounted rewards
that followed a position until its episode's end, as soon as an episode is there; of targets, when one is made. A head
that learns by regression has no end.
"""

import math
from collections.abc import Iterable

import numpy as np

from mzu.config import Config
from mzu.networks.scalars import inverse_transform, transform

ROOM = 1.2  # of the support that is advised beyond what was seen: better play earns more


class HeadRange:
    """Looks at rewards, episodes and targets; `take_news` gives each sentence once."""

    def __init__(self, config: Config):
        network, self._discount = config.network, config.search.discount
        self._ends = {}
        if network.scalar_head != "regression":
            self._ends = {kind: _number_at(getattr(network, f"{kind}_support") + 0.5) for kind in ("reward", "value")}
        self._supports = {kind: getattr(network, f"{kind}_support") for kind in self._ends}
        self._said: set[str] = set()
        self._news: list[str] = []

    def look_at_rewards(self, rewards: Iterable[float]) -> None:
        """Rewards of one episode, to its end [T]: each of them, and what each position was worth."""
        if "value" in self._said or not self._ends:
            return
        rewards = np.asarray(rewards, np.float64)
        self._look("reward", rewards)
        worth, worths = 0.0, []
        for reward in rewards[::-1].tolist():
            worth = reward + self._discount * worth
            worths.append(worth)
        self._look("value", np.array(worths))

    def look_at_targets(self, targets) -> None:
        """The targets of a batch, where they count (`mzu.learning.targets.Targets`)."""
        self._look("reward", targets.rewards * targets.reward_mask)
        self._look("value", targets.values * targets.value_mask)

    def take_news(self) -> list[str]:
        """What was noticed since the last call: at most one sentence on rewards and one on values in a run."""
        news, self._news = self._news, []
        return news

    def _look(self, kind: str, numbers: np.ndarray) -> None:
        if kind in self._said or kind not in self._ends or numbers.size == 0:
            return
        largest = float(np.abs(numbers).max())
        if largest <= self._ends[kind]:
            return
        self._said.add(kind)
        support = self._supports[kind]
        enough = math.ceil(ROOM * float(np.asarray(transform(np.float64(largest)))))
        self._news.append(
            f"{kind}s reach {_shown(largest)}, but network.{kind}_support={support} ends at "
            f"{_shown(_number_at(support))}, and larger ones are learned as that; train anew with --set "
            f"network.{kind}_support={enough} or --set network.scalar_head=regression"
        )


def _number_at(category: float) -> float:
    """What a category stands for: h^-1."""
    return float(np.asarray(inverse_transform(np.float64(category))))


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
