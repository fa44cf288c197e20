"""The rows of a batch are spread over the cores, each searched once, in any process and thread."""

import os
import signal
import threading
import time

import numba
import numpy as np
import pytest

from mzu.config import SearchConfig
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import random_weights
from mzu.search.cores import run_on_cores
from mzu.search.search import search


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_row_is_searched_exactly_once_whatever_the_number_of_cores(threads, monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
    for rows in (1, 2, 3, 31, 32, 33, 64, 65, 200):
        seen, names = np.zeros(rows, int), set()

        def run(start, stop, seen=seen, names=names):
            seen[start:stop] += 1
            names.add(threading.current_thread().name)

        run_on_cores(run, rows)
        assert (seen == 1).all()
        assert len(names) <= threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_searches_although_the_helper_threads_stayed_behind():
    run_on_cores(lambda start, stop: None, 100)  # starts the helpers
    child = os.fork()
    if child == 0:
        seen = np.zeros(100, int)

        def run(start, stop):
            seen[start:stop] += 1

        run_on_cores(run, 100)
        os._exit(0 if (seen == 1).all() else 1)
    deadline = time.monotonic() + 20
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    if done[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert done == (child, 0)


def test_an_error_in_one_piece_reaches_the_caller():
    def run(start, stop):
        if stop == 100:
            raise ValueError("the last piece")

    with pytest.raises(ValueError, match="the last piece"):
        run_on_cores(run, 100)


def test_searches_from_several_threads_at_once_do_not_disturb_each_other():
    rng = np.random.default_rng(0)
    model = CompiledModel(random_weights(rng, 4, 3, 32, 1))
    observations = rng.normal(size=(70, 4)).astype(np.float32)
    config = SearchConfig(num_simulations=10)
    expected = search(model, observations, config, np.random.default_rng(1)).visits
    found = {}

    def work(name):
        found[name] = search(model, observations, config, np.random.default_rng(1)).visits

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in range(4):
        np.testing.assert_array_equal(found[name], expected)
