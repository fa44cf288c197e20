"""`mzu bench environments`: steps per second of the Atari wrapper, against Gymnasium's on the same emulator.

Both make the same observation, four grey frames of 84x84, of the same number of emulated frames with sticky actions.
The emulator alone is the limit of what any wrapper can reach.
"""

import json

import numpy as np

from mzu.bench.timing import best_times
from mzu.environments.atari import AtariEnvironment
from mzu.extras import require

GAMES = ("Pong", "Breakout", "MsPacman")
STEPS = 200  # of one turn
FRAME_SKIP, STICKY = 4, 0.25
COLUMNS = {
    "game": "game    ",
    "mzu_steps_per_second": "mzu steps/s",
    "gymnasium_steps_per_second": "Gymnasium steps/s",
    "emulator_steps_per_second": "emulator alone steps/s",
    "ratio": "mzu / Gymnasium",
}


def add_arguments(parser) -> None:
    parser.add_argument("--json", action="store_true", help="print a list of records instead of a table")
    parser.add_argument("--repetitions", type=int, default=10, help="rounds, of which the best counts (default 10)")


def run(arguments) -> int:
    if arguments.repetitions < 1:
        raise ValueError(f"--repetitions is {arguments.repetitions}, but must be at least 1")
    require("ale_py", "`mzu bench environments`")
    records = []
    if not arguments.json:
        print(f"{FRAME_SKIP} frames a step, best of {arguments.repetitions} interleaved turns of {STEPS} steps\n")
        print("  ".join(COLUMNS.values()))
    for game in GAMES:
        records.append(measure(game, arguments.repetitions))
        if not arguments.json:
            print("  ".join(_cell(records[-1][key], len(title)) for key, title in COLUMNS.items()), flush=True)
    if arguments.json:
        print(json.dumps(records, indent=2))
    return 0


def measure(game: str, repetitions: int) -> dict:
    """One record: steps per second of each, with the same random actions."""
    ours, theirs, emulator = AtariEnvironment(game), gymnasium_atari(game), bare_emulator(game)
    actions = np.random.default_rng(0).integers(ours.spaces.num_actions, size=STEPS)
    players = {"mzu": ours, "gymnasium": theirs, "emulator": emulator}
    contestants = {name: lambda player=player: play(player, actions) for name, player in players.items()}
    times = best_times(contestants, repetitions, seconds=0)
    for player in players.values():
        player.close()
    rates = {f"{name}_steps_per_second": 1000 * STEPS / time for name, time in times.items()}
    return {"game": game, **rates, "ratio": times["gymnasium"] / times["mzu"]}


def play(environment, actions: np.ndarray) -> None:
    """The same loop for ours and Gymnasium's: they differ in what follows the first four of what a step returns."""
    environment.reset(seed=0)
    for action in actions:
        _, _, terminated, truncated, *_ = environment.step(int(action))
        if terminated or truncated:
            environment.reset(seed=0)


def gymnasium_atari(game: str):
    """Gymnasium's preprocessing with the settings of `AtariEnvironment`."""
    from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

    return FrameStackObservation(AtariPreprocessing(bare_emulator(game, 1), noop_max=0, frame_skip=FRAME_SKIP), 4)


def bare_emulator(game: str, frame_skip: int = FRAME_SKIP):
    """The emulator as Gymnasium makes it: colour frames, none of them looked at or resized."""
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    return gymnasium.make(f"ALE/{game}-v5", frameskip=frame_skip, repeat_action_probability=STICKY)


def _cell(value, width: int) -> str:
    if isinstance(value, str):
        return value.ljust(width)
    return (f"{value:,.0f}" if value >= 100 else f"{value:.3g}").rjust(width)
