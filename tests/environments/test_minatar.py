"""MinAtar's five games under the rules that the module states."""

import numpy as np
import pytest

from mzu.environments.check import check_environment
from mzu.environments.make import make
from mzu.environments.minatar import COLOURS, PLANES, coloured, planes_of

pytest.importorskip("minatar", reason="needs MinAtar: pip install 'mzu[minatar]'")


def played(environment, seed, steps=300):
    """Observations, rewards and ends of random play."""
    rng = np.random.default_rng(seed)
    seen = [(environment.reset(seed), 0.0, False, False)]
    while len(seen) <= steps and not any(seen[-1][2:]):
        seen.append(environment.step(int(rng.integers(environment.spaces.num_actions))))
    return seen


@pytest.mark.parametrize(("game", "actions", "names"), [
    ("asterix", 5, "NOOP LEFT UP RIGHT DOWN"), ("breakout", 3, "NOOP LEFT RIGHT"), ("freeway", 3, "NOOP UP DOWN"),
    ("seaquest", 6, "NOOP LEFT UP RIGHT DOWN FIRE"), ("space_invaders", 4, "NOOP LEFT RIGHT FIRE"),
])  # fmt: skip
def test_each_game_has_its_planes_and_its_minimal_actions(game, actions, names):
    environment = make(f"minatar:{game}")
    assert (
        environment.spaces.observation_shape == (10, 10, len(PLANES[game]))
        and environment.action_names == names.split()
    )
    assert environment.spaces.num_actions == actions and environment.spaces.observation_dtype == "uint8"
    assert make(f"minatar:{game}", full_action_set=True).spaces.num_actions == 6
    own = environment._world.env.channels
    assert sorted(own.values()) == list(range(len(PLANES[game])))
    assert len(set(COLOURS)) == len(COLOURS) >= len(PLANES[game])
    observation = environment.reset(0)
    assert set(np.unique(observation)) == {0, 255}
    assert not check_environment(environment)


def test_the_names_of_breakouts_planes_are_those_of_minatar():
    environment = make("minatar:breakout")
    assert tuple(environment._world.env.channels) == PLANES["breakout"]
    assert tuple(make("minatar:asterix")._world.env.channels) == PLANES["asterix"]


@pytest.mark.parametrize("game", PLANES)
def test_an_episode_depends_on_its_seed_and_its_actions_alone(game):
    environment = make(f"minatar:{game}")
    first = played(environment, 5)
    for _ in range(3):
        environment.step(1) if environment._running else environment.reset(1)
    again, other = played(environment, 5), played(make(f"minatar:{game}"), 5)
    assert len(first) == len(again) == len(other)
    for one, two, three in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[0], three[0])
        assert one[1:] == two[1:] == three[1:]


def test_one_step_in_ten_repeats_the_action_before_it():
    environment = make("minatar:breakout")
    kept = np.zeros(2)
    for seed in range(400):
        paddle = environment.reset(seed)[9, :, 0].argmax()
        environment.step(1)  # LEFT; with probability 0.1 the NOOP before it
        moved = environment._world.env.pos != paddle
        kept += [not moved, 1]
    assert 0.05 < kept[0] / kept[1] < 0.16
    still = make("minatar:breakout", sticky=0.0)
    assert all(still.reset(seed) is not None and still.step(1)[0][9, 3, 0] == 255 for seed in range(50))


def test_the_timer_of_freeway_truncates_and_losing_the_ball_terminates():
    freeway, breakout = make("minatar:freeway"), make("minatar:breakout")
    freeway.reset(0)
    ends = [freeway.step(0)[2:] for _ in range(2501)]
    assert ends[-1] == (False, True) and not any(any(end) for end in ends[:-1])
    assert played(breakout, 0)[-1][2:] == (True, False)


def test_difficulty_ramps_unless_told_otherwise():
    assert make("minatar:asterix")._world.env.ramping and not make("minatar:asterix", ramping=False)._world.env.ramping


def test_a_picture_shows_each_plane_in_its_colour_and_the_first_on_top():
    environment = make("minatar:breakout")
    observation = environment.reset(0)
    picture = environment.render()
    assert picture.shape == (160, 160, 3) and picture.dtype == np.uint8
    np.testing.assert_array_equal(picture[::16, ::16], coloured(observation, planes_of("minatar:breakout")))
    assert picture[9 * 16, 4 * 16].tolist() == [255, 255, 255]  # the paddle
    assert picture[16, 0].tolist() == [0xE6, 0x9F, 0x00]  # a brick
    row, column = np.argwhere(observation[..., 1])[0]
    assert observation[row, column, 2] == 255  # where the episode begins the ball lies on its trail
    assert picture[row * 16, column * 16].tolist() == [0x56, 0xB4, 0xE9]


def test_planes_are_known_by_the_id_alone():
    assert [name for name, _ in planes_of("minatar:breakout?repeat=2")] == list(PLANES["breakout"])
    assert planes_of("catch") is None and planes_of(None) is None and planes_of("minatar:pong") is None


@pytest.mark.parametrize(("id", "options", "sentence"), [
    ("minatar:Breakout", {}, "There is no MinAtar game 'Breakout'; did you mean 'minatar:breakout'"),
    ("minatar:zzz", {}, "there are asterix, breakout"),
    ("minatar:breakout", {"sticky": 1.5}, "sticky is 1.5, but must be a probability below 1"),
])  # fmt: skip
def test_what_cannot_be_made_is_said_in_a_sentence(id, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(id, **options)
