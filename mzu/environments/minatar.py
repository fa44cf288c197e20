"""MinAtar: five Atari games in miniature, 10x10 pictures of a few planes (Young and Tian 2019). Needs `mzu[minatar]`.

    sticky actions   with probability 0.1 the previous action is repeated, MinAtar's own default
    actions          the game's minimal set, as for Atari here; `full_action_set=True` for all 6 of every game
    difficulty       enemies of Asterix, Seaquest and Space Invaders come faster and faster; `ramping=False` stops that
    time limit       Freeway ends after 2,500 steps, which its picture does not show: a truncation; the others have none

Observation: uint8 [10, 10, planes], 255 where a plane has something, so that the network sees 0 and 1. A plane is one
kind of thing: the ball, the bricks. MinAtar itself would carry the last action over into the next episode, where it may
be repeated; here an episode depends on its seed and its own actions alone.
"""

import difflib
import logging

import numpy as np

from mzu.environments.environment import Environment
from mzu.environments.spaces import Spaces
from mzu.extras import require

# The planes in their order; what stands first is drawn on top.
PLANES = {
    "asterix": ("player", "enemy", "trail", "gold"),
    "breakout": ("paddle", "ball", "trail", "brick"),
    "freeway": ("chicken", "car", "speed 1", "speed 2", "speed 3", "speed 4", "speed 5"),
    "seaquest": (
        *("submarine's front", "submarine's back", "own bullet", "trail", "enemy bullet", "enemy fish"),
        *("enemy submarine", "oxygen gauge", "diver gauge", "diver"),
    ),
    "space_invaders": (*("cannon", "alien", "alien going left", "alien going right", "own bullet", "enemy bullet"),),
}
# Colours that those who do not tell red from green can tell apart, as far as ten can be.
COLOURS = (
    *("#ffffff", "#56b4e9", "#f0e442", "#e69f00", "#009e73"),
    *("#d55e00", "#cc79a7", "#0072b2", "#999999", "#8c564b"),
)
ACTION_NAMES = {"n": "NOOP", "l": "LEFT", "u": "UP", "r": "RIGHT", "d": "DOWN", "f": "FIRE"}
CELL = 16  # points of a rendered picture for each of its 10x10 places
TIMED = "freeway"  # the game that nothing but its timer ends


class MinAtarEnvironment(Environment):
    """`minatar:<game>`, such as `minatar:breakout`; see the top of the module for the rules."""

    frames_per_second = 10.0

    def __init__(self, game: str, sticky: float = 0.1, full_action_set: bool = False, ramping: bool = True):
        if game not in PLANES:
            near = difflib.get_close_matches(game.lower(), PLANES, n=1, cutoff=0.4)
            advice = f"did you mean 'minatar:{near[0]}'?" if near else f"there are {', '.join(PLANES)}"
            raise ValueError(f"There is no MinAtar game '{game}'; {advice}")
        if not 0 <= sticky < 1:
            raise ValueError(f"sticky is {sticky}, but must be a probability below 1 (0.1 in MinAtar)")
        self._world = _make_game(game, sticky, ramping)
        names = self._world.env.action_map
        self._actions = list(range(len(names))) if full_action_set else self._world.minimal_action_set()
        self.action_names = [ACTION_NAMES[names[action]] for action in self._actions]
        self._has_timer = game == TIMED
        shape = tuple(self._world.state_shape())
        super().__init__(f"minatar:{game}", Spaces(shape, len(self._actions), False, "uint8"))

    def _reset(self, seed):
        if seed is not None:
            # MinAtar's own `seed` takes 32 bits only.
            self._world.random = self._world.env.random = np.random.RandomState(np.random.MT19937(seed))
        self._world.last_action = 0
        self._world.reset()
        return self._observation()

    def _step(self, action):
        reward, ended = self._world.act(self._actions[action])
        return self._observation(), float(reward), ended and not self._has_timer, ended and self._has_timer

    def render(self):
        picture = coloured(self._observation(), planes_of(self.id))
        return np.kron(picture, np.ones((CELL, CELL, 1), np.uint8))

    def _observation(self) -> np.ndarray:
        return self._world.state().astype(np.uint8) * np.uint8(255)


def planes_of(id: str | None) -> list[tuple[str, str]] | None:
    """Name and colour of each plane of a MinAtar game's pictures, by its id; None for any other environment.

    >>> planes_of("minatar:breakout")[1]
    ('ball', '#56b4e9')
    """
    kind, _, game = (id or "").partition("?")[0].partition(":")
    if kind != "minatar" or game not in PLANES:
        return None
    return list(zip(PLANES[game], COLOURS, strict=False))


def coloured(observation: np.ndarray, planes: list[tuple[str, str]]) -> np.ndarray:
    """An observation [height, width, planes] as RGB uint8, black where nothing is; the first planes lie on top."""
    picture = np.zeros((*observation.shape[:2], 3), np.uint8)
    for plane in reversed(range(len(planes))):
        picture[observation[..., plane] > 0] = list(bytes.fromhex(planes[plane][1][1:]))
    return picture


def _make_game(game: str, sticky: float, ramping: bool):
    require("minatar", "MinAtar")
    logger = logging.getLogger()
    level = logger.level
    logger.setLevel(logging.ERROR)  # it would complain of packages that only its own window needs
    try:
        import minatar
    finally:
        logger.setLevel(level)
    return minatar.Environment(game, sticky_action_prob=sticky, difficulty_ramping=ramping)
