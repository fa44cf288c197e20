"""Players: named mediocre ways to act in an environment, for data of mixed quality (`mzu collect --policy players`).

What a good player does most often could simply be copied. These players are wrong in ways that do not average out, or
so noisy that their mean action is a bad one, so that something is left to learn from the rewards. Each player has a
share of the episodes, and ranges from which the disturbances of an episode are drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mzu.environments.environment import Environment
from mzu.environments.policies import (
    cartpole,
    cartpole_swingup,
    catch,
    cheetah_run,
    noisy_policy,
    point_mass,
    random_policy,
)


@dataclass(frozen=True)
class ScriptedPlayer:
    """One way to act, and how much it is disturbed.

    field    meaning
    name     what the episodes' source says
    act      `act(observation) -> action`; None plays randomly
    weight   its share of the episodes, in proportion to the other players' weights
    noise    the probability of a random action is drawn from this range, once per episode
    sticky   likewise the probability of repeating the last action
    spread   likewise the standard deviation of normal noise on continuous actions
    """

    name: str
    act: Callable | None
    weight: float = 1.0
    noise: tuple[float, float] = (0.0, 0.0)
    sticky: tuple[float, float] = (0.0, 0.0)
    spread: tuple[float, float] = (0.0, 0.0)


def draw_player(environment: Environment, rng: np.random.Generator):
    """(name, policy) for one episode: a player of this environment by weight, with disturbances from its ranges."""
    players = PLAYERS.get(environment.id) or PLAYERS.get(environment.unheld.id)
    if players is None:
        raise ValueError(f"There are no players for {environment.id}; there are for {', '.join(PLAYERS)}")
    weights = np.array([player.weight for player in players])
    player = players[rng.choice(len(players), p=weights / weights.sum())]
    noise, sticky, spread = (rng.uniform(*bounds) for bounds in (player.noise, player.sticky, player.spread))
    play = random_policy(environment) if player.act is None else lambda observation, rng: player.act(observation)
    return player.name, noisy_policy(environment, play, noise, sticky, spread)


def flee(observation) -> int:
    """Catch: where `catch` goes left, right; where it goes right, left."""
    return 2 - catch(observation)


def leave_the_middle(observation, lean=0.06) -> int:
    """CartPole: keep the pole up, but leaning to the nearer end of the rail, and follow it there. 156 of 500."""
    return cartpole(observation, place=0, speed=0, turning=0.1, bias=lean if observation[0] < 0 else -lean)


PLAYERS = {
    # Both lean to one side and leave the rail there in the end, unless chance intervenes: 10 to 100 % of the actions.
    "CartPole-v1": (
        ScriptedPlayer(
            "drifts to the left", partial(cartpole, place=0, speed=0, turning=0.1, bias=0.04), noise=(0.1, 1.0)
        ),
        ScriptedPlayer(
            "drifts to the right", partial(cartpole, place=0, speed=0, turning=0.1, bias=-0.04), noise=(0.1, 1.0)
        ),
    ),
    # One fault on both sides: the better a copy, the more surely it leaves the rail. Chance shows what else there is.
    "CartPole-v1?repeat=2": (ScriptedPlayer("leaves the middle", leave_the_middle, noise=(0.1, 1.0)),),
    # Holds the pole up and lets the cart run to the end of the rail, where the pole falls again.
    "dm_control:cartpole-swingup": (
        ScriptedPlayer("forgets the cart", partial(cartpole_swingup, gains=(0, 0, 4, 1)), noise=(0.2, 1.0)),
    ),
    # All aim beside the target, most of them to the same side; their mean is no good aim either.
    "dm_control:point_mass-easy": (
        ScriptedPlayer("aims to the right", partial(point_mass, aim=(0.03, 0.0)), 3, noise=(0.1, 0.6), spread=(0, 0.5)),
        ScriptedPlayer("aims above", partial(point_mass, aim=(0.01, 0.03)), 2, noise=(0.1, 0.6), spread=(0, 0.5)),
        ScriptedPlayer("too weak", partial(point_mass, pull=1.0), 1, noise=(0.1, 0.6), spread=(0, 0.5)),
        ScriptedPlayer("random", None, 1, sticky=(0, 0.8)),
    ),
    # Stages of a search for a gait, disturbed: what a policy that learns would have recorded on its way.
    "dm_control:cheetah-run": (
        ScriptedPlayer("late gait", cheetah_run, 4, noise=(0, 0.2), spread=(0, 0.5)),
        ScriptedPlayer("middle gait", partial(cheetah_run, stage="middle"), 3, noise=(0, 0.3), spread=(0, 0.5)),
        ScriptedPlayer("early gait", partial(cheetah_run, stage="early"), 2, noise=(0, 0.3), spread=(0, 0.5)),
        ScriptedPlayer("weak legs", partial(cheetah_run, gain=0.5), 2, spread=(0, 0.4)),
        ScriptedPlayer("clumsy legs", partial(cheetah_run, gain=3), 2, noise=(0, 0.2), sticky=(0, 0.5)),
        ScriptedPlayer("random", None, 1, sticky=(0, 0.8)),
    ),
    # Most episodes wait one column to the right of the ball, where all but a ball at the right wall is missed.
    "catch": (
        ScriptedPlayer("tries", catch, 4, noise=(0.2, 0.6)),
        ScriptedPlayer("aims beside the ball", partial(catch, beside=1), 5, noise=(0, 0.4)),
        ScriptedPlayer("flees from the ball", flee, 1, noise=(0.1, 0.5)),
        ScriptedPlayer("random", None, 2),
    ),
}
