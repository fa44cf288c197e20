"""The paper's networks at full size: they build, take one training step and search once. Prints time and memory.

`python -m pytest -m slow -s tests/networks/test_full_size.py` prints the table of tutorials/networks.md.
"""

import concurrent.futures
import multiprocessing
import resource
import time

import numpy as np
import pytest

from mzu.bench.networks import make_training_step, random_training_batch
from mzu.config import NetworkConfig, SearchConfig
from mzu.environments.spaces import Spaces
from mzu.networks.compiled.compile_model import model_for_search
from mzu.networks.network import build_network
from mzu.networks.parameter_table import count_parameters
from mzu.search.search import search

CASES = {  # name: width, spaces, training batch, searched positions
    "states, humanoid.run": (512, Spaces((67,), 21, continuous=True), 1024, 64),
    "84x84x4 grey": (256, Spaces((84, 84, 4), 18, observation_dtype="uint8"), 16, 16),
    "96x96x128 RGB and actions": (256, Spaces((96, 96, 128), 18, observation_dtype="uint8"), 16, 16),
}


def measure(name):
    width, spaces, training_batch, positions = CASES[name]
    record, start_memory = {"name": name}, _gigabytes()
    network = build_network(NetworkConfig(width=width), spaces)  # 10 blocks, support 300: the paper's
    record["parameters"] = count_parameters(network)
    rng = np.random.default_rng(0)

    config = SearchConfig(num_sampled_actions=20 if spaces.continuous else None)
    observations = random_training_batch(rng, spaces, positions)[0].numpy()
    model = model_for_search(network)
    search(model, observations, SearchConfig(num_simulations=1, num_sampled_actions=config.num_sampled_actions), rng)
    result, record["search_seconds"] = _timed(lambda: search(model, observations, config, rng))
    record["positions"], record["visits"] = positions, result.visits.sum(axis=1).tolist()
    record["search_gigabytes"] = _gigabytes() - start_memory

    batch = random_training_batch(rng, spaces, training_batch)
    step = make_training_step(network, jit_compile=False)
    loss, record["first_step_seconds"] = _timed(lambda: step(*batch).numpy())
    second_loss, record["step_seconds"] = _timed(lambda: step(*batch).numpy())
    record["batch"], record["losses"] = training_batch, [float(loss), float(second_loss)]
    record["step_gigabytes"] = _gigabytes() - start_memory
    return record


def _timed(call):
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def _gigabytes():
    """The largest memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_papers_network_trains_and_searches(name):
    # A process of its own for each: the largest memory of a process never goes down again.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
        record = executor.submit(measure, name).result()
    print(
        f"\n{name}: {record['parameters']:,} parameters; search of {record['positions']} positions "
        f"{record['search_seconds']:.1f} s, {record['search_gigabytes']:.1f} GB; training step of {record['batch']} "
        f"{record['step_seconds']:.1f} s (first {record['first_step_seconds']:.1f} s), "
        f"{record['step_gigabytes']:.1f} GB; loss {record['losses'][0]:.2f} -> {record['losses'][1]:.2f}"
    )
    assert record["visits"] == [50] * record["positions"]
    assert record["losses"][1] < record["losses"][0]
    # 10 blocks of 2 layers in representation and dynamics, whose kernels alone are these:
    layers = 40 * (512**2 if "states" in name else 9 * 256**2)
    assert record["parameters"] > layers
