"""How much memory a run will take, by its settings: what cannot fit is refused before any of it is asked for."""

import math

import numpy as np

from mzu.available_memory import available_memory, shown_bytes
from mzu.config import Config
from mzu.replay.replay import new_replay
from mzu.replay.segment import tail_length
from mzu.training.inputs import RunInputs

LIBRARIES = 600_000_000  # bytes that Python and TensorFlow take before there is any run; measured: 450 to 780 MB
SHORT = 20  # steps of a fresh game, whose length nobody knows before it is played
COPIES = 2  # what a run has, and what its checkpoints are written from


def growth(config: Config, inputs: RunInputs) -> int:
    """Bytes that a run will take beyond those which it has when it begins."""
    return sum(setting_bytes(config, inputs).values())


def setting_bytes(config: Config, inputs: RunInputs) -> dict[str, int]:
    """{setting: bytes at most}, of what grows while a run goes on: the replay, and the fresh games that are kept."""
    reanalyse, searched = config.reanalyse, _searched(config)
    sizes = {"replay.capacity": COPIES * _segment_bytes(config, inputs) * _segments(config, inputs)}
    fresh = (1 - reanalyse.fraction) * searched
    for name in ("most_recent", "highest_return"):
        if getattr(reanalyse, name) > 0 and fresh > 0:
            kept = min(fresh, getattr(reanalyse, f"{name}_steps"))
            sizes[f"reanalyse.{name}_steps"] = COPIES * int(kept * _step_bytes(inputs))
    return sizes


def check_memory(configs: list[Config], inputs: RunInputs, jobs: int = 1) -> None:
    """Refuses runs that cannot fit, `jobs` of them at once, with the setting that would make them fit."""
    available, data = available_memory(), inputs.episodes.bytes_in_memory
    needs = sorted((LIBRARIES + data + growth(config, inputs) for config in configs), reverse=True)
    if sum(needs[:jobs]) <= available:
        return
    if needs[0] <= available:
        fitting = next(number for number in range(jobs, 0, -1) if sum(needs[:number]) <= available)
        raise ValueError(
            f"{min(jobs, len(needs))} runs at once may take {shown_bytes(sum(needs[:jobs]))}, but there are "
            f"{shown_bytes(available)} of memory; --jobs {fitting} fits"
        )
    config = max(configs, key=lambda config: growth(config, inputs))
    sizes = setting_bytes(config, inputs)
    name = max(sizes, key=sizes.get)
    left = available - (needs[0] - sizes[name])
    amount = _segments(config, inputs) if name == "replay.capacity" else min(_setting(config, name), _searched(config))
    fitting = int(amount * left / sizes[name])
    advice = f"{name}={fitting} fits" if fitting >= 1 else "that is too little for any run of these data"
    raise ValueError(
        f"{name}={_setting(config, name)} may take {shown_bytes(sizes[name])}, but {shown_bytes(max(0, left))} of "
        f"{shown_bytes(available)} of memory are left for it; {advice}"
    )


def _setting(config: Config, name: str) -> int:
    section, field = name.split(".")
    return getattr(getattr(config, section), field)


def _searched(config: Config) -> float:
    """Positions that are searched in the whole run."""
    return config.learning.training_steps * config.acting.positions_per_step + config.replay.start_size


def _segments(config: Config, inputs: RunInputs) -> int:
    """How many full segments the replay will hold in the end, if pieces are as short as the stored episodes are."""
    length = config.replay.segment_length
    if inputs.episodes:
        length = min(length, inputs.datapoints / len(inputs.episodes))
    if config.reanalyse.fraction < 1:
        length = min(length, SHORT)
    tail = tail_length(config.learning.unroll_steps, config.learning.td_steps)
    share = (length + tail) / (config.replay.segment_length + tail)  # what is not written to takes no memory
    return min(config.replay.capacity, math.ceil((_searched(config) / length + config.acting.games) * share))


def _segment_bytes(config: Config, inputs: RunInputs) -> int:
    one = config.replace(replay={"capacity": 1, "start_size": 1})
    return new_replay(one, inputs.frame_spaces).bytes_of_data


def _step_bytes(inputs: RunInputs) -> int:
    """An observation, an action, and a reward."""
    spaces = inputs.frame_spaces
    actions = spaces.num_actions if spaces.continuous else 1
    return math.prod(spaces.observation_shape) * np.dtype(spaces.observation_dtype).itemsize + 4 * (actions + 1)
