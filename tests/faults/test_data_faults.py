"""Data that must not be believed: flipped bits, bombs, headers that lie; what `mzu data check` sees or owns up to."""

import dataclasses
import gzip
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from made_episodes import control_episodes, write_replay_logs

import mzu
from mzu import load_episodes
from mzu.acting.collect import collect
from mzu.environments.make import make
from mzu.episodes.dataset import shift_rewards
from mzu.episodes.doctor.alignment import StateAlignment
from mzu.episodes.doctor.report import report_text
from mzu.episodes.readers.minari_format import write_minari

ROOT = Path(__file__).parents[2]


def test_no_flipped_bit_of_dqn_replay_is_read_as_other_pixels(tmp_path):
    folder = tmp_path / "Pong"
    frames = np.random.default_rng(0).integers(1, 256, (10, 84, 84))
    write_replay_logs(folder, frames, [2] * 10, [1] * 10, [0, 0, 0, 0, 1] * 2)
    path = folder / "$store$_observation_ckpt.0.gz"
    content, rng = path.read_bytes(), np.random.default_rng(1)
    for place in rng.integers(10, len(content), 200):  # what stands before is the time and the system, not the data
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"observation_ckpt.0.gz, .*(damaged|cut off|longer)"):
            next(iter(load_episodes(folder)))


