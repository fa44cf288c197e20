"""Pictures of DM Control's worlds, drawn by a process of their own.

Where there is no graphics card Mesa draws, and brings a compiler along that TensorFlow has, too: both in one process
crash. The painter is given the world's model once and then a state for each picture.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HEIGHT, WIDTH = 240, 320
WAYS = ("egl", "osmesa")  # to draw without a screen, tried in this order


class Painter:
    """Draws states of one world, by the first way that this machine has.

    world   what sentences call it
    model   MuJoCo's model; one that a task changes needs another painter
    """

    def __init__(self, world: str, model):
        import mujoco

        chosen = os.environ.get("MUJOCO_GL", "")
        ways = WAYS if chosen in ("", "disable") else (chosen,)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.mjb"
            mujoco.mj_saveModel(model, str(path), None)
            for way in ways:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__, str(path)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    env={**os.environ, "MUJOCO_GL": way},
                )  # fmt: skip
                if self._process.stdout.read(1) == b"+":  # it has read the model, and can draw
                    return
                self.close()
        raise ValueError(
            f"{world} cannot be drawn here: neither a screen nor {' nor '.join(ways)}; on Debian `apt install libegl1 "
            "libgl1-mesa-dri` brings one"
        )

    def draw(self, state: np.ndarray) -> np.ndarray:
        """The picture [HEIGHT, WIDTH, 3] of a state, as `mujoco.mj_getState` gives it."""
        self._process.stdin.write(np.ascontiguousarray(state, np.float64).tobytes())
        self._process.stdin.flush()
        size = HEIGHT * WIDTH * 3
        picture = self._process.stdout.read(size)
        if len(picture) < size:
            raise ValueError("The process that draws DM Control's pictures has ended; try again")
        return np.frombuffer(picture, np.uint8).reshape(HEIGHT, WIDTH, 3)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def state_of(physics) -> np.ndarray:
    """All that moves, as one vector."""
    import mujoco

    state = np.empty(mujoco.mj_stateSize(physics.model.ptr, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(physics.model.ptr, physics.data.ptr, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    return state


def main(path: str) -> None:
    """The painter's own process: states come in, pictures go out."""
    import mujoco

    model = mujoco.MjModel.from_binary_path(path)
    data, renderer = mujoco.MjData(model), mujoco.Renderer(model, HEIGHT, WIDTH)
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    size = 8 * mujoco.mj_stateSize(model, kind)
    pictures = sys.stdout.buffer
    pictures.write(b"+")
    pictures.flush()
    while state := sys.stdin.buffer.read(size):
        mujoco.mj_setState(model, data, np.frombuffer(state), kind)
        mujoco.mj_forward(model, data)
        renderer.update_scene(data, camera=0 if model.ncam else -1)
        pictures.write(renderer.render().tobytes())
        pictures.flush()


if __name__ == "__main__":
    main(sys.argv[1])
