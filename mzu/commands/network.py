"""`mzu network`: the networks that a config makes for given observations and actions, and the memory of one search."""

import argparse

from mzu.config import Config


def add_arguments(parser) -> None:
    parser.add_argument("--observation", type=_shape, required=True, metavar="SHAPE",
                        help="shape of an observation: 8 for a state, 84,84,4 for an image")  # fmt: skip
    actions = parser.add_mutually_exclusive_group(required=True)
    actions.add_argument("--actions", type=int, metavar="A", help="number of discrete actions")
    actions.add_argument("--dimensions", type=int, metavar="D", help="number of dimensions of continuous actions")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.FIELD=VALUE",
                        help="a setting, such as network.width=64; may be given several times")  # fmt: skip
    parser.add_argument("--datapoints", type=int, help='stored steps, which network.width="auto" needs')
    parser.add_argument("--batch", type=int, default=64, help="positions searched at once (default 64)")


def run(arguments) -> int:
    """Builds the networks and prints them."""
    config = Config().override(*arguments.set)
    if arguments.batch < 1:
        raise ValueError(f"--batch is {arguments.batch}, but must be at least 1")
    from mzu.environments.spaces import Spaces
    from mzu.networks.network import build_network
    from mzu.networks.parameter_table import network_summary
    from mzu.search.memory import root_candidates, search_bytes

    continuous = arguments.actions is None
    spaces = Spaces(
        observation_shape=arguments.observation,
        num_actions=arguments.dimensions if continuous else arguments.actions,
        continuous=continuous,
        observation_dtype="uint8" if len(arguments.observation) == 3 else "float32",
    )
    network = build_network(config.network, spaces, datapoints=arguments.datapoints)
    size = search_bytes(network, config.search, arguments.batch)
    print(network_summary(network))
    print(
        f"memory of one search: {size / 1e6:,.1f} MB for {arguments.batch} positions, "
        f"{config.search.num_simulations} simulations, {root_candidates(network, config.search)} candidates"
    )
    return 0


def _shape(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a shape; write 8 or 84,84,4") from None
