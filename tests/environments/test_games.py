"""The built-in games: what Gymnasium's own check says, who solves them and who does not."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from made_worlds import mean_return, play

from mzu.environments.games import GAMES
from mzu.environments.make import make
from mzu.environments.policies import HEURISTICS, heuristic_policy, random_policy
from mzu.environments.spaces import Spaces


@pytest.mark.parametrize("id", GAMES.values())
def test_the_games_pass_the_check_of_gymnasium(id):
    modes = gymnasium.spec(id).entry_point.endswith("Catch")
    check_env(gymnasium.make(id, disable_env_checker=True).unwrapped, skip_render_check=not modes)


def test_the_picture_of_catch_can_be_shown():
    environment = make("catch", render_mode="rgb_array")
    environment.reset(0)
    assert environment.render().shape == (160, 80, 3)
    with pytest.raises(ValueError, match="render_mode='rgb_array'"):
        make("catch").render()


def test_the_identity_games_are_solved_by_reading_the_observation():
    for id in ("identity", "identity_image", "identity_continuous"):
        environment = make(id)
        assert mean_return(environment, heuristic_policy(environment), 3) == pytest.approx(10)
        assert mean_return(environment, random_policy(environment), 10) < 7.5
    assert GAMES.keys() <= HEURISTICS.keys()


def test_undirected_play_does_not_find_the_treasure_of_a_long_chain():
    environment = make("chain", length=30)
    assert max(play(environment, seed)[1].max() for seed in range(50)) == pytest.approx(0.001)


@pytest.mark.parametrize("dimensions", [1, 6])
def test_point_has_as_many_dimensions_as_asked_for(dimensions):
    environment = make("point", dimensions=dimensions)
    assert environment.spaces == Spaces((2 * dimensions,), dimensions, continuous=True)
    position, way = np.split(environment.reset(0), 2)
    moved, rest = np.split(environment.step(np.sign(way))[0], 2)
    assert np.allclose(moved + rest, position + way, atol=1e-6) and np.linalg.norm(rest) < np.linalg.norm(way)
