"""DM Control (paper, section "Offline RL and Continuous Action Spaces"): `dm_control:cartpole-swingup`.

Observations are flattened in the order of `OBSERVATION_KEYS` below, for data and environment alike; tasks that RL
Unplugged does not have keep the order in which DM Control returns the keys. Actions in [-1, 1] are mapped to the
task's bounds. Episodes end after 1,000 steps by the time limit; the discount stays 1, so this is a truncation.
"""

import contextlib
import difflib
import logging
import math
import os

import numpy as np

from mzu.environments.control_pictures import Painter, state_of
from mzu.environments.environment import Environment, has_screen
from mzu.environments.spaces import Spaces
from mzu.extras import require

# The nine tasks of RL Unplugged: key and size of each part of an observation, in the order in which they are joined.
# finger_turn_hard: the environment also returns `touch`, which the data lack; an agent trained without it acts without.
OBSERVATION_KEYS = {
    "cartpole_swingup": {"position": 3, "velocity": 2},
    "cheetah_run": {"position": 8, "velocity": 9},
    "finger_turn_hard": {"position": 4, "velocity": 3, "target_position": 2, "dist_to_target": 1},
    "fish_swim": {"target": 3, "velocity": 13, "upright": 1, "joint_angles": 7},
    "humanoid_run": {
        "velocity": 27,
        "com_velocity": 3,
        "torso_vertical": 3,
        "extremities": 12,
        "head_height": 1,
        "joint_angles": 21,
    },
    "manipulator_insert_ball": {
        "arm_pos": 16,
        "arm_vel": 8,
        "touch": 5,
        "hand_pos": 4,
        "object_pos": 4,
        "object_vel": 3,
        "target_pos": 4,
    },
    "walker_stand": {"orientations": 14, "velocity": 9, "height": 1},
}
OBSERVATION_KEYS["manipulator_insert_peg"] = OBSERVATION_KEYS["manipulator_insert_ball"]
OBSERVATION_KEYS["walker_walk"] = OBSERVATION_KEYS["walker_stand"]


class ControlEnvironment(Environment):
    """`dm_control:<domain>-<task>`, such as `dm_control:finger-turn_hard`."""

    def __init__(self, name: str):
        suite = import_suite()
        domain, dash, task = name.partition("-")
        if not dash or (domain, task) not in suite.ALL_TASKS:
            known = [f"{domain}-{task}" for domain, task in suite.ALL_TASKS]
            near = difflib.get_close_matches(name.replace(".", "-").replace("_", "-", 1), known, n=1)
            advice = f"; did you mean 'dm_control:{near[0]}'?" if near else "; ids look like dm_control:cheetah-run"
            raise ValueError(f"There is no DM Control task '{name}'{advice}")
        with without_simulator_warnings():
            self.world = suite.load(domain, task)
        returned = {key: int(np.prod(spec.shape)) for key, spec in self.world.observation_spec().items()}
        self.sizes = OBSERVATION_KEYS.get(f"{domain}_{task}", returned)
        if any(returned.get(key) != size for key, size in self.sizes.items()):
            raise ValueError(
                f"{name} returns {returned}, but RL Unplugged has {self.sizes}; is dm_control of another time?"
            )
        actions = self.world.action_spec()
        self._low, self._high = (np.broadcast_to(bound, actions.shape) for bound in (actions.minimum, actions.maximum))
        if not (np.isfinite(self._low).all() and np.isfinite(self._high).all()):
            raise ValueError(f"dm_control:{name} has actions without bounds, to which [-1, 1] cannot be mapped")
        spaces = Spaces((sum(self.sizes.values()),), actions.shape[0], continuous=True)
        super().__init__(f"dm_control:{name}", spaces)
        self.frames_per_second = 1 / self.world.control_timestep()
        limit = getattr(self.world, "_step_limit", math.inf)  # it has no public name
        self.time_limit = None if math.isinf(limit) else math.ceil(limit)
        self._painter = None

    def _reset(self, seed):
        if seed is not None:
            self.world.task.random.seed(seed)
        self._put_painter_away()  # some tasks move targets by changing the model
        return self._observation(self.world.reset())

    def _step(self, action):
        timestep = self.world.step(self._low + (action.astype(np.float64) + 1) / 2 * (self._high - self._low))
        # DM Control says `last` for both ends; only the discount tells a terminal state from the time limit.
        terminated = timestep.last() and timestep.discount == 0
        return self._observation(timestep), timestep.reward, terminated, timestep.last() and not terminated

    def render(self):
        if self._painter is None:
            self._painter = Painter(self.id, self.world.physics.model.ptr)
        return self._painter.draw(state_of(self.world.physics))

    def observe(self) -> np.ndarray:
        """What the state of the moment shows, also one that was not reached by steps (states.py)."""
        return flatten_observation(self.world.task.get_observation(self.world.physics), self.sizes)[0]

    def close(self):
        super().close()
        self._put_painter_away()
        self.world.close()

    def _put_painter_away(self):
        if self._painter is not None:
            self._painter.close()
            self._painter = None

    def _observation(self, timestep) -> np.ndarray:
        return flatten_observation(timestep.observation, self.sizes)[0]


def flatten_observation(parts: dict, sizes: dict[str, int]) -> np.ndarray:
    """T observations as rows float32 [T, O]: the parts named by `sizes`, side by side in that order.

    A part may have any shape whose numbers run over time first, also the flat [T * size] of RL Unplugged's files. Parts
    that `sizes` does not name are left out.
    """
    missing = [key for key in sizes if key not in parts]
    if missing:
        raise ValueError(
            f"The observation lacks {', '.join(missing)}; it has {', '.join(parts)}, but needs {', '.join(sizes)}"
        )
    columns = []
    for key, size in sizes.items():
        part = np.asarray(parts[key], np.float32)
        if part.size % size:
            raise ValueError(f"observation/{key} has {part.size} numbers, which is no multiple of its size {size}")
        columns.append(part.reshape(-1, size))
    rows = {key: len(column) for key, column in zip(sizes, columns, strict=True)}
    if len(set(rows.values())) > 1:
        raise ValueError(f"The parts of the observations have different numbers of steps: {rows}")
    return np.concatenate(columns, axis=1)


@contextlib.contextmanager
def without_simulator_warnings():
    """Some of the suite's own models use what MuJoCo calls deprecated; it would say so for every game that is made.

    States that no machine survives, which the dataset doctor tries, would be told of as well.
    """
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def import_suite():
    """DM Control's suite, told not to look for a screen where there is none; without this its import fails there."""
    if not has_screen():
        os.environ.setdefault("MUJOCO_GL", "disable")
    require("dm_control", "DM Control")
    from dm_control import suite

    return suite
