"""Worlds put into the state that an observation shows, so that a single recorded step can be taken again.

Gymnasium's classic worlds are put there by formula. For a task of DM Control the state is looked for: positions and
speeds of all joints such that what they show comes nearest to the observation (least squares); what is not observed,
such as how far a cheetah has run, stays where a reset put it. Which worlds can be trusted with it is found out by
trying it on their own play (`episodes/doctor/layout.py`).
"""

import math
from collections.abc import Callable

import numpy as np

from mzu.environments.environment import Environment

_MOST_TRIES = 3  # of the search for a state, each from another start
_HINGE = 3  # MuJoCo's number of this kind of joint
_CLOSE = 1e-3  # root of the mean squared error of an observation that is shown


def state_setter(environment: Environment) -> Callable[[np.ndarray], np.ndarray] | None:
    """A function that puts the world into the state that an observation shows -> what is observed there.

    The world must have been reset. None where nobody knows how.
    """
    world = environment.unheld
    inner = getattr(world, "world", None)
    if hasattr(inner, "physics") and hasattr(world, "sizes"):
        found: dict[bytes, np.ndarray] = {}  # what was looked for once

        def set_control(observation: np.ndarray) -> np.ndarray:
            key = np.asarray(observation, np.float32).tobytes()
            if key not in found:
                found[key] = _state_showing(world, observation)
            return _show(world, found[key])

        return set_control
    formula = _CLASSIC.get(getattr(getattr(inner, "spec", None), "id", None))
    if formula is None:
        return None

    def set_classic(observation: np.ndarray) -> np.ndarray:
        inner.unwrapped.state = np.array(formula(*map(float, observation)), np.float64)
        return np.asarray(observation, np.float32)

    return set_classic


_CLASSIC = {
    "CartPole-v0": lambda *state: state,
    "CartPole-v1": lambda *state: state,
    "MountainCar-v0": lambda *state: state,
    "MountainCarContinuous-v0": lambda *state: state,
    "Pendulum-v1": lambda cosine, sine, speed: (math.atan2(sine, cosine), speed),
    "Acrobot-v1": lambda cosine, sine, cosine_2, sine_2, speed, speed_2: (
        math.atan2(sine, cosine), math.atan2(sine_2, cosine_2), speed, speed_2,
    ),
}  # fmt: skip


def _show(world, state: np.ndarray) -> np.ndarray:
    """What a task of DM Control shows with these positions and speeds of its joints."""
    physics = world.world.physics
    with physics.reset_context():
        physics.data.qpos[:], physics.data.qvel[:] = np.split(state, [physics.model.nq])
    return world.observe()


def _state_showing(world, wanted: np.ndarray) -> np.ndarray:
    """The positions and speeds that show the observation, or what comes nearest to it."""
    from scipy.optimize import least_squares

    data = world.world.physics.data
    start, positions = np.concatenate([data.qpos, data.qvel]), len(data.qpos)
    rng, best = np.random.default_rng(0), None
    for attempt in range(_MOST_TRIES):
        guess = start.copy()
        guess[:positions] += rng.uniform(-1, 1, positions) * np.pi * attempt / _MOST_TRIES
        # Observations are float32: differences must be larger than their rounding.
        found = least_squares(
            lambda state: _show(world, state).astype(np.float64) - wanted, guess, diff_step=1e-4, max_nfev=30
        )
        if best is None or found.cost < best.cost:
            best = found
        if math.sqrt(2 * best.cost / len(wanted)) < _CLOSE:
            break
    return _within_limits(world.world.physics.model, best.x)


def _within_limits(model, state: np.ndarray) -> np.ndarray:
    """Hinges turned by whole turns into their ranges: an observation cannot tell them, the forces at a limit can."""
    state = state.copy()
    for joint in np.flatnonzero((model.jnt_type == _HINGE) & (model.jnt_limited != 0)):
        place, middle = model.jnt_qposadr[joint], np.mean(model.jnt_range[joint])
        state[place] -= 2 * np.pi * np.round((state[place] - middle) / (2 * np.pi))
    return state
