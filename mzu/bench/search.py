"""`mzu bench search`: one search against mctx, against the bare matrix products it needs, and the tree on its own.

Of states and of pictures, and what the first evaluations of sampled actions cost.
"""

import json
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import threadpoolctl

from mzu.bench.timing import best_times
from mzu.compilation import kernel
from mzu.config import SearchConfig
from mzu.extras import require
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.picture_weights import random_picture_weights
from mzu.networks.compiled.vector_code import add_product, pack, padded
from mzu.networks.compiled.weights import pad_columns, random_weights
from mzu.networks.constants import HEAD_PLANES
from mzu.search.batched_kernels import add_node
from mzu.search.cores import run_on_cores
from mzu.search.kernels import ALL_ACTIONS, Inputs, select
from mzu.search.search import make_settings, search
from mzu.search.tree import new_tree

SIMULATIONS = 50
OBSERVATION_SIZE = 8
SUPPORT = 10  # 21 categories
CASES = [  # actions, width, blocks, batch
    (4, 64, 2, 1),
    (4, 64, 2, 16),
    (4, 64, 2, 64),
    (4, 64, 2, 256),
    (18, 64, 2, 64),
    (18, 64, 2, 256),
    (4, 512, 10, 64),
]
PICTURE, PICTURE_ACTIONS = (10, 10, 4), 6  # as in MinAtar
PICTURE_CASES = [(planes, blocks, batch) for planes in (16, 32) for blocks in (1, 2) for batch in (1, 16, 64)]
COLUMNS = {
    "actions": "actions",
    "width": "width",
    "blocks": "blocks",
    "batch": "batch",
    "mzu_ms": "mzu ms",
    "mctx_ms": "mctx ms",
    "mctx_gumbel_ms": "mctx Gumbel ms",
    "gemm_ms": "GEMM ms",
    "speedup": "vs mctx",
    "gemm_fraction": "of GEMM limit",
    "blas_to_tile": "BLAS / tile",
    "tree_simulations_per_second": "tree alone, sim/s",
}
PICTURE_COLUMNS = {
    "width": "planes",
    **{name: COLUMNS[name] for name in ("blocks", "batch", "mzu_ms", "mctx_ms", "mctx_gumbel_ms", "gemm_ms")},
    **{name: COLUMNS[name] for name in ("speedup", "gemm_fraction")},
}
SAMPLED, DIMENSIONS = 20, 6  # candidates and action dimensions, as in DM Control
SAMPLED_CASES = [1, 16, 64]  # batch, at width 64 with 2 blocks
SAMPLED_COLUMNS = {
    "batch": "batch",
    "without_ms": "without ms",
    "first_ms": "with first evaluations ms",
    "simulations_ms": f"with {SAMPLED} simulations more ms",
    "first_cost": "cost of first evaluations",
    "simulations_cost": "of as many simulations",
}


def add_arguments(parser) -> None:
    parser.add_argument("--peers", action="store_true", help="also time mctx (pip install mzu[peers])")
    parser.add_argument("--only", choices=("states", "pictures", "sampled"), help="one of the three tables")
    parser.add_argument("--json", action="store_true", help="print a list of records instead of tables")
    parser.add_argument("--repetitions", type=int, default=10, help="rounds, of which the best counts (default 10)")


def run(arguments) -> int:
    if arguments.repetitions < 1:
        raise ValueError(f"--repetitions is {arguments.repetitions}, but must be at least 1")
    if arguments.peers:
        require("mctx", "--peers")
    repetitions, peers = arguments.repetitions, arguments.peers
    tables = {
        "states": (
            f"{SIMULATIONS} simulations, best of {repetitions} interleaved repetitions, "
            f"{numba.config.NUMBA_NUM_THREADS} cores",
            COLUMNS,
            [lambda case=case: search_record(*case, repetitions=repetitions, peers=peers) for case in CASES],
        ),
        "pictures": (
            f"Pictures of {' x '.join(map(str, PICTURE))}, {PICTURE_ACTIONS} actions",
            PICTURE_COLUMNS,
            [lambda case=case: measure_pictures(*case, repetitions, peers) for case in PICTURE_CASES],
        ),
        "sampled": (
            f"Continuous actions, {DIMENSIONS} dimensions, {SAMPLED} sampled; the root's first evaluations",
            SAMPLED_COLUMNS,
            [lambda batch=batch: measure_sampled(batch, repetitions) for batch in SAMPLED_CASES],
        ),
    }
    records = []
    for name in tables if arguments.only is None else [arguments.only]:
        title, columns, cases = tables[name]
        if not arguments.json:
            print("\n" * bool(records) + title + "\n")
            print("  ".join(columns.values()))
        for measure in cases:
            records.append(measure())
            if not arguments.json:
                print("  ".join(_cell(records[-1][key], len(text)) for key, text in columns.items()), flush=True)
    if arguments.json:
        print(json.dumps(records, indent=2))
    return 0


