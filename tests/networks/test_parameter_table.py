"""`mzu network` shows every sub-model with true parameter counts, and the memory of one search."""

from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network
from mzu.networks.parameter_table import count_parameters, network_summary


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
