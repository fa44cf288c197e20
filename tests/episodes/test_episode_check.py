"""The dataset doctor finds what is wrong, says where, and leaves good data alone."""

import dataclasses
import io
import re

import numpy as np
import pytest
from made_episodes import atari_episodes, control_episodes, rewrite
from PIL import Image

import mzu
from mzu import load_episodes
from mzu.acting.collect import collect
from mzu.commands.cli import main
from mzu.environments.make import make
from mzu.environments.spaces import Spaces
from mzu.episodes.dataset import EpisodeDataset, shift_rewards
from mzu.episodes.doctor.alignment import ImageAlignment, StateAlignment
from mzu.episodes.doctor.report import report_html, report_text
from mzu.episodes.doctor.statistics import JpegTraces, Statistics
from mzu.episodes.episode import Episode
from mzu.episodes.readers.npz import write_npz
from mzu.episodes.readers.rlu_control import control_task, write_control


def check(episodes, environment=None, spaces=None):
    dataset = EpisodeDataset("made", "npz", [lambda on_fault: iter(episodes)], spaces=spaces, skip_bad=True)
    return mzu.check(dataset, environment)


def findings(report, severity=None):
    return [finding.what for finding in report.findings if severity in (None, finding.severity)]


def assert_found(report, severity, pattern):
    found = [finding for finding in report.findings if re.search(pattern, finding.what)]
    assert found, findings(report)
    assert found[0].severity == severity
    assert all(found[0])  # where, why and what to do are said too
    assert report.is_wrong == any(finding.severity == "wrong" for finding in report.findings)


def moving_sprite(steps=120, score=True, seed=0):
    """A white square wanders; every now and then it earns a reward, and a mark in the corner changes."""
    rng = np.random.default_rng(seed)
    frames = np.full((steps + 1, 84, 84, 1), 40, np.uint8)
    actions, rewards = rng.integers(0, 4, steps), np.zeros(steps, np.float32)
    position, mark = np.array([40, 40]), 0
    for t in range(steps + 1):
        if t:
            position = np.clip(position + [(0, 3), (3, 0), (0, -3), (-3, 0)][actions[t - 1]], 20, 70)
            if rng.random() < 0.1:
                rewards[t - 1], mark = 1, 1 - mark
        frames[t, position[0] : position[0] + 5, position[1] : position[1] + 5] = 230
        if score:
            frames[t, 2:6, 2:6] = 60 + 100 * mark
    return Episode(frames, actions, rewards, terminated=True)


def driven_states(steps=600, seed=0):
    """A noisy point that is rewarded for where the step took it and for small actions."""
    rng = np.random.default_rng(seed)
    observations, actions = np.zeros((steps + 1, 2), np.float32), rng.uniform(-1, 1, (steps, 1)).astype(np.float32)
    rewards = np.zeros(steps, np.float32)
    for t in range(steps):
        push = 0.5 * actions[t, 0] + 0.1 * rng.normal()
        observations[t + 1] = 0.8 * observations[t, 0] + push, rng.normal()
        rewards[t] = -(observations[t + 1, 0] ** 2)
    return Episode(observations, actions, rewards, truncated=True)


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


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_a_shift_of_rewards_is_measured_in_pictures_and_in_states(shift):
    images = ImageAlignment()
    images.add(shift_rewards(moving_sprite(), shift))
    assert images.judge().shift == -shift
    states = StateAlignment(after_step=True)
    for seed in range(3):
        states.add(shift_rewards(driven_states(seed=seed), shift))
    assert states.judge().shift == -shift


def test_without_a_visible_score_nothing_is_claimed():
    images = ImageAlignment()
    images.add(shift_rewards(moving_sprite(score=False), 1))
    assert images.judge().shift == 0
    few = ImageAlignment()
    few.add(moving_sprite(20))
    assert few.judge() == (0, (-2, -1, 1, 2), None)


def test_rewards_for_the_state_before_the_step_are_no_mistake():
    episodes = [shift_rewards(driven_states(seed=seed), 1) for seed in range(3)]
    assert not check(episodes).is_wrong  # rewards[t] is a function of observations[t] here
    early = [shift_rewards(driven_states(seed=seed), -1) for seed in range(3)]
    assert_found(check(early), "wrong", "one step before the action")


def test_good_data_give_no_finding():
    report = check([moving_sprite(seed=seed) for seed in range(3)])
    assert findings(report) == [] and not report.is_wrong
    assert "Nothing that was checked speaks against training on this. Not checked: whether an" in report_text(report)


def test_jpeg_is_recognised_by_its_blocks():
    def compressed(frame):
        buffer = io.BytesIO()
        Image.fromarray(frame[:, :, 0]).save(buffer, "JPEG", quality=90)
        return np.asarray(Image.open(buffer))[..., None]

    episode = moving_sprite()
    lossy = dataclasses.replace(episode, observations=np.stack([compressed(frame) for frame in episode.observations]))
    assert_found(check([lossy]), "doubtful", "compressed as JPEG")
    clean = JpegTraces()
    clean.add(episode)
    assert clean.ratio < 1.5 and not clean.found


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
    assert_found(check([moved], environment), "note", "could not be replayed")


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


def test_statistics_grow_with_the_number_of_actions():
    statistics = Statistics()
    for actions in ([0, 1], [3, 3, 3], [2]):
        count = len(actions)
        statistics.add(Episode(np.zeros((count + 1, 1)), np.array(actions), np.ones(count)))
    assert statistics.action_counts.tolist() == [1, 1, 1, 3]
    assert statistics.num_steps == 6 and statistics.returns == [2, 3, 1]


def test_the_html_report_stands_alone_and_escapes_names(tmp_path, capsys):
    path = tmp_path / "a<b>.npz"
    write_npz(path, control_episodes(3))
    target = tmp_path / "report.html"
    assert main(["data", "check", str(path), "--html", str(target)]) == 0
    page = target.read_text()
    assert page.count("<svg") == 1 and "a&lt;b&gt;.npz" in page and "a<b>" not in page
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page)  # nothing is fetched from elsewhere
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a<b>.npz", "report.html"]


def test_a_histogram_of_returns_is_printed(tmp_path, capsys):
    write_npz(tmp_path / "a.npz", control_episodes(30))
    main(["data", "check", str(tmp_path / "a.npz")])
    lines = capsys.readouterr().out.splitlines()
    bars = lines[lines.index("returns") + 1 :][:10]
    assert sum(int(bar.split()[-1]) for bar in bars) == 30


def test_the_doctor_takes_names_and_lists_and_shows_its_report():
    report = mzu.check("embedded:catch", "catch")
    assert not report.is_wrong and "Nothing" in repr(report).splitlines()[-1]
    episodes = list(mzu.collect("catch", "random", episodes=3))
    assert repr(mzu.check(episodes)).startswith("dataset      episodes\nformat       episodes\nepisodes     3")
    assert mzu.check(episodes, "CartPole-v1").is_wrong