def search_record(actions: int, width: int, blocks: int, batch: int, repetitions: int, peers: bool) -> dict:
    """One record: times in milliseconds per search, and two ratios.

    `speedup` is over the faster of mctx's two policies, `gemm_fraction` is gemm_ms / mzu_ms. `blas_to_tile` is how much
    longer one core takes for its share of the matrix products by BLAS than by the tiles of `vector_code.py`.
    """
    rng = np.random.default_rng(0)
    weights = random_weights(rng, OBSERVATION_SIZE, actions, width, blocks, SUPPORT)
    outputs = 2 * SUPPORT + 1
    shapes = [(1, width + actions, width)] + [(1, width, width)] * (2 * blocks)
    shapes += [(1, width, outputs), (1, width, outputs + actions)]
    contestants = {"tree": tree_alone(rng, actions, batch), **matrix_products_of_search(rng, shapes, batch)}
    record, times = _against_peers(rng, weights, batch, contestants, repetitions, peers)
    return {
        "actions": actions,
        "width": width,
        "blocks": blocks,
        "batch": batch,
        **record,
        "blas_to_tile": times["gemm share"] / times["tile share"],
        "tree_simulations_per_second": batch * SIMULATIONS / times["tree"] * 1000,
    }


def measure_pictures(planes: int, blocks: int, batch: int, repetitions: int, peers: bool) -> dict:
    """As `search_record`, of pictures; the bare products are those of convolutions whose inputs lie side by side."""
    rng = np.random.default_rng(0)
    weights = random_picture_weights(rng, PICTURE, PICTURE_ACTIONS, planes, blocks, SUPPORT)
    places, outputs = PICTURE[0] * PICTURE[1], 2 * SUPPORT + 1
    shapes = [(places, 9 * planes, planes)] * (1 + 2 * blocks) + [(places, planes, 3 * HEAD_PLANES)]
    shapes += [(1, places * HEAD_PLANES, size) for size in (outputs, outputs, PICTURE_ACTIONS)]
    contestants = matrix_products_of_search(rng, shapes, batch)
    del contestants["tile share"]  # its convolutions are another tile's
    record, _ = _against_peers(rng, weights, batch, contestants, repetitions, peers)
    return {"actions": PICTURE_ACTIONS, "width": planes, "blocks": blocks, "batch": batch, **record}


def _against_peers(rng, weights, batch: int, contestants: dict, repetitions: int, peers: bool) -> tuple[dict, dict]:
    """What states and pictures have in common: the search's part of a record, and the times of all contestants."""
    model = CompiledModel(weights)
    observations = rng.normal(size=(batch, *weights.observation_shape)).astype(np.float32)
    config = SearchConfig(num_simulations=SIMULATIONS)
    contestants = {"mzu": lambda: search(model, observations, config, rng), **contestants}
    if peers:
        from mzu.bench.mctx_peer import mctx_search

        for policy in ("muzero", "gumbel"):
            contestants[f"mctx {policy}"] = mctx_search(weights, observations, SIMULATIONS, policy)
    times = best_times(contestants, repetitions)
    gemm = min(time for name, time in times.items() if name.startswith("gemm"))
    mctx, mctx_gumbel = times.get("mctx muzero"), times.get("mctx gumbel")
    record = {
        "simulations": SIMULATIONS,
        "mzu_ms": times["mzu"],
        "mctx_ms": mctx,
        "mctx_gumbel_ms": mctx_gumbel,
        "gemm_ms": gemm,
        "speedup": min(mctx, mctx_gumbel) / times["mzu"] if peers else None,
        "gemm_fraction": gemm / times["mzu"],
    }
    return record, times


def measure_sampled(batch: int, repetitions: int) -> dict:
    """What the first evaluations of a sampled search cost, beside as many simulations: times in ms, and shares."""
    rng = np.random.default_rng(0)
    weights = random_weights(rng, OBSERVATION_SIZE, DIMENSIONS, 64, 2, SUPPORT, continuous=True)
    model = CompiledModel(weights)
    observations = rng.normal(size=(batch, OBSERVATION_SIZE)).astype(np.float32)

    def contestant(simulations, first):
        config = SearchConfig(num_simulations=simulations, num_sampled_actions=SAMPLED, first_evaluations=first)
        return lambda: search(model, observations, config, rng)

    contestants = {
        "without_ms": contestant(SIMULATIONS, False),
        "first_ms": contestant(SIMULATIONS, True),
        "simulations_ms": contestant(SIMULATIONS + SAMPLED, False),
    }
    times = best_times(contestants, repetitions)
    return {
        "batch": batch,
        "sampled": SAMPLED,
        "simulations": SIMULATIONS,
        **times,
        "first_cost": times["first_ms"] / times["without_ms"] - 1,
        "simulations_cost": times["simulations_ms"] / times["without_ms"] - 1,
    }


