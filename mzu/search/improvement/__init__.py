"""What is made of a finished tree: the improved policy over the root's candidates (notebook 08_unplugged).

operator     improved policy, proportional to                             from
visits       how often the candidate was visited                          MuZero
advantage    prior * exp(advantage in units of a running scale)           Muesli, CRR and MPO, with the tree's values
completed_q  prior * exp(sigma(value)), unvisited ones completed          Gumbel MuZero
one_step     prior * exp(advantage) after one step of the model           ROSMO

The paper uses visits and says that other operators fit its loop. Whatever the operator, its policy is the target that
the policy head learns and what an agent acts by. Each has a module of its own, and a plain twin in `reference.py`.
"""

from typing import NamedTuple

import numpy as np

from mzu.config import SearchConfig
from mzu.search.improvement.advantage import advantage_policy, advantages, spread_of
from mzu.search.improvement.completed_q import completed_q_policy
from mzu.search.improvement.one_step import one_step_policy
from mzu.search.improvement.root import Root
from mzu.search.improvement.visits import visits_policy


class Improved(NamedTuple):
    """policy [B, K]: the improved policy. advantage [B, K] and spread [B] where the operator has them, else None."""

    policy: np.ndarray
    advantage: np.ndarray | None = None
    spread: np.ndarray | None = None


def improve(root: Root, config: SearchConfig, scale: float | None = None) -> Improved:
    """The improved policy of B roots by `config.improvement`.

    `scale` is the running scale of `advantage`; without one, every root is measured by the spread of its own values.
    """
    if scale is not None and not (np.isfinite(scale) and scale >= 0):
        raise ValueError(f"The scale of the advantages is {scale}, but must be a finite number of at least 0")
    if config.improvement == "visits":
        return Improved(visits_policy(root))
    if config.improvement == "completed_q":
        return Improved(completed_q_policy(root, config.completed_value_scale, config.completed_visit_offset))
    if config.improvement == "one_step":
        return Improved(one_step_policy(root, config.advantage_temperature))
    advantage = advantages(root)
    spread = spread_of(root, advantage)
    policy = advantage_policy(
        root, advantage, spread if scale is None else scale, config.advantage_temperature, config.advantage_clip
    )
    return Improved(policy, advantage, spread)
