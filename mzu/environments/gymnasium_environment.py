"""Any Gymnasium environment, seen through the contract of `mzu.environments.environment`.

    observation space                              becomes
    Box [O], Box []                                state, float32 [O], [1]
    Box [H, W, C], Box [H, W]                      image, uint8 where the Box is, else float32; one channel for [H, W]
    Discrete(n)                                    one-hot state [n]
    MultiBinary, MultiDiscrete                     state: zeros and ones, the one-hot parts one after the other
    Dict, Tuple of these                           state: the parts flattened, in the order of the space

    action space                                   becomes
    Discrete(A, start)                             0..A - 1
    Box with finite bounds                         [-1, 1]^D, mapped linearly to the bounds; D all its numbers in order

The order of a `Dict` is that of `space.spaces`, which Gymnasium sorts by name unless it was given an OrderedDict.
"""

import os
import re

import gymnasium
import numpy as np
from gymnasium import spaces as gym

from mzu.environments.environment import Environment, has_screen
from mzu.environments.spaces import Spaces
from mzu.extras import EXTRAS, install_command


class GymnasiumEnvironment(Environment):
    """`world` is a gymnasium.Env; `channels_first=True` if its images are [channels, height, width]."""

    def __init__(self, world: gymnasium.Env, name: str | None = None, channels_first: bool = False):
        if not isinstance(world, gymnasium.Env):
            raise ValueError(
                f"{world!r} is neither an id nor a gymnasium.Env; make() takes 'CartPole-v1', 'atari:Pong', "
                "'dm_control:cartpole-swingup' or an environment object"
            )
        self.world = world
        if name is None:
            name = world.spec.id if world.spec is not None else type(world.unwrapped).__name__
        self._channels_first = channels_first
        shape, dtype = _observation_shape(world.observation_space, channels_first, name)
        num_actions, self._bounds = _actions(world.action_space, name)
        super().__init__(name, Spaces(shape, num_actions, self._bounds is not None, dtype))
        self.frames_per_second = world.metadata.get("render_fps", self.frames_per_second)
        limit = getattr(world.unwrapped, "time_limit", None)
        self.time_limit = limit if world.spec is None else world.spec.max_episode_steps or limit
        self._legal = None

    def _reset(self, seed):
        try:
            observation, info = self.world.reset(seed=seed)
        except (TypeError, ValueError) as error:
            raise self._another_number(error, "reset()", "two values: observation, info") from error
        self._remember_legal(info)
        return self._convert(observation)

    def _step(self, action):
        space = self.world.action_space
        if self._bounds is None:
            action = int(space.start) + action
        else:
            low, high = self._bounds
            action = (low + (action + 1) / 2 * (high - low)).clip(low, high)
            action = action.reshape(space.shape).astype(space.dtype)
        try:
            observation, reward, terminated, truncated, info = self.world.step(action)
        except (TypeError, ValueError) as error:
            must = "five values: observation, reward, terminated, truncated, info"
            raise self._another_number(error, "step()", must) from error
        self._remember_legal(info)
        return self._convert(observation), reward, terminated, truncated

    def legal_actions(self):
        """What the world says in `info["action_mask"]`, as Taxi does."""
        return self._legal

    def render(self):
        if "rgb_array" not in self.world.metadata.get("render_modes", []):
            return super().render()
        if not has_screen():
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # otherwise pygame complains that there is none
        try:
            picture = self.world.render() if self.world.render_mode == "rgb_array" else None
        except gymnasium.error.DependencyNotInstalled as error:
            raise ValueError(missing_dependency(f"A picture of {self.id}", error)) from None
        if picture is None:
            raise ValueError(f"{self.id} draws nothing in this mode; make it with render_mode='rgb_array'")
        return np.asarray(picture)

    def close(self):
        super().close()
        self.world.close()

    def _another_number(self, error: Exception, call: str, must: str) -> Exception:
        """`error`, or a sentence where it says that a call did not return as many values as it must.

        Gymnasium's own wrappers take the values apart first, so that the error may come from within the call.
        """
        if not re.search("to unpack|cannot unpack", str(error)):
            return error
        return ValueError(f"{self.id}: {call} must return {must}, but returned something else ({error})")

    def _remember_legal(self, info: dict) -> None:
        if not isinstance(info, dict):
            raise ValueError(
                f"{self.id}: the info of reset() and step() must be a dictionary, but is {info!r}; use {{}}"
            )
        mask = info.get("action_mask")
        self._legal = None if mask is None or self._bounds is not None else np.asarray(mask, bool)

    def _convert(self, observation) -> np.ndarray:
        space, shape, dtype = self.world.observation_space, self.spaces.observation_shape, self.spaces.observation_dtype
        try:
            if not isinstance(space, gym.Box):
                observation = gym.flatten(space, observation)
            elif self._channels_first and self.spaces.is_image:
                observation = np.moveaxis(np.asarray(observation), 0, -1)
            # A copy, because some worlds return the same array again and again, with new content.
            array = np.array(observation, dtype)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            what = f"returned an observation that does not fit its space {_described(space)}"
            raise ValueError(f"{self.id} {what} ({type(error).__name__}: {error})") from error
        if array.size != np.prod(shape):
            raise ValueError(f"{self.id} returned an observation of shape {array.shape}, but its space says {shape}")
        return array.reshape(shape)


