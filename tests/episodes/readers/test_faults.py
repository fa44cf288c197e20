"""Damaged data: one sentence that names file, record and field; with skip_bad it is counted and the rest is read."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from made_episodes import assert_same, atari_episodes, control_episodes, rewrite, write_replay_logs
from PIL import Image

from mzu import load_episodes
from mzu.episodes.readers.faults import Fault, FaultCounter
from mzu.episodes.readers.npz import write_npz
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, write_control


@pytest.fixture
def control_file(tmp_path):
    write_control(tmp_path / "cartpole_swingup", control_episodes(3), control_task("cartpole_swingup"))
    return tmp_path / "cartpole_swingup" / "train-00000-of-00001"


@pytest.fixture
def atari_file(tmp_path):
    write_atari(tmp_path / "Asterix", atari_episodes(3))
    return tmp_path / "Asterix" / "run_1-00000-of-00001"


@pytest.fixture
def npz_file(tmp_path):
    write_npz(tmp_path / "episodes.npz", control_episodes(3))
    return tmp_path / "episodes.npz"


@pytest.fixture
def replay_logs(tmp_path):
    rng = np.random.default_rng(0)
    frames = rng.integers(1, 256, (40, 84, 84))
    terminals = [0, 0, 0, 0, 1] * 8
    write_replay_logs(tmp_path / "Pong" / "1" / "replay_logs", frames, [2] * 40, [1] * 40, terminals)
    return tmp_path / "Pong" / "1" / "replay_logs"


def assert_fault(path, *words, episodes_left=None):
    """Reading stops with one sentence that holds all words; with skip_bad it goes on with what is left."""
    with pytest.raises(ValueError, match=r".+") as error:
        list(load_episodes(path))
    sentence = str(error.value)
    assert "\n" not in sentence
    for word in (path.name, *words):
        assert word in sentence, sentence
    if episodes_left is not None:
        dataset = load_episodes(path, skip_bad=True)
        assert len(list(dataset)) == episodes_left
        assert dataset.skipped == 1 and str(dataset.faults[0]) == sentence
        assert len(list(dataset)) == episodes_left and dataset.skipped == 1  # a second pass counts anew


def alter(path, record, **values):
    """Write other values into the fields of one record; None removes a field."""
    count = iter(range(100))

    def change(fields):
        if next(count) == record:
            for name, value in values.items():
                name = name.replace("__", "/")
                if value is None:
                    del fields[name]
                else:
                    fields[name] = value

    rewrite(path, change)


@pytest.mark.parametrize("kind", ["control_file", "atari_file", "npz_file"])
def test_an_empty_file(kind, request):
    path = request.getfixturevalue(kind)
    path.write_bytes(b"")
    assert_fault(path, "the file is empty", episodes_left=0)


@pytest.mark.parametrize("kind", ["control_file", "atari_file"])
def test_a_truncated_gzip_keeps_the_records_before_the_cut(kind, request):
    path = request.getfixturevalue(kind)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 30])
    assert_fault(path, "record 2", "cut off in the middle of the GZIP stream", episodes_left=2)


def test_a_truncated_npz(npz_file):
    npz_file.write_bytes(npz_file.read_bytes()[:-200])
    assert_fault(npz_file, "cut off or damaged", episodes_left=0)


def test_a_file_that_ends_within_a_record_although_its_gzip_is_whole(control_file):
    control_file.write_bytes(gzip.compress(gzip.decompress(control_file.read_bytes())[:-10]))
    assert_fault(control_file, "record 2", "ends in the middle of the record", episodes_left=2)


@pytest.mark.parametrize("kind", ["control_file", "atari_file", "npz_file"])
@pytest.mark.parametrize("place", [0.2, 0.55, 0.8])
def test_a_flipped_byte_is_never_believed(kind, place, request):
    path = request.getfixturevalue(kind)
    whole = list(load_episodes(path))
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 0x10
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"record|damaged|cut off") as error:
        list(load_episodes(path))
    assert path.name in str(error.value)
    dataset = load_episodes(path, skip_bad=True)
    left = list(dataset)
    assert dataset.skipped >= 1 and len(left) < 3
    originals = [episode for episode in whole if any(np.array_equal(episode.rewards, one.rewards) for one in left)]
    assert_same(originals, left)


def test_a_flipped_byte_inside_one_record_costs_only_that_record(control_file):
    data = bytearray(gzip.decompress(control_file.read_bytes()))
    data[len(data) // 2] ^= 1
    control_file.write_bytes(gzip.compress(data))
    assert_fault(control_file, "record 1", "do not match their checksum", episodes_left=2)


def test_a_flipped_length_ends_the_file(control_file):
    data = bytearray(gzip.decompress(control_file.read_bytes()))
    data[5] ^= 1  # the first record would have terabytes
    control_file.write_bytes(gzip.compress(data))
    assert_fault(control_file, "record 0", "the length does not match its checksum", episodes_left=0)


def test_a_file_that_is_no_gzip(control_file):
    control_file.write_bytes(b"hello world, this is a text")
    assert_fault(control_file, "not in GZIP format", episodes_left=0)


@pytest.mark.parametrize("field", ["reward", "action", "discount", "step_type", "observation/velocity"])
def test_a_missing_field_of_control(control_file, field):
    alter(control_file, 1, **{field: None})
    assert_fault(control_file, "record 1", f"field {field}", "the field is missing", episodes_left=2)


@pytest.mark.parametrize("field", ["observations", "actions", "unclipped_rewards", "discounts"])
def test_a_missing_field_of_atari(atari_file, field):
    alter(atari_file, 1, **{field: None})
    assert_fault(atari_file, "record 1", f"field {field}", "the field is missing", episodes_left=2)


def test_a_wrong_type(control_file, atari_file):
    alter(control_file, 1, reward=np.ones(8, np.int64))
    assert_fault(control_file, "record 1", "field reward", "whole numbers, but must hold float", episodes_left=2)
    alter(atari_file, 1, actions=np.ones(6, np.float32))
    assert_fault(atari_file, "record 1", "field actions", "float numbers, but must hold whole", episodes_left=2)


def test_a_wrong_type_in_an_npz(tmp_path):
    path = tmp_path / "text.npz"
    np.savez(path, observations=np.array(["a", "b"]), actions=np.zeros(2, int), rewards=np.zeros(2))
    assert_fault(path, "field observations", "must hold numbers", episodes_left=0)
    np.savez(path, observations=np.array([{}, {}], object), actions=np.zeros(2, int), rewards=np.zeros(2))
    assert_fault(path, "cannot be read")
    np.savez(path, observations=np.zeros((3, 1)), actions=np.zeros(3), rewards=np.zeros(3))
    assert_fault(path, "discrete actions of type float32", episodes_left=0)


def test_lengths_that_do_not_fit(control_file, atari_file):
    alter(control_file, 1, observation__velocity=np.ones(17, np.float32))
    assert_fault(control_file, "record 1", "17 numbers, but 8 rows of 2 are 16", "another task", episodes_left=2)
    alter(atari_file, 2, actions=np.ones(5, np.int64))
    assert_fault(atari_file, "record 2", "5 values, but 6 frames", episodes_left=2)


def test_an_episode_that_is_not_whole(control_file):
    alter(control_file, 0, step_type=np.ones(8, np.float32))
    assert_fault(control_file, "record 0", "field step_type", "a whole episode has 0 and 2", episodes_left=2)


def with_value(array, index, value):
    array = array.copy()
    array[index] = value
    return array


def test_a_nan_reward_after_the_first_row(control_file, atari_file, npz_file):
    reward = np.array([np.nan, 1, 1, 1, np.nan, 1, 1, 1], np.float32)
    alter(control_file, 1, reward=reward)
    assert_fault(control_file, "record 1", "field reward", "reward[4] is nan; only index 0 may be", episodes_left=2)
    alter(atari_file, 1, unclipped_rewards=np.array([0, 0, np.nan, 0, 0, 0, 0], np.float32))
    assert_fault(atari_file, "record 1", "field unclipped_rewards", "unclipped_rewards[2] is nan", episodes_left=2)
    _replace_member(npz_file, "000001/rewards.npy", np.array([0, 0, 0, np.nan, 0, 0, 0], np.float32))
    assert_fault(npz_file, "record 1", "rewards[3] is not finite", episodes_left=2)


def test_a_nan_observation(control_file):
    alter(control_file, 1, observation__position=with_value(np.ones(24, np.float32), 7, np.nan))
    assert_fault(control_file, "record 1", "observation/position[2, 1] is nan", episodes_left=2)


def test_an_action_outside_the_space(control_file, atari_file, npz_file):
    alter(control_file, 1, action=with_value(np.zeros(8, np.float32), 3, 1.5))
    assert_fault(
        control_file, "record 1", "field action", "action[3, 0] is 1.5, but must lie in [-1, 1]", episodes_left=2
    )
    alter(atari_file, 1, actions=np.array([0, 1, 2, 9, 0, 0, 0]))
    assert_fault(atari_file, "record 1", "actions[3] is 9, but the game has 9 actions (0..8)", episodes_left=2)
    assert len(list(load_episodes(atari_file, num_actions=18))) == 3
    _replace_member(npz_file, "000001/actions.npy", np.full((7, 1), -2.0))
    assert_fault(npz_file, "record 1", "actions[0, 0] is -2, but must lie in [-1, 1]", episodes_left=2)


def test_an_npz_of_discrete_actions_is_checked_against_the_given_number(tmp_path):
    write_npz(tmp_path / "a.npz", atari_episodes(2, actions=4))
    assert len(list(load_episodes(tmp_path / "a.npz", num_actions=4))) == 2
    with pytest.raises(ValueError, match=r"a.npz, record 0, field actions: .* there are 2 actions \(0..1\)"):
        list(load_episodes(tmp_path / "a.npz", num_actions=2))


def test_continuous_actions_where_a_number_of_discrete_ones_was_given(npz_file):
    with pytest.raises(ValueError, match="record 0, field actions: the actions are not discrete"):
        list(load_episodes(npz_file, num_actions=3))


def test_a_number_of_actions_for_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"")
    dataset = load_episodes(tmp_path / "a.npz", num_actions=2, skip_bad=True)
    assert list(dataset) == [] and dataset.skipped == 1


def picture(size, mode="L", format="PNG"):
    buffer = io.BytesIO()
    Image.new(mode, size).save(buffer, format)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (picture((84, 80)), "frame 2 is 84x80 of mode L, but must be 84x84"),
        (picture((84, 84), "RGB"), "frame 2 is 84x84 of mode RGB"),
        (picture((84, 84), format="JPEG"), "frame 2 is a JPEG, but must be a PNG"),
        (picture((84, 84))[:40], "frame 2 is not a readable PNG"),
        (b"no picture", "frame 2 is not a readable PNG"),
    ],
)
def test_an_image_of_the_wrong_kind(atari_file, content, sentence):
    alter(atari_file, 0, observations=[*[picture((84, 84))] * 2, content, *[picture((84, 84))] * 3])
    assert_fault(atari_file, "record 0", "field observations", sentence, episodes_left=2)


def test_two_episodes_joined(atari_file):
    alter(atari_file, 0, discounts=np.array([1, 1, 0, 1, 1, 0], np.float32))
    assert_fault(atari_file, "field discounts", "discounts[2] is 0", episodes_left=2)


def test_missing_files_of_a_set_are_reported(tmp_path):
    episodes = control_episodes(6)
    write_control(tmp_path / "cartpole_swingup", episodes, control_task("cartpole_swingup"), num_shards=3)
    (tmp_path / "cartpole_swingup" / "train-00001-of-00003").unlink()
    with pytest.raises(Fault, match="1 of the 3 files of the set are missing: train-00001-of-00003"):
        load_episodes("rlu:cartpole_swingup", root=tmp_path)
    dataset = load_episodes("rlu:cartpole_swingup", root=tmp_path, skip_bad=True)
    assert dataset.skipped == 1
    assert_same([episodes[i] for i in (0, 3, 2, 5)], dataset)
    assert dataset.skipped == 1


def test_missing_files_of_dqn_replay_are_reported(replay_logs):
    write_replay_logs(replay_logs, np.ones((6, 84, 84)), [0] * 6, [0] * 6, [0] * 6, number=2)
    with pytest.raises(Fault, match=r"missing: \$store\$_observation_ckpt.1.gz, "):
        load_episodes("dqn_replay:Pong/1", root=replay_logs.parents[2])
    (replay_logs / "$store$_reward_ckpt.2.gz").unlink()
    dataset = load_episodes(replay_logs, skip_bad=True)
    assert len(list(dataset)) == 8 and dataset.skipped == 2


@pytest.mark.parametrize(
    ("kind", "content", "sentence"),
    [
        ("observation", b"", "the file is empty"),
        ("reward", b"", "the file is empty"),
        ("observation", "cut", "the file is cut off"),
        ("action", "cut", "the file is cut off"),
        ("observation", np.ones((40, 84, 80), np.uint8), "frames are (84, 80), but must be (84, 84)"),
        ("observation", np.ones((39, 84, 84), np.uint8), "39 frames, but 40 actions"),
        ("reward", np.ones(39, np.float32), "39 values, but 40 actions"),
        ("reward", np.ones(40), "the array has type float64, but must have float32"),
        ("terminal", np.ones((40, 1), np.uint8), "must have one dimension"),
        ("terminal", gzip.compress(b"hello"), "there is no numpy array in the file"),
        ("terminal", b"hello, no gzip", "the GZIP stream is damaged"),
    ],
)
def test_faults_of_dqn_replay(replay_logs, kind, content, sentence):
    path = replay_logs / f"$store$_{kind}_ckpt.0.gz"
    if isinstance(content, np.ndarray):
        buffer = io.BytesIO()
        np.save(buffer, content)
        content = gzip.compress(buffer.getvalue(), 1)
    elif content == "cut":
        content = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(content)
    with pytest.raises(Fault) as error:
        list(load_episodes(replay_logs))
    assert path.name in str(error.value)
    assert f"field {kind}" in str(error.value) or not content  # an empty file has no field
    assert sentence in str(error.value)
    assert load_episodes(replay_logs, skip_bad=True).skipped == 0
    dataset = load_episodes(replay_logs, skip_bad=True)
    assert len(list(dataset)) < 8 and dataset.skipped == 1


def test_a_wrong_action_or_reward_of_dqn_replay_costs_one_episode(replay_logs):
    actions, rewards = np.full(40, 2), np.ones(40)
    actions[7], rewards[13] = 6, np.nan
    write_replay_logs(replay_logs, np.ones((40, 84, 84)), actions, rewards, [0, 0, 0, 0, 1] * 8)
    with pytest.raises(Fault, match=r"ckpt.0.gz, record 1, field action: actions\[2\] is 6, but the game has 6"):
        list(load_episodes(replay_logs))
    dataset = load_episodes(replay_logs, skip_bad=True)
    assert len(list(dataset)) == 6 and dataset.skipped == 2
    assert "record 2, field reward: reward[3] is nan" in str(dataset.faults[1])


def test_a_member_missing_from_an_npz(npz_file):
    _replace_member(npz_file, "000001/rewards.npy", None)
    assert_fault(npz_file, "record 1", "field rewards", "the array is missing", episodes_left=2)
    with zipfile.ZipFile(npz_file, "w") as archive:
        archive.writestr("other.npy", b"")
    assert_fault(npz_file, "no arrays observations, actions, rewards; it has other.npy", episodes_left=0)


def test_flat_arrays_of_different_lengths(tmp_path):
    with pytest.raises(Fault, match="field observations: there are 2 rows, but 3 rewards"):
        list(load_episodes({"observations": np.ones((2, 1)), "actions": np.ones(3, int), "rewards": np.ones(3)}))


def test_a_plain_array_that_is_missing(tmp_path):
    np.savez(tmp_path / "a.npz", observations=np.ones((3, 1)), actions=np.ones(3, int), notes=np.ones(3))
    assert_fault(
        tmp_path / "a.npz", "field rewards", "the array is missing; there are actions, observations", episodes_left=0
    )
    np.savez(
        tmp_path / "a.npz", observations=np.ones((3, 1)), actions=np.ones(3, int), rewards=np.ones(3), notes=np.ones(3)
    )
    assert len(list(load_episodes(tmp_path / "a.npz"))) == 1


def test_the_list_of_faults_is_bounded():
    counter = FaultCounter()
    for number in range(1000):
        counter(Fault(str(number)))
    assert counter.count == 1000 and len(counter.first) == FaultCounter.KEPT


def _replace_member(path, name, array):
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist() if member != name}
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
        if array is not None:
            buffer = io.BytesIO()
            np.save(buffer, array)
            archive.writestr(name, buffer.getvalue())
