import dataclasses

import pytest
from made_runs import tiny_config

from mzu.replay.replay import new_replay
from mzu.training import run_memory
from mzu.training.inputs import load_inputs
from mzu.training.run_memory import LIBRARIES, check_memory, growth, setting_bytes


@pytest.fixture
def there_are(monkeypatch):
    return lambda number: monkeypatch.setattr(run_memory, "available_memory", lambda: LIBRARIES + int(number))


@pytest.fixture
def offline(tmp_path):
    config = tiny_config("offline", tmp_path).replace(
        replay={"capacity": 1_000_000}, learning={"training_steps": 10**9}
    )
    return config, load_inputs(config)


def test_a_full_replay_takes_the_bytes_of_its_arrays_and_again_as_many_while_it_is_saved(tmp_path):
    config = tiny_config("offline", tmp_path).replace(learning={"training_steps": 10**9})
    inputs = load_inputs(config)
    assert setting_bytes(config, inputs) == {
        "replay.capacity": 2 * new_replay(config, inputs.frame_spaces).bytes_of_data
    }


def test_a_short_run_fills_only_a_part_of_a_large_replay(offline):
    config, inputs = offline
    short = config.replace(learning={"training_steps": 1000})
    assert growth(short, inputs) < growth(config, inputs) / 100


def test_a_replay_that_cannot_fit_is_refused_with_a_capacity_that_fits(offline, there_are):
    config, inputs = offline
    there_are(growth(config, inputs) / 10)
    with pytest.raises(
        ValueError, match=r"^replay\.capacity=1000000 may take .* replay\.capacity=\d+ fits$"
    ) as refused:
        check_memory([config], inputs)
    fitting = int(str(refused.value).split("replay.capacity=")[-1].split()[0])
    assert 90_000 < fitting <= 100_000
    check_memory([config.replace(replay={"capacity": fitting})], inputs)


def test_fresh_games_that_are_kept_are_refused_with_a_number_that_fits(tmp_path, there_are):
    config = tiny_config("online", tmp_path).replace(
        learning={"training_steps": 10**8}, reanalyse={"most_recent_steps": 10**8, "highest_return": 0}
    )
    inputs = load_inputs(config)
    there_are(growth(config, inputs) / 10)
    with pytest.raises(ValueError, match=r"reanalyse\.most_recent_steps=(\d+) fits$") as refused:
        check_memory([config], inputs)
    fitting = int(str(refused.value).split("=")[-1].split()[0])
    check_memory([config.replace(reanalyse={"most_recent_steps": fitting})], inputs)


def test_runs_that_fit_one_after_the_other_only_are_told_how_many_at_once(offline, there_are):
    config, inputs = offline
    there_are(1.7 * growth(config, inputs) + LIBRARIES)
    with pytest.raises(ValueError, match=r"3 runs at once may take .*; --jobs 1 fits"):
        check_memory([config] * 3, inputs, jobs=3)
    check_memory([config] * 3, inputs, jobs=1)


def test_data_in_memory_count_once_for_each_run(offline, there_are):
    config, inputs = offline
    small = config.replace(learning={"training_steps": 1})
    there_are(growth(small, inputs) + inputs.episodes.bytes_in_memory)
    check_memory([small], inputs)
    there_are(growth(small, inputs) + inputs.episodes.bytes_in_memory - 1)
    with pytest.raises(ValueError, match="of memory are left for it"):
        check_memory([small], inputs)


def test_an_observation_of_bytes_takes_a_quarter_of_one_of_floats(offline):
    config, inputs = offline
    pictures = dataclasses.replace(inputs.frame_spaces, observation_shape=(8, 8, 1), observation_dtype="uint8")
    floats = dataclasses.replace(pictures, observation_dtype="float32")
    of_bytes, of_floats = (
        growth(config, dataclasses.replace(inputs, frame_spaces=spaces)) for spaces in (pictures, floats)
    )
    assert 2 < of_floats / of_bytes < 4
