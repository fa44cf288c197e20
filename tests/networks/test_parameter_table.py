"""`mzu network` shows every sub-model with true parameter counts, and the memory of one search."""

import numpy as np
import pytest

from mzu.commands.cli import main
from mzu.config import NetworkConfig, SearchConfig
from mzu.environments.spaces import Spaces
from mzu.networks.keras_model import KerasModel
from mzu.networks.network import build_network
from mzu.networks.parameter_table import count_parameters, network_summary
from mzu.search.memory import search_bytes
from mzu.search.search import search

SMALL = ["--set", "network.width=16", "--set", "network.num_blocks=2"]


def test_the_parameters_of_a_small_network_are_those_counted_by_hand():
    config = NetworkConfig(width=16, num_blocks=2, value_support=3, reward_support=2)
    network = build_network(config, Spaces((5,), 3))
    block = 2 * (16 * 16 + 16 + 2 * 16)
    representation = (5 * 16 + 16) + 2 * block + 2 * 16
    dynamics = ((16 + 3) * 16 + 16) + 2 * block + 2 * 16 + (16 * 5 + 5)
    prediction = (16 * 3 + 3) + (16 * 7 + 7)
    counts = [count_parameters(model) for model in network.models]
    assert counts == [representation, dynamics, prediction]
    text = network_summary(network)
    assert f"representation: observation (5), {representation:,} parameters" in text
    assert f"dynamics: hidden (16) and action (one number), {dynamics:,} parameters" in text
    assert f"parameters in all: {representation + dynamics + prediction:,}" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["block_0", *["norm,", "relu,", "dense,"] * 2, "add", "16", f"{block:,}"] in rows
    assert ["value", "dense", "7", str(16 * 7 + 7)] in rows


def test_the_parts_add_up_to_the_whole():
    config = NetworkConfig(width=8, num_blocks=2, value_support=3, reward_support=2, action_value_head=True)
    network = build_network(config, Spaces((40, 40, 2), 3))
    rows = [line for line in network_summary(network).splitlines() if line.startswith("  ")]
    assert sum(int(row.split()[-1].replace(",", "")) for row in rows) == count_parameters(network)
    assert any("conv 3x3 stride 2" in row for row in rows) and any("average" in row for row in rows)


@pytest.mark.parametrize(
    ("spaces", "sampled"),
    [(Spaces((4, 4, 1), 3), None), (Spaces((4, 4, 1), 3), 5), (Spaces((4, 4, 1), 2, continuous=True), 5)],
)
def test_the_memory_of_a_search_is_that_of_its_tree(spaces, sampled):
    network = build_network(NetworkConfig(width=4, num_blocks=1), spaces)
    config = SearchConfig(num_simulations=7, num_sampled_actions=sampled)
    injected = None if sampled is None else np.zeros((3, 2)) if spaces.continuous else np.zeros(3, int)
    model = KerasModel(network, jit_compile=False)
    result = search(model, np.zeros((3, 4, 4, 1)), config, np.random.default_rng(0), injected)
    assert search_bytes(network, config, batch=3) == sum(array.nbytes for array in result.tree)


def test_the_command_prints_sub_models_parameters_and_memory(capsys):
    assert main(["network", "--observation", "5", "--actions", "3", *SMALL]) == 0
    output = capsys.readouterr().out
    for text in ("representation: observation (5)", "dynamics: hidden (16)", "prediction: hidden (16)"):
        assert text in output
    assert "memory of one search: 0.6 MB for 64 positions, 50 simulations, 3 candidates" in output


def test_the_command_takes_images_dimensions_and_an_automatic_width(capsys):
    arguments = ["--observation", "10,5,1", "--dimensions", "2", "--set", "network.width=auto"]
    arguments += ["--datapoints", "256", "--set", "network.num_blocks=1", "--set", "search.num_sampled_actions=20"]
    assert main(["network", *arguments]) == 0
    output = capsys.readouterr().out
    assert "10 x 5 x 16" in output and "21 candidates" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--observation", "5", "--actions", "3", "--set", "network.width=auto"], "needs the number of stored steps"),
        (["--observation", "5", "--actions", "3", "--set", "network.wdth=3"], "did you mean 'network.width'?"),
        (["--observation", "5,5", "--actions", "3"], "observation_shape is (5, 5)"),
        (["--observation", "5", "--actions", "3", "--batch", "0"], "--batch is 0"),
        (["--observation", "5", "--dimensions", "2"], "set search.num_sampled_actions"),
    ],
)
def test_mistakes_are_told_in_a_sentence(capsys, arguments, message):
    assert main(["network", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mzu: ") and message in error


def test_a_shape_that_is_none_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["network", "--observation", "84xx84", "--actions", "3"])
    assert "'84xx84' is not a shape; write 8 or 84,84,4" in capsys.readouterr().err
