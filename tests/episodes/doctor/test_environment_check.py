"""Data against their environment: replayed, compared, and for how many steps actions were held."""

import dataclasses

import numpy as np
import pytest
from made_episodes import atari_episodes, control_episodes
from made_findings import assert_found, check, findings

from mzu.acting.collect import collect
from mzu.commands.cli import main
from mzu.environments.make import make
from mzu.episodes.doctor.report import report_text
from mzu.episodes.episode import Episode
from mzu.episodes.readers.npz import write_npz


def play(environment, seed, steps=30):
    rng = np.random.default_rng(seed)
    observations, actions, rewards = [environment.reset(seed=seed)], [], []
    for _ in range(steps):
        actions.append(int(rng.integers(environment.spaces.num_actions)))
        observation, reward, terminated, truncated = environment.step(actions[-1])
        observations.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            break
    arrays = np.array(observations, np.float32), np.array(actions), np.array(rewards, np.float32)
    return Episode(*arrays, terminated, not terminated)


def test_a_deterministic_environment_is_replayed():
    environment = make("CartPole-v1")
    episodes = [play(environment, seed) for seed in (5, 6, 7)]
    report = check(episodes, environment)
    assert_found(report, "note", "CartPole-v1 gives the same rewards for the same actions")
    rewards = episodes[0].rewards.copy()
    rewards[4] = 3
    report = check([dataclasses.replace(episodes[0], rewards=rewards)], environment)
    assert_found(report, "wrong", "other rewards for the same actions: 1 instead of 3")
    assert report.findings[0].where == "episode 0, step 4"
    moved = dataclasses.replace(episodes[0], observations=episodes[0].observations + 0.5)
    assert_found(check([moved], environment), "wrong", "from the stored states, CartPole-v1 does not go on")


def test_data_of_another_environment_are_wrong():
    environment = make("CartPole-v1")
    assert_found(check(control_episodes(2), environment), "wrong", r"shape \(5,\), but CartPole-v1 shows \(4,\)")
    assert_found(check(control_episodes(2, size=4), environment), "wrong", "actions are continuous, but CartPole-v1")
    episode = play(environment, 0)
    actions = episode.actions.copy()
    actions[3] = 2
    wrong = dataclasses.replace(episode, actions=actions)
    assert_found(check([wrong], environment), "wrong", r"action 2 was taken, but CartPole-v1 has 2 actions \(0..1\)")
    half = dataclasses.replace(episode, observations=episode.observations.astype(np.float64))
    assert_found(check([half], environment), "wrong", "observations are float64, but CartPole-v1 shows float32")


def test_a_part_of_the_observation_that_the_data_lack_is_noted():
    environment = make("dm_control:finger-turn_hard")
    report = check(control_episodes(1, size=10, dimensions=2), environment)
    assert_found(report, "note", "the data lack touch, which dm_control:finger-turn_hard returns")
    report = check(control_episodes(1, size=12, dimensions=3), environment)
    assert_found(report, "wrong", "shape")
    assert_found(report, "wrong", "actions have 3 dimensions, but dm_control:finger-turn_hard has 2")


def test_single_frames_suit_an_environment_that_stacks_them():
    environment = make("atari:Asterix")
    report = check(atari_episodes(2, steps=40, actions=9), environment)
    assert not [what for what in findings(report, "wrong") if "shape" in what]
    assert_found(
        check(atari_episodes(1, steps=40, actions=4), environment), "doubtful", "of the 9 actions of atari:Asterix"
    )


def test_held_actions_are_shown_and_compared_with_the_environment(tmp_path, capsys):
    episodes = list(collect(make("point?repeat=4"), "mixture", 6, seed=1))
    report = check(episodes, make("point?repeat=4"))
    assert_found(report, "note", r"point\?repeat=4 gives the same rewards")
    assert "held         every action for 4 steps" in report_text(report)
    report = check(episodes, make("point"))
    assert_found(report, "wrong", "every action was held for 4 steps, but in point it is 1")
    assert report.findings[0].advice == "use --env 'point?repeat=4', here and for training"
    report = check(list(collect(make("point"), "mixture", 6, seed=1)), make("point?repeat=2"))
    assert_found(report, "wrong", r"every action was held for 1 step, but in point\?repeat=2 it is 2")
    assert "use --env 'point', here" in report.findings[0].advice
    write_npz(tmp_path / "a.npz", episodes)
    assert main(["data", "info", str(tmp_path / "a.npz")]) == 0
    assert "held         every action for 4 steps" in capsys.readouterr().out


def test_episodes_that_hold_actions_for_different_times_are_wrong():
    some, others = (list(collect(make(id), "mixture", 3, seed=1)) for id in ("point", "point?repeat=4"))
    report = check([*some, *others])
    assert_found(report, "wrong", "held for 1 step in some episodes, for 4 steps in others")
    assert report.findings[0].where == "episodes 0 and 3"
    assert "held         every action for 1 step or 4 steps\n" in report_text(report)
    unknown = [dataclasses.replace(one, repeat=None) for one in some]
    assert not check([*unknown, *others]).is_wrong
    assert "every action for 4 steps, or not known" in report_text(check([*unknown, *others]))
    assert "held " not in report_text(check(unknown))


@pytest.mark.parametrize("recorded, asked", [(4, 1), (1, 4), (3, 2)])
def test_replaying_finds_out_for_how_many_steps_actions_were_held(recorded, asked):
    held = collect(make(f"point?repeat={recorded}"), "mixture", 4, seed=1)
    episodes = [dataclasses.replace(one, repeat=None) for one in held]
    right = "point" if recorded == 1 else rf"point\?repeat={recorded}"
    report = check(episodes, make(f"point?repeat={asked}"))
    assert_found(report, "wrong", rf"^{right} gives the rewards of the data, point\?repeat={asked} others")
    # Where it is known, other rewards are another fault.
    changed = [dataclasses.replace(one, repeat=asked) for one in episodes]
    assert_found(check(changed, make(f"point?repeat={asked}")), "wrong", "other rewards|ends after")


def test_a_time_limit_tells_for_how_many_steps_actions_were_held():
    held = collect(make("point?repeat=4"), "mixture", 4, seed=1)
    unknown = [dataclasses.replace(one, repeat=None, seed=None) for one in held]
    report = check(unknown, make("point"))
    assert_found(report, "doubtful", "cut off after 7 steps, those of point after 25")
    assert "every action seems held for 4 steps" in report.findings[0].why
    assert "use --env 'point?repeat=4'" in report.findings[0].advice
    report = check(unknown, make("point?repeat=2"))
    assert_found(report, "doubtful", r"cut off after 7 steps, those of point\?repeat=2 after 13")
    for episodes in (unknown, [dataclasses.replace(one, repeat=4) for one in unknown]):
        assert findings(check(episodes, make("point?repeat=4"))) == ["point?repeat=4 could not be replayed"]
    ended = [dataclasses.replace(one, terminated=True, truncated=False) for one in unknown]
    assert findings(check(ended, make("point")), "note") == ["point could not be replayed"]
    assert not any("cut off" in what for what in findings(check(ended, make("point"))))


def test_the_keys_of_a_held_task_are_those_of_the_task():
    episodes = [dataclasses.replace(one, repeat=2) for one in control_episodes(1, size=10, dimensions=2)]
    report = check(episodes, make("dm_control:finger-turn_hard?repeat=2"))
    assert_found(report, "note", "the data lack touch, which dm_control:finger-turn_hard returns")
