"""`Trainer`: the circle closed. Games are played, the learner learns from what was searched, and the games that follow
are searched with the new weights (paper, section "Reanalyse"; notebook 07_training_system).

Playing and learning keep a fixed rhythm (`acting.positions_per_step`), side by side on two cores: while the learner
takes step n, the games go on with the weights of step n - 1, and the batch of step n + 1 is drawn. Both wait for each
other after every step, so the same seed gives the same run.
"""

import concurrent.futures
import json
import time
import warnings
from collections.abc import Callable

import numpy as np

from mzu.acting.evaluation import Evaluation, evaluate_selection
from mzu.config import Config
from mzu.games.player import Player, temperature_at
from mzu.learning.learner import Learner
from mzu.learning.targets import Targets
from mzu.nested_arrays import inside, under
from mzu.networks.compiled.compile_model import has_twin, model_for_search, network_weights
from mzu.networks.compiled.weights import NetworkWeights
from mzu.networks.network import Network, build_network
from mzu.networks.representation import fit_to_observations
from mzu.reanalyse.buffers import new_sources
from mzu.replay.replay import Batch, new_replay
from mzu.training.head_range import HeadRange
from mzu.training.inputs import RunInputs, load_inputs
from mzu.training.interruption import leave_behind
from mzu.training.recorder import Recorder
from mzu.training.run_folder import RunFolder

RECENT_EPISODES = 20  # fresh episodes whose mean return is reported
PATIENCE = 5.0  # seconds that are waited for games which are still being played when a run is ended at once
LOOKED_AT = 100  # stored episodes whose rewards are compared with what the heads can express, at the start


