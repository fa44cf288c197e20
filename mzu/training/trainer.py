"""`Trainer`: the circle closed. Games are played, the learner learns from what was searched, and the games that follow
are searched with the new weights (paper, section "Reanalyse"; notebook 07_training_system).

Playing and learning keep a fixed rhythm (`acting.positions_per_step`), side by side on two cores: while the learner
takes step n, the games go on with the weights of step n - 1, and the batch of step n + 1 is drawn. Both wait for each
other after every step, so the same seed gives the same run.
"""

import concurrent.futures
import json
import time
from collections.abc import Callable

import numpy as np

from mzu.acting.evaluation import Evaluation, evaluate
from mzu.config import Config
from mzu.environments.spaces import Spaces
from mzu.games.player import Player, temperature_at
from mzu.learning.learner import Learner, Lesson
from mzu.learning.targets import Targets
from mzu.nested_arrays import inside, under
from mzu.networks.compiled.compile_model import model_for_search, network_weights
from mzu.networks.compiled.weights import NetworkWeights
from mzu.networks.network import Network, build_network
from mzu.networks.representation import fit_to_observations
from mzu.reanalyse.buffers import Demonstrations, HighestReturn, Mixture, MostRecent
from mzu.replay.pieces import tail_length
from mzu.replay.replay import Batch, Replay
from mzu.training.problem import Problem, load_problem
from mzu.training.recorder import Recorder
from mzu.training.run_folder import RunFolder

RECENT_EPISODES = 20  # fresh episodes whose mean return is reported


class Trainer:
    """One run, from its config to a trained network. `step()` is one turn of the circle, `run()` all of them.

    attribute   what it is
    problem     environment and data
    network     the Keras network that is trained
    learner     owns the network, its target network and the optimiser
    replay      what the learner samples from
    player      plays the games
    seconds     time spent in each part; play, sample and targets overlap with learn

    >>> small = {"learning.training_steps": 2, "replay.start_size": 64, "learning.jit_compile": False}
    >>> config = mzu.preset("cartpole").config.replace(**small)
    >>> trainer = mzu.Trainer(config)
    >>> trainer.run()
    True
    """

    def __init__(self, config: Config, problem: Problem | None = None):
        self.config = config
        self.problem = problem or load_problem(config)
        seeds = np.random.SeedSequence(config.seed).spawn(3)
        self._play_rng, self._sample_rng = (np.random.default_rng(seed) for seed in seeds[:2])
        network_seed = int(seeds[2].generate_state(1)[0])
        self.network = build_network(config.network, self.problem.spaces, network_seed, self.problem.datapoints)
        self.learner = Learner(config, self.network)
        self._acting_network = self._new_acting_network()
        self._acting_model = model_for_search(self._acting_network)
        self.replay = new_replay(config, self.problem)
        environments = None
        if config.reanalyse.fraction < 1:
            environments = [self.problem.make_environment() for _ in range(config.acting.games)]
        sources = new_sources(config, self.problem)
        self.player = Player(config, self.problem.spaces, self._acting_model, sources, environments, self._play_rng)
        self.recent_returns: list[float] = []
        self.fresh_episodes = 0
        self.seconds = dict.fromkeys(("play", "sample", "targets", "learn", "wait"), 0.0)
        self._owed = 0.0  # positions that are still to be searched before the next batch
        self._lesson: Lesson | None = None
        self._new_weights: NetworkWeights | None = None
        self._other_core = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="mzu-play")

    @property
    def steps(self) -> int:
        """Learner steps taken so far."""
        return self.learner.steps

    @property
    def fresh_steps(self) -> int:
        """Steps taken in environments so far."""
        return self.player.fraction.positions[False]

    @property
    def stored_steps(self) -> int:
        """Stored positions searched so far."""
        return self.player.fraction.positions[True]

    def run(self, folder: RunFolder | None = None, on_step: Callable[["Trainer", dict], None] | None = None) -> bool:
        """Trains to the end of `learning.training_steps`; with a folder it logs, evaluates and saves on the way.

        A folder with checkpoints is continued from the latest. `on_step(trainer, figures)` is called after every
        learner step with its loss, value and returns. -> whether the end was reached; Ctrl-C leaves a checkpoint and
        returns False.
        """
        with Recorder(self, folder) as recorder:
            while self.steps < self.config.learning.training_steps and not recorder.interrupted:
                row = recorder.after_step(self.step())
                if on_step:
                    on_step(self, row)
        return not recorder.interrupted

    def step(self) -> dict[str, float]:
        """One learner step, while the games go on and the next batch is drawn -> metrics."""
        if self._lesson is None:
            self._fill_replay()
            self._lesson = self._prepare()
        following = self._other_core.submit(self._play_and_prepare, temperature_at(self.config, self.steps))
        start = time.perf_counter()
        metrics, priorities = self.learner.step(self._lesson)
        learned = time.perf_counter()
        next_lesson = following.result()
        self.seconds["learn"] += learned - start
        self.seconds["wait"] += time.perf_counter() - learned
        self.replay.update(self._lesson.batch.positions, priorities)
        self._lesson = next_lesson
        self.learner.refresh_target()
        if self.steps % self.config.acting.refresh_period == 0:
            self._take_weights()
        return metrics

    def evaluate(self, episodes: int, select: str | None = None) -> Evaluation:
        """Plays evaluation episodes with the network of the moment (`Learner.evaluated_network`)."""
        select = select or self.config.evaluation.select
        make_environment = self.problem.make_environment
        network, settings = (
            self.learner.evaluated_network,
            {"seed": self.config.seed, "scale": self.player.advantage_scale},
        )
        return evaluate(network, self.config, make_environment, episodes, select, **settings)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that decides how the run goes on, as arrays."""
        generators = [self._play_rng.bit_generator.state, self._sample_rng.bit_generator.state]
        arrays = {
            "generators": np.array(json.dumps(generators)),
            "owed": np.array(self._owed),
            "recent_returns": np.array(self.recent_returns),
            "fresh_episodes": np.array(self.fresh_episodes),
        }
        parts = {"learner": self.learner, "replay": self.replay, "player": self.player, "sources": self.player.sources}
        for name, part in parts.items():
            arrays |= under(name, part.state())
        if self._acting_network is not self.network:
            weights = self._acting_network.trainable_variables
            arrays |= {f"acting/{number}": variable.numpy() for number, variable in enumerate(weights)}
        if self._lesson is not None:
            arrays |= under("batch", self._lesson.batch._asdict()) | under("targets", self._lesson.targets._asdict())
        return arrays

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Goes on where `state` was taken, as if nothing had happened in between."""
        self._play_rng.bit_generator.state, self._sample_rng.bit_generator.state = json.loads(str(state["generators"]))
        self._owed = float(state["owed"])
        self.recent_returns = list(state["recent_returns"])
        self.fresh_episodes = int(state["fresh_episodes"])
        self.learner.restore(inside(state, "learner"))
        for number, array in inside(state, "acting").items():
            self._acting_network.trainable_variables[int(number)].assign(array)
        if not self.network.spaces.is_image:
            self._new_weights = network_weights(self._acting_network)
        self.replay.restore(inside(state, "replay"))
        self.player.sources.restore(inside(state, "sources"))
        self.player.restore(inside(state, "player"))
        batch = inside(state, "batch")
        self._lesson = Lesson(Batch(**batch), Targets(**inside(state, "targets"))) if batch else None

    def close(self) -> None:
        """Frees the environments and the helping thread."""
        self._other_core.shutdown()
        for environment in self.player.environments or []:
            environment.close()

    def _play_and_prepare(self, temperature: float) -> Lesson:
        self._use_weights()
        self._owed += self.config.acting.positions_per_step
        while self._owed >= self.config.acting.games:
            self._owed -= self.config.acting.games
            self._play(temperature)
        return self._prepare()

    def _play(self, temperature: float) -> None:
        start = time.perf_counter()
        played = self.player.advance(temperature)
        for segment in played.segments:
            self.replay.add(segment)
        self.fresh_episodes += len(played.episodes)
        self.recent_returns += [episode.total_reward for episode in played.episodes]
        del self.recent_returns[:-RECENT_EPISODES]
        self.seconds["play"] += time.perf_counter() - start

    def _prepare(self) -> Lesson:
        start = time.perf_counter()
        batch = self.replay.sample(self.config.learning.batch_size, self._sample_rng)
        sampled = time.perf_counter()
        lesson = self.learner.prepare(batch)
        self.seconds["sample"] += sampled - start
        self.seconds["targets"] += time.perf_counter() - sampled
        return lesson

    def _fill_replay(self) -> None:
        """Plays until there is enough to learn from, and scales the network's input to what was seen."""
        self._use_weights()
        while len(self.replay) < self.config.replay.start_size:
            self._play(temperature_at(self.config, 0))
        if not self.network.spaces.is_image:
            fit_to_observations(self.network.representation, self.replay.all_observations())
            self.learner.refresh_target()
            self._take_weights()

    def _take_weights(self) -> None:
        """Takes the network's weights for the games that follow. The other core packs them, beside the next step."""
        if self._acting_network is not self.network:
            self._acting_network.copy_weights_from(self.network)
        if not self.network.spaces.is_image:
            self._new_weights = network_weights(self._acting_network)

    def _use_weights(self) -> None:
        if self._new_weights is not None:
            self._acting_model.refresh(self._new_weights)
            self._new_weights = None

    def _new_acting_network(self) -> Network:
        """What the games are searched with: a copy where it must outlast the learner's step.

        That is so for images, whose model reads the network itself, and where weights are copied every few steps only.
        A compiled model has taken the weights over already.
        """
        if not self.network.spaces.is_image and self.config.acting.refresh_period == 1:
            return self.network
        network = build_network(self.network.config, self.network.spaces)
        network.copy_weights_from(self.network)
        return network


