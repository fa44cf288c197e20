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
Unplugged's data come from: the emulator's own grey, maximum, then area averaging (cv2.INTER_AREA) from 210x160.
"""

import difflib

import numpy as np

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
        self._resize = _resizer(SIZE[picture])
        self._world = _make_game(game, sticky, full_action_set, frame_limit)
        self._ale, self._buttons = self._world.ale, self._world._action_set
        self._grey, self._stack = picture == "grey", stack
        self._planes = (picture == "rgb" and stack > 1) if action_planes is None else action_planes
        self._frame_skip, self._noop_starts = frame_skip, noop_starts
        self.frames_per_second = 60 / frame_skip
        channels = stack * ((1 if self._grey else 3) + self._planes)
        super().__init__(
            f"atari:{game}", Spaces((SIZE[picture],) * 2 + (channels,), len(self._buttons), False, "uint8")
        )

    @property
    def action_names(self) -> list[str]:
        """What each action presses: NOOP, FIRE, UPRIGHT, ..."""
        return self._world.get_action_meanings()

    @property
    def frames(self) -> int:
        """Frames of the emulator since the episode began; the frame limit counts these."""
        return self._ale.getEpisodeFrameNumber()

    def _reset(self, seed):
        self._world.reset(seed=seed)
        if self._noop_starts:
            for _ in range(self._world.np_random.integers(1, self._noop_starts + 1)):
                self._ale.act(self._buttons[0])
                if self._ale.game_over():
                    self._ale.reset_game()
        size, _, channels = self.spaces.observation_shape
        self._pictures = np.zeros((size, size, channels - self._stack * self._planes), np.uint8)
        self._levels = np.zeros(self._stack, np.uint8)
        return self._observation(self._screen(), action=0)

    def _step(self, action):
        reward, previous = 0.0, None
        for frame in range(self._frame_skip):
            reward += self._ale.act(self._buttons[action])
            ended = self._ale.game_over()
            # Critical: the Atari draws some objects in every second frame only; a single one would lose them.
            if frame == self._frame_skip - 2 and not ended:
                previous = self._screen()
            if ended:
                break
        screen = self._screen()
        if previous is not None:
            screen = np.maximum(screen, previous)
        truncated = self._ale.game_truncated()
        return self._observation(screen, action), reward, self._ale.game_over(with_truncation=False), truncated

    def render(self):
        return self._ale.getScreenRGB()

    def close(self):
        super().close()
        self._world.close()

    def _screen(self) -> np.ndarray:
        return self._ale.getScreenGrayscale() if self._grey else self._ale.getScreenRGB()

    def _observation(self, screen: np.ndarray, action: int) -> np.ndarray:
        """The stack with this screen as its newest picture, in the layout of `stack_history` (networks)."""
        size = self.spaces.observation_shape[0]
        picture = self._resize(screen).reshape(size, size, -1)
        self._pictures = np.concatenate([self._pictures[..., picture.shape[-1] :], picture], axis=-1)
        if not self._planes:
            return self._pictures.copy()
        self._levels = np.append(self._levels[1:], np.uint8(np.rint(255 * action / self.spaces.num_actions)))
        planes = np.broadcast_to(self._levels, (size, size, self._stack))
        return np.concatenate([self._pictures, planes], axis=-1)


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


def _resizer(size: int):
    require("cv2", "Resizing Atari's frames")
    import cv2

    return lambda screen: cv2.resize(screen, (size, size), interpolation=cv2.INTER_AREA)
