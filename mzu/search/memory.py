"""How much memory the trees of a search take (`mzu network`)."""

import math

from mzu.config import SearchConfig
from mzu.networks.compiled.compile_model import has_twin
from mzu.networks.compiled.vector_code import padded
from mzu.networks.network import Network
from mzu.search.tree import tree_bytes


def search_bytes(network: Network, config: SearchConfig, batch: int) -> int:
    """The bytes of the trees of one search, with an injected action at the root where actions are sampled."""
    spaces, sampled = network.spaces, config.num_sampled_actions
    if spaces.continuous and sampled is None:
        raise ValueError("Continuous actions must be sampled; set search.num_sampled_actions (20 in DM Control)")
    *places, channels = network.hidden_shape
    # The compiled twin pads its hidden states.
    hidden_size = math.prod(places) * (padded(channels) if has_twin(network) else channels)
    dimensions = spaces.num_actions if spaces.continuous else int(sampled is not None)
    candidates = root_candidates(network, config)
    first = candidates if config.evaluates_first else 0
    return tree_bytes(batch, config.simulations, candidates, hidden_size, dimensions, first)


def root_candidates(network: Network, config: SearchConfig) -> int:
    """K: all actions, or the sampled ones and the injected one."""
    sampled = config.num_sampled_actions
    return network.spaces.num_actions if sampled is None else sampled + 1
