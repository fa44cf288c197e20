"""`mzu data info` and `mzu data convert`."""

import pytest
from made_episodes import assert_same, atari_episodes, control_episodes, rewrite

from mzu import load_episodes
from mzu.commands.cli import main
from mzu.episodes.readers.npz import write_npz
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, write_control


@pytest.fixture
def control_folder(tmp_path):
    folder = tmp_path / "dm_control_suite_episodes" / "cartpole_swingup"
    write_control(folder, control_episodes(4), control_task("cartpole_swingup"))
    return folder


def test_info_tells_what_is_there(control_folder, tmp_path, capsys):
    assert main(["data", "info", "rlu:cartpole_swingup", "--root", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "episodes     4" in text and "steps        28" in text and "4 truncated" in text
    assert "observation  float32 [5]" in text and "files        1, " in text


def test_info_stops_at_damage_unless_it_is_told_to_skip(control_folder, capsys):
    (path,) = control_folder.iterdir()
    rewrite(path, lambda fields: fields["episode_id"].item() == 2 and fields.pop("reward"))
    assert main(["data", "info", str(control_folder)]) == 2
    assert "train-00000-of-00001, record 2, field reward: the field is missing" in capsys.readouterr().err
    assert main(["data", "info", str(control_folder), "--skip-bad"]) == 0
    output = capsys.readouterr()
    assert "episodes     3" in output.out and "left out 1 that could not be read" in output.err


def test_convert_goes_round_through_every_format(control_folder, tmp_path, capsys):
    pytest.importorskip("minari")
    steps = [control_folder, tmp_path / "a.npz", tmp_path / "minari-v0", tmp_path / "again" / "cartpole_swingup"]
    options = [[], ["--format", "minari"], ["--files", "2"]]
    for source, target, option in zip(steps, steps[1:], options, strict=False):
        assert main(["data", "convert", str(source), str(target), *option]) == 0
    episodes = list(load_episodes(control_folder))
    assert_same([episodes[i] for i in (0, 2, 1, 3)], load_episodes(steps[-1]))
    assert len(list(steps[-1].iterdir())) == 2


def test_convert_keeps_images_and_moves_rewards_on_request(tmp_path):
    write_atari(tmp_path / "Asterix", atari_episodes(3))
    assert main(["data", "convert", str(tmp_path / "Asterix"), str(tmp_path / "a.npz"), "--reward-shift", "1"]) == 0
    assert main(["data", "convert", str(tmp_path / "a.npz"), str(tmp_path / "b"), "--limit", "2"]) == 0
    shifted = load_episodes(tmp_path / "Asterix", reward_shift=1)
    assert_same(list(shifted)[:2], load_episodes(tmp_path / "b"))


def test_convert_replaces_nothing_and_leaves_nothing_half_done(control_folder, tmp_path, capsys):
    write_npz(tmp_path / "a.npz", control_episodes(1))
    assert main(["data", "convert", str(control_folder), str(tmp_path / "a.npz")]) == 2
    assert "exists; choose another name" in capsys.readouterr().err
    (path,) = control_folder.iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    assert main(["data", "convert", str(control_folder), str(tmp_path / "b.npz")]) == 2
    assert main(["data", "convert", str(control_folder), str(tmp_path / "folder")]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "dm_control_suite_episodes"]
    assert main(["data", "convert", str(control_folder), str(tmp_path / "b.npz"), "--skip-bad"]) == 0
    assert len(load_episodes(tmp_path / "b.npz")) == 3


def test_a_format_that_does_not_suit_the_data_is_refused(tmp_path, capsys):
    write_npz(tmp_path / "a.npz", control_episodes(1))
    assert main(["data", "convert", str(tmp_path / "a.npz"), str(tmp_path / "b"), "--format", "rlu_atari"]) == 2
    assert "Atari has uint8 [84, 84, 1]" in capsys.readouterr().err
    assert main(["data", "convert", str(tmp_path / "a.npz"), str(tmp_path / "b"), "--files", "0"]) == 2
    assert main(["data", "convert", str(tmp_path / "a.npz"), str(tmp_path / "b.npz"), "--limit", "0"]) == 2
    assert not (tmp_path / "b").exists() and not (tmp_path / "b.npz").exists()
