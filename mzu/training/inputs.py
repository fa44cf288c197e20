"""`RunInputs`: what a run is given. Its environment, its dataset, and whether they and the config fit together.

Everything that cannot work is refused here, in one sentence, before anything is built.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mzu.config import Config
from mzu.environments.environment import BOUND_TOLERANCE, Environment
from mzu.environments.held_actions import held_id, spoken_repeat
from mzu.environments.make import make
from mzu.environments.spaces import Spaces
from mzu.episodes.dataset import load_episodes
from mzu.episodes.episode import Episode
from mzu.episodes.held_episodes import HeldEpisodes
from mzu.training.held_out import split_episodes


@dataclass(frozen=True, eq=False)
class RunInputs:
    """The world and the data of a config.

    field         meaning
    frame_spaces  spaces of one frame or state, as environment and episodes hold them
    spaces        what the network sees: `network.frame_stack` frames along the channels
    episodes      the dataset, empty where there is none; without those that are
    held_out      never learned from (`reanalyse.held_out`)
    """

    config: Config
    frame_spaces: Spaces
    spaces: Spaces
    episodes: Sequence[Episode]
    held_out: Sequence[Episode] = ()

    @property
    def datapoints(self) -> int | None:
        """Stored steps, for `network.width=auto`."""
        return sum(map(len, self.episodes)) or None

    @property
    def make_environment(self) -> Callable[[], Environment]:
        return environment_maker(self.config)


def load_inputs(config: Config) -> RunInputs:
    """Loads the data and looks at the environment; a ValueError says what does not fit."""
    if config.environment is None and config.data is None:
        raise ValueError("There is neither an environment nor data to train on; give --env ID, --data PATH or a preset")
    dataset = None if config.data is None else load_episodes(config.data, config.data_root)
    episodes = HeldEpisodes([] if dataset is None else dataset, 1e9 * config.run.data_memory)
    if config.environment is None:
        frame_spaces, repeat = dataset.infer_spaces(), None
    else:
        with environment_maker(config)() as environment:
            frame_spaces, repeat = environment.spaces, environment.repeat
    check_config(config, frame_spaces, bool(episodes))
    for episode in episodes:
        check_episode(episode, frame_spaces, config.environment or config.data, repeat)
    from mzu.networks.network import resolve_width
    from mzu.networks.size import check_size

    episodes, held_out = split_episodes(episodes, config.reanalyse.held_out, config.seed)
    inputs = RunInputs(config, frame_spaces, network_spaces(config, frame_spaces), episodes, held_out)
    width = resolve_width(config.network, inputs.datapoints)
    check_size(dataclasses.replace(config.network, width=width), inputs.spaces, copies=5)
    return inputs


def network_spaces(config: Config, frame_spaces: Spaces) -> Spaces:
    """What the network sees of single frames or states: `network.frame_stack` of them along the channels."""
    *sides, channels = frame_spaces.observation_shape
    stacked = (*sides, channels * config.network.frame_stack)
    return dataclasses.replace(frame_spaces, observation_shape=stacked)


def environment_maker(config: Config, picture: bool = False) -> Callable[[], Environment]:
    """A function that makes the run's environment, which hands out single frames; `picture`: one that is rendered."""
    if config.environment is None:
        raise ValueError("This run has no environment to play in; give one with --env ID")
    # Frames are stacked where they are read (`network.frame_stack`), so that they are stored once.
    options = {"stack": 1} if config.environment.startswith("atari:") else {}
    if picture and not config.environment.startswith(("atari:", "minatar:", "dm_control:")):
        options["render_mode"] = "rgb_array"  # the others draw without being told

    def make_environment() -> Environment:
        environment = make(config.environment, **options)
        environment.max_steps = config.acting.max_episode_steps
        return environment

    return make_environment


def check_config(config: Config, spaces: Spaces, has_data: bool) -> None:
    """Settings that contradict each other, the environment or the presence of data."""
    fraction = config.reanalyse.fraction
    if fraction < 1 and config.environment is None:
        raise ValueError(
            f"reanalyse.fraction is {fraction}, which needs fresh games, but no environment is given (--env)"
        )
    if fraction == 1 and not (has_data and config.reanalyse.demonstrations > 0):
        raise ValueError(
            "reanalyse.fraction is 1, so all is learned from stored games, but there are none; give --data PATH, or "
            "lower the fraction to play"
        )
    if config.reanalyse.held_out > 0 and not has_data:
        raise ValueError(
            f"reanalyse.held_out is {config.reanalyse.held_out}, but this run has no data to hold episodes out of; "
            "leave it at 0, or give --data PATH"
        )
    if config.learning.policy_loss != "reanalyse" and fraction < 1:
        raise ValueError(
            f"learning.policy_loss={config.learning.policy_loss} learns from stored actions only; set "
            "reanalyse.fraction=1"
        )
    if config.network.frame_stack > 1 and not spaces.is_image:
        raise ValueError(
            f"network.frame_stack is {config.network.frame_stack}, but only images are stacked; set it to 1"
        )
    replay = config.replay
    if replay.capacity * replay.segment_length < replay.start_size:
        raise ValueError(
            f"replay.start_size is {replay.start_size}, but replay.capacity={replay.capacity} segments of up to "
            f"replay.segment_length={replay.segment_length} positions never hold as many; raise capacity or lower "
            "start_size"
        )
    if spaces.continuous and config.search.num_sampled_actions is None:
        raise ValueError("Continuous actions must be sampled; set search.num_sampled_actions (20 in DM Control)")


def check_episode(episode: Episode, spaces: Spaces, world: str, repeat: int | None = None) -> None:
    """An episode that does not fit the spaces of the environment (or of the dataset itself), or how it holds actions.

    `repeat` is the environment's; where it or the episode's is None, nothing is said about it.
    """
    where = f"The episode {episode.source}" if episode.source else "An episode of the dataset"
    advice = "is this the dataset of another environment?"
    shape, actions = episode.observations.shape[1:], episode.actions
    if shape != spaces.observation_shape:
        raise ValueError(
            f"{where} has observations of shape {shape}, but {world} has {spaces.observation_shape}; {advice}"
        )
    if episode.is_continuous != spaces.continuous or actions.shape[1:] not in ((), (spaces.num_actions,)):
        theirs = f"{actions.shape[1]} continuous" if episode.is_continuous else "discrete"
        kind = "continuous" if spaces.continuous else "discrete"
        raise ValueError(f"{where} has {theirs} actions, but {world} has {spaces.num_actions} {kind} ones; {advice}")
    if spaces.continuous and np.abs(actions).max() > 1 + BOUND_TOLERANCE:
        raise ValueError(f"{where} has actions up to {np.abs(actions).max():.3g}, but they must be scaled to [-1, 1]")
    if not spaces.continuous and not 0 <= actions.min() <= actions.max() < spaces.num_actions:
        number = spaces.num_actions
        raise ValueError(
            f"{where} has actions {actions.min()}..{actions.max()}, but {world} has {number} (0..{number - 1}); "
            f"{advice}"
        )
    if None not in (repeat, episode.repeat) and episode.repeat != repeat:
        held = spoken_repeat(episode.repeat)
        raise ValueError(
            f"{where} was recorded with every action held for {held}, but in {world} it is {repeat}; use "
            f"--env '{held_id(world, episode.repeat)}', or data that were recorded in {world}"
        )
