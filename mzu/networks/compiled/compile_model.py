"""`compile_model`: the compiled twin of a Keras network, and which model a search should use.

The Keras network is trained and is the source of truth; the twin of `forward_pass.py` gives the same numbers inside the
compiled search. It is there for states and for pictures of at most 16x16. Notebook 03_search uses it.
"""

import dataclasses
import math

import numpy as np

from mzu.networks.blocks import SMALL_IMAGE, num_halvings
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import Dense, NetworkWeights, Norm, PictureHead, TrunkWeights
from mzu.networks.keras_model import KerasModel
from mzu.networks.network import Network


def model_for_search(network: Network, max_policy_scale: float = math.inf) -> CompiledModel | KerasModel:
    """The fastest model to search this network with. After training steps, `refresh` it."""
    return (compile_model if has_twin(network) else KerasModel)(network, max_policy_scale)


def has_twin(network: Network) -> bool:
    """Whether a network is small enough to be searched inside compiled code: not for pictures that are halved."""
    return not (network.spaces.is_image and num_halvings(network.spaces.observation_shape[:2]))


def compile_model(network: Network, max_policy_scale: float = math.inf) -> CompiledModel:
    """The compiled twin of a network, with the weights that it has now."""
    return CompiledModel(network_weights(network), max_policy_scale)


def refresh(model: CompiledModel | KerasModel, network: Network) -> None:
    """Gives a model the weights that `network` has now. A compiled search that is under way keeps the old ones."""
    if isinstance(model, CompiledModel):
        model.refresh(network_weights(network))
    elif model.network is not network:
        model.network.copy_weights_from(network)


def network_weights(network: Network) -> NetworkWeights:
    """The weights of a network as plain arrays."""
    if not has_twin(network):
        height, width, _ = network.spaces.observation_shape
        raise ValueError(
            f"Pictures of {height}x{width} have no compiled twin, which takes at most {SMALL_IMAGE}x{SMALL_IMAGE}; "
            "search this network with a KerasModel"
        )
    arrays, config, spaces = network.read_weights(), network.config, network.spaces

    def dense(name):
        return Dense(arrays[f"{name}/kernel"], arrays[f"{name}/bias"])

    def norm(name):
        return Norm(arrays[f"{name}_norm/gamma"], arrays[f"{name}_norm/beta"])

    def head(name):
        if not spaces.is_image:
            return dense(name)
        planes = dense(f"{name}_planes")
        return PictureHead(Dense(planes.kernel[0, 0], planes.bias), norm(name), dense(name))

    def trunk(model, num_blocks):
        places = [f"{model}/block_{block}" for block in range(num_blocks)]
        return TrunkWeights(
            first=dense(f"{model}/first"),
            layers=[dense(f"{place}_layer_{number}") for place in places for number in (0, 1)],
            norms=[norm(f"{place}_{number}") for place in places for number in (0, 1)] + [norm(f"{model}/last")],
        )

    dynamics = trunk("dynamics", config.num_blocks)
    # hidden + first(hidden) + first_of_action(action) is one layer of [hidden, action]; of a picture, a layer sees its
    # own position in the middle of the kernel.
    of_hidden = dynamics.first.kernel.copy()
    of_itself = of_hidden[1, 1] if spaces.is_image else of_hidden
    of_itself += np.eye(config.width, dtype=np.float32)
    both = np.concatenate([of_hidden, arrays["dynamics/first_of_action/kernel"]], axis=-2)
    return NetworkWeights(
        representation=trunk("representation", config.num_blocks),
        dynamics=dataclasses.replace(dynamics, first=Dense(both, dynamics.first.bias)),
        prediction=trunk("prediction", config.prediction_blocks) if config.prediction_blocks else None,
        reward=head("dynamics/reward"),
        value=head("prediction/value"),
        policy=head("prediction/policy"),
        continuous=spaces.continuous,
        observation_shape=spaces.observation_shape,
        observation_dtype=spaces.observation_dtype,
        scale_hidden=config.scale_hidden,
        bins_per_unit=config.bins_per_unit,
    )
