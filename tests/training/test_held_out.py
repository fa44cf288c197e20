"""Held-out episodes are never learned from, and everybody who asks later is told the same ones."""

import contextlib
import dataclasses
import json

import numpy as np
import pytest
from made_runs import CONTINUOUS, ONLINE, assert_same_state, tiny_config, train, write_data

from mzu.config import Config
from mzu.episodes.readers.npz import read_npz, write_npz
from mzu.training.changes import change_settings
from mzu.training.held_out import judged_episodes, split_episodes
from mzu.training.inputs import load_inputs
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer


def marked(path, episodes=10):
    """Ten episodes that can be told apart wherever they turn up: all rewards of episode i are i."""
    write_data(path, episodes=episodes)
    stored = [
        dataclasses.replace(episode, rewards=np.full(len(episode), number, np.float32))
        for number, episode in enumerate(read_npz(path))
    ]
    path.unlink()
    write_npz(path, stored)
    return path


def config_of(folder, share=0.3, *settings):
    data = folder / "data.npz"
    return Config().override(
        *CONTINUOUS, f"data={data if data.exists() else marked(data)}", f"reanalyse.held_out={share}", *settings
    )


def rewards_in(arrays):
    """All rewards in the arrays of a checkpoint."""
    return {float(reward) for name, array in arrays.items() if "reward" in name for reward in np.ravel(array)}


def test_a_share_of_whole_episodes_is_drawn_from_the_seed():
    episodes = list(range(50))
    learned, held_out = split_episodes(episodes, 0.2, seed=3)
    assert len(held_out) == 10 and sorted([*learned, *held_out]) == episodes
    assert list(split_episodes(episodes, 0.2, seed=3)[1]) == list(held_out) != list(split_episodes(episodes, 0.2, 4)[1])
    assert split_episodes(episodes, 0, seed=3) == (episodes, [])


def test_nothing_is_learned_from_them(tmp_path):
    config = config_of(tmp_path)
    with contextlib.closing(Trainer(config)) as trainer:
        held_out = {episode.rewards[0] for episode in trainer.inputs.held_out}
        assert len(held_out) == 3 and len(trainer.inputs.episodes) == 7 and trainer.inputs.datapoints == 70
        trainer.run()
        seen = rewards_in(trainer.state())
        buffers = trainer.player.sources.buffers.values()
        assert all(episode.rewards[0] not in held_out for buffer in buffers for episode in buffer.episodes)
    with contextlib.closing(Trainer(config.replace(**{"reanalyse.held_out": 0.0}))) as trainer:
        trainer.run()
        everything = rewards_in(trainer.state())
    assert held_out & everything and not held_out & seen  # the same run without the setting does learn from them


def test_a_run_without_the_setting_is_as_before(tmp_path):
    config = tiny_config("offline", tmp_path)
    assert config.reanalyse.held_out == 0 and len(load_inputs(config).episodes) == 5
    train(config, tmp_path / "run")
    assert not (tmp_path / "run" / "held_out.json").exists()


def test_a_resumed_run_and_a_judge_hold_out_the_same_ones(tmp_path):
    config = config_of(tmp_path)
    whole, _ = train(config, tmp_path / "whole")
    recorded = json.loads((tmp_path / "whole" / "held_out.json").read_text())
    assert recorded["numbers"] == load_inputs(config).held_out.numbers

    def interrupt(trainer, _):
        if trainer.steps == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "run", interrupt)
    resumed, finished = train(config, tmp_path / "run")
    assert finished
    assert_same_state(whole, resumed)
    learned, held_out = judged_episodes(RunFolder.open(tmp_path / "run"))
    assert held_out.numbers == recorded["numbers"] and len(learned) == 7


def test_other_data_under_the_same_name_are_noticed(tmp_path):
    config = config_of(tmp_path)
    train(config, tmp_path / "run")
    (tmp_path / "data.npz").unlink()
    write_data(tmp_path / "data.npz", episodes=10)
    for look in (lambda: train(config, tmp_path / "run"), lambda: judged_episodes(RunFolder.open(tmp_path / "run"))):
        with pytest.raises(ValueError, match=r"data.npz is not the dataset that .*run was trained on: its held-out"):
            look()
    (tmp_path / "run" / "held_out.json").unlink()
    with pytest.raises(ValueError, match=r"held_out\.json is missing, so nobody knows what"):
        judged_episodes(RunFolder.open(tmp_path / "run"))


def test_it_cannot_be_changed_afterwards(tmp_path):
    train(config_of(tmp_path), tmp_path / "run")
    with pytest.raises(ValueError, match=r"reanalyse.held_out was 0.3 and is now 0.5: what .* would no longer fit"):
        change_settings([RunFolder(tmp_path / "run")], ["reanalyse.held_out=0.5"])


@pytest.mark.parametrize(
    "share, sentence",
    [
        (0.04, "reanalyse.held_out is 0.04, which of 10 episodes holds out no episode at all; choose a share between "),
        (0.96, "which of 10 episodes holds out all of them, and nothing to learn from; choose a share between 0.1 and"),
        (1, "reanalyse.held_out is 1.0, but must be at least 0 .nothing is held out. and below 1, such as 0.2"),
        (-0.1, "reanalyse.held_out is -0.1, but must be at least 0"),
    ],
)
def test_bad_shares_are_refused_in_a_sentence(tmp_path, share, sentence):
    with pytest.raises(ValueError, match=sentence):
        load_inputs(config_of(tmp_path, share))


def test_a_run_without_data_has_nothing_to_hold_out(tmp_path):
    config = Config().override(*ONLINE, "reanalyse.held_out=0.2")
    with pytest.raises(ValueError, match=r"but this run has no data to hold episodes out of; leave it"):
        load_inputs(config)
    train(Config().override(*ONLINE), tmp_path / "run")
    with pytest.raises(ValueError, match="has learned from no data, so there are no episodes to judge it by; `mzu ev"):
        judged_episodes(RunFolder.open(tmp_path / "run"))
