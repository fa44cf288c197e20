"""Worlds of which a perfect model is known, and the same model with one mistake planted."""

import numpy as np

from mzu.acting.collect import collect
from mzu.config import Config
from mzu.environments.environment import Environment
from mzu.environments.make import make
from mzu.environments.spaces import Spaces
from mzu.episodes.readers.npz import write_npz
from mzu.explain.model_report import report_model
from mzu.explain.system import System
from mzu.explain.toy import SeenTable
from mzu.networks.model import GaussianPolicy

STATES, ACTIONS, LIMIT = 12, 3, 14
SETTINGS = (
    "data=made",
    "search.discount=0.9",
    "search.num_simulations=50",
    "network.scalar_head=regression",
    "learning.unroll_steps=3",
)


class TableWorld(Environment):
    """Walks through tables; the last state is terminal, the seed decides the first one."""

    def __init__(self, table: SeenTable, legal=None):
        super().__init__("tables", Spaces((1,), ACTIONS))
        self.table, self.legal = table, legal

    def legal_actions(self):
        return self.legal

    def _reset(self, seed):
        self.state, self.steps = int(np.random.default_rng(seed).integers(STATES - 1)), 0
        return np.float32([self.state])

    def _step(self, action):
        reward, self.state = self.table.reward[self.state, action], int(self.table.next_state[self.state, action])
        self.steps += 1
        return np.float32([self.state]), reward, self.state == STATES - 1, self.steps == LIMIT


def made_table(seed: int = 0, values: float = 3.0, ends: bool = True) -> SeenTable:
    """Random tables; nothing happens in the last state, which no action leads to unless the world `ends`.

    The values lie around `values`; nobody asks whether they are right.
    """
    rng = np.random.default_rng(seed)
    next_state = rng.integers(0, STATES if ends else STATES - 1, (STATES, ACTIONS))
    reward = rng.normal(size=(STATES, ACTIONS))
    next_state[-1], reward[-1] = STATES - 1, 0.0
    value = values + rng.normal(size=STATES)
    value[-1] = 0.0
    return SeenTable(next_state, reward, np.zeros((STATES, ACTIONS)), value)


def table_system(model=None, *settings: str, table: SeenTable | None = None, episodes: int = 25):
    """A system that has `model` (None: the perfect one), with random episodes -> (system, environment maker)."""
    table = table or made_table()
    world = TableWorld(table)
    config = Config().override(*SETTINGS, *settings)
    played = list(collect(world, "random", episodes))
    spaces = world.spaces
    system = System("tables", config, spaces, spaces, played, model or table, target_values=None, steps=7)
    return system, lambda: TableWorld(table)


class Late:
    """Predicts the reward of the step before."""

    def __init__(self, model):
        self.model = model

    def initial(self, observations):
        hidden, policy, value = self.model.initial(observations)
        return np.stack([hidden, np.zeros(len(hidden))], axis=1), policy, value

    def recurrent(self, hidden, actions):
        states, reward, policy, value = self.model.recurrent(hidden[:, 0].astype(int), actions)
        return np.stack([states, reward], axis=1), hidden[:, 1], policy, value


class Drifting:
    """Right for `good` steps, after which it says the values of other states."""

    def __init__(self, model, good: int):
        self.model, self.good = model, good
        self.others = np.roll(np.argsort(model.value), STATES // 2)

    def initial(self, observations):
        hidden, policy, value = self.model.initial(observations)
        return np.stack([hidden, np.zeros(len(hidden), int)], axis=1), policy, value

    def recurrent(self, hidden, actions):
        states, reward, policy, value = self.model.recurrent(hidden[:, 0], actions)
        age = hidden[:, 1] + 1
        value = np.where(age > self.good, self.model.value[self.others[states]], value)
        return np.stack([states, age], axis=1), reward, policy, value


class Ignoring:
    """Takes every action for action 0."""

    def __init__(self, model):
        self.model = model

    def initial(self, observations):
        return self.model.initial(observations)

    def recurrent(self, hidden, actions):
        return self.model.recurrent(hidden, np.zeros_like(actions))


class Noisy:
    """Its values and rewards after a step are off by noise of this size, different for every state and action."""

    def __init__(self, model, size: float):
        self.model = model
        self.noise = np.random.default_rng(1).normal(scale=size, size=(STATES, ACTIONS))

    def initial(self, observations):
        return self.model.initial(observations)

    def recurrent(self, hidden, actions):
        states, reward, policy, value = self.model.recurrent(hidden, actions)
        return states, reward, policy, value + self.noise[hidden, actions]


class Point(Environment):
    """A point on a line is pushed by its action and loses the square of its place."""

    def __init__(self):
        super().__init__("a point on a line", Spaces((1,), 1, continuous=True))

    def _reset(self, seed):
        self.place, self.steps = np.float32(np.random.default_rng(seed).uniform(-1, 1)), 0
        return self.place[None]

    def _step(self, action):
        self.place = np.float32(self.place + np.float32(0.3) * action[0])
        self.steps += 1
        return self.place[None], -(float(self.place) ** 2), False, self.steps == LIMIT


class PointModel:
    """The perfect model of `Point`, with a value that it may well have."""

    def initial(self, observations):
        hidden = np.float32(observations)
        shape = hidden.shape
        return hidden, GaussianPolicy(np.zeros(shape), np.full(shape, 0.5)), -2 * hidden[:, 0] ** 2

    def recurrent(self, hidden, actions):
        hidden = hidden + np.float32(0.3) * np.float32(actions)
        _, policy, value = self.initial(hidden)
        return hidden, -(hidden[:, 0].astype(float) ** 2), policy, value


def point_system(model=None, *settings: str) -> tuple:
    """As `table_system`, with continuous actions."""
    config = Config().override(*SETTINGS, "search.num_sampled_actions=5", *settings)
    world = Point()
    played = list(collect(world, "random", 12))
    return System("point", config, world.spaces, world.spaces, played, model or PointModel(), target_values=None), Point


def report_of(system, make_environment, **options):
    return report_model(system, episodes=0, make_environment=make_environment, **options)


def names(report):
    return [finding["name"] for finding in report.findings]


SMALL_RUN = (
    "network.width=16",
    "network.num_blocks=1",
    "search.num_simulations=4",
    "replay.start_size=30",
    "acting.games=4",
    "learning.batch_size=16",
    "learning.unroll_steps=2",
    "learning.training_steps=3",
    "learning.jit_compile=false",
)


def offline_config(folder):
    """Continuous actions from five random episodes, which are written to `folder`."""
    with make("identity_continuous") as environment:
        write_npz(folder / "data.npz", collect(environment, "random", 5))
    settings = ("environment=identity_continuous", "search.num_sampled_actions=3", f"data={folder / 'data.npz'}")
    return Config().override(*SMALL_RUN, *settings)


RETURNS = [
    {"name": "policy", "simulations": 0, "mean": 400.0, "low": 390.0, "high": 410.0, "episodes": 5},
    {"name": "policy with noise", "simulations": None, "mean": 800.0, "low": 780.0, "high": 820.0, "episodes": 5},
    {"name": "value", "simulations": 1, "mean": 500.0, "low": 100.0, "high": 900.0, "episodes": 5},
    {"name": "search", "simulations": 16, "mean": 460.0, "low": 450.0, "high": 470.0, "episodes": 5},
    {"name": "search", "simulations": 200, "mean": 200.0, "low": 190.0, "high": 210.0, "episodes": 5},
]
