"""`mzu bench NAME`: the benchmarks by name."""

import importlib

BENCHMARKS = {"search": "one search against mctx and against the bare matrix products that it needs"}


def add_arguments(parser) -> None:
    subparsers = parser.add_subparsers(dest="benchmark", metavar="benchmark", required=True)
    for name, description in BENCHMARKS.items():
        module = importlib.import_module(f"mzu.bench.{name}")
        subparser = subparsers.add_parser(name, help=description, description=description)
        module.add_arguments(subparser)
        subparser.set_defaults(run_benchmark=module.run)


def run(arguments) -> int:
    return arguments.run_benchmark(arguments)
