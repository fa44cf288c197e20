"""Tiny games for lessons and tests: seconds to learn, and small enough to work out by hand what is right.

They are ordinary `gymnasium.Env`s, registered on import (`gymnasium.make("mzu/Catch-v0")`); `make("catch")` is the
short way. `Catch` and `Chain` follow the ones of DeepMind's bsuite and of Osband et al., "Bootstrapped DQN". The
identity games ask for the action that the observation names: an agent that cannot learn them in seconds has a bug.
"""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

GAMES = {
    "catch": "mzu/Catch-v0",
    "point": "mzu/Point-v0",
    "chain": "mzu/Chain-v0",
    "identity": "mzu/Identity-v0",
    "identity_continuous": "mzu/IdentityContinuous-v0",
    "identity_image": "mzu/IdentityImage-v0",
}


class Game(gymnasium.Env):
    """What the games share: random numbers that no policy with the same seed will draw again."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            # Gymnasium's generator is numpy's default_rng(seed). A random policy with default_rng(seed) would draw the
            # same numbers and guess every answer of an identity game.
            self.np_random.bit_generator.advance(1 << 64)
        return self._start(), {}


class Catch(Game):
    """A ball falls from a random column; move the paddle under it. An episode lasts `rows - 1` steps.

    Observation: image [rows, columns, 1], ball and paddle 255. Actions: 0 left, 1 stay, 2 right.
    Reward at the end: 1 caught, -1 missed. A random player scores about -0.6, the best 1.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, rows: int = 10, columns: int = 5, render_mode: str | None = None):
        super().__init__(render_mode)
        if rows < 2 or columns < 2:
            raise ValueError(f"catch has {rows} rows and {columns} columns, but needs at least 2 of each")
        self.rows, self.columns = rows, columns
        self.observation_space = Box(0, 255, (rows, columns, 1), np.uint8)
        self.action_space = Discrete(3)

    def _start(self):
        self.ball_row, self.ball_column = 0, int(self.np_random.integers(self.columns))
        self.paddle = self.columns // 2
        return self._observation()

    def step(self, action):
        self.paddle = int(np.clip(self.paddle + action - 1, 0, self.columns - 1))
        self.ball_row += 1
        terminated = self.ball_row == self.rows - 1
        reward = (1.0 if self.paddle == self.ball_column else -1.0) if terminated else 0.0
        return self._observation(), reward, terminated, False, {}

    def render(self):
        return np.kron(self._observation(), np.ones((16, 16, 3), np.uint8)) if self.render_mode else None

    def _observation(self):
        board = np.zeros((self.rows, self.columns, 1), np.uint8)
        board[self.ball_row, self.ball_column] = 255
        board[self.rows - 1, self.paddle] = 255
        return board


class Point(Game):
    """A point in the box [-1, 1]^D goes where it is sent; bring it to the target. Time limit 25 steps.

    Observation: position [D], then target - position [D]. Action: a velocity in [-1, 1]^D, of which a tenth is moved.
    Reward per step: 1 - distance / sqrt(4 D), between 0 (opposite corners) and 1 (there).
    """

    def __init__(self, dimensions: int = 2, time_limit: int = 25, render_mode: str | None = None):
        super().__init__(render_mode)
        if not 1 <= dimensions <= 6:
            raise ValueError(f"point has {dimensions} dimensions, but must have 1..6")
        self.dimensions, self.time_limit = dimensions, time_limit
        self.observation_space = Box(-2, 2, (2 * dimensions,), np.float32)
        self.action_space = Box(-1, 1, (dimensions,), np.float32)

    def _start(self):
        self.position, self.target = self.np_random.uniform(-1, 1, (2, self.dimensions))
        self.steps = 0
        return self._observation()

    def step(self, action):
        self.position = np.clip(self.position + 0.1 * np.clip(action, -1, 1), -1, 1)
        self.steps += 1
        distance = np.linalg.norm(self.target - self.position)
        reward = 1 - float(distance / np.sqrt(4 * self.dimensions))
        return self._observation(), reward, False, self.steps >= self.time_limit, {}

    def _observation(self):
        return np.concatenate([self.position, self.target - self.position]).astype(np.float32)


