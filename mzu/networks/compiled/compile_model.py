"""`compile_model`: the compiled twin of a fully-connected Keras network, and which model a search should use.

The Keras network is trained and is the source of truth; the twin of `forward_pass.py` gives the same numbers inside the
compiled search. Notebook 03_search uses it.
"""

import dataclasses
import math

import numpy as np

from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import Dense, NetworkWeights, Norm, TrunkWeights
from mzu.networks.keras_model import KerasModel
from mzu.networks.network import Network


def model_for_search(network: Network, max_policy_scale: float = math.inf) -> CompiledModel | KerasModel:
    """The fastest model to search this network with. After training steps, `refresh` it."""
    if network.spaces.is_image:
        return KerasModel(network, max_policy_scale)
    return compile_model(network, max_policy_scale)


def compile_model(network: Network, max_policy_scale: float = math.inf) -> CompiledModel:
    """The compiled twin of a fully-connected network, with the weights that it has now."""
    return CompiledModel(network_weights(network), max_policy_scale)


def refresh(model: CompiledModel | KerasModel, network: Network) -> None:
    """Gives a model the weights that `network` has now. A compiled search that is under way keeps the old ones."""
    if isinstance(model, CompiledModel):
        model.refresh(network_weights(network))
    elif model.network is not network:
        model.network.copy_weights_from(network)


def network_weights(network: Network) -> NetworkWeights:
    """The weights of a fully-connected network as plain arrays."""
    if network.spaces.is_image:
        raise ValueError("Only fully-connected networks have a compiled twin; search this one with a KerasModel")
    arrays = network.read_weights()

    def dense(name):
        return Dense(arrays[f"{name}/kernel"], arrays[f"{name}/bias"])

    def norm(name):
        return Norm(arrays[f"{name}_norm/gamma"], arrays[f"{name}_norm/beta"])

    def trunk(model, num_blocks):
        places = [f"{model}/block_{block}" for block in range(num_blocks)]
        return TrunkWeights(
            first=dense(f"{model}/first"),
            layers=[dense(f"{place}_layer_{number}") for place in places for number in (0, 1)],
            norms=[norm(f"{place}_{number}") for place in places for number in (0, 1)] + [norm(f"{model}/last")],
        )

    config = network.config
    dynamics = trunk("dynamics", config.num_blocks)
    # hidden + first(hidden) + first_of_action(action) is one matrix product with [hidden, action].
    identity = np.eye(config.width, dtype=np.float32)
    both = np.concatenate([dynamics.first.kernel + identity, arrays["dynamics/first_of_action/kernel"]])
    return NetworkWeights(
        representation=trunk("representation", config.num_blocks),
        dynamics=dataclasses.replace(dynamics, first=Dense(both, dynamics.first.bias)),
        prediction=trunk("prediction", config.prediction_blocks) if config.prediction_blocks else None,
        reward=dense("dynamics/reward"),
        value=dense("prediction/value"),
        policy=dense("prediction/policy"),
        continuous=network.spaces.continuous,
        scale_hidden=config.scale_hidden,
        bins_per_unit=config.bins_per_unit,
    )
