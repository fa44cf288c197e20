"""The compiled network for small pictures: right on paper, alike for every row of a batch, and strict."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from made_pictures import ball_game
from made_trees import assert_same_tree

from mzu.compilation import kernel
from mzu.config import SearchConfig
from mzu.networks.compiled.convolution import TILE_POSITIONS, add_convolution, frame_positions
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.picture_weights import random_picture_weights
from mzu.networks.compiled.rows import norm_relu_picture
from mzu.networks.compiled.vector_code import pack, padded
from mzu.networks.compiled.weights import pad_columns
from mzu.search import reference
from mzu.search.search import search

SHAPES = [(1, 1, 1, 1), (1, 7, 3, 5), (10, 10, 4, 16), (16, 16, 2, 17), (5, 2, 33, 32), (3, 4, 16, 40)]
MOVES = [(0, 1), (1, -1), (-1, 0)]


@kernel
def _convolve(framed, starts, row, weights, out):
    add_convolution(framed, starts, row, weights, out)


@kernel
def _norm(x, positions, width, scale, offset, epsilon, places, out):
    norm_relu_picture(x, positions, width, scale, offset, epsilon, places, out)


@pytest.mark.parametrize(("height", "width", "inputs", "outputs"), SHAPES)
def test_the_convolution_is_that_of_the_definition(height, width, inputs, outputs):
    rng = np.random.default_rng(0)
    picture = rng.normal(size=(height, width, inputs))
    weights = rng.normal(size=(3, 3, inputs, outputs))
    starts, inside = frame_positions(height, width)
    framed = np.zeros(((height + 2) * (width + 2), inputs), np.float32)
    framed[inside] = picture.reshape(-1, inputs)
    start = rng.normal(size=(len(starts), padded(outputs))).astype(np.float32)
    out = start.copy()
    _convolve(framed, starts, width + 2, pack(weights.reshape(9 * inputs, outputs), 9 * inputs), out)

    expected = np.zeros((height, width, outputs))
    for y, x, i, j in np.ndindex(height, width, 3, 3):
        if 0 <= y + i - 1 < height and 0 <= x + j - 1 < width:
            expected[y, x] += picture[y + i - 1, x + j - 1] @ weights[i, j]
    assert len(starts) % TILE_POSITIONS == 0 and len(inside) == height * width
    added = (out - start)[: len(inside)]
    np.testing.assert_allclose(added[:, :outputs], expected.reshape(-1, outputs), atol=1e-4)
    assert (added[:, outputs:] == 0).all()


@pytest.mark.parametrize(("positions", "width"), [(1, 1), (3, 5), (100, 16), (7, 40), (256, 33)])
def test_the_norm_is_over_all_positions_and_channels(positions, width):
    rng = np.random.default_rng(0)
    x = pad_columns(rng.normal(3, 2, (positions + 2, width)))  # two rows more, which do not count
    scale, offset = rng.normal(1, 0.3, width), rng.normal(0, 0.3, width)
    places = rng.permutation(positions + 4)[:positions].astype(np.int64)
    out = np.full((positions + 4, x.shape[1]), 7, np.float32)
    _norm(x, positions, width, pad_columns(scale), pad_columns(offset), np.float32(1e-5), places, out)
    picture = x[:positions, :width].astype(float)
    normed = (picture - picture.mean()) / np.sqrt(picture.var() + 1e-5) * scale + offset
    np.testing.assert_allclose(out[places, :width], np.maximum(normed, 0), atol=1e-5)
    assert (out[places, width:] == 0).all()
    assert (np.delete(out, places, axis=0) == 7).all()


@pytest.mark.parametrize("move", MOVES)
def test_a_game_on_a_picture_has_the_rewards_and_values_worked_out_on_paper(move):
    weights, table, observations = ball_game(4, 5, move)
    model, states = CompiledModel(weights), np.arange(20)
    hidden, policy, value = model.initial(observations)
    np.testing.assert_allclose(policy, table.logits[states], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(value, table.value[states], rtol=1e-4, atol=1e-4)
    for actions in np.random.default_rng(0).integers(3, size=(3, 20)):
        hidden, reward, policy, value = model.recurrent(hidden, actions)
        states, expected, logits, values = table.recurrent(states, actions)
        np.testing.assert_allclose(reward, expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(policy, logits, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(value, values, rtol=1e-4, atol=1e-4)
    assert len(set(states)) > 3  # some balls are still there, or have left after different actions


@pytest.mark.parametrize("move", MOVES)
def test_a_search_of_that_game_is_the_search_of_its_tables(move):
    weights, table, observations = ball_game(4, 5, move)
    config = SearchConfig(num_simulations=40, discount=0.9)
    found = search(CompiledModel(weights), observations, config, np.random.default_rng(1))
    known = search(table, np.arange(20), config, np.random.default_rng(1))
    np.testing.assert_array_equal(found.visits, known.visits)
    np.testing.assert_allclose(found.value, known.value, atol=1e-3)


WAYS = [{}, {"selection": "gumbel"}, {"first_evaluations": True, "max_depth": 2}]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("continuous", [False, True])
def test_pictures_are_searched_as_the_reference_searches_them(continuous, way):
    rng = np.random.default_rng(3)
    model = CompiledModel(random_picture_weights(rng, (4, 3, 2), 3, 20, 1, 5, continuous=continuous))
    observations = rng.normal(size=(4, 4, 3, 2))
    config = SearchConfig(num_simulations=12, num_sampled_actions=5 if continuous else None, **way)
    injected = {"injected_actions": np.ones((4, 3), np.float32)} if continuous else {}
    result = search(model, observations, config, np.random.default_rng(0), **injected)
    roots = reference.search(model, observations, config, np.random.default_rng(0), **injected)
    for b, root in enumerate(roots):
        assert_same_tree(result.tree, b, root)


def test_a_row_does_not_depend_on_the_rows_around_it_nor_on_the_piece_it_is_searched_in():
    rng = np.random.default_rng(0)
    model = CompiledModel(random_picture_weights(rng, (5, 4, 3), 4, 24, 1, 5))
    observations = rng.normal(size=(37, 5, 4, 3))
    hidden, policy, value = model.initial(observations)
    for row in (0, 17, 36):
        alone = model.initial(observations[row : row + 1])
        for one, all in zip(alone, (hidden, policy, value), strict=True):
            np.testing.assert_array_equal(one[0], all[row])
    config = SearchConfig(num_simulations=6, dirichlet_fraction=0.0)
    together = search(model, observations, config, np.random.default_rng(0))
    alone = search(model, observations[20:21], config, np.random.default_rng(0))
    np.testing.assert_array_equal(together.tree.nodes[20], alone.tree.nodes[0])


def test_uint8_pictures_are_divided_by_255():
    weights = random_picture_weights(np.random.default_rng(0), (3, 3, 2), 2, 8, 0, 5, observation_dtype="uint8")
    grey = np.random.default_rng(1).integers(256, size=(2, 3, 3, 2), dtype=np.uint8)
    value = CompiledModel(weights).initial(grey)[2]
    weights.observation_dtype = "float32"
    np.testing.assert_allclose(CompiledModel(weights).initial(grey / 255)[2], value, rtol=1e-4)


BAD = [
    ("float32", np.zeros((2, 4, 3, 2)), r"shape \(2, 4, 3, 2\), but this network takes \[B, 3, 3, 2\]"),
    ("float32", np.zeros((2, 3, 3, 5)), r"shape \(2, 3, 3, 5\), but this network takes \[B, 3, 3, 2\]"),
    ("float32", np.zeros((3, 3, 2)), r"shape \(3, 3, 2\), but this network takes \[B, 3, 3, 2\]"),
    ("uint8", np.zeros((2, 3, 3, 2)), r"observations are float64, but this network takes pictures of whole numbers"),
    ("float32", np.full((2, 3, 3, 2), "a"), "observations are <U1, but this network takes numbers"),
    ("float32", np.full((2, 3, 3, 2), np.nan), r"observations\[0\] holds NaN or infinity"),
]


@pytest.mark.parametrize(("dtype", "observations", "sentence"), BAD, ids=[sentence for *_, sentence in BAD])
def test_bad_pictures_get_one_sentence(dtype, observations, sentence):
    model = CompiledModel(random_picture_weights(np.random.default_rng(0), (3, 3, 2), 2, 8, 0, 5, dtype))
    with pytest.raises(ValueError, match=sentence):
        search(model, observations, SearchConfig(num_simulations=2), np.random.default_rng(0))


def test_weights_that_are_not_finite_are_refused():
    weights = random_picture_weights(np.random.default_rng(0), (3, 3, 2), 2, 8, 1, 5)
    weights.dynamics.layers[0].kernel[1, 2, 3, 4] = np.inf
    with pytest.raises(ValueError, match="NaN or infinity"):
        CompiledModel(weights)


BUGS = {
    "the planes of an observation in another order": (
        "picture_weights.py",
        "observation=pack(_as_matrix(weights.representation.first.kernel, planes)",
        "observation=pack(_as_matrix(weights.representation.first.kernel[:, :, ::-1], planes)",
    ),
    "the last row of a kernel first": (
        "picture_weights.py",
        "kernel.reshape(9, *kernel.shape[2:])",
        "kernel[::-1].reshape(9, *kernel.shape[2:])",
    ),
    "a frame that is too narrow, so that one row's end is the next one's beginning": (
        "convolution.py",
        "starts = rows * (width + 2) + columns",
        "starts = rows * (width + 1) + columns",
    ),
    "a norm over the channels of each position": (
        "rows.py",
        "distance = x[:positions, :width] - x[:positions, :width].mean()\n"
        "    normed = distance / np.sqrt(np.square(distance).mean() + epsilon)",
        "distance = x[:positions, :width] - x[:positions, :width].mean(1, keepdims=True)\n"
        "    normed = distance / np.sqrt(np.square(distance).mean(1, keepdims=True) + epsilon)",
    ),
    "a norm that counts the rows which fill the last tile": (
        "rows.py",
        "distance = x[:positions, :width] - x[:positions, :width].mean()\n",
        "distance = x[:positions, :width] - x[:, :width].mean()\n",
    ),
    "the action of the first row for all": ("picture_pass.py", "buffers.action_index[i]", "buffers.action_index[0]"),
    "the planes of one picture for all": ("picture_pass.py", "buffers.planes[head, i]", "buffers.planes[head, 0]"),
    "the frame keeps what it held": (
        "picture_pass.py",
        "framed[network.inside[p], j] = picture[p, j]",
        "framed[network.inside[p], j] = max(picture[p, j], framed[network.inside[p], j])",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_noticed(bug, tmp_path):
    here = pathlib.Path(__file__)
    file, good, bad = BUGS[bug]
    shutil.copytree(here.parents[3] / "mzu", tmp_path / "mzu", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "mzu" / "networks" / "compiled" / file
    assert path.read_text().count(good) == 1, f"{file} must hold the lines to be changed exactly once"
    path.write_text(path.read_text().replace(good, bad))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(here), "-k", "on_paper"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, cwd=here.parent, capture_output=True, text=True)
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout
