"""Ways to act without having learned anything: random play, and by-hand heuristics to make data of mixed quality.

A policy is a function `policy(observation, rng) -> action` of the contract in `mzu.environments.environment`. There are
heuristics for the environments in `HEURISTICS`; each says in one line what it does and what it scores.
"""

import functools
import json
import math
from pathlib import Path

import numpy as np

from mzu.environments.environment import Environment, is_legal, random_action


def random_policy(environment: Environment):
    """Uniform over the legal actions, or over [-1, 1]^D."""
    return lambda observation, rng: random_action(environment.spaces, rng, environment.legal_actions())


def heuristic_policy(environment: Environment):
    """The heuristic for this environment, by its id; where actions are held, it decides less often."""
    world = environment.unheld.id
    heuristic = HEURISTICS.get(world)
    if heuristic is None:
        raise ValueError(f"There is no heuristic for {world}; there are for {', '.join(HEURISTICS)}")
    return lambda observation, rng: heuristic(observation)


def noisy_policy(environment: Environment, policy, noise: float, sticky: float = 0.0, spread: float = 0.0):
    """`policy`, but with probability `noise` a random action, and with probability `sticky` the last action again.

    Both are decided anew at every step, the sticky one first. To continuous actions of `policy`, normally distributed
    numbers with standard deviation `spread` are added. The returned policy remembers its last action: make a new one
    for every episode.
    """
    for name, probability in (("noise", noise), ("sticky", sticky)):
        if not 0 <= probability <= 1:
            raise ValueError(f"{name} is {probability}, but must lie between 0 and 1")
    if spread < 0 or (spread > 0 and not environment.spaces.continuous):
        raise ValueError(f"spread is {spread}, but must be 0, or above it where actions are continuous")
    play_randomly = random_policy(environment)
    last = None

    def act(observation, rng):
        nonlocal last
        repeat, explore = rng.random(2) < (sticky, noise)
        if not (repeat and last is not None and is_legal(environment, last)):
            last = (play_randomly if explore else policy)(observation, rng)
            if spread and not explore:
                last = np.clip(last + rng.normal(0, spread, last.shape), -1, 1).astype(np.float32)
        return last

    return act


def cartpole(observation, place=0.02, speed=0.05, angle=1.0, turning=0.3, bias=0.0) -> int:
    """CartPole: push to the side to which the pole falls, and a little towards the middle. 500, the most there is."""
    gains = place, speed, angle, turning
    return int(sum(gain * number for gain, number in zip(gains, observation, strict=True)) + bias > 0)


def pendulum(observation) -> np.ndarray:
    """Pendulum: give it the energy of standing upright, and hold it there. About -150."""
    cosine, sine, turning = (float(number) for number in observation)
    # Gymnasium's pendulum: g = 10, length and mass 1, so a rod with inertia 1/3, and energy 5 when it stands.
    energy = turning**2 / 6 + 5 * cosine
    angle = math.atan2(sine, cosine)
    if cosine > 0.85 and abs(turning) < 4:
        torque = -(12 * angle + 3 * turning)
    else:
        torque = 2 * math.copysign(1, turning) * np.clip(5 - energy, -1, 1)
    return np.float32([np.clip(torque / 2, -1, 1)])


def catch(observation, beside=0) -> int:
    """Catch: move towards the ball, or so many columns to the right of it. 1, the most there is."""
    board = observation[..., 0]
    row, ball = np.argwhere(board)[0]
    paddle = int(np.argmax(board[-1]))
    return 1 + int(np.sign(ball + beside - paddle)) if row < len(board) - 1 else 1


def point(observation) -> np.ndarray:
    """Point: straight to the target, as fast as possible."""
    way = observation[len(observation) // 2 :]
    return np.clip(10 * way, -1, 1).astype(np.float32)


def chain(observation) -> int:
    """Chain: always right. 1."""
    return 1


def identity(observation):
    """The identity games: what the observation says. 10."""
    if observation.ndim == 3:
        return int(np.argmax(observation[0, :, 0]))
    return int(np.argmax(observation))


def identity_continuous(observation) -> np.ndarray:
    return observation.astype(np.float32)


GAINS = (0.3, 0.4, 4.0, 1.0)  # place, speed, angle, turning; found by trying 18 sets


def cartpole_swingup(observation, pump=0.05, spring=0.15, damping=0.1, gains=GAINS) -> np.ndarray:
    """DM Control's cartpole-swingup: pump energy into the pole by moving the cart, then balance it in the middle.

    Far from upright the push follows the energy that is missing (Åström and Furuta 2000), minus a spring that keeps
    the cart on its rail; near upright it is a linear state feedback. The angle is 0 when upright. About 800.
    """
    place, cosine, sine, speed, turning = (float(number) for number in observation)
    angle = math.atan2(sine, cosine)
    # A rod of length 1: energy per m l^2 / 2 of turning around its end, 0 when it stands still upright.
    energy = turning**2 / 3 + 9.81 * (cosine - 1)
    if cosine > 0.8 and abs(turning) < 4:
        push = gains[0] * place + gains[1] * speed + gains[2] * angle + gains[3] * turning
    else:
        push = pump * energy * turning * cosine - spring * place - damping * speed
    return np.float32([np.clip(push, -1, 1)])


def point_mass(observation, pull=4.0, damping=1.0, aim=(0.0, 0.0)) -> np.ndarray:
    """DM Control's point_mass-easy: pulled towards the target, or `aim`, by a damped spring. About 700."""
    place, speed = observation[:2], observation[2:]
    return np.clip(pull * (np.array(aim) - place) - damping * speed, -1, 1).astype(np.float32)


def cheetah_run(observation, stage="late", gain=1.0) -> np.ndarray:
    """DM Control's cheetah-run: tanh of a linear state feedback, whose gait comes from the body's own swinging.

    Its numbers were found by augmented random search (Mania, Guy and Recht 2018); `stage` says after how much of it.
    "early" scores about 220, "middle" 320 and "late" 400, each with some falls.
    """
    weights, bias = _gait(stage)
    return np.tanh(gain * (weights @ observation + bias)).astype(np.float32)


@functools.cache
def _gait(stage: str) -> tuple[np.ndarray, np.ndarray]:
    """weights [6, 17] and bias [6] of a stage of the search."""
    gait = json.loads((Path(__file__).parent / "cheetah_gait.json").read_text())[stage]
    return np.array(gait["weights"]), np.array(gait["bias"])


HEURISTICS = {
    "CartPole-v0": cartpole,
    "CartPole-v1": cartpole,
    "Pendulum-v1": pendulum,
    "catch": catch,
    "point": point,
    "chain": chain,
    "identity": identity,
    "identity_image": identity,
    "identity_continuous": identity_continuous,
    "dm_control:cartpole-swingup": cartpole_swingup,
    "dm_control:point_mass-easy": point_mass,
    "dm_control:cheetah-run": cheetah_run,
}
