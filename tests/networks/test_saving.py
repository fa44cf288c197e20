"""What is saved comes back exactly, and no crash leaves half a file under a final name."""

import json

import numpy as np
import pytest

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks import saving
from mzu.networks.network import build_network
from mzu.networks.saving import load_network, save_network

SMALL = {"width": 8, "num_blocks": 1, "value_support": 3, "reward_support": 2}
CASES = {
    "discrete": (NetworkConfig(**SMALL), Spaces((5,), 3)),
    "continuous": (NetworkConfig(**SMALL, scale_hidden=True, prediction_blocks=1), Spaces((5,), 2, continuous=True)),
    "smooth": (NetworkConfig(**SMALL, scalar_head="hl_gauss", bins_per_unit=4, hl_gauss_sigma=0.5), Spaces((5,), 3)),
    "image": (NetworkConfig(**SMALL, action_value_head=True), Spaces((20, 10, 2), 3, observation_dtype="uint8")),
}
NAMES = ["network.keras", "network.weights.h5"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", CASES)
def test_a_network_comes_back_exactly(random_network, tmp_path, case, name):
    network = random_network(*CASES[case])
    save_network(network, tmp_path / name)
    loaded = load_network(tmp_path / name)
    assert (loaded.config, loaded.spaces) == (network.config, network.spaces)
    assert [model.name for model in loaded.models] == [model.name for model in network.models]
    expected, weights = network.read_weights(), loaded.read_weights()
    assert list(weights) == list(expected)
    for key in expected:
        np.testing.assert_array_equal(weights[key], expected[key])
    observations = np.ones((2, *network.spaces.observation_shape), network.spaces.observation_dtype)
    for one, other in zip(loaded.initial(observations), network.initial(observations), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_config_lies_beside_the_network_for_people_to_read(random_network, tmp_path):
    save_network(random_network(*CASES["continuous"]), tmp_path / "run" / "step_100.keras")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["step_100.json", "step_100.keras"]
    description = json.loads((tmp_path / "run" / "step_100.json").read_text())
    assert description["network"]["width"] == 8
    assert description["spaces"] == {
        "observation_shape": [5],
        "num_actions": 2,
        "continuous": True,
        "observation_dtype": "float32",
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_file_needs_nothing_beside_it_to_be_loaded(random_network, tmp_path, name):
    save_network(random_network(*CASES["discrete"]), tmp_path / name)
    (tmp_path / "network.json").unlink()
    assert load_network(tmp_path / name).config.width == 8


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_refused_in_a_sentence(random_network, tmp_path, name, share):
    path = tmp_path / name
    save_network(random_network(*CASES["discrete"]), path)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match=rf"{name} is damaged .*; go back to an earlier checkpoint") as error:
        load_network(path)
    assert "\n" not in str(error.value)


def test_a_file_with_changed_bytes_is_refused(random_network, tmp_path):
    path = tmp_path / "network.keras"
    save_network(random_network(*CASES["discrete"]), path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    with pytest.raises(ValueError, match="is damaged"):
        load_network(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_foreign_file_is_refused_in_a_sentence(tmp_path, name):
    network = build_network(*CASES["discrete"])
    if name.endswith(".keras"):
        network.prediction.save(tmp_path / name)
    else:
        network.prediction.save_weights(tmp_path / name)
    with pytest.raises(ValueError, match="no network saved by mzu"):
        load_network(tmp_path / name)


def test_a_file_of_another_version_says_so(random_network, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "FORMAT", "mzu network 99")
    save_network(random_network(*CASES["discrete"]), tmp_path / "network.keras")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="its format is 'mzu network 99', but this version reads 'mzu network 1'"):
        load_network(tmp_path / "network.keras")


def test_a_missing_file_and_a_wrong_name_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_network(tmp_path / "network.keras")
    with pytest.raises(ValueError, match=r"must end in .keras .* or .weights.h5"):
        save_network(build_network(*CASES["discrete"]), tmp_path / "network.h5")
