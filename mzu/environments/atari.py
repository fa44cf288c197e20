"""Atari under the rules of the paper (section "MuZero Unplugged", appendix "Evaluation") and of RL Unplugged.

    sticky actions   with probability 0.25 the emulator repeats the previous action, decided anew for every frame
    frame skip       4 frames per step, rewards added up; the observation is the maximum of the last two frames
    actions          the game's minimal set, as in RL Unplugged; `full_action_set=True` for all 18
    time limit       108,000 frames (30 minutes), which is a truncation; losing a life does not end an episode
    no-op starts     none; `noop_starts=30` begins with 1..30 idle frames, as for the no-op column of the paper

What the network sees, oldest frame first, black before the start:

    picture="grey"   the last 4 frames, 84x84 grey                                 uint8 [84, 84, 4]
    picture="rgb"    MuZero's own: the last 32 frames, 96x96 RGB, then 32 planes
                     for the actions that led to them                              uint8 [96, 96, 128]

`stack=1` gives single frames, which is how they are stored. The grey frames are made as Dopamine makes them, which RL
Unplugged's data come from: the emulator's own grey, maximum, then area averaging from 210x160. Gymnasium's
`AtariPreprocessing` makes them; the last picture of an episode, the stack and the action planes are made here.
"""

import difflib

import numpy as np
from gymnasium.wrappers import AtariPreprocessing

from mzu.environments.environment import Environment
from mzu.environments.spaces import Spaces
from mzu.extras import require

SIZE = {"grey": 84, "rgb": 96}
STACK = {"grey": 4, "rgb": 32}


class AtariEnvironment(Environment):
    """`atari:<Game>`, such as `atari:Pong` or `atari:MsPacman`; see the top of the module for the rules."""

    def __init__(
        self,
        game: str,
        picture: str = "grey",
        stack: int | None = None,
        action_planes: bool | None = None,
        sticky: float = 0.25,
        frame_skip: int = 4,
        full_action_set: bool = False,
        frame_limit: int = 108_000,
        noop_starts: int = 0,
    ):
        if picture not in SIZE:
            raise ValueError(f"picture is {picture!r}, but must be 'grey' (84x84) or 'rgb' (96x96)")
        stack = STACK[picture] if stack is None else stack
        if stack < 1 or frame_skip < 1 or frame_limit < 1 or noop_starts < 0:
            raise ValueError(
                f"stack is {stack}, frame_skip {frame_skip}, frame_limit {frame_limit} and noop_starts {noop_starts}, "
                "but only noop_starts may be 0, and none may be negative"
            )
        require("cv2", "Resizing Atari's frames")
        self._world = _Pictures(
            _make_game(game, sticky, full_action_set, frame_limit),
            noop_max=noop_starts,
            frame_skip=frame_skip,
            screen_size=SIZE[picture],
            grayscale_obs=picture == "grey",
            grayscale_newaxis=True,
        )
        self._stack = stack
        self._planes = (picture == "rgb" and stack > 1) if action_planes is None else action_planes
        self.frames_per_second = 60 / frame_skip
        *size, colours = self._world.observation_space.shape
        shape = (*size, stack * (colours + self._planes))
        super().__init__(f"atari:{game}", Spaces(shape, int(self._world.action_space.n), False, "uint8"))

    @property
    def action_names(self) -> list[str]:
        """What each action presses: NOOP, FIRE, UPRIGHT, ..."""
        return self._world.unwrapped.get_action_meanings()

    @property
    def frames(self) -> int:
        """Frames of the emulator since the episode began; the frame limit counts these."""
        return self._world.ale.getEpisodeFrameNumber()

    def _reset(self, seed):
        picture, _ = self._world.reset(seed=seed)
        self._pictures = np.zeros((*picture.shape[:2], self._stack * picture.shape[2]), np.uint8)
        self._levels = np.zeros(self._stack, np.uint8)
        return self._observation(picture, action=0)

    def _step(self, action):
        picture, reward, terminated, truncated, _ = self._world.step(action)
        return self._observation(picture, action), reward, terminated, truncated

    def render(self):
        return self._world.ale.getScreenRGB()

    def close(self):
        super().close()
        self._world.close()

    def _observation(self, picture: np.ndarray, action: int) -> np.ndarray:
        """The stack with this picture as its newest one, in the layout of `stack_history` (networks)."""
        self._pictures = np.concatenate([self._pictures[..., picture.shape[-1] :], picture], axis=-1)
        if not self._planes:
            return self._pictures.copy()
        self._levels = np.append(self._levels[1:], np.uint8(np.rint(255 * action / self.spaces.num_actions)))
        planes = np.broadcast_to(self._levels, (*picture.shape[:2], self._stack))
        return np.concatenate([self._pictures, planes], axis=-1)


class _Pictures(AtariPreprocessing):
    """Gymnasium's, which at an end stops before it looks at the screen, and shows the picture of the step before.

    What follows a truncation is estimated from that picture, so the last screen is looked at here.
    """

    def _get_obs(self):
        if self.ale.game_over():  # by termination or truncation
            look = self.ale.getScreenGrayscale if self.grayscale_obs else self.ale.getScreenRGB
            look(self.obs_buffer[0])
        picture = super()._get_obs()
        self.obs_buffer[1].fill(0)  # so that an end before the last frame takes no maximum
        return picture


def _make_game(game: str, sticky: float, full_action_set: bool, frame_limit: int):
    require("ale_py", "Atari")
    import ale_py
    import gymnasium

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # otherwise it greets in the middle of our output
    gymnasium.register_envs(ale_py)
    try:
        world = gymnasium.make(
            f"ALE/{game}-v5",
            frameskip=1,
            repeat_action_probability=sticky,
            full_action_space=full_action_set,
            max_num_frames_per_episode=frame_limit,
        )
    except gymnasium.error.Error:
        prefix = "ALE/"
        games = [id[len(prefix) : -3] for id in gymnasium.registry if id.startswith(prefix) and id.endswith("-v5")]
        near = difflib.get_close_matches(game, games, n=1, cutoff=0.4)
        advice = f"; did you mean 'atari:{near[0]}'?" if near else "; names look like atari:Pong and atari:MsPacman"
        raise ValueError(f"There is no Atari game '{game}'{advice}") from None
    return world.unwrapped
