"""The embedded datasets: a few small ones of mixed quality in the package, each with the recipe that made it.

`load_episodes("embedded:cartpole")` reads one, `mzu collect --recipe cartpole --out FILE.npz` makes it again, byte for
byte where the versions in requirements.txt are installed. Who plays: `mzu/environments/players.py`.
"""

from dataclasses import dataclass
from pathlib import Path

from mzu.config_fields import did_you_mean
from mzu.environments.spaces import Spaces

FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Recipe:
    """How a dataset is made, and what comes of it.

    field         meaning
    environment   the id whose players play
    episodes      how many, with this seed
    spaces        of the environment, so that nothing need be inferred from the data
    steps         of all episodes together
    mean_return   undiscounted, over the episodes, to three places
    best_return   the highest, to three places
    is_embedded   whether the file is in the package; otherwise it is too large for that
    """

    environment: str
    episodes: int
    seed: int
    spaces: Spaces
    steps: int
    mean_return: float
    best_return: float
    is_embedded: bool = True


RECIPES = {
    "cartpole": Recipe(
        environment="CartPole-v1",
        episodes=250,
        seed=0,
        spaces=Spaces((4,), 2),
        steps=24668,
        mean_return=98.672,
        best_return=257.0,
    ),
    "held_cartpole": Recipe(
        environment="CartPole-v1?repeat=2",
        episodes=1000,
        seed=0,
        spaces=Spaces((4,), 2),
        steps=26762,
        mean_return=53.027,
        best_return=251.0,
    ),
    "swingup": Recipe(
        environment="dm_control:cartpole-swingup",
        episodes=60,
        seed=0,
        spaces=Spaces((5,), 1, continuous=True),
        steps=60000,
        mean_return=377.15,
        best_return=697.041,
    ),
    "held_swingup": Recipe(
        environment="dm_control:cartpole-swingup?repeat=4",
        episodes=180,
        seed=2,
        spaces=Spaces((5,), 1, continuous=True),
        steps=45000,
        mean_return=367.577,
        best_return=708.917,
    ),
    "catch": Recipe(
        environment="catch",
        episodes=400,
        seed=0,
        spaces=Spaces((10, 5, 1), 3, observation_dtype="uint8"),
        steps=3600,
        mean_return=-0.27,
        best_return=1.0,
    ),
    "cheetah": Recipe(
        environment="dm_control:cheetah-run",
        episodes=100,
        seed=0,
        spaces=Spaces((17,), 6, continuous=True),
        steps=100000,
        mean_return=231.706,
        best_return=493.042,
        is_embedded=False,
    ),
    "held_cheetah": Recipe(
        environment="dm_control:cheetah-run?repeat=4",
        episodes=60,
        seed=0,
        spaces=Spaces((17,), 6, continuous=True),
        steps=15000,
        mean_return=144.989,
        best_return=306.44,
    ),
    "point_mass": Recipe(
        environment="dm_control:point_mass-easy",
        episodes=60,
        seed=0,
        spaces=Spaces((4,), 2, continuous=True),
        steps=60000,
        mean_return=110.703,
        best_return=537.814,
        is_embedded=False,
    ),
}


def recipe(name: str) -> Recipe:
    """The recipe of this name; one sentence where there is none."""
    if name not in RECIPES:
        raise ValueError(f"There is no embedded dataset {name!r}; {did_you_mean(name, RECIPES)}")
    return RECIPES[name]


def embedded_path(name: str) -> Path:
    """The file of an embedded dataset; where it is not in the package, the command that makes it is said."""
    path = FOLDER / f"{name}.npz"
    if not recipe(name).is_embedded:
        raise ValueError(
            f"embedded:{name} is too large for the package; make it with `mzu collect --recipe {name} --out "
            f"{name}.npz`, and load {name}.npz instead"
        )
    if not path.exists():
        raise ValueError(f"{path} is missing; make it again with `mzu collect --recipe {name} --out {path}`")
    return path
