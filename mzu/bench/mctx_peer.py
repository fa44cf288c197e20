"""The same network and search in mctx (DeepMind's search library for JAX), for comparison. Needs `mzu[peers]`."""

import dataclasses

import numpy as np

from mzu.networks.compiled.weights import NetworkWeights
from mzu.networks.constants import NORM_EPSILON, SCALAR_EPSILON


def mctx_search(
    weights: NetworkWeights,
    observations: np.ndarray,
    num_simulations: int,
    policy: str = "muzero",
    dirichlet_fraction: float = 0.25,
):
    """A function without arguments that runs one whole jitted mctx search and returns the improved policy [B, A].

    `policy` is "muzero" (pUCT, as the search it is compared with) or "gumbel" (`gumbel_muzero_policy`).
    """
    import jax
    import jax.numpy as jnp
    import mctx

    policy_layer = getattr(weights.policy, "output", weights.policy)
    num_actions = len(policy_layer.bias)
    blocks = {
        "representation": len(weights.representation.layers) // 2,
        "dynamics": len(weights.dynamics.layers) // 2,
    }

    is_picture = len(weights.observation_shape) == 3
    axes = (-3, -2, -1) if is_picture else -1

    def dense(parameters, x):
        return x @ parameters["kernel"] + parameters["bias"]

    def layer(parameters, x):
        if not is_picture:
            return dense(parameters, x)
        layout = ("NHWC", "HWIO", "NHWC")
        kernel = parameters["kernel"]
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout) + parameters["bias"]

    def norm_relu(parameters, x):
        centred = x - x.mean(axes, keepdims=True)
        variance = (centred * centred).mean(axes, keepdims=True)
        return jax.nn.relu(
            centred * jax.lax.rsqrt(variance + NORM_EPSILON) * parameters["scale"] + parameters["offset"]
        )

    def trunk(parameters, x, num_blocks):
        x = layer(parameters["first"], x)
        for block in range(num_blocks):
            inner = layer(parameters["layers"][2 * block], norm_relu(parameters["norms"][2 * block], x))
            x += layer(parameters["layers"][2 * block + 1], norm_relu(parameters["norms"][2 * block + 1], inner))
        return norm_relu(parameters["norms"][-1], x)

    def head(parameters, hidden):
        if is_picture:
            planes = norm_relu(parameters["norm"], dense(parameters["planes"], hidden))
            hidden, parameters = planes.reshape(len(planes), -1), parameters["output"]
        return dense(parameters, hidden)

    def scalar(parameters, hidden):
        logits = head(parameters, hidden)
        support = jnp.arange(logits.shape[-1]) - logits.shape[-1] // 2
        x = jax.nn.softmax(logits) @ support.astype(jnp.float32) / weights.bins_per_unit
        size = jnp.abs(x) + 1 + SCALAR_EPSILON
        root = 2 * size / (jnp.sqrt(1 + 4 * SCALAR_EPSILON * size) + 1)
        return jnp.sign(x) * (root * root - 1)

    def recurrent(parameters, rng_key, action, hidden):
        one_hot = jax.nn.one_hot(action, num_actions)
        if is_picture:
            one_hot = jnp.broadcast_to(one_hot[:, None, None], (*hidden.shape[:3], num_actions))
        hidden = trunk(parameters["dynamics"], jnp.concatenate([hidden, one_hot], -1), blocks["dynamics"])
        reward = scalar(parameters["reward"], hidden)
        output = mctx.RecurrentFnOutput(
            reward=reward,
            discount=jnp.full_like(reward, 0.997),
            prior_logits=head(parameters["policy"], hidden),
            value=scalar(parameters["value"], hidden),
        )
        return output, hidden

    @jax.jit
    def search(parameters, rng_key, observations):
        hidden = trunk(parameters["representation"], observations, blocks["representation"])
        root = mctx.RootFnOutput(
            prior_logits=head(parameters["policy"], hidden),
            value=scalar(parameters["value"], hidden),
            embedding=hidden,
        )
        arguments = (parameters, rng_key, root, recurrent, num_simulations)
        if policy == "gumbel":
            return mctx.gumbel_muzero_policy(*arguments).action_weights
        return mctx.muzero_policy(*arguments, dirichlet_fraction=dirichlet_fraction).action_weights

    parts = ("representation", "dynamics", "reward", "value", "policy")
    parameters = {name: jax.tree.map(jnp.asarray, dataclasses.asdict(getattr(weights, name))) for name in parts}
    observations = jnp.asarray(observations)
    key = jax.random.PRNGKey(0)
    return lambda: search(parameters, key, observations).block_until_ready()
