"""`make`: an environment by its id. Tutorial: tutorials/environments.md.

catch, point, chain, identity, ...    the built-in games (games.py)
atari:Pong                            Atari under the paper's rules (atari.py)
minatar:breakout                      MinAtar, five of Atari's games on 10x10 pictures (minatar.py)
dm_control:cartpole-swingup           DM Control (control.py)
CartPole-v1, or a gymnasium.Env       anything else that Gymnasium can make (gymnasium_environment.py)
my_worlds:Lift-v0                     the same, after the import of a module that registers it: `module_of` names it
catch?repeat=2, or any other id       every action held for two steps (held_actions.py)
"""

import difflib
import importlib.util
import os
import pathlib
import sys

from mzu.environments.environment import Environment
from mzu.environments.held_actions import HeldActions, split_id


def make(id, **options) -> Environment:
    """The environment of this name, with the options of its kind; also takes a `gymnasium.Env`.

    >>> mzu.make("catch").spaces.observation_shape
    (10, 5, 1)
    """
    if isinstance(id, Environment):
        if options:
            raise ValueError(f"{id.id} is already made; the options {', '.join(options)} come too late")
        return id
    # Each kind is imported when it is asked for: DM Control alone takes a second, and not everyone needs Atari.
    if not isinstance(id, str):
        from mzu.environments.gymnasium_environment import GymnasiumEnvironment

        return GymnasiumEnvironment(id, **options)
    world_id, repeat = split_id(id)
    if repeat is not None:
        return HeldActions(make(world_id, **options), repeat)
    kind, colon, name = id.partition(":")
    if colon and kind == "atari":
        from mzu.environments.atari import AtariEnvironment

        return AtariEnvironment(name, **options)
    if colon and kind == "minatar":
        from mzu.environments.minatar import MinAtarEnvironment

        return MinAtarEnvironment(name, **options)
    if colon and kind == "dm_control":
        from mzu.environments.control import ControlEnvironment

        return ControlEnvironment(name, **options)
    return _make_gymnasium(id, options)


def _make_gymnasium(id: str, options: dict) -> Environment:
    import gymnasium

    from mzu.environments import games
    from mzu.environments.gymnasium_environment import GymnasiumEnvironment, missing_dependency

    own_options = {name: options.pop(name) for name in ("channels_first",) if name in options}
    try:
        # Gymnasium's own checker warns on every step; `check_environment` says the same once, in sentences.
        world = gymnasium.make(games.GAMES.get(id, id), disable_env_checker=True, **options)
    except gymnasium.error.UnregisteredEnv:
        raise ValueError(_unknown(id, list(games.GAMES), list(gymnasium.registry))) from None
    except gymnasium.error.DependencyNotInstalled as error:
        raise ValueError(missing_dependency(id, error)) from None
    except ModuleNotFoundError as error:
        module = module_of(id)
        if module is not None and importlib.util.find_spec(module.split(".")[0]) is None:
            raise ValueError(
                f"{id} asks for the module {module}, which Python does not find; install its package, or name the "
                "folder that holds it in PYTHONPATH"
            ) from None
        raise ValueError(missing_dependency(id, error)) from None
    except gymnasium.error.Error as error:
        raise ValueError(f"{id} cannot be made: {error}") from None
    except TypeError as error:
        if options:
            said = " ".join(str(error).split())
            raise ValueError(f"{id} does not understand the options {', '.join(options)}: {said}") from None
        raise ValueError(_failed(id, error)) from error
    except Exception as error:  # whatever the constructor of somebody's environment may do
        raise ValueError(_failed(id, error)) from error
    return GymnasiumEnvironment(world, name=id, **own_options)


def module_of(id: str) -> str | None:
    """The module that an id asks Gymnasium to import first, such as `my_worlds` of `my_worlds:Lift-v0`.

    >>> module_of("my_worlds:Lift-v0?repeat=2"), module_of("dm_control:cheetah-run"), module_of("CartPole-v1")
    ('my_worlds', None, None)
    """
    world, _, _ = id.partition("?")
    module, colon, _ = world.partition(":")
    return module if colon and module not in ("atari", "dm_control", "minatar") else None


def refuse_unknown_module(id: str | None, where: str) -> None:
    """A sentence where following an id that a file names would import a module, which runs its code.

    A module that is imported already runs nothing again: who names it in Python, or with --trust, has decided.
    """
    module = None if id is None else module_of(id)
    if module is not None and module not in sys.modules:
        raise ValueError(
            f"{where} asks for the environment {id}, for which the code of the module {module} would run; if you trust "
            f"it, add --trust (in Python: import {module} first)"
        )


def import_trusted(id: str | None) -> None:
    """Imports the module that an id asks for, from where packages are installed or PYTHONPATH points to.

    Never from the current directory: it may be the folder that came with the id.
    """
    module = None if id is None else module_of(id)
    if module is None:
        return
    top = module.partition(".")[0]
    spec = None if top in sys.modules else importlib.util.find_spec(top)
    if spec is not None and _folder_of(spec) == pathlib.Path.cwd().resolve():
        named = [pathlib.Path(part).resolve() for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
        if _folder_of(spec) not in named:
            raise ValueError(
                f"The module {module} of {id} lies in the current directory, from where nothing is imported for a "
                "run; if it is yours, name the folder in PYTHONPATH"
            )
    try:
        importlib.import_module(module)
    except Exception as error:
        raise ValueError(f"The module {module} of {id} cannot be imported: {type(error).__name__}: {error}") from error


def _folder_of(spec) -> pathlib.Path | None:
    """The folder in which an import found the module or package of `spec`; None for what is built in."""
    if spec.submodule_search_locations:
        return pathlib.Path(next(iter(spec.submodule_search_locations))).resolve().parent
    return pathlib.Path(spec.origin).resolve().parent if spec.has_location else None


def _failed(id: str, error: Exception) -> str:
    return f"{id} cannot be made: its constructor raised {type(error).__name__}: {' '.join(str(error).split())}"


def _unknown(id: str, games: list[str], registered: list[str]) -> str:
    near = difflib.get_close_matches(id, games + registered, n=1, cutoff=0.6)
    advice = (
        f"did you mean '{near[0]}'?"
        if near
        else "ids look like catch, CartPole-v1, minatar:breakout, atari:Pong, dm_control:cheetah-run"
    )
    return f"There is no environment '{id}'; {advice}"
