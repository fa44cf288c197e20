"""`Agent`: what a run has learned, ready to act: `mzu.load("runs/mine")`."""

from pathlib import Path

import numpy as np

from mzu.acting.evaluation import Evaluation
from mzu.acting.film import Film
from mzu.acting.selection import Selection, make_search, make_selection
from mzu.config import Config
from mzu.networks.network import Network
from mzu.search.search import SearchResult
from mzu.training.evaluate_run import evaluate_network
from mzu.training.example_runs import ExampleName
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer


def load(
    run: ExampleName | str | Path | Trainer, checkpoint: str = "latest", environment: str | None = None
) -> "Agent":
    """The agent of a run: of its folder, of an example, or of a `Trainer` with the weights of the moment.

    checkpoint    of a folder: "latest", "best", or a learner step such as "2000"
    environment   another one than the run's, with the same observations and actions

    >>> agent = mzu.load(trainer)  # or mzu.load(result.folder)
    >>> with mzu.make("CartPole-v1") as world:
    ...     action = agent.act(world.reset(seed=0))
    >>> action in (0, 1)
    True
    """
    if isinstance(run, Trainer):
        network, config = run.learner.evaluated_network, run.config
        scale, name = run.player.advantage_scale, f"a trainer after {run.steps} steps"
    else:
        folder = RunFolder.open(run, environment)
        network, config = folder.load_network(checkpoint), folder.config
        scale, name = folder.load_scale(checkpoint), f"{run}, checkpoint {checkpoint}"
    if environment is not None:
        config = config.replace(environment=environment)
    return Agent(network, config, scale, name)


class Agent:
    """A trained network and how it acts: by search, unless `evaluation.select` or `select` say otherwise.

    attribute   what it is
    network     the Keras networks
    config      the settings of the run
    scale       the running scale of its advantages, where `search.improvement` has one

    >>> agent.search(np.zeros(4, np.float32)).visits.sum(axis=1).tolist()
    [50]
    """

    def __init__(self, network: Network, config: Config, scale: float | None = None, name: str = ""):
        self.network, self.config, self.scale, self.name = network, config, scale, name
        self._rng = np.random.default_rng(config.seed)
        self._selections: dict[str, Selection] = {}
        self._find = None

    def act(self, observation: np.ndarray, select: str | None = None, legal: np.ndarray | None = None):
        """The action in one position: a number, or float32 [D] in [-1, 1].

        observation   [...] as the network sees it: of images `network.frame_stack` frames along the channels
        select        "search", "policy" or "value"
        legal         [A] bool, the actions allowed; default all
        """
        select = select or self.config.evaluation.select
        if select not in self._selections:
            self._selections[select] = make_selection(self.network, self.config, select, self.scale)
        legal = None if legal is None else np.asarray(legal, bool)[None]
        action = self._selections[select](self._batch(observation), self._rng, legal)[0]
        return action if self.network.spaces.continuous else int(action)

    def search(self, observation: np.ndarray, legal: np.ndarray | None = None, record: bool = False) -> SearchResult:
        """The search behind `act`, of a batch of one; `record` keeps every simulation."""
        if self._find is None:
            self._find = make_search(self.network, self.config, self.scale)
        legal = None if legal is None else np.asarray(legal, bool)[None]
        return self._find(self._batch(observation), self._rng, legal, record)

    def evaluate(self, episodes: int | None = None, select: str | None = None, seed: int | None = None) -> Evaluation:
        """Plays episodes, as many as the run says unless told otherwise; the same seed plays the same ones."""
        return self._play(episodes, select, seed)

    def watch(self, select: str | None = None, seed: int | None = None) -> Film:
        """One episode as a film: a notebook shows it, `save` writes it."""
        film = Film()
        self._play(1, select, seed, film)
        return film

    def __repr__(self) -> str:
        return f"<Agent of {self.name}: {self.config.environment or self.config.data}>"

    def _play(self, episodes: int | None, select: str | None, seed: int | None, film: Film | None = None) -> Evaluation:
        select = select or self.config.evaluation.select
        settings = {"seed": seed, "scale": self.scale, "film": film, "name": "The agent"}
        return evaluate_network(self.network, self.config, episodes, select, **settings)[select]

    def _batch(self, observation) -> np.ndarray:
        observation = np.asarray(observation)
        expected = self.network.spaces.observation_shape
        if observation.shape != expected:
            stack = self.config.network.frame_stack
            hint = f", {stack} frames along the channels" if stack > 1 else ""
            raise ValueError(f"The observation has shape {observation.shape}, but the network sees {expected}{hint}")
        return observation[None]
