"""All random numbers of a search, drawn before it starts, so that the search itself is a plain function of arrays.

The kernels and the reference search read the same numbers, and both cores can work without sharing a generator.
"""

from typing import NamedTuple

import numpy as np

from mzu.config import SearchConfig
from mzu.search.cores import run_on_cores
from mzu.search.kernels import ALL_ACTIONS, SAMPLED_CATEGORICAL, SAMPLED_GAUSSIAN

ROWS_PER_BLOCK = 16


class Randomness(NamedTuple):
    """Random numbers for B searches with N nodes and K proposed actions per node.

    log_gamma  [B, K_root]            logarithms of Gamma(alpha) draws: normalised over the candidates that exist, they
                                      are a Dirichlet(alpha) draw over just those
    normals    [B, N, K, D] float32   standard normals, for Gaussian proposals; D = 0 otherwise
    uniforms   [B, N, K]              uniforms, each row sorted, for categorical proposals; N = 0 otherwise
    """

    log_gamma: np.ndarray
    normals: np.ndarray
    uniforms: np.ndarray


def draw_randomness(
    rng: np.random.Generator, batch: int, nodes: int, candidates: int, source: int, num_actions: int, alpha: float
) -> Randomness:
    """`candidates` is K, `source` where they come from, `num_actions` A or D, `alpha` the Dirichlet's parameter."""
    # Gamma(alpha) = Gamma(alpha + 1) * U^(1 / alpha): in logarithms a small alpha cannot underflow to 0 / 0.
    shape = (batch, candidates)
    log_gamma = np.log(rng.standard_gamma(alpha + 1.0, shape)) + np.log(1.0 - rng.random(shape)) / alpha
    normals = np.empty((batch, nodes, candidates, num_actions if source == SAMPLED_GAUSSIAN else 0), np.float32)
    uniforms = np.empty((batch, nodes if source == SAMPLED_CATEGORICAL else 0, candidates))
    if source != ALL_ACTIONS:
        # Millions of numbers for a large batch: every block of rows has its own generator, so that all cores can draw.
        seeds = rng.integers(2**63, size=-(-batch // ROWS_PER_BLOCK))

        def draw(start, stop):
            for block in range(start, stop):
                own = np.random.Generator(np.random.SFC64(seeds[block]))
                rows = slice(block * ROWS_PER_BLOCK, (block + 1) * ROWS_PER_BLOCK)
                own.standard_normal(dtype=np.float32, out=normals[rows])
                own.random(out=uniforms[rows])
                uniforms[rows].sort(axis=-1)

        run_on_cores(draw, len(seeds))
    return Randomness(log_gamma, normals, uniforms)


def draw_gumbels(rng: np.random.Generator, batch: int, candidates: int, config: SearchConfig) -> np.ndarray:
    """Gumbel noise of the root's candidates [B, K], or [B, 0] where no search asks for it."""
    if config.selection != "gumbel":
        return np.zeros((batch, 0))
    return config.gumbel_scale * rng.gumbel(size=(batch, candidates))
