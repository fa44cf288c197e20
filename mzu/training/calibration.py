"""How long each part of a run takes on this machine, measured with a few steps before it begins (`mzu train`).

The run's own learner is measured, so that its step is compiled once; its weights are put back. Everything else (games,
replay, random numbers, worlds) belongs to a second trainer that is thrown away: the run learns what it would have
learned without.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mzu.acting.evaluation import PARALLEL_EPISODES
from mzu.acting.selection import make_selection
from mzu.available_memory import peak_memory
from mzu.config import Config
from mzu.environments.environment import random_action
from mzu.games.piece import stack_frames
from mzu.games.search_games import stack_masks
from mzu.installation import available_cores
from mzu.reanalyse.fraction import FractionController
from mzu.training.clock import Time, now, passed
from mzu.training.inputs import RunInputs
from mzu.training.run_memory import growth
from mzu.training.trainer import Trainer

STEPS = "learner steps"  # the part that takes longest
LEAST_STEPS = 200  # a shorter run would hardly take longer than its calibration
SECONDS = 1.5  # for which learner steps are measured; every other part takes less
MUCH_LONGER = 6  # times that, however busy the machine is
SHORT_SEGMENT, SHORT_EPISODE = 5, 20  # so that replay and stored games are there after a few rounds
KEPT_BUSY = 0.85  # share of the cores that playing and learning side by side keep busy (`mzu bench train`: 79 to 84 %)


class Calibration(NamedTuple):
    """What one run will take.

    field     meaning
    parts     {name: Time} in the order in which they come
    cores     that its learner steps keep busy where nothing else wants them
    memory    bytes at most
    measured  cores that its steps had while they were measured
    """

    parts: dict[str, Time]
    cores: float
    memory: int
    measured: float

    def to_json(self) -> dict:
        return self._asdict() | {"parts": {name: list(part) for name, part in self.parts.items()}}

    @classmethod
    def from_json(cls, data: dict) -> "Calibration":
        return cls(**data | {"parts": {name: Time(*part) for name, part in data["parts"].items()}})


def calibrate(trainer: Trainer, selections: tuple[str, ...], began: Time, left: int) -> Calibration:
    """Measures the parts of a run that has `left` steps to take and will be evaluated by `selections` in the end.

    `began`: when the clocks started to count for this run.
    """
    config, parts = trainer.config, {"starting": passed(began)}
    before, learner = now(), trainer.learner
    weights = learner.state()
    quick = _quick(config)
    inputs = dataclasses.replace(trainer.inputs, config=quick)
    try:
        with contextlib.closing(Trainer(quick, inputs, learner)) as scratch:
            filling = _fill(scratch)
            step, cores, measured = _steps(scratch)
            scale = scratch.player.advantage_scale
        del scratch  # the worlds that evaluation makes take the place of its worlds
        on_the_way, at_the_end = _evaluations(learner.evaluated_network, trainer.inputs, config, selections, scale)
    finally:
        learner.restore(weights)
    parts["compiling and measuring"] = passed(before)
    if left == config.learning.training_steps:
        parts["filling the replay"] = filling.times(_rounds_to_fill(config, inputs))
    parts[STEPS] = step.times(left)
    if config.environment is not None and config.evaluation.period > 0:
        parts["evaluations on the way"] = on_the_way.times(left // config.evaluation.period)
    if config.environment is not None:
        parts["final evaluation"] = at_the_end
    return Calibration(parts, cores, peak_memory() + growth(config, trainer.inputs), measured)


def _quick(config: Config) -> Config:
    """The same run, whose replay is filled within a few rounds."""
    limit = min(config.acting.max_episode_steps, SHORT_EPISODE)
    length = min(config.replay.segment_length, SHORT_SEGMENT)
    start = min(config.replay.start_size, config.acting.games)
    capacity = max(config.replay.capacity, -(-start // length))
    return config.replace(
        replay={"segment_length": length, "start_size": start, "capacity": capacity},
        acting={"max_episode_steps": limit},
    )


def _fill(scratch: Trainer) -> Time:
    """Fills the replay, and the buffers that games are reanalysed from -> the time of one round of play."""
    player, fraction = scratch.player, scratch.config.reanalyse.fraction
    scratch._play(1.0)  # the first round loads the compiled search, or compiles it
    before, rounds = now(), 0
    while rounds == 0 or (0 < fraction < 1 and player.sources.is_empty and rounds < 2 * SHORT_EPISODE):
        scratch._play(1.0)
        rounds += 1
    round_of_play = passed(before).times(1 / rounds)
    scratch._fill_replay()
    # Fresh and stored games as they will be mixed, at once.
    player.fraction = FractionController(fraction)
    player.games = []
    return round_of_play


def _steps(scratch: Trainer) -> tuple[Time, float, float]:
    """-> the time of one learner step, beside which games are played; the cores it keeps busy alone, and had now."""
    for _ in range(3):  # the first compiles
        scratch.step()
    step = _repeated(scratch.step, SECONDS)
    batch, targets = scratch._next
    learning = _repeated(lambda: scratch.learner.step(batch, targets), SECONDS / 4)
    shortest = max(min(learning.wall, learning.processor), step.processor / (KEPT_BUSY * available_cores()))
    return step, max(1.0, step.processor / shortest), step.processor / step.wall


def _evaluations(network, inputs: RunInputs, config: Config, selections: tuple[str, ...], scale) -> tuple[Time, Time]:
    """-> the time of an evaluation on the way, and of all in the end; as many worlds are made as they will need."""
    evaluation, nothing = config.evaluation, Time(0, 0)
    if config.environment is None:
        return nothing, nothing
    number = min(max(evaluation.episodes, evaluation.period_episodes), PARALLEL_EPISODES)
    before = now()
    with contextlib.ExitStack() as opened:
        worlds = [opened.enter_context(inputs.make_environment()) for _ in range(number)]
        making = passed(before).times(1 / number)
        length, reset, step = _world(worlds[0], config)
        longest = max((len(episode) for episode in inputs.episodes), default=0)
        limit = min(worlds[0].time_limit or max(length, longest), config.acting.max_episode_steps)

        def taken(episodes: int, select: str) -> Time:
            side_by_side = min(episodes, PARALLEL_EPISODES)
            once, choice = _choice(network, config, worlds[0], side_by_side, select, scale)
            turns = -(-episodes // side_by_side) * limit
            parts = [once, choice.times(turns), step.times(episodes * limit)]
            return _sum([*parts, making.times(side_by_side), reset.times(episodes)])

        on_the_way = taken(evaluation.period_episodes, evaluation.select) if evaluation.period > 0 else nothing
        return on_the_way, _sum(taken(evaluation.episodes, select) for select in selections)


def _world(environment, config: Config) -> tuple[int, Time, Time]:
    """-> steps of the longest episode of random play, the time of a reset, and of a step."""
    rng = np.random.default_rng(0)
    before = now()
    environment.reset(seed=0)
    reset = passed(before)
    before, steps, length, longest, seed = now(), 0, 0, 0, 0
    while passed(before).wall < SECONDS / 4 or steps < 3:
        *_, terminated, truncated = environment.step(
            random_action(environment.spaces, rng, environment.legal_actions())
        )
        steps, length = steps + 1, length + 1
        longest = max(longest, length)
        if terminated or truncated:
            seed, length = seed + 1, 0
            environment.reset(seed=seed)
    taken = passed(before)
    return longest, reset, Time(*(max(0.0, a - seed * b) / steps for a, b in zip(taken, reset, strict=True)))


def _choice(network, config: Config, environment, batch: int, select: str, scale) -> tuple[Time, Time]:
    """-> the time that the first choice of actions takes longer than others, and that of one choice for `batch`."""
    first = environment.reset(seed=0)
    frames = np.zeros((config.network.frame_stack, *first.shape), first.dtype)
    frames[-1] = first
    observations, rng = np.repeat(stack_frames(frames)[None], batch, axis=0), np.random.default_rng(0)
    masks, before = stack_masks([environment.legal_actions()] * batch), now()
    choose = make_selection(network, config, select, scale)
    choose(observations, rng, masks)
    once = passed(before)
    return once, _repeated(lambda: choose(observations, rng, masks), SECONDS / 10)


def _repeated(call: Callable[[], object], seconds: float) -> Time:
    """The time of a call, repeated for so many seconds of a processor: longer where other programs have most of it."""
    before, number = now(), 0
    while number < 2 or (passed(before).processor < seconds and passed(before).wall < MUCH_LONGER * seconds):
        call()
        number += 1
    return passed(before).times(1 / number)


def _rounds_to_fill(config: Config, inputs) -> float:
    """Rounds of play before the first learner step: a segment is there when its last position has been searched."""
    replay, lengths = config.replay, [len(episode) for episode in inputs.episodes]
    piece = min(replay.segment_length, float(np.mean(lengths)) if lengths else math.inf)
    return max(replay.start_size / config.acting.games, piece)


def _sum(times) -> Time:
    return Time(*(sum(column) for column in zip(*times, strict=True)))
