"""Heuristics beat random play, and noise happens as often as said."""

import numpy as np
import pytest
from made_worlds import mean_return

from mzu.environments.make import make
from mzu.environments.policies import cheetah_run, heuristic_policy, noisy_policy, random_policy


@pytest.mark.parametrize(
    "id, least", [("CartPole-v1", 490), ("Pendulum-v1", -250), ("catch", 1), ("point", 20), ("chain", 1)]
)
def test_a_heuristic_is_good_and_better_than_random_play(id, least):
    environment = make(id)
    score = mean_return(environment, heuristic_policy(environment))
    assert score >= least and score > mean_return(environment, random_policy(environment)) + 0.9


def test_noise_and_stickiness_happen_as_often_as_said():
    environment = make("identity", size=10)
    observation = environment.reset(0)
    act = noisy_policy(environment, lambda observation, rng: 3, noise=0.5)
    rng = np.random.default_rng(0)
    actions = np.array([act(observation, rng) for _ in range(4000)])
    assert np.mean(actions != 3) == pytest.approx(0.45, abs=0.03)
    act = noisy_policy(environment, random_policy(environment), noise=0, sticky=0.6)
    actions = np.array([act(observation, rng) for _ in range(4000)])
    assert np.mean(actions[1:] == actions[:-1]) == pytest.approx(0.6 + 0.4 * 0.1, abs=0.03)


def test_spread_adds_normal_noise_within_the_bounds():
    environment, rng = make("point"), np.random.default_rng(0)
    act = noisy_policy(environment, lambda observation, rng: np.float32([0.1, 1.0]), noise=0, spread=0.2)
    actions = np.array([act(None, rng) for _ in range(4000)])
    assert actions.dtype == np.float32 and actions.max() <= 1
    assert actions[:, 0].mean() == pytest.approx(0.1, abs=0.02) and actions[:, 0].std() == pytest.approx(0.2, abs=0.02)
    assert np.mean(actions[:, 1] == 1) == pytest.approx(0.5, abs=0.03)
    for world, spread in ((environment, -0.1), (make("catch"), 0.1)):
        with pytest.raises(ValueError, match="where actions are continuous"):
            noisy_policy(world, None, noise=0, spread=spread)


def test_the_cheetah_runs_better_the_longer_its_gait_was_searched_for():
    with make("dm_control:cheetah-run") as environment:
        stages = {"early": [], "late": []}
        for stage, returns in stages.items():
            for seed in range(4):
                observation, total, truncated = environment.reset(seed), 0.0, False
                while not truncated:
                    observation, reward, _, truncated = environment.step(cheetah_run(observation, stage))
                    total += reward
                returns.append(total)
        assert np.mean(stages["late"]) > 300 and np.mean(stages["late"]) > np.mean(stages["early"]) + 50
        assert np.array_equal(heuristic_policy(environment)(observation, None), cheetah_run(observation, "late"))


def make_task(task):
    return make("dm_control:" + task.replace("_", "-", 1))


def test_the_swing_up_heuristic_swings_up_and_stays_up():
    environment = make_task("cartpole_swingup")
    policy, rng = heuristic_policy(environment), np.random.default_rng(0)
    observation, rewards, truncated = environment.reset(0), [], False
    while not truncated:
        observation, reward, _, truncated = environment.step(policy(observation, rng))
        rewards.append(reward)
    assert sum(rewards) > 700 and min(rewards[-300:]) > 0.9