def num_candidates(config: Config, spaces: Spaces) -> int:
    """K of the search policies that the replay keeps."""
    if config.learning.policy_loss != "reanalyse" and config.learning.td_steps > 0:
        return 0  # nothing is searched
    if config.search.num_sampled_actions is None:
        return spaces.num_actions
    return config.search.num_sampled_actions + (config.reanalyse.inject_actions and config.reanalyse.fraction > 0)


def new_replay(config: Config, problem: Problem) -> Replay:
    """An empty replay that fits the run."""
    return Replay(
        config.replay,
        problem.frame_spaces,
        unroll_steps=config.learning.unroll_steps,
        td_steps=config.learning.td_steps,
        candidates=num_candidates(config, problem.spaces),
        sampled=config.search.num_sampled_actions is not None,
        frame_stack=config.network.frame_stack,
        following=config.learning.needs_advantages or config.learning.consistency_loss_scale > 0,
    )


def new_sources(config: Config, problem: Problem) -> Mixture:
    """The buffers that stored games are drawn from."""
    reanalyse = config.reanalyse
    settings = (config.replay.segment_length, tail_length(config.learning), config.network.frame_stack)
    buffers = {
        "most_recent": (MostRecent(reanalyse.most_recent_steps, *settings), reanalyse.most_recent),
        "demonstrations": (Demonstrations(problem.episodes, *settings), reanalyse.demonstrations),
        "highest_return": (HighestReturn(reanalyse.highest_return_steps, *settings), reanalyse.highest_return),
    }
    return Mixture(buffers)