def missing_dependency(what: str, error: Exception) -> str:
    """A sentence about a package that an environment lacks; where mzu has an extra for it, that one is advised."""
    needed = f"{what} needs a package that is not installed"
    name = getattr(error, "name", None)
    package = next((one for one in EXTRAS if one in (name, str(error).split(" ")[0].lower())), name)
    package = "pygame" if "pygame" in str(error) else package
    if package is None:
        return f"{needed}: {error}"
    return f"{needed}, {package}: {install_command(EXTRAS[package]) if package in EXTRAS else f'pip install {package}'}"


def _observation_shape(space, channels_first: bool, name: str) -> tuple[tuple[int, ...], str]:
    if isinstance(space, gym.Box):
        if len(space.shape) in (2, 3):
            shape = space.shape if len(space.shape) == 3 else (*space.shape, 1)
            if channels_first and len(space.shape) == 3:
                shape = (*shape[1:], shape[0])
            return shape, "uint8" if space.dtype == np.uint8 else "float32"
        if len(space.shape) > 3:
            raise ValueError(
                f"{name} has observations of shape {space.shape}, but mzu takes states [size] and images "
                "[height, width, channels]; put the frames of a stack side by side as channels"
            )
        return (max(1, *space.shape) if space.shape else 1,), "float32"
    _refuse_unsupported(space, name)
    return (gym.flatdim(space),), "float32"


def _refuse_unsupported(space, name: str, inside: str = "") -> None:
    """Text, graphs, sequences have no fixed size; a picture among numbers would be flattened into a meaningless row."""
    parts = []
    if isinstance(space, gym.Dict):
        parts = list(space.spaces.items())
    elif isinstance(space, gym.Tuple):
        parts = list(enumerate(space.spaces))
    for key, part in parts:
        _refuse_unsupported(part, name, f"{inside}[{key!r}]")
    flat = isinstance(space, gym.Box | gym.Discrete | gym.MultiBinary | gym.MultiDiscrete)
    is_picture = isinstance(space, gym.Box) and len(space.shape) == 3 and space.dtype == np.uint8
    if parts or (flat and not is_picture):
        return
    raise ValueError(
        f"{name} has the observation space {_described(space)}{' at ' + inside if inside else ''}, but mzu supports "
        "Box, Discrete, MultiBinary, MultiDiscrete, and Dict or Tuple of them without images; wrap the environment in "
        "a gymnasium.ObservationWrapper that makes one of these"
    )


def _actions(space, name: str) -> tuple[int, tuple[np.ndarray, np.ndarray] | None]:
    """The number of actions and None, or the number of dimensions and the bounds."""
    if isinstance(space, gym.Discrete):
        return int(space.n), None
    if isinstance(space, gym.Box) and np.issubdtype(space.dtype, np.floating):
        low, high = (bound.astype(np.float64).reshape(-1) for bound in (space.low, space.high))
        if np.isfinite(low).all() and np.isfinite(high).all():
            return low.size, (low, high)
        raise ValueError(
            f"{name} has the action space {_described(space)} without finite bounds, to which [-1, 1] cannot be "
            "mapped; wrap it in gymnasium.wrappers.ClipAction or RescaleAction with bounds of your own"
        )
    raise ValueError(
        f"{name} has the action space {_described(space)}, but mzu supports Discrete and Box of numbers with finite "
        "bounds; wrap the environment in a gymnasium.ActionWrapper that makes one of these"
    )


def _described(space) -> str:
    text = str(space)
    return text if len(text) <= 100 else f"{type(space).__name__} of shape {space.shape}"
