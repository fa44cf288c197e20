"""`System`: everything that takes part in making a target, so that it can be watched.

A run has a network, a target network, a replay and episodes; a world of `toy.py` has tables and a handful of states.
Both are a `System`: `search`, `targets`, `losses`, `priorities` and `update` call the functions that a training run
calls. The bugs of `mistakes.py` replace one of them.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from mzu.config import Config
from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.games.piece import observation_at, piece_of
from mzu.games.search_games import search_games
from mzu.games.stored_game import StoredGame
from mzu.learning.losses import Predictions, StepLosses, step_losses, unroll
from mzu.learning.targets import Targets, make_targets
from mzu.networks.model import Model
from mzu.networks.network import Network
from mzu.networks.scalars import scalar_from_logits, transform
from mzu.replay.priorities import position_priority
from mzu.replay.replay import Batch, Replay
from mzu.replay.segment import stretch_at
from mzu.search.search import SearchResult
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

    def game(self, episode: int, step: int) -> StoredGame:
        """The stored game of the piece that holds the step, as a run cuts it, at that step."""
        if not 0 <= episode < len(self.episodes):
            raise ValueError(f"There is no episode {episode}: {self.name} has {len(self.episodes)}, counted from 0")
        stored = self.episodes[episode]
        if not 0 <= step < len(stored):
            raise ValueError(f"There is no step {step}: episode {episode} has {len(stored)} steps, counted from 0")
        start, stop = stretch_at(step, len(stored), self.config.replay.segment_length)
        return StoredGame(piece_of(stored, start, stop, self.config), self.config, position=step - start)

    def search(self, game: StoredGame, rng: np.random.Generator, record: bool = False) -> SearchResult:
        """Searches the game's position as a run does."""
        return search_games(self.model, [game], self.config, rng, self.scale, record)

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

    def priorities(self, batch: Batch, targets: Targets) -> np.ndarray:
        """The new priorities [B] of a batch's positions."""
        td_steps, network_values = self.config.learning.td_steps, None
        if td_steps == 0:  # only then they are asked for
            predictions, _ = self.losses(batch, targets)
            logits = np.asarray(predictions.value)[:, 0]
            network_values = np.asarray(scalar_from_logits(logits, self.config.network.bins_per_unit))
        return position_priority(batch.search_value[:, 0], np.asarray(targets.values)[:, 0], network_values, td_steps)

    def update(self, positions: np.ndarray, priorities: np.ndarray) -> None:
        """Writes new priorities of a batch's positions back."""
        self.replay.update(positions, priorities)

    def observation(self, episode: int, step: int) -> np.ndarray:
        """What the network sees at a step; one more than the last shows what the episode ended with."""
        return observation_at(self.episodes[episode].observations, step, self.config.network.frame_stack)

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
    """The system of a run (its folder or an example's name) at a checkpoint, of a `Trainer` as it is, or of a `Config`
    with fresh weights."""
    from mzu.training.trainer import Trainer

    if isinstance(run, System):
        return run
    if isinstance(run, Trainer):
        system = _system("trainer", run.config, run.inputs, run.learner, run.replay, run.player.sources)
        return dataclasses.replace(system, scale=run.player.advantage_scale)
    if isinstance(run, Config):
        return _of_config(run)
    return _of_folder(Path(run), checkpoint)


def _of_config(config: Config) -> System:
    from mzu.learning.learner import Learner
    from mzu.networks.network import build_network
    from mzu.reanalyse.buffers import new_sources
    from mzu.training.inputs import load_inputs

    inputs = load_inputs(config)
    network = build_network(config.network, inputs.spaces, config.seed, inputs.datapoints)
    sources = new_sources(config, inputs.episodes)
    return _system("an untrained network", config, inputs, Learner(config, network), None, sources)


def _of_folder(path: Path, checkpoint: str) -> System:
    from mzu.learning.learner import Learner
    from mzu.nested_arrays import inside
    from mzu.reanalyse.buffers import new_sources
    from mzu.replay.replay import new_replay
    from mzu.training.inputs import load_inputs
    from mzu.training.run_folder import RunFolder

    folder = RunFolder.open(path)
    if checkpoint == "best":
        raise ValueError(f"The best network of {path} was kept without its replay; choose latest or a learner step")
    steps = int(folder.network_file(checkpoint).parent.name)
    state = folder.load_checkpoint(steps)
    inputs = load_inputs(folder.config)
    learner = Learner(folder.config, folder.load_network(checkpoint))
    learner.restore(
        learner.state() | inside(state, "learner")
    )  # an example leaves out what is as in its network's file
    replay = new_replay(folder.config, inputs.frame_spaces)
    sources = new_sources(folder.config, inputs.episodes)
    replay.restore(inside(state, "replay"))
    sources.restore(inside(state, "sources"))
    system = _system(str(path), folder.config, inputs, learner, replay, sources)
    return dataclasses.replace(system, folder=True, scale=folder.load_scale(checkpoint))


def _system(name: str, config: Config, inputs, learner, replay: Replay | None, sources) -> System:
    from mzu.networks.compiled.compile_model import model_for_search

    period = config.learning.target_network_period
    # A dataset by itself is looked at where it is: not all of it may fit into memory.
    held = [buffer.episodes for buffer in sources.buffers.values() if len(buffer.episodes)]
    return System(
        name=name,
        config=config,
        spaces=inputs.spaces,
        frame_spaces=inputs.frame_spaces,
        episodes=held[0] if len(held) == 1 else [episode for episodes in held for episode in episodes],
        model=model_for_search(learner.network),
        target_values=learner.target_values,
        replay=replay,
        network=learner.network,
        steps=learner.steps,
        target_steps=learner.steps // period * period,
    )
