"""An agent: what a run has learned, ready to act."""

import contextlib
import io

import numpy as np
import pytest
from PIL import Image

import mzu
from mzu.acting.film import Film
from mzu.training.run_folder import RunFolder

SMALL = {
    "network": {"width": 16, "num_blocks": 0, "value_support": 5, "reward_support": 5},
    "search": {"num_simulations": 8, "discount": 0.9},
    "reanalyse": {"fraction": 0},
    "acting": {"games": 8, "positions_per_step": 8},
    "replay": {"segment_length": 10, "start_size": 40},
    "learning": {"training_steps": 2, "batch_size": 8, "unroll_steps": 1, "jit_compile": False},
    "evaluation": {"episodes": 3, "period": 0},
}


@pytest.fixture(scope="module")
def trainer():
    with contextlib.closing(mzu.Trainer(mzu.Config(environment="chain", seed=1).replace(**SMALL))) as trainer:
        trainer.run()
        yield trainer


@pytest.fixture(scope="module")
def folder(trainer, tmp_path_factory):
    folder = RunFolder.create(tmp_path_factory.mktemp("runs") / "mine", trainer.config)
    folder.save_checkpoint(2, trainer.state(), trainer.network, keep=1)
    return folder.path


@pytest.fixture
def observation():
    with mzu.make("chain") as world:
        return world.reset(seed=0)


def test_an_agent_of_a_folder_acts_like_the_agent_of_its_trainer(trainer, folder, observation):
    loaded, live = mzu.load(folder), mzu.load(trainer)
    for select in ("search", "policy", "value"):
        assert loaded.act(observation, select) == live.act(observation, select)
    assert np.array_equal(loaded.search(observation).visits, live.search(observation).visits)
    assert np.array_equal(loaded.evaluate(4).returns, live.evaluate(4).returns)


def test_an_agent_acts_by_the_most_visited_action_of_its_search(trainer, observation):
    agent = mzu.load(trainer)
    found = agent.search(observation)
    assert found.visits.sum() == 8
    assert agent.act(observation) == found.actions[0, found.policy[0].argmax()]
    assert isinstance(agent.act(observation), int)


def test_an_agent_takes_only_legal_actions(trainer, observation):
    agent = mzu.load(trainer)
    for only in range(trainer.inputs.spaces.num_actions):
        legal = np.arange(trainer.inputs.spaces.num_actions) == only
        assert {agent.act(observation, select, legal) for select in ("search", "policy", "value")} == {only}


def test_a_recorded_search_keeps_its_simulations(trainer, observation):
    agent = mzu.load(trainer)
    assert agent.search(observation).history is None
    assert agent.search(observation, record=True).history is not None


def test_an_agent_evaluates_as_its_trainer_does_and_as_often_as_the_run_says(trainer):
    agent = mzu.load(trainer)
    assert np.array_equal(agent.evaluate().returns, trainer.evaluate(3).returns)
    assert not np.array_equal(agent.evaluate(20, seed=1).lengths, []) and len(agent.evaluate(5).returns) == 5


def test_an_observation_of_another_shape_is_refused(trainer):
    with pytest.raises(ValueError, match=r"The observation has shape \(2, 3\), but the network sees"):
        mzu.load(trainer).act(np.zeros((2, 3)))


def test_an_environment_with_other_spaces_is_refused(folder):
    with pytest.raises(ValueError, match=r"The agent was trained for .* but CartPole-v1 has"):
        mzu.load(folder, environment="CartPole-v1").evaluate(1)


def test_an_unknown_way_of_selecting_and_no_episodes_are_refused(trainer, observation):
    with pytest.raises(ValueError, match="select is 'best', but must be one of policy, value, search"):
        mzu.load(trainer).act(observation, "best")
    with pytest.raises(ValueError, match="episodes is 0, but must be at least 1"):
        mzu.load(trainer).evaluate(0)


def test_a_world_without_pictures_cannot_be_watched(trainer):
    with pytest.raises(ValueError, match="chain has no picture to show"):
        mzu.load(trainer).watch()


def test_an_episode_is_watched_in_a_notebook_and_saved(tmp_path):
    small = {**SMALL, "network": {**SMALL["network"], "width": 4}}
    with contextlib.closing(mzu.Trainer(mzu.Config(environment="catch").replace(**small))) as trainer:
        film = mzu.load(trainer).watch(select="policy")
    assert len(film.pictures) == 10  # nine steps down, and where it began
    assert film._repr_html_().startswith('<img alt="10 pictures" src="data:image/gif;base64,R0lGOD')
    film.save(tmp_path / "demo.gif")
    with Image.open(tmp_path / "demo.gif") as picture:
        assert picture.size == (80, 160) and picture.info["duration"] == 250


def test_a_film_of_a_fast_world_keeps_every_second_picture():
    film = Film()
    take = film.begin(frames_per_second=50)
    for level in range(6):
        take(np.full((2, 2, 3), 40 * level, np.uint8))
    assert [picture[0, 0, 0] for picture in film.pictures] == [0, 80, 160]
    with Image.open(io.BytesIO(film.gif())) as gif:
        assert gif.n_frames == 3 and gif.info["duration"] == 40


def test_a_notebook_stores_a_film_with_fewer_points():
    film = Film()
    film.begin(frames_per_second=25)(np.random.default_rng(0).integers(256, size=(400, 600, 3)).astype(np.uint8))
    with Image.open(io.BytesIO(film.gif())) as whole, Image.open(io.BytesIO(film.gif(small=True))) as small:
        assert whole.size == (600, 400) and small.size == (300, 200)
    assert len(film._repr_html_()) < len(film.gif()) / 2


def test_a_film_has_a_name_that_says_its_format(tmp_path):
    with pytest.raises(ValueError, match=r"written as \.gif or \.mp4, but the file is called .*demo\.avi"):
        Film().save(tmp_path / "demo.avi")
