"""A world without an end ends a run neither by time nor by memory: episodes are cut off, and that is said."""

import numpy as np
import pytest
from made_runs import ONLINE, TINY
from made_worlds import Counter, LookUpModel, preferring

from mzu.acting.collect import collect
from mzu.commands.cli import main
from mzu.config import ActingConfig, Config
from mzu.environments.held_actions import HeldActions
from mzu.games.player import Player
from mzu.reanalyse.buffers import new_sources
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer

ENDLESS = (10**9,)


def test_an_episode_that_reaches_the_limit_is_truncated_and_counted_and_one_that_ends_there_is_not():
    for length, is_cut_off in ((3, False), (4, True)):
        world = Counter((length,))
        world.max_steps = 3
        world.reset(seed=0)
        ends = [world.step(0)[2:] for _ in range(3)]
        assert ends == [(False, False), (False, False), (not is_cut_off, is_cut_off)]
        assert world.cut_off == is_cut_off
        with pytest.raises(ValueError, match="call reset"):
            world.step(0)


def test_the_limit_counts_the_agents_steps_where_actions_are_held():
    world = HeldActions(Counter(ENDLESS), 4)
    world.max_steps = 3
    world.reset(seed=0)
    assert [world.step(0)[3] for _ in range(3)] == [False, False, True]


def test_every_run_has_a_limit_that_no_world_of_atari_reaches_by_itself():
    assert ActingConfig().max_episode_steps == 27_000  # 108,000 frames of 4 a step


def test_a_run_in_a_world_without_a_time_limit_ends_and_says_what_was_cut_off(tmp_path, capsys):
    words = [word for setting in (*TINY, "acting.max_episode_steps=12") for word in ("--set", setting)]
    words += ["--set", "reanalyse.fraction=0", "--set", "learning.training_steps=4"]
    assert main(["train", "--env", "CliffWalking-v1", *words, "--out", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "fresh games had not ended after 12 steps and were cut off there (acting.max_episode_steps)" in out
    for way in ("policy", "value", "search"):
        assert f"trained, by {way}: 3 of 3 episodes had not ended after 12 steps" in out
    assert main(["evaluate", str(tmp_path / "run"), "--select", "policy"]) == 0
    assert "by policy: 3 of 3 episodes had not ended after 12 steps" in capsys.readouterr().out
    assert RunFolder(tmp_path / "run").result()["lengths"] == [12, 12, 12]


def test_recording_ends_too(tmp_path, capsys):
    world = Counter(ENDLESS)
    world.max_steps = 5
    assert [len(episode) for episode in collect(world, "random", 2)] == [5, 5] and world.cut_off == 2
    unlimited = Counter(ENDLESS)
    assert len(next(collect(unlimited, "random", 1))) == 27_000
    command = ["collect", "CliffWalking-v1", "--episodes", "1", "--set", "acting.max_episode_steps=7"]
    assert main([*command, "--out", str(tmp_path / "a.npz")]) == 0
    assert "1 of 1 episodes had not ended after 7 steps and were cut off there" in capsys.readouterr().out


def test_what_games_and_buffers_hold_of_endless_episodes_is_bounded():
    settings = ("acting.max_episode_steps=20", "reanalyse.most_recent_steps=100", "reanalyse.fraction=0.3")
    config = Config().override(*TINY, *settings)
    worlds = [Counter(ENDLESS) for _ in range(config.acting.games)]
    for world in worlds:
        world.max_steps = config.acting.max_episode_steps
    rng = np.random.default_rng(0)
    player = Player(config, LookUpModel(preferring(0)), new_sources(config, []), worlds, rng)
    held = []
    for _ in range(200):
        player.advance(1.0)
        held.append(max(len(game.observations) for game in player.games if not game.is_stored))
    assert max(held) <= 21
    assert player.sources.buffers["most_recent"].steps <= 100


@pytest.mark.parametrize(
    "settings, sentence",
    [
        (
            ["replay.capacity=2", "replay.start_size=13"],
            "replay.capacity=2 segments of up to replay.segment_length=6",
        ),
        # Segments of an episode have 6 and 4 positions, so 7 of them never hold 40 of the 42 that they could.
        (
            ["replay.capacity=7", "replay.start_size=40"],
            r"the replay is full with 3\d positions: replay.capacity=7",
        ),
    ],
    ids=["that no episode could fill", "that these episodes do not fill"],
)
def test_a_replay_that_never_holds_enough_to_begin_is_refused(settings, sentence):
    with pytest.raises(ValueError, match=rf"replay.start_size is \d+, but {sentence}") as refused:
        Trainer(Config().override(*ONLINE, *settings)).run()
    assert "raise capacity or lower start_size" in str(refused.value)
