"""`check_environment`: does an environment keep the contract? Every finding is a sentence (tutorials/environments.md).

Meant for environments of your own, before an hour of training shows what a minute could have.
"""

import math

import numpy as np

from mzu.environments.environment import Environment, random_action

# Networks learn from numbers of about the size of 1; beyond this a state should be scaled.
LARGE = 100.0


def check_environment(environment: Environment, episodes: int = 3, max_steps: int = 1000, seed: int = 0) -> list[str]:
    """Plays a few random episodes and returns what is wrong, one sentence each; an empty list if nothing is.

    Checked: shape, type and finiteness of observations; rewards; the two ends; the same seed giving the same
    episode; observations that change under the caller's hands; stepping after the end; legal actions.
    """
    findings: list[str] = []
    first = _play(environment, seed, max_steps, findings)
    again = _play(environment, seed, max_steps, findings)
    if not _same(first, again):
        findings.append(
            f"{environment.id}: two episodes with the seed {seed} and the same actions differ; draw every random "
            "number from the generator that reset(seed) seeds"
        )
    for episode in range(1, episodes):
        _play(environment, seed + episode, max_steps, findings)
    # One mistake tends to show at every step.
    return list(dict.fromkeys(findings))


def _play(environment: Environment, seed: int, max_steps: int, findings: list[str]) -> list:
    """One episode of random actions: [(observation, reward, terminated, truncated), ...]."""
    rng = np.random.default_rng([seed, 1])
    name = environment.id
    observation = environment.reset(seed=seed)
    steps = [(np.array(observation), 0.0, False, False)]
    _check_observation(environment, observation, "reset()", findings)
    previous, kept = observation, np.array(observation)
    for _ in range(max_steps):
        legal = environment.legal_actions()
        _check_legal(environment, legal, findings)
        result = environment.step(random_action(environment.spaces, rng, legal))
        if not isinstance(result, tuple) or len(result) != 4:
            findings.append(
                f"{name}: step() returns {_kind(result)}, but must return (observation, reward, terminated, truncated)"
            )
            return steps
        observation, reward, terminated, truncated = result
        _check_observation(environment, observation, "step()", findings)
        if not isinstance(reward, float | int | np.floating | np.integer) or not math.isfinite(reward):
            findings.append(f"{name}: step() returns the reward {reward!r}, but must return a finite number")
        for end, value in (("terminated", terminated), ("truncated", truncated)):
            if not isinstance(value, bool | np.bool_):
                findings.append(f"{name}: step() returns {end} = {value!r}, but must return True or False")
        if terminated and truncated:
            findings.append(f"{name}: an episode is both terminated and truncated; a terminal end is no truncated one")
        if isinstance(previous, np.ndarray) and not np.array_equal(previous, kept, equal_nan=kept.dtype.kind == "f"):
            findings.append(
                f"{name}: step() changes the observation that it returned before; return a copy, otherwise every "
                "stored observation of an episode becomes the last one"
            )
        previous, kept = observation, np.array(observation)
        steps.append((kept, reward, terminated, truncated))
        if terminated or truncated:
            _check_end(environment, rng, findings)
            return steps
    return steps


def _check_observation(environment: Environment, observation, call: str, findings: list[str]) -> None:
    name, spaces = environment.id, environment.spaces
    if not isinstance(observation, np.ndarray):
        findings.append(f"{name}: {call} returns {_kind(observation)} as observation, but must return a numpy array")
        return
    if observation.shape != spaces.observation_shape or observation.dtype != spaces.observation_dtype:
        findings.append(
            f"{name}: {call} returns an observation {observation.dtype} {observation.shape}, but spaces says "
            f"{spaces.observation_dtype} {spaces.observation_shape}"
        )
        return
    if spaces.is_image and observation.shape[0] <= 4 < observation.shape[2]:
        findings.append(
            f"{name}: images have shape {observation.shape}, which looks like [channels, height, width]; mzu wants "
            "[height, width, channels], make(..., channels_first=True) turns them"
        )
    if observation.dtype.kind == "f":
        if not np.isfinite(observation).all():
            findings.append(f"{name}: {call} returns an observation with NaN or infinity")
        elif np.abs(observation).max() > LARGE:
            findings.append(
                f"{name}: observations reach beyond {LARGE:.0f}; scale them to about the size of 1, otherwise the "
                "network sees little of the smaller numbers"
            )


def _check_legal(environment: Environment, legal, findings: list[str]) -> None:
    if legal is None:
        return
    actions = environment.spaces.num_actions
    if environment.spaces.continuous:
        findings.append(f"{environment.id}: legal_actions() must return None where actions are continuous")
    elif getattr(legal, "shape", None) != (actions,) or legal.dtype != bool or not legal.any():
        findings.append(
            f"{environment.id}: legal_actions() returns {_kind(legal)}, but must return None or bool [{actions}] with "
            "at least one True"
        )


def _check_end(environment: Environment, rng, findings: list[str]) -> None:
    try:
        environment.step(random_action(environment.spaces, rng, environment.legal_actions()))
    except ValueError:
        return
    findings.append(
        f"{environment.id}: step() goes on after the end of an episode; it must refuse, and not reset by itself, "
        "because the step from one episode into the next would be learned as if it had happened"
    )


def _same(first: list, second: list) -> bool:
    return len(first) == len(second) and all(
        np.array_equal(a[0], b[0], equal_nan=a[0].dtype.kind == "f") and a[1:] == b[1:]
        for a, b in zip(first, second, strict=True)
    )


def _kind(value) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, tuple | list) else "")
