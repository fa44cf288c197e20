"""How large a network will be, known before any of it is built: what cannot fit is refused in a sentence."""

import math

from mzu.available_memory import available_memory, shown_bytes
from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.blocks import num_halvings
from mzu.networks.constants import HEAD_PLANES
from mzu.networks.scalars import head_size

MOST_BLOCKS = 1000  # each takes milliseconds to build and to compile; the paper has 10


def check_size(config: NetworkConfig, spaces: Spaces, copies: int = 1) -> None:
    """Refuses a network whose weights, kept `copies` times, do not fit into memory, or that is too deep to build.

    Training keeps five: the weights, those of the target network, gradients, and two moments of the optimiser.
    """
    for name in ("num_blocks", "prediction_blocks"):
        if getattr(config, name) > MOST_BLOCKS:
            raise ValueError(f"network.{name} is {getattr(config, name):,}, but must be at most {MOST_BLOCKS:,}")
    size = 4 * copies * least_parameters(config, spaces)
    if size > available_memory():
        raise ValueError(
            f"A network with network.width={config.width:,} and network.num_blocks={config.num_blocks} needs at least "
            f"{shown_bytes(size)}, but there are {shown_bytes(available_memory())} of memory; make it smaller"
        )


def least_parameters(config: NetworkConfig, spaces: Spaces) -> int:
    """The numbers in the largest kernels: slightly fewer than the network's; `config.width` must be a number."""
    width = config.width
    places, seen = (1, 1) if not spaces.is_image else (9, _hidden_pixels(spaces))  # of a kernel; of the hidden state
    towers = 2 * (2 * config.num_blocks + config.prediction_blocks) + 1
    inputs = spaces.observation_shape[-1] if not spaces.is_image else 0
    bins = (
        head_size(config.scalar_head, support, config.bins_per_unit)
        for support in (config.reward_support, config.value_support)
    )
    looked_at = HEAD_PLANES * seen if spaces.is_image else width
    return places * towers * width**2 + inputs * width + looked_at * (spaces.policy_size + sum(bins))


def _hidden_pixels(spaces: Spaces) -> int:
    sides = spaces.observation_shape[:2]
    return math.prod(-(-side // 2 ** num_halvings(sides)) for side in sides)
