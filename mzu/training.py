"""`Trainer`: the circle closed. Games are played, the learner learns from what was searched, and the games that follow
are searched with the new weights (paper, section "Reanalyse"; notebook 07_training_system).

Playing and learning take turns in a fixed rhythm (`acting.positions_per_step`), side by side on two cores: while the
learner takes step n, the games go on with the weights of step n - 1 and the batch of step n + 1 is drawn. Both wait for
each other after every step, so the same seed gives the same run.
"""

import concurrent.futures
import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mzu.acting.evaluation import Evaluation, evaluate
from mzu.acting.play import Player, temperature_at
from mzu.config import Config
from mzu.environments.environment import Environment
from mzu.environments.make import make
from mzu.environments.spaces import Spaces
from mzu.episodes.dataset import load_episodes
from mzu.episodes.episode import Episode
from mzu.learning.learner import Learner, Lesson
from mzu.networks.compile_model import model_for_search, refresh
from mzu.networks.network import build_network
from mzu.reanalyse.buffers import Demonstrations, HighestReturn, Mixture, MostRecent
from mzu.replay.pieces import tail_length
from mzu.replay.replay import Batch, Replay

RECENT_EPISODES = 20  # fresh episodes whose mean return is reported


class Trainer:
    """One run, from its config to a trained network. `run()` trains; `step()` is one turn of the circle.

    attribute   what it is
    network     the Keras network that is trained
    learner     owns the network, its target network and the optimiser
    replay      what the learner samples from
    player      plays the games
    """

    def __init__(self, config: Config, episodes: list[Episode] | None = None, jit_compile: bool = True):
        """`episodes` is the dataset, where it is not to be loaded from `config.data`."""
        self.config = config
        if episodes is None and config.data is not None:
            episodes = list(load_episodes(config.data, config.data_root))
        self.episodes = episodes or []
        frame_spaces = _find_spaces(config, self.episodes)
        _check_possible(config, frame_spaces, self.episodes)
        stack = config.network.frame_stack
        height_width, channels = frame_spaces.observation_shape[:-1], frame_spaces.observation_shape[-1]
        spaces = dataclasses.replace(frame_spaces, observation_shape=(*height_width, channels * stack))
        datapoints = sum(map(len, self.episodes)) or None
        seeds = np.random.SeedSequence(config.seed).spawn(3)
        self._play_rng, self._sample_rng = (np.random.default_rng(seed) for seed in seeds[:2])
        self.network = build_network(config.network, spaces, int(seeds[2].generate_state(1)[0]), datapoints)
        self.learner = Learner(config, self.network, jit_compile)
        self._acting_model = self._new_acting_model()
        self.replay = Replay(
            config.replay,
            frame_spaces,
            unroll_steps=config.learning.unroll_steps,
            td_steps=config.learning.td_steps,
            candidates=num_candidates(config, spaces),
            sampled=config.search.num_sampled_actions is not None,
            frame_stack=stack,
            following=config.learning.policy_loss == "crr",
        )
        self.player = Player(
            config, spaces, self._acting_model, self._sources(), self._environments(), self._play_rng
        )
        self.recent_returns: list[float] = []
        self.fresh_episodes = 0
        self.seconds = dict.fromkeys(("play", "sample", "targets", "learn", "wait"), 0.0)
        self._owed = 0.0  # positions that are still to be searched before the next batch
        self._lesson: Lesson | None = None
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
        waited = time.perf_counter()
        self.seconds["learn"] += learned - start
        self.seconds["wait"] += waited - learned
        if not np.isfinite(metrics["loss"]):
            raise Diverged(self.steps, self._lesson.batch)
        self.replay.update(self._lesson.batch.positions, priorities)
        self._lesson = next_lesson
        self.learner.refresh_target()
        if self.steps % self.config.acting.refresh_period == 0:
            refresh(self._acting_model, self.network)
        return metrics

    def evaluate(self, episodes: int, select: str | None = None) -> Evaluation:
        """Plays evaluation episodes with the network of the moment."""
        select = select or self.config.evaluation.select
        return evaluate(
            self.network, self.config, environment_maker(self.config), episodes, select, seed=self.config.seed
        )

    def close(self) -> None:
        """Frees the environments and the helping thread."""
        self._other_core.shutdown()
        for environment in self.player.environments or []:
            environment.close()

    def _play_and_prepare(self, temperature: float) -> Lesson:
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
        """Plays until there is enough to learn from."""
        while len(self.replay) < self.config.replay.start_size:
            self._play(temperature_at(self.config, 0))

    def _new_acting_model(self):
        # The games must not see the learner's weights change during a step: an image network acts from a copy.
        network = self.network
        if network.spaces.is_image:
            network = build_network(network.config, network.spaces)
            network.copy_weights_from(self.network)
        return model_for_search(network)

    def _sources(self) -> Mixture:
        config, reanalyse = self.config, self.config.reanalyse
        settings = (config.replay.segment_length, tail_length(config.learning), config.network.frame_stack)
        buffers = {
            "most_recent": (MostRecent(reanalyse.most_recent_steps, *settings), reanalyse.most_recent),
            "demonstrations": (Demonstrations(self.episodes, *settings), reanalyse.demonstrations),
            "highest_return": (HighestReturn(reanalyse.highest_return_steps, *settings), reanalyse.highest_return),
        }
        return Mixture(buffers)

    def _environments(self) -> list[Environment] | None:
        if self.config.reanalyse.fraction == 1.0:
            return None
        make_environment = environment_maker(self.config)
        return [make_environment() for _ in range(self.config.acting.games)]


