"""All random numbers of a search, drawn before it starts, so that the search itself is a plain function of arrays.

The kernels and the reference search read the same numbers, and both cores can work without sharing a generator.
"""

from typing import NamedTuple

import numpy as np

from mzu.search.kernels import SAMPLED_CATEGORICAL, SAMPLED_GAUSSIAN


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
    normals = np.zeros((batch, nodes, candidates, 0), np.float32)
    uniforms = np.zeros((batch, 0, candidates))
    if source == SAMPLED_GAUSSIAN:
        normals = rng.standard_normal((batch, nodes, candidates, num_actions), np.float32)
    elif source == SAMPLED_CATEGORICAL:
        uniforms = np.sort(rng.random((batch, nodes, candidates)), axis=-1)
    return Randomness(log_gamma, normals, uniforms)
