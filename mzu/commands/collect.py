"""`mzu collect`: record episodes of a random, heuristic or trained policy, or of a mixture, as a dataset of one's own.

Episode i depends only on the seed and on i, so that more episodes of the same seed begin with the same ones.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mzu.acting.collect import collect, trained_policy
from mzu.commands.trust import add_trust, trust_run
from mzu.config import Config
from mzu.environments.make import make
from mzu.episodes.embedded import RECIPES, recipe
from mzu.episodes.episode import Episode
from mzu.training.results import cut_off_words

POLICIES = ("random", "heuristic", "mixture", "players", "trained")


def add_arguments(parser) -> None:
    parser.add_argument(
        "id",
        nargs="?",
        help="environment: catch, CartPole-v1, dm_control:cartpole-swingup, atari:Pong; any of them "
        "with '?repeat=4' behind it: every action is held for four steps",
    )
    parser.add_argument("--recipe", metavar="NAME",
                        help=f"make an embedded dataset again: {', '.join(RECIPES)}; says all but --out")  # fmt: skip
    parser.add_argument("--policy", choices=POLICIES,
                        help="(default random) mixture: the heuristic, with another share of noise in every episode; "
                        "players: several mediocre ones in turn")  # fmt: skip
    parser.add_argument("--run", type=Path, metavar="RUN", dest="run_folder",
                        help="the folder of a run of `mzu train`, or an example such as example:cartpole, whose "
                        "network --policy trained plays")  # fmt: skip
    add_trust(parser)
    parser.add_argument("--network", type=Path, metavar="FILE.keras", help="or a saved network alone")
    parser.add_argument("--set", action="append", default=[], metavar="search.FIELD=VALUE",
                        help="a setting of the search that --policy trained plays with; may be repeated")  # fmt: skip
    parser.add_argument("--episodes", type=int, help="how many (default 10)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.npz", help="where to write them")
    parser.add_argument("--seed", type=int, help="(default 0)")
    parser.add_argument("--noise", type=float, metavar="P",
                        help="probability of a random action at each step (default 0)")  # fmt: skip
    parser.add_argument("--sticky", type=float, metavar="P",
                        help="probability of repeating the last action at each step (default 0)")  # fmt: skip
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="an option of the environment, such as dimensions=3; may be repeated")  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")


def run(arguments) -> int:
    """Plays and writes the episodes; 130 where Ctrl-C ended it early, with the complete episodes written."""
    from tqdm import tqdm

    from mzu.episodes.readers.npz import write_npz

    _fill_in(arguments)
    if arguments.episodes < 1:
        raise ValueError(f"--episodes is {arguments.episodes}, but must be at least 1")
    if arguments.out.suffix != ".npz":
        raise ValueError(
            f"--out is {arguments.out}, but must end in .npz; `mzu data convert` makes other formats of it"
        )
    if arguments.out.exists() and not arguments.overwrite:
        raise ValueError(f"{arguments.out} exists; choose another name, or add --overwrite to replace it")
    options = dict(_option(text) for text in arguments.option)
    if arguments.id.startswith("atari:"):
        options.setdefault("stack", 1)  # Frames are stored once and stacked when they are read.
    if (arguments.policy == "trained") != (arguments.network is not None):
        raise ValueError("--policy trained and --network FILE.keras or --run RUN belong together; give both or neither")
    settings = (arguments.episodes, arguments.seed, arguments.noise, arguments.sticky)
    config = arguments.config.override(*arguments.set)
    with make(arguments.id, **options) as environment:
        environment.max_steps = config.acting.max_episode_steps
        policy = arguments.policy
        if policy == "trained":
            policy = trained_policy(environment, arguments.network, config, arguments.scale)
        # disable=None: no bar where the output is not a terminal.
        bar = tqdm(collect(environment, policy, *settings), total=arguments.episodes, unit="episode", disable=None)
        returns, lengths = [], []
        write_npz(arguments.out, _until_interrupted(bar, returns, lengths))
    print(
        f"{arguments.out}: {len(returns)} episodes of {arguments.id}, {sum(lengths)} steps, return "
        f"{np.mean(returns):.1f} on average, from {min(returns):.1f} to {max(returns):.1f}"
    )
    if environment.cut_off:
        print(cut_off_words(f"{environment.cut_off} of {len(returns)} episodes", environment.max_steps))
    if len(returns) < arguments.episodes:
        print(f"Interrupted: these are the episodes that were complete, of {arguments.episodes}")
        return 130
    return 0


def _until_interrupted(episodes: Iterator[Episode], returns: list, lengths: list) -> Iterator[Episode]:
    """The episodes, with returns and lengths noted; Ctrl-C ends the stream after those that are complete."""
    try:
        for episode in episodes:
            returns.append(episode.total_reward)
            lengths.append(len(episode))
            yield episode
    except KeyboardInterrupt:
        if not returns:
            raise


def _fill_in(arguments) -> None:
    """What the recipe or the run says, or the defaults of what was not given."""
    arguments.config, arguments.scale = Config(), None
    if arguments.run_folder is not None:
        _look_into_run(arguments)
    if (arguments.id is None) == (arguments.recipe is None):
        raise ValueError("Give either the id of an environment or --recipe NAME")
    said = {"policy": "random", "episodes": 10, "seed": 0, "noise": 0.0, "sticky": 0.0}
    if arguments.recipe is not None:
        made = recipe(arguments.recipe)
        given = [name for name in (*said, "network", "option", "set") if getattr(arguments, name) not in (None, [])]
        if given:
            raise ValueError(f"--recipe {arguments.recipe} says what --{given[0]} is; leave --{given[0]} out")
        said |= {"id": made.environment, "policy": "players", "episodes": made.episodes, "seed": made.seed}
    for name, value in said.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)


def _look_into_run(arguments) -> None:
    """Environment, network and settings of the search are those of the run."""
    from mzu.training.run_folder import RunFolder

    if arguments.network is not None or arguments.recipe is not None:
        other = "--network" if arguments.network is not None else "--recipe"
        raise ValueError(f"--run and {other} say the same thing twice; leave one of them out")
    if arguments.trust:
        trust_run(arguments.run_folder)
    folder = RunFolder.open(arguments.run_folder, arguments.id)
    arguments.config, arguments.network, arguments.scale = folder.config, folder.network_file(), folder.load_scale()
    arguments.policy = arguments.policy or "trained"
    arguments.id = arguments.id or folder.config.environment


def _option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"'{text}' is not an option of an environment; write name=value")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