class Diverged(ValueError):
    """The loss is not finite; carries the learner step and the batch it happened with."""

    def __init__(self, step: int, batch: Batch):
        super().__init__(
            f"The loss of learner step {step} is not finite; lower learning.learning_rate, or look at the data (mzu data check)"
        )
        self.step, self.batch = step, batch


def num_candidates(config: Config, spaces: Spaces) -> int:
    """K of the search policies that the replay keeps."""
    if config.learning.policy_loss != "reanalyse" and config.learning.td_steps > 0:
        return 0  # nothing is searched
    if config.search.num_sampled_actions is None:
        return spaces.num_actions
    return config.search.num_sampled_actions + (config.reanalyse.inject_actions and config.reanalyse.fraction > 0)


def environment_maker(config: Config) -> Callable[[], Environment]:
    """A function that makes the run's environment, which hands out single frames."""
    options = {"stack": 1} if config.environment.startswith("atari:") else {}
    return lambda: make(config.environment, **options)


def _find_spaces(config: Config, episodes: list[Episode]) -> Spaces:
    """The spaces of one frame or state, from the environment, or from the data where there is none."""
    if config.environment is None:
        if not episodes:
            raise ValueError("There is neither an environment nor data to train on; give --env ID, --data PATH or a preset")
        return load_episodes(config.data, config.data_root).infer_spaces()
    with environment_maker(config)() as environment:
        return environment.spaces


def _check_possible(config: Config, spaces: Spaces, episodes: list[Episode]) -> None:
    """One sentence for what cannot work, before anything is built."""
    fraction = config.reanalyse.fraction
    if fraction < 1 and config.environment is None:
        raise ValueError(f"reanalyse.fraction is {fraction}, so fresh games are needed, but there is no environment; give --env ID")
    if fraction == 1 and not (episodes and config.reanalyse.demonstrations > 0):
        raise ValueError("reanalyse.fraction is 1, so everything is learned from stored games, but there are none; give --data PATH")
    if config.learning.policy_loss != "reanalyse" and fraction < 1:
        raise ValueError(
            f"learning.policy_loss={config.learning.policy_loss} learns from stored actions; set reanalyse.fraction=1"
        )
    if config.network.frame_stack > 1 and not spaces.is_image:
        raise ValueError(f"network.frame_stack is {config.network.frame_stack}, but only images are stacked; states need 1")
    if spaces.continuous and config.search.num_sampled_actions is None:
        raise ValueError("Continuous actions must be sampled; set search.num_sampled_actions (20 in DM Control)")
    for episode in episodes:
        _check_episode(episode, spaces, config)


def _check_episode(episode: Episode, spaces: Spaces, config: Config) -> None:
    where = f"The episode {episode.source}" if episode.source else "An episode of the dataset"
    world = config.environment or "the dataset"
    shape = episode.observations.shape[1:]
    if shape != spaces.observation_shape:
        raise ValueError(f"{where} has observations of shape {shape}, but {world} has {spaces.observation_shape}; "
                         "is this the dataset of another environment?")
    if episode.is_continuous != spaces.continuous or (spaces.continuous and episode.actions.shape[1] != spaces.num_actions):
        kind = f"{spaces.num_actions} continuous" if spaces.continuous else f"{spaces.num_actions} discrete"
        raise ValueError(f"{where} has actions of shape {episode.actions.shape[1:]} and type {episode.actions.dtype}, but "
                         f"{world} has {kind} actions; is this the dataset of another environment?")
    if spaces.continuous and np.abs(episode.actions).max() > 1 + 1e-5:
        raise ValueError(f"{where} has actions outside [-1, 1]; scale them to the bounds first")
    if not spaces.continuous and not 0 <= episode.actions.min() <= episode.actions.max() < spaces.num_actions:
        raise ValueError(f"{where} has actions {episode.actions.min()}..{episode.actions.max()}, but {world} has "
                         f"{spaces.num_actions} (0..{spaces.num_actions - 1}); is this the dataset of another environment?")
