"""The dataset doctor finds what is wrong, says where, and leaves good data alone."""

import dataclasses

import numpy as np
from made_episodes import control_episodes, rewrite
from made_findings import assert_found, check, findings, moving_sprite

import mzu
from mzu import load_episodes
from mzu.commands.cli import main
from mzu.environments.spaces import Spaces
from mzu.episodes.doctor.report import report_html, report_text
from mzu.episodes.readers.rlu_control import control_task, write_control


def test_the_atari_fixture_is_flagged_for_its_reward_shift_and_passes_once_it_is_repaired(fixtures_folder, capsys):
    arguments = ["data", "check", "rlu_atari:Asterix", "--root", str(fixtures_folder)]
    assert main(arguments) == 1
    text = capsys.readouterr().out
    assert "WRONG: rewards stand one step before the action that earned them" in text
    assert "load with reward_shift=1" in text and "Do not train on this yet" in text
    assert main([*arguments, "--reward-shift", "1"]) == 0
    assert "Nothing that was checked speaks against training" in capsys.readouterr().out


def test_the_dm_control_fixture_is_right_as_it_is_and_wrong_when_shifted(fixtures_folder, capsys):
    arguments = ["data", "check", "rlu:cartpole_swingup", "--root", str(fixtures_folder)]
    assert main(arguments) == 0
    for shift, side in ((1, "after"), (-1, "before")):
        assert main([*arguments, "--reward-shift", str(shift)]) == 1
        text = capsys.readouterr().out
        assert f"rewards stand one step {side} the action" in text and "load with reward_shift=0 " in text


def test_good_data_give_no_finding():
    report = check([moving_sprite(seed=seed) for seed in range(3)])
    assert findings(report) == [] and not report.is_wrong
    assert "Nothing that was checked speaks against training on this. Not checked: whether an" in report_text(report)


def test_faults_and_missing_files_become_findings(tmp_path):
    write_control(tmp_path / "cartpole_swingup", control_episodes(6), control_task("cartpole_swingup"), num_shards=3)
    (tmp_path / "cartpole_swingup" / "train-00001-of-00003").unlink()
    path = tmp_path / "cartpole_swingup" / "train-00002-of-00003"
    rewrite(path, lambda fields: fields["reward"].__setitem__(3, np.nan))
    report = mzu.check(load_episodes(tmp_path / "cartpole_swingup", skip_bad=True))
    assert_found(report, "wrong", r"reward: reward\[3\] is nan")
    assert_found(report, "doubtful", "1 of the 3 files of the set are missing")
    assert report.statistics.num_episodes == 2 and report.skipped == 3
    assert report.findings[0].severity == "wrong" and "record 0" in report.findings[0].where


def test_an_extra_key_of_the_observation_is_reported(tmp_path):
    (path,) = write_control(tmp_path / "cartpole_swingup", control_episodes(1), control_task("cartpole_swingup"))
    rewrite(path, lambda fields: fields.update({"observation/touch": np.zeros(8, np.float32)}))
    report = mzu.check(load_episodes(tmp_path / "cartpole_swingup", skip_bad=True))
    assert_found(report, "doubtful", "does not know: touch")


def test_no_episode_at_all_is_wrong():
    report = check([])
    assert_found(report, "wrong", "no episode could be read")
    assert "<html" in report_html(report)


def test_episodes_of_different_shapes_are_wrong():
    report = check([*control_episodes(1, size=5), *control_episodes(1, size=6)])
    assert_found(report, "wrong", r"float32 \[5\] .* then float32 \[6\]")
    assert report.findings[0].where == "episodes 0 and 1"


def test_ends_that_look_like_a_time_limit_are_doubtful():
    episodes = control_episodes(6)
    ended = [dataclasses.replace(one, terminated=True, truncated=False) for one in episodes]
    assert_found(check(ended), "doubtful", "all 6 episodes terminate after exactly 7 steps")
    open_ended = [dataclasses.replace(one, truncated=False) for one in episodes]
    assert_found(check(open_ended), "doubtful", "6 episodes are neither")
    assert not findings(check(episodes), "doubtful")


def test_remains_of_a_recording_are_noted():
    report = check([*control_episodes(4), *control_episodes(1, steps=1)])
    assert_found(report, "note", "1 episodes have fewer than 3 steps")
    assert report.findings[0].where == "episode 4"


def test_actions_that_never_vary():
    (episode,) = control_episodes(1, dimensions=2)
    actions = episode.actions.copy()
    actions[:, 1] = 0.5
    assert_found(check([dataclasses.replace(episode, actions=actions)]), "doubtful", "action dimensions 1 never change")
    small = dataclasses.replace(episode, actions=episode.actions * 0.1)
    assert_found(check([small]), "doubtful", r"no action is larger than 0.\d+")
    sprite = moving_sprite()
    one = dataclasses.replace(sprite, actions=np.full(len(sprite), 2))
    assert_found(check([one]), "wrong", "only one action was ever taken")
    missing = dataclasses.replace(sprite, actions=np.where(sprite.actions == 1, 0, sprite.actions))
    assert_found(check([missing]), "note", "actions 1 of 4 were never taken")
    spaces = Spaces((84, 84, 1), 6, observation_dtype="uint8")
    assert_found(check([sprite], spaces=spaces), "note", "actions 4, 5 of 6 were never taken")


def test_observations_that_never_vary():
    (episode,) = control_episodes(1)
    observations = episode.observations.copy()
    observations[:, [0, 3]] = 1
    changed = dataclasses.replace(episode, observations=observations)
    assert_found(check([changed]), "note", "observed numbers 0, 3 never change")
    frozen = dataclasses.replace(episode, observations=np.ones_like(observations))
    assert_found(check([frozen]), "wrong", "no observed number ever changes")
    huge = dataclasses.replace(episode, observations=observations * 1e5)
    assert_found(check([huge]), "doubtful", "an observed number reaches")
    black = dataclasses.replace(moving_sprite(), observations=np.zeros((121, 84, 84, 1), np.uint8))
    assert_found(check([black]), "wrong", "all frames of an episode are the same")


def test_rewards_that_are_all_zero_are_doubtful():
    (episode,) = control_episodes(1)
    assert_found(check([dataclasses.replace(episode, rewards=np.zeros(7))]), "doubtful", "all rewards are 0")


def test_copies_of_an_episode_are_found():
    one, two = control_episodes(2)
    report = check([one, two, one])
    assert_found(report, "doubtful", "1 of 3 episodes are exact copies")
    assert report.findings[0].where == "episode 2 equals 0"
    assert not check([one, two]).findings
