"""`System`: everything that takes part in making a target, so that it can be watched.

A run has a network, a target network, a replay and episodes; a lesson has tables and a handful of states. Both are a
`System`: `search`, `targets`, `losses` and `update` do what a training run does, by the same functions. The bugs of
`bugs.py` replace one of them.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from mzu.config import Config
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.learning.losses import Predictions, StepLosses, step_losses, unroll
from mzu.learning.targets import Targets, make_targets
from mzu.networks.model import Model
from mzu.networks.network import Network
from mzu.networks.scalars import transform
from mzu.replay.pieces import Piece, cut_piece, tail_length
from mzu.replay.replay import Batch, Replay
from mzu.replay.segment import split_lengths
from mzu.search.search import SearchResult, search
from mzu.silent_tensorflow import ops


@dataclasses.dataclass(eq=False)
class System:
    """What makes targets.

    field          meaning
    name           the run's folder, or what else it is; `folder` says which
    config         its settings
    spaces         what the network sees; `frame_spaces` those of one frame or state
    episodes       what can be explained, by number
    model          what is searched
    target_values  the target network: observations [B, S, ...] -> values [B, S]
    replay         what the learner samples from, or None
    network        the Keras network, or None: then the losses are those of regression
    scale          the running scale of the advantages, where `search.improvement` has one
    steps          learner steps of the network, and of the target network
    """

    name: str
    config: Config
    spaces: Spaces
    frame_spaces: Spaces
    episodes: Sequence[Episode]
    model: Model
    target_values: Callable[[np.ndarray], np.ndarray]
    replay: Replay | None = None
    network: Network | None = None
    scale: float | None = None
    steps: int = 0
    target_steps: int = 0
    folder: bool = False

    def search(
        self, observation: np.ndarray, action, rng: np.random.Generator, record: bool = False, stored_value=None
    ) -> SearchResult:
        """Searches a stored position, in which `action` was taken, as a stored game is searched.

        `stored_value` is what really followed the action, where the config asks for it (`stored_value_of`).
        """
        stored = {} if stored_value is None else {"stored_values": np.array([stored_value])}
        settings = {"record": record, "scale": self.scale, **self.injection(action), **stored}
        return search(self.model, observation[None], self.config.search, rng, **settings)

    def stored_value_of(self, episode: int, step: int) -> float | None:
        """Reward + discount * value of what really followed a stored action; None where nobody asks for it."""
        if not (self.injects and self.config.search.stored_value == "data"):
            return None
        stored = self.episodes[episode]
        reward = float(stored.rewards[step])
        if stored.terminated and step + 1 == len(stored):
            return reward
        _, _, value = self.model.initial(self.observation(episode, step + 1)[None])
        return reward + self.config.search.discount * float(np.asarray(value)[0])

    def targets(self, batch: Batch) -> Targets:
        """What the learner is given for a batch."""
        return make_targets(batch, self.config, self.target_values)

    def losses(self, batch: Batch, targets: Targets) -> tuple[Predictions, StepLosses]:
        """Predictions, and the loss of every head at every unrolled step."""
        predictions = self._predictions(batch)
        return predictions, step_losses(
            predictions, targets, batch.actions, self.spaces.continuous, self.config.network
        )

    def weighted(self, loss: np.ndarray, batch: Batch) -> np.ndarray:
        """The losses [B] as they enter the mean that is minimised."""
        return batch.weights * loss

    def update(self, positions: np.ndarray, priorities: np.ndarray) -> None:
        """Writes new priorities of a batch's positions back."""
        self.replay.update(positions, priorities)

    def injection(self, action) -> dict:
        """The arguments of a search that inject the stored action, where it is injected."""
        if not self.injects:
            return {}
        # A stored action may lie a rounding error outside of the bounds; a candidate may not.
        action = np.clip(action, -1, 1) if self.spaces.continuous else np.asarray(action)
        return {"injected_actions": action[None]}

    @property
    def injects(self) -> bool:
        """Whether the stored action is injected at the root."""
        return self.config.injects

    @property
    def searches(self) -> bool:
        """Whether targets come from a search; those of behaviour cloning and CRR do not."""
        return self.config.learning.policy_loss == "reanalyse" or self.config.learning.td_steps == 0

    def piece(self, episode: int, step: int) -> tuple[Piece, int]:
        """The piece of the episode that holds the step, as the replay cuts it, and where it starts."""
        if not 0 <= episode < len(self.episodes):
            raise ValueError(f"There is no episode {episode}: {self.name} has {len(self.episodes)}, counted from 0")
        stored = self.episodes[episode]
        if not 0 <= step < len(stored):
            raise ValueError(f"There is no step {step}: episode {episode} has {len(stored)} steps, counted from 0")
        pieces = split_lengths(len(stored), self.config.replay.segment_length)
        start, stop = next((start, stop) for start, stop in pieces if start <= step < stop)
        tail, stack = tail_length(self.config.learning), self.config.network.frame_stack
        arrays = (stored.observations, stored.actions, stored.rewards)
        return cut_piece(*arrays, start, stop, tail, stack, ended=True, terminated=stored.terminated), start

    def observation(self, episode: int, step: int) -> np.ndarray:
        """What the network sees at a step; one more than the last shows what the episode ended with."""
        last = len(self.episodes[episode]) - 1
        piece, start = self.piece(episode, min(step, last))
        return piece.observation(step - start, self.config.network.frame_stack)

    def _predictions(self, batch: Batch) -> Predictions:
        learning = self.config.learning
        if self.network is not None:
            scale = learning.hidden_gradient_scale
            inputs = (ops.convert_to_tensor(array) for array in (batch.observations, batch.actions))
            return unroll(self.network, *inputs, learning.unroll_steps, scale)
        hidden, policy, value = self.model.initial(batch.observations)
        policies, values, rewards = [policy], [value], []
        for step in range(learning.unroll_steps):
            hidden, reward, policy, value = self.model.recurrent(hidden, batch.actions[:, step])
            policies.append(policy)
            values.append(value)
            rewards.append(reward)
        # A table says its numbers as they are, a head with one output says h of them.
        scalars = (transform(np.float32(np.stack(numbers, axis=1)[..., None])) for numbers in (values, rewards))
        return Predictions(np.float32(np.stack(policies, axis=1)), *scalars, action_value=None)