def matrix_products_of_search(rng, shapes: list[tuple[int, int, int]], batch: int) -> dict:
    """The matrix products of all forward passes of a search, by BLAS, in three ways; the fastest counts.

    shapes     of each product: rows for each position of the batch, inputs, outputs

    "gemm whole": the batch at once, BLAS spreads it over the cores. "gemm split": one share of the rows for each core.
    "gemm share": one core's share, while the other cores idle; what splitting would reach if cores never disturbed each
    other. Beside them "tile share": the same share by the search's own matrix product.
    """
    blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
    cores = min(numba.config.NUMBA_NUM_THREADS, batch)
    matrices = tuple(rng.normal(size=shape[1:]).astype(np.float32) for shape in shapes)

    def layers(positions):
        inputs = tuple(rng.normal(size=(positions * rows, size)).astype(np.float32) for rows, size, _ in shapes)
        return inputs, tuple(np.empty((positions * rows, size), np.float32) for rows, _, size in shapes)

    shares = [layers(-(-batch // cores)) for _ in range(cores)]
    whole = layers(batch)
    pool = ThreadPoolExecutor(cores)

    def whole_batch():
        for _ in range(SIMULATIONS):
            for x, matrix, out in zip(whole[0], matrices, whole[1], strict=True):
                np.dot(x, matrix, out=out)

    def split():
        with blas.limit(limits=1):
            jobs = [pool.submit(_products, *share, matrices, SIMULATIONS) for share in shares[1:]]
            _products(*shares[0], matrices, SIMULATIONS)
            for job in jobs:
                job.result()

    def share():
        with blas.limit(limits=1):
            _products(*shares[0], matrices, SIMULATIONS)

    packed = tuple(pack(matrix, padded(len(matrix))) for matrix in matrices)
    padded_share = [tuple(pad_columns(array) for array in arrays) for arrays in shares[0]]

    def tile_share():
        _tile_products(*padded_share, packed, SIMULATIONS)

    return {"gemm whole": whole_batch, "gemm split": split, "gemm share": share, "tile share": tile_share}


@numba.njit(nogil=True)
def _products(inputs, outputs, matrices, simulations):
    for _ in range(simulations):
        for layer in range(len(matrices)):
            np.dot(inputs[layer], matrices[layer], outputs[layer])


@kernel
def _tile_products(inputs, outputs, matrices, simulations):
    for _ in range(simulations):
        for layer in range(len(matrices)):
            add_product(inputs[layer], matrices[layer], outputs[layer])


def tree_alone(rng, actions: int, batch: int):
    """A function that runs the tree operations of a search, with the network's outputs given."""
    nodes = SIMULATIONS + 1
    reward, value = rng.normal(size=(nodes, batch)), rng.normal(size=(nodes, batch))
    policy = rng.normal(size=(nodes, batch, actions))
    settings = make_settings(SearchConfig(num_simulations=SIMULATIONS, dirichlet_fraction=0.0), ALL_ACTIONS, actions)
    hidden, index = np.zeros((batch, nodes, 1), np.float32), np.zeros((batch, 0, 0), np.int32)
    vector = np.zeros((batch, nodes, actions, 0), np.float32)
    inputs = Inputs(
        legal=np.ones((batch, actions), bool),
        all_legal=np.ones((1, actions), bool),
        inject=np.zeros(batch, bool),
        action_index=np.zeros(batch, np.int64),
        action_vector=np.zeros((batch, 0), np.float32),
        log_gamma=np.zeros((batch, actions)),
        uniforms=np.zeros((batch, 0, actions)),
        slots=np.zeros(batch, np.int32),
        gumbels=np.zeros((batch, 0)),
    )

    def call():
        tree = new_tree(hidden, actions, index, vector)
        run_on_cores(lambda start, stop: _grow(tree, settings, inputs, reward, policy, value, start, stop), batch)

    return call


@kernel
def _grow(tree, settings, inputs, reward, policy, value, start, stop):
    for node in range(reward.shape[0]):
        for b in range(start, stop):
            parent, candidate = (0, 0) if node == 0 else select(tree, settings, inputs, b)
            add_node(
                tree, settings, inputs, b, node, parent, candidate, reward[node, b], policy[node, b], value[node, b]
            )


def _cell(value, width: int) -> str:
    if value is None:
        text = "-"
    elif isinstance(value, int):
        text = str(value)
    else:
        text = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return text.rjust(width)