class Chain(Game):
    """`length` places in a row: a crumb at the left end, the treasure at the right end, nothing in between.

    Observation: one-hot place [length]; the start is place 1. Actions: 0 left, 1 right.
    Reward: 0.001 for every step that ends at place 0; 1 for the right end, which terminates. Time limit length + 9.
    Undirected play finds the treasure with probability of about 2^-(length - 2): the crumb is all it ever learns.
    """

    def __init__(self, length: int = 12, render_mode: str | None = None):
        super().__init__(render_mode)
        if length < 3:
            raise ValueError(f"chain has length {length}, but needs at least 3 places")
        self.length = length
        self.observation_space = Box(0, 1, (length,), np.float32)
        self.action_space = Discrete(2)

    def _start(self):
        self.place, self.steps = 1, 0
        return self._observation()

    def step(self, action):
        self.place = max(0, self.place + (1 if action == 1 else -1))
        self.steps += 1
        terminated = self.place == self.length - 1
        reward = 1.0 if terminated else 0.001 if self.place == 0 else 0.0
        return self._observation(), reward, terminated, self.steps >= self.length + 9, {}

    def _observation(self):
        return np.eye(self.length, dtype=np.float32)[self.place]


class Identity(Game):
    """The observation names the right action; every step asks anew. Time limit 10 steps.

    kind        observation                                        action      reward per step
    discrete    one-hot [A]                                        0..A - 1    1 if right, else 0
    image       uint8 [4, A, 1], column a lit                      0..A - 1    1 if right, else 0
    continuous  the action itself, [D] in [-1, 1]                  [D]         1 - mean |error| / 2
    """

    def __init__(self, kind: str = "discrete", size: int = 4, time_limit: int = 10, render_mode: str | None = None):
        super().__init__(render_mode)
        if kind not in ("discrete", "image", "continuous"):
            raise ValueError(f"identity has kind {kind!r}, but must be 'discrete', 'image' or 'continuous'")
        if size < 1:
            raise ValueError(f"identity has size {size}, but needs at least 1 action or dimension")
        self.kind, self.size, self.time_limit = kind, size, time_limit
        self.action_space = Box(-1, 1, (size,), np.float32) if kind == "continuous" else Discrete(size)
        self.observation_space = {
            "discrete": Box(0, 1, (size,), np.float32),
            "image": Box(0, 255, (4, size, 1), np.uint8),
            "continuous": Box(-1, 1, (size,), np.float32),
        }[kind]

    def _start(self):
        self.steps = 0
        return self._ask()

    def step(self, action):
        if self.kind == "continuous":
            reward = 1 - float(np.abs(action - self.answer).mean()) / 2
        else:
            reward = float(action == self.answer)
        self.steps += 1
        return self._ask(), reward, False, self.steps >= self.time_limit, {}

    def _ask(self):
        if self.kind == "continuous":
            self.answer = self.np_random.uniform(-1, 1, self.size).astype(np.float32)
            return self.answer.copy()
        self.answer = int(self.np_random.integers(self.size))
        if self.kind == "discrete":
            return np.eye(self.size, dtype=np.float32)[self.answer]
        picture = np.zeros((4, self.size, 1), np.uint8)
        picture[:, self.answer] = 255
        return picture


def _register() -> None:
    here = __name__
    gymnasium.register(GAMES["catch"], f"{here}:Catch")
    gymnasium.register(GAMES["point"], f"{here}:Point")
    gymnasium.register(GAMES["chain"], f"{here}:Chain")
    gymnasium.register(GAMES["identity"], f"{here}:Identity")
    gymnasium.register(GAMES["identity_continuous"], f"{here}:Identity", kwargs={"kind": "continuous", "size": 2})
    gymnasium.register(GAMES["identity_image"], f"{here}:Identity", kwargs={"kind": "image"})


_register()
