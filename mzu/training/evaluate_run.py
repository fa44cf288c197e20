"""`evaluate_run`: how well a trained run plays, by each way of selecting actions. What `mzu evaluate` does."""

import dataclasses
from pathlib import Path

from mzu.acting.evaluation import Evaluation, evaluate_selection
from mzu.acting.film import Film
from mzu.acting.selection import SELECTIONS
from mzu.config import Config
from mzu.networks.network import Network
from mzu.training.example_runs import ExampleName
from mzu.training.inputs import environment_maker, network_spaces
from mzu.training.run_folder import RunFolder

ALL = "all"  # ways of selecting actions


def evaluate_run(
    run: ExampleName | str | Path,
    episodes: int | None = None,
    select: str | None = None,
    checkpoint: str = "latest",
    *,
    environment: str | None = None,
    seed: int | None = None,
    film: Film | None = None,
) -> dict[str, Evaluation]:
    """Plays episodes with a network of the run in this folder, or of an example -> {way of selecting
    actions: returns and lengths}.

    Arguments as of `evaluate_network`; `checkpoint` is "latest", "best" or a learner step, `environment` another one
    than the run's.

    >>> mzu.evaluate("runs/mine/unplugged", episodes=2, select="policy")["policy"].returns.shape
    (2,)
    """
    folder = RunFolder.open(run, environment)
    config = folder.config
    if environment is not None:
        config = dataclasses.replace(config, environment=environment)
    checkpoint = str(checkpoint)
    network, scale = folder.load_network(checkpoint), folder.load_scale(checkpoint)
    return evaluate_network(network, config, episodes, select, seed=seed, scale=scale, film=film, name=str(run))


def evaluate_network(
    network: Network,
    config: Config,
    episodes: int | None = None,
    select: str | None = None,
    *,
    seed: int | None = None,
    scale: float | None = None,
    film: Film | None = None,
    name: str = "The network",
) -> dict[str, Evaluation]:
    """Plays episodes in the config's environment -> {way of selecting actions: returns and lengths}.

    episodes   how many (default: as the config says)
    select     "policy", "value", "search", or "all" of them (default: as the config says)
    seed       of the episodes (default: the config's); each way plays the same ones
    scale      the running scale of advantages that was saved beside the network
    film       takes the pictures of the first episode; of the last way where there are several, which is the search
    name       what a sentence calls the network
    """
    episodes = config.evaluation.episodes if episodes is None else episodes
    if episodes < 1:
        raise ValueError(f"episodes is {episodes}, but must be at least 1")
    seed = config.seed if seed is None else seed
    if seed < 0:
        raise ValueError(f"seed is {seed}, but must be at least 0")
    make_environment = environment_maker(config, picture=film is not None)
    with make_environment() as world:
        spaces, frames_per_second = network_spaces(config, world.spaces), world.frames_per_second
    if network.spaces != spaces:
        raise ValueError(f"{name} was trained for {network.spaces}, but {config.environment} has {spaces}")
    wanted = select or config.evaluation.select
    found = {}
    for way in SELECTIONS if wanted == ALL else (wanted,):
        on_frame = None if film is None else film.begin(frames_per_second)
        found[way] = evaluate_selection(network, config, make_environment, episodes, way, seed, on_frame, scale)
    return found
