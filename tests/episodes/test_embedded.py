"""The embedded datasets are what their recipes say, can be made again, and leave something to learn."""

import numpy as np
import pytest
from made_episodes import assert_same
from scipy.spatial import cKDTree

from mzu import load_episodes
from mzu.acting.collect import collect
from mzu.commands.cli import main
from mzu.environments.make import make
from mzu.episodes.embedded import FOLDER, RECIPES, embedded_path
from mzu.episodes.readers.npz import read_npz

EMBEDDED = [name for name, recipe in RECIPES.items() if recipe.is_embedded]


def assert_statistics(episodes, recipe):
    returns = [episode.total_reward for episode in episodes]
    assert (len(episodes), sum(map(len, episodes))) == (recipe.episodes, recipe.steps)
    assert round(float(np.mean(returns)), 3) == recipe.mean_return and round(max(returns), 3) == recipe.best_return


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_set_is_what_its_recipe_says(name):
    dataset = load_episodes(f"embedded:{name}")
    assert dataset.format == "embedded" and len(dataset) == RECIPES[name].episodes
    episodes = list(dataset)
    assert_statistics(episodes, RECIPES[name])
    assert episodes[0].observations.shape[1:] == dataset.spaces.observation_shape
    held = {"held_swingup": 4, "held_cheetah": 4, "held_cartpole": 2}.get(name, 1)
    assert {episode.repeat for episode in episodes} == {held}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_knows_the_spaces_of_its_environment(name):
    with make(RECIPES[name].environment) as environment:
        assert RECIPES[name].spaces == environment.spaces


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_first_episodes_are_made_again(name):
    recipe = RECIPES[name]
    with make(recipe.environment) as environment:
        made = list(collect(environment, "players", 3, recipe.seed))
    first = [episode for episode, _ in zip(load_episodes(f"embedded:{name}"), made, strict=False)]
    assert_same(made, first)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_the_command_makes_the_same_bytes_again(name, tmp_path):
    file = tmp_path / f"{name}.npz"
    assert main(["collect", "--recipe", name, "--out", str(file)]) == 0
    assert_statistics(list(read_npz(file)), RECIPES[name])
    if RECIPES[name].is_embedded:
        assert file.read_bytes() == embedded_path(name).read_bytes()


def test_the_command_follows_the_recipe(tmp_path, capsys):
    file = tmp_path / "catch.npz"
    assert main(["collect", "--recipe", "catch", "--out", str(file)]) == 0
    assert file.read_bytes() == embedded_path("catch").read_bytes()
    assert "400 episodes of catch, 3600 steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--recipe", "cartpool"], "There is no embedded dataset 'cartpool'; did you mean 'cartpole'?"),
        (["catch", "--recipe", "catch"], "Give either the id of an environment or --recipe NAME"),
        ([], "Give either the id of an environment or --recipe NAME"),
        (["--recipe", "catch", "--seed", "0"], "--recipe catch says what --seed is; leave --seed out"),
        (["--recipe", "catch", "--option", "rows=5"], "--recipe catch says what --option is"),
    ],
)
def test_what_a_recipe_says_cannot_be_said_twice(arguments, sentence, tmp_path, capsys):
    assert main(["collect", *arguments, "--out", str(tmp_path / "a.npz")]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_unknown_and_unembedded_names_are_answered_with_what_to_do():
    with pytest.raises(ValueError, match="did you mean 'swingup'"):
        load_episodes("embedded:swing_up")
    with pytest.raises(ValueError, match="there are cartpole, held_cartpole, swingup, held_swingup, catch, cheetah"):
        load_episodes("embedded:xyz")
    with pytest.raises(ValueError, match="`mzu collect --recipe cheetah --out "):
        load_episodes("embedded:cheetah")


def test_info_works_on_an_embedded_set(capsys):
    assert main(["data", "info", "embedded:cartpole"]) == 0
    text = capsys.readouterr().out
    assert "episodes     250" in text and "observation  float32 [4]" in text and "files        1, 751 kB" in text


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_doctor_finds_nothing_wrong(name):
    assert main(["data", "check", f"embedded:{name}", "--env", RECIPES[name].environment, "--quiet"]) == 0


def test_the_files_are_small_and_all_of_them_have_a_recipe():
    files = list(FOLDER.iterdir())
    assert {file.name for file in files} == {f"{name}.npz" for name in EMBEDDED}
    assert sum(file.stat().st_size for file in files) < 8e6


def neighbours(name, count):
    """`vote(observation)`: the actions in the `count` most similar stored observations."""
    episodes = list(load_episodes(f"embedded:{name}"))
    observations = np.concatenate([episode.observations[:-1].reshape(len(episode), -1) for episode in episodes])
    actions = np.concatenate([episode.actions for episode in episodes])
    scale = observations.std(axis=0) + 1e-6
    tree = cKDTree(observations / scale)
    return lambda observation: actions[tree.query(observation.ravel() / scale, count)[1]]


def mean_return(environment, act, episodes):
    """Over so many episodes of `act(observation)`, with seeds that no recording had."""
    total = 0.0
    for seed in range(episodes):
        observation, ended = environment.reset(seed=seed), False
        while not ended:
            observation, reward, terminated, truncated = environment.step(act(observation))
            total, ended = total + reward, terminated or truncated
    return total / episodes


@pytest.mark.parametrize("name", ["cartpole", "held_cartpole"])
def test_near_upright_both_actions_were_tried_everywhere(name):
    """A model cannot learn what an action does where nobody took it."""
    vote = neighbours(name, 40)
    observations = np.concatenate([episode.observations[:-1] for episode in load_episodes(f"embedded:{name}")])
    upright = observations[np.abs(observations[:, 2]) < 0.1][::20]
    shares = np.array([vote(observation).mean() for observation in upright])
    assert np.quantile(np.minimum(shares, 1 - shares), 0.05) >= 0.05


@pytest.mark.parametrize("name", ["cartpole", "held_cartpole"])
def test_the_majority_action_balances_no_pole(name):
    """Behaviour cloning at its simplest; the best there is scores 500, the data 99 and 53."""
    vote = neighbours(name, 30)
    with make(RECIPES[name].environment) as environment:
        score = mean_return(environment, lambda observation: int(np.bincount(vote(observation)).argmax()), 20)
    assert 50 < score < 250


def test_the_majority_action_misses_most_balls():
    vote = neighbours("catch", 30)
    with make("catch") as environment:
        score = mean_return(environment, lambda observation: int(np.bincount(vote(observation)).argmax()), 100)
    assert score < 0


@pytest.mark.slow
def test_the_mean_action_holds_no_pole_upright():
    """The best recorded episode has 697, the recorded episodes 377 on average."""
    vote = neighbours("swingup", 30)
    with make(RECIPES["swingup"].environment) as environment:
        score = mean_return(environment, lambda observation: vote(observation).mean(axis=0), 5)
    assert 50 < score < 500