def open_system(run, checkpoint: str = "latest") -> System:
    """The system of a run's folder at a checkpoint, of a `Trainer` as it is, or of a `Config` with fresh weights."""
    from mzu.training.trainer import Trainer

    if isinstance(run, System):
        return run
    if isinstance(run, Trainer):
        system = _system("trainer", run.config, run.problem, run.learner, run.replay, run.player.sources)
        return dataclasses.replace(system, scale=run.player.advantage_scale)
    if isinstance(run, Config):
        return _of_config(run)
    return _of_folder(Path(run), checkpoint)


def _of_config(config: Config) -> System:
    from mzu.learning.learner import Learner
    from mzu.networks.network import build_network
    from mzu.training.problem import load_problem
    from mzu.training.trainer import new_sources

    problem = load_problem(config)
    network = build_network(config.network, problem.spaces, config.seed, problem.datapoints)
    sources = new_sources(config, problem)
    return _system("an untrained network", config, problem, Learner(config, network), None, sources)


def _of_folder(path: Path, checkpoint: str) -> System:
    from mzu.learning.learner import Learner
    from mzu.nested_arrays import inside
    from mzu.networks.network import build_network
    from mzu.training.problem import load_problem
    from mzu.training.run_folder import RunFolder
    from mzu.training.trainer import new_replay, new_sources

    folder = RunFolder.open(path)
    if checkpoint == "best":
        raise ValueError(f"The best network of {path} was kept without its replay; choose latest or a learner step")
    steps = int(folder.network_file(checkpoint).parent.name)
    state = folder.load_checkpoint(steps)
    problem = load_problem(folder.config)
    network = build_network(folder.config.network, problem.spaces, datapoints=problem.datapoints)
    learner = Learner(folder.config, network)
    learner.restore(inside(state, "learner"))
    replay, sources = new_replay(folder.config, problem), new_sources(folder.config, problem)
    replay.restore(inside(state, "replay"))
    sources.restore(inside(state, "sources"))
    system = _system(str(path), folder.config, problem, learner, replay, sources)
    return dataclasses.replace(system, folder=True, scale=folder.load_scale(checkpoint))


def _system(name: str, config: Config, problem, learner, replay: Replay | None, sources) -> System:
    from mzu.networks.compiled.compile_model import model_for_search

    period = config.learning.target_network_period
    return System(
        name=name,
        config=config,
        spaces=problem.spaces,
        frame_spaces=problem.frame_spaces,
        episodes=[episode for buffer in sources.buffers.values() for episode in buffer.episodes],
        model=model_for_search(learner.network),
        target_values=learner.target_values,
        replay=replay,
        network=learner.network,
        steps=learner.steps,
        target_steps=learner.steps // period * period,
    )