class Trainer:
    """One run, from its config to a trained network. `step()` is one turn of the circle, `run()` all of them.

    `learner` is one that is there already, with its network; otherwise both are made.

    attribute   what it is
    inputs      environment and data
    network     the Keras network that is trained
    learner     owns the network, its target network and the optimiser
    replay      what the learner samples from
    player      plays the games
    head_range  notices numbers beyond what the network's heads can express
    seconds     time spent in each part; play, sample and targets overlap with learn

    >>> small = {"learning.training_steps": 2, "replay.start_size": 64, "learning.jit_compile": False}
    >>> config = mzu.preset("cartpole").config.replace(**small)
    >>> trainer = mzu.Trainer(config)
    >>> trainer.run()
    True
    """

    def __init__(self, config: Config, inputs: RunInputs | None = None, learner: Learner | None = None):
        self.config = config
        self.inputs = inputs or load_inputs(config)
        seeds = np.random.SeedSequence(config.seed).spawn(3)
        self._play_rng, self._sample_rng = (np.random.default_rng(seed) for seed in seeds[:2])
        network_seed = int(seeds[2].generate_state(1)[0])
        if learner is None:
            network = build_network(config.network, self.inputs.spaces, network_seed, self.inputs.datapoints)
            learner = Learner(config, network)
        self.learner, self.network = learner, learner.network
        self._acting_network = self._new_acting_network()
        self._acting_model = model_for_search(self._acting_network)
        self.replay = new_replay(config, self.inputs.frame_spaces)
        environments = None
        if config.reanalyse.fraction < 1:
            environments = [self.inputs.make_environment() for _ in range(config.acting.games)]
        sources = new_sources(config, self.inputs.episodes)
        self.player = Player(config, self._acting_model, sources, environments, self._play_rng)
        self.head_range = HeadRange(config)
        num_episodes = len(self.inputs.episodes)
        for number in range(0, num_episodes, max(1, num_episodes // LOOKED_AT)):
            self.head_range.look_at_rewards(self.inputs.episodes[number].rewards)
        self.recent_returns: list[float] = []
        self.fresh_episodes = 0
        self.seconds = dict.fromkeys(("play", "sample", "targets", "learn", "wait"), 0.0)
        self._owed = 0.0  # positions that are still to be searched before the next batch
        self._next: tuple[Batch, Targets] | None = None  # what the next step learns from
        self._new_weights: NetworkWeights | None = None
        self._following: concurrent.futures.Future | None = None  # the games that go on beside the learner's step
        self._other_core = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="mzu-play")

    @property
    def steps(self) -> int:
        """Learner steps taken so far."""
        return self.learner.steps

    @property
    def fresh_steps(self) -> int:
        """Steps taken in environments so far."""
        return self.player.fraction.fresh_positions

    @property
    def stored_steps(self) -> int:
        """Stored positions searched so far."""
        return self.player.fraction.stored_positions

    @property
    def cut_off(self) -> int:
        """Fresh games that `acting.max_episode_steps` ended, since the run was started or resumed."""
        return sum(environment.cut_off for environment in self.player.environments or [])

    def run(
        self,
        folder: RunFolder | None = None,
        on_step: Callable[["Trainer", dict], None] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> bool:
        """Trains to the end of `learning.training_steps`; with a folder it logs, evaluates and saves on the way.

        A folder with checkpoints is continued from the latest. `on_step(trainer, figures)` is called after every
        learner step with its loss, value and returns; `say` is told how the run goes on or ends (default: a warning).
        -> whether the end was reached; Ctrl-C, SIGTERM or SIGHUP leave a checkpoint and return False. So does an error,
        which is raised then.
        """
        with Recorder(self, folder, say or warnings.warn) as recorder:
            while self.steps < self.config.learning.training_steps and not recorder.interrupted:
                row = recorder.after_step(self.step())
                if on_step:
                    on_step(self, row)
        return not recorder.interrupted

    def step(self) -> dict[str, float]:
        """One learner step, while the games go on and the next batch is drawn -> metrics."""
        try:
            return self._step()
        except Exception:
            # Some games have gone on and others not: none of them fits what was learned, and all begin anew.
            self.player.games, self._next = [], None
            raise

    def _step(self) -> dict[str, float]:
        if self._next is None:
            if self.steps == 0:
                self._fill_replay()
            self._next = self._prepare()
        batch, targets = self._next
        following = self._other_core.submit(self._play_and_prepare, temperature_at(self.config, self.steps))
        self._following = following
        start = time.perf_counter()
        try:
            metrics, priorities = self.learner.step(batch, targets)
            learned = time.perf_counter()
        finally:
            concurrent.futures.wait([following])  # after an error nothing may change any more
        self._next = following.result()
        self.seconds["learn"] += learned - start
        self.seconds["wait"] += time.perf_counter() - learned
        self.replay.update(batch.positions, priorities)
        self.learner.refresh_target()
        if self.steps % self.config.acting.refresh_period == 0:
            self._take_weights()
        return metrics

    def evaluate(self, episodes: int, select: str | None = None) -> Evaluation:
        """Plays evaluation episodes with the network of the moment (`Learner.evaluated_network`)."""
        select = select or self.config.evaluation.select
        network, make_environment = self.learner.evaluated_network, self.inputs.make_environment
        settings = {"seed": self.config.seed, "scale": self.player.advantage_scale}
        return evaluate_selection(network, self.config, make_environment, episodes, select, **settings)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that decides how the run goes on, as arrays: what a checkpoint holds.

        name                 what it is
        generators           where the two random generators are, as JSON
        owed                 positions that are still to be searched before the next batch
        recent_returns       of the latest fresh episodes, for the log; `fresh_episodes` counts all of them
        learner/, replay/    the parts of these names, by their own `state`; likewise player/ and sources/
        acting/              weights that games are searched with, where they are not the trained ones
        batch/, targets/     of the next learner step, which are drawn before it begins
        """
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
        if self._next is not None:
            batch, targets = self._next
            arrays |= under("batch", batch._asdict()) | under("targets", targets._asdict())
        return arrays

    def restore(self, state: dict[str, np.ndarray]) -> str:
        """Goes on where `state` was taken, as if nothing had happened in between -> a sentence where that cannot be."""
        self._play_rng.bit_generator.state, self._sample_rng.bit_generator.state = json.loads(str(state["generators"]))
        self._owed = float(state["owed"])
        self.recent_returns = list(state["recent_returns"])
        self.fresh_episodes = int(state["fresh_episodes"])
        self.learner.restore(inside(state, "learner"))
        for number, array in inside(state, "acting").items():
            self._acting_network.trainable_variables[int(number)].assign(array)
        if has_twin(self.network):
            self._new_weights = network_weights(self._acting_network)
        self.replay.restore(inside(state, "replay"))
        self.player.sources.restore(inside(state, "sources"))
        begun_anew = self.player.restore(inside(state, "player"))
        batch = inside(state, "batch")
        self._next = (Batch(**batch), Targets(**inside(state, "targets"))) if batch else None
        if begun_anew:
            return (
                f"{self.config.environment} does not repeat itself: the same seed and actions led elsewhere, so "
                f"{begun_anew} of {len(self.player.games)} games begin anew; what follows is not what an uninterrupted "
                "run would have learned"
            )
        if self.steps > 0 and self._next is None:
            return (
                "an error had ended the run: its games begin anew; what follows is not what an uninterrupted run would "
                "have learned"
            )
        return ""

    def close(self) -> None:
        """Frees the environments and the helping thread; after a second Ctrl-C it may hang in a world's step."""
        if self._following is not None:
            concurrent.futures.wait([self._following], PATIENCE)
            if not self._following.done():
                self._other_core.shutdown(wait=False)
                leave_behind(self._following)
                return
        self._other_core.shutdown()
        for environment in self.player.environments or []:
            environment.close()

    def _play_and_prepare(self, temperature: float) -> tuple[Batch, Targets]:
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
        for episode in played.episodes:
            self.head_range.look_at_rewards(episode.rewards)
        self.fresh_episodes += len(played.episodes)
        self.recent_returns += [episode.total_reward for episode in played.episodes]
        del self.recent_returns[:-RECENT_EPISODES]
        self.seconds["play"] += time.perf_counter() - start

    def _prepare(self) -> tuple[Batch, Targets]:
        """A batch, and its targets."""
        start = time.perf_counter()
        batch = self.replay.sample(self.config.learning.batch_size, self._sample_rng)
        sampled = time.perf_counter()
        targets = self.learner.targets(batch)
        self.head_range.look_at_targets(targets)
        self.seconds["sample"] += sampled - start
        self.seconds["targets"] += time.perf_counter() - sampled
        return batch, targets

    def _fill_replay(self) -> None:
        """Plays until there is enough to learn from, and scales the network's input to what was seen."""
        self._use_weights()
        capacity, start_size = self.config.replay.capacity, self.config.replay.start_size
        while len(self.replay) < start_size:
            if self.replay.num_segments == capacity:
                raise ValueError(
                    f"replay.start_size is {start_size}, but the replay is full with {len(self.replay)} positions: "
                    f"replay.capacity={capacity} segments, of which a short episode fills one; raise capacity or lower "
                    "start_size"
                )
            self._play(temperature_at(self.config, 0))
        if not self.network.spaces.is_image:
            fit_to_observations(self.network.representation, self.replay.all_observations())
            self.learner.refresh_target()
            self._take_weights()

    def _take_weights(self) -> None:
        """Takes the network's weights for the games that follow. The other core packs them, beside the next step."""
        if self._acting_network is not self.network:
            self._acting_network.copy_weights_from(self.network)
        if has_twin(self.network):
            self._new_weights = network_weights(self._acting_network)

    def _use_weights(self) -> None:
        if self._new_weights is not None:
            self._acting_model.refresh(self._new_weights)
            self._new_weights = None

    def _new_acting_network(self) -> Network:
        """What the games are searched with: a copy where it must outlast the learner's step.

        That is so for large images, whose model reads the network itself, and where weights are copied every few steps
        only. A compiled model has taken the weights over already.
        """
        if has_twin(self.network) and self.config.acting.refresh_period == 1:
            return self.network
        network = build_network(self.network.config, self.network.spaces)
        network.copy_weights_from(self.network)
        return network
