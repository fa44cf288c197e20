"""Pictures of DM Control, drawn by a process of their own; where nothing can draw, a sentence."""

import numpy as np
import pytest

from mzu.environments.control_pictures import HEIGHT, WIDTH
from mzu.environments.make import make

pytest.importorskip("dm_control", reason="needs DM Control: pip install 'mzu[control]'")


@pytest.fixture
def world():
    with make("dm_control:reacher-hard") as world:
        world.reset(seed=0)
        try:
            world.render()
        except ValueError as error:
            pytest.skip(str(error))
        yield world


def test_a_state_has_one_picture_and_the_next_state_another(world):
    first, again = world.render(), world.render()
    assert first.shape == (HEIGHT, WIDTH, 3) and first.dtype == np.uint8 and first.std() > 10
    assert np.array_equal(first, again)
    world.step(np.ones(2, np.float32))
    assert not np.array_equal(world.render(), first)


def test_a_new_episode_shows_where_its_own_target_is(world):
    seen = []
    for seed in (1, 2, 1):
        world.reset(seed=seed)
        world.world.physics.data.qpos[:] = 0  # the arm lies still, so that only the target differs
        seen.append(world.render())
    assert np.array_equal(seen[0], seen[2]) and not np.array_equal(seen[0], seen[1])


def test_it_draws_beside_tensorflow(world):
    from mzu.silent_tensorflow import tf

    assert float(tf.reduce_sum(tf.ones(3))) == 3 and world.render().std() > 10


def test_where_nothing_can_draw_there_is_a_sentence(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "no_such_way")
    with (
        make("dm_control:cartpole-swingup") as world,
        pytest.raises(ValueError, match=r"cannot be drawn here.*apt install"),
    ):
        world.reset(seed=0)
        world.render()