def npz_with_header(path, header, numbers=b""):
    """A file whose arrays all have this header before these bytes."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, header)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("observations", "actions", "rewards"):
            archive.writestr(f"{name}.npy", stream.getvalue() + numbers)


def test_a_header_that_asks_for_more_than_there_is_takes_no_memory(tmp_path):
    npz_with_header(tmp_path / "a.npz", {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}, bytes(800))
    with pytest.raises(ValueError, match="its header says 8,000,000,000,000 bytes of numbers, but there are 800"):
        list(load_episodes(tmp_path / "a.npz"))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    """A few kilobytes that would be 300 MB, in a process that may have less than that more."""
    shape = (3 * 10**7,)
    npz_with_header(tmp_path / "bomb.npz", {"descr": "<f4", "fortran_order": False, "shape": shape}, bytes(12 * 10**7))
    assert (tmp_path / "bomb.npz").stat().st_size < 10**6
    program = (
        "import resource, mzu; resource.setrlimit(resource.RLIMIT_AS, (3 * 10**8, 3 * 10**8));"
        f"list(mzu.load_episodes({str(tmp_path / 'bomb.npz')!r}))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    code = f"import mzu.episodes.dataset\n{program}"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "reading it takes 360 MB, but there are 300 MB of memory" in done.stderr


def test_a_bomb_of_gzip_is_refused_where_its_header_says_so(tmp_path, monkeypatch):
    folder = tmp_path / "Pong"
    write_replay_logs(folder, np.ones((6, 84, 84)), [0] * 6, [0] * 6, [0] * 6)
    monkeypatch.setattr("mzu.episodes.readers.files.available_memory", lambda: 20)
    with pytest.raises(
        ValueError, match=r"action_ckpt.0.gz, field action: reading it takes 24 bytes, but there are 20"
    ):
        list(load_episodes(folder))


@pytest.mark.parametrize("lie", [{"shape": (2, 84, 84), "fortran_order": True}, {"shape": ()}, {"shape": (-1, 84, 84)}])
def test_headers_of_dqn_replay_that_lie_are_refused(tmp_path, lie):
    folder = tmp_path / "Pong"
    write_replay_logs(folder, np.ones((2, 84, 84)), [0] * 2, [0] * 2, [0] * 2)
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False} | lie)
    data = gzip.compress(stream.getvalue() + bytes(2 * 84 * 84))
    (folder / "$store$_observation_ckpt.0.gz").write_bytes(data)
    with pytest.raises(ValueError, match="there is no numpy array in the file"):
        list(load_episodes(folder))


def test_a_changed_number_in_a_minari_dataset_of_ours_is_noticed_and_of_others_owned_up_to(tmp_path):
    spaces = mzu.environments.spaces.Spaces((5,), 1, continuous=True)
    folder = write_minari(tmp_path / "ours", control_episodes(3), spaces)
    assert "checksum" not in report_text(mzu.check(folder))
    metadata = folder / "data" / "metadata.json"
    metadata.write_text(metadata.read_text().replace('"mzu_checksum"', '"another"'))
    assert "changed bits (Minari's files hold no checksum)" in " ".join(report_text(mzu.check(folder)).split())


def replayed(change, id="CartPole-v1"):
    """The findings about an episode of random play, changed, as replayed in its environment."""
    with make(id) as world:
        (episode,) = collect(world, "random", 1, seed=3)
        return mzu.check([change(episode)], world)


def test_other_observations_are_seen_although_the_rewards_agree():
    def moved(episode):
        observations = episode.observations.copy()
        observations[5] += 0.1
        return dataclasses.replace(episode, observations=observations)

    (finding,) = [finding for finding in replayed(moved).findings if finding.severity == "wrong"]
    assert finding.what.startswith("CartPole-v1 shows other observations for the same actions")
    assert finding.where == "episode 0, step 5"


def test_another_end_is_seen_although_the_rewards_agree():
    report = replayed(lambda episode: dataclasses.replace(episode, terminated=False, truncated=True))
    assert "the data do not say terminated, but nothing can follow" in report_text(report)
    early = replayed(
        lambda episode: dataclasses.replace(
            episode,
            observations=episode.observations[:9],
            actions=episode.actions[:8],
            rewards=episode.rewards[:8],
        )
    )
    assert "the data say terminated, but it goes on" in report_text(early)


def test_data_that_stop_where_the_environment_goes_on_are_no_mistake():
    def cut(episode):
        parts = {
            "observations": episode.observations[:9],
            "actions": episode.actions[:8],
            "rewards": episode.rewards[:8],
        }
        return dataclasses.replace(episode, **parts, terminated=False, truncated=True)

    report = replayed(cut)
    assert "and the same observations and end" in report_text(report) and not report.is_wrong


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("actions", -1, "actions reach from -1 to 1"),
        ("actions", 2**40, "actions reach from 0 to 1099511627776"),
        ("rewards", 3e38, "a reward or return reaches 3e+38"),
    ],
)
def test_what_training_would_fail_on_is_wrong(field, value, sentence):
    def change(episode):
        array = getattr(episode, field).astype(np.int64 if field == "actions" else np.float32)
        array[2] = value
        return dataclasses.replace(episode, **{field: array})

    episodes = [change(episode) for episode in list(load_episodes("embedded:cartpole"))[:5]]
    report = mzu.check(episodes)
    assert report.is_wrong and sentence in report_text(report)


def test_fractional_actions_are_wrong(tmp_path):
    actions = np.tile([0.0, 0.5], 10)
    np.savez(tmp_path / "a.npz", observations=np.eye(20), actions=actions, rewards=np.arange(20.0))
    report = mzu.check(tmp_path / "a.npz")
    assert report.is_wrong and "discrete actions of type float32, but must have whole numbers" in report_text(report)


def test_rewards_beyond_the_networks_categories_are_doubtful():
    episodes = list(load_episodes("embedded:cartpole"))[:5]
    large = [dataclasses.replace(episode, rewards=episode.rewards * 1e4) for episode in episodes]
    report = mzu.check(large)
    assert not report.is_wrong and "categories end at 58,000" in report_text(report)


def judged(id, episodes, shift):
    alignment = StateAlignment(after_step=id.startswith("dm_control:"))
    for episode in episodes:
        alignment.add(shift_rewards(episode, shift))
    return alignment.judge()


@pytest.mark.parametrize("id", ["dm_control:walker-stand", "dm_control:walker-walk"])
def test_rewards_of_walker_that_are_off_by_one_are_found(id):
    with make(id) as world:
        episodes = list(collect(world, "random", 8, sticky=0.8))
    for shift in (-1, 0, 1):
        assert judged(id, episodes, shift).shift == -shift


@pytest.mark.parametrize(
    "id", ["Pendulum-v1", "dm_control:finger-turn_hard", "dm_control:pendulum-swingup", "CartPole-v1", "point"]
)
def test_a_shift_that_cannot_be_seen_is_said_to_be_unclear(id):
    with make(id) as world:
        episodes = list(collect(world, "random", 5 if "dm_control" in id else 20, sticky=0.8))
    for shift in (-1, 0, 1):
        found = judged(id, episodes, shift)
        assert found.shift == -shift or -shift in found.unclear
    assert judged(id, episodes, 0).shift == 0


def test_the_verdict_names_what_was_not_checked():
    text = " ".join(report_text(mzu.check("embedded:cartpole")).split())
    assert "Nothing that was checked speaks against training on this. Not checked: whether rewards stand at" in text
    text = " ".join(report_text(mzu.check("embedded:cartpole", "CartPole-v1")).split())
    assert text.endswith("Nothing speaks against training on this.")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a system with named pipes")
def test_a_pipe_is_no_empty_dataset(tmp_path):
    os.mkfifo(tmp_path / "data.npz")
    with pytest.raises(
        ValueError, match=r"data.npz is neither a file nor a folder, but a pipe or a device; write it to"
    ):
        load_episodes(tmp_path / "data.npz")
