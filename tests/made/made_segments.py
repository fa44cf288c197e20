"""Segments with random numbers in every array, so that each tells where it came from."""

import numpy as np

from mzu.environments.spaces import Spaces
from mzu.replay.segment import Segment

STATES = Spaces((2,), 3)
IMAGES = Spaces((2, 3, 2), 3, observation_dtype="uint8")
CONTINUOUS = Spaces((2,), 2, continuous=True)
UNROLL, TD = 2, 3
TAIL = UNROLL + TD


def made_segment(
    rng,
    length,
    spaces=STATES,
    candidates=3,
    sampled=False,
    tail=TAIL,
    ended=False,
    terminated=False,
    stack=1,
    **changed,
):
    """Random numbers in every array, so that each of them tells where it came from."""
    steps = length + tail
    action_shape = (spaces.num_actions,) if spaces.continuous else ()

    def random_actions(*shape):
        if spaces.continuous:
            return rng.uniform(-1, 1, (*shape, *action_shape)).astype(np.float32)
        return rng.integers(0, spaces.num_actions, shape).astype(np.int32)

    observations = rng.uniform(0, 255, (stack + steps, *spaces.observation_shape)).astype(spaces.observation_dtype)
    arrays = dict(
        observations=observations,
        actions=random_actions(steps),
        rewards=rng.normal(size=steps).astype(np.float32),
        ended=ended,
        terminated=terminated,
        search_policy=rng.dirichlet(np.ones(candidates), length).astype(np.float32) if candidates else None,
        search_actions=random_actions(length, candidates) if sampled and candidates else None,
        search_value=rng.normal(size=length).astype(np.float32),
        priorities=rng.uniform(0.1, 2.0, length),
    )
    return Segment(**arrays | changed)
