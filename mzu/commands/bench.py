"""`mzu bench NAME`: the benchmarks by name."""

import argparse
import importlib

BENCHMARKS = {
    "search": "one search against mctx and against the bare matrix products that it needs",
    "networks": "a search through the compiled twin against one through Keras, and the training step with XLA",
    "train": "where the time of a training run goes, and the learner's step against its bare matrix products",
    "data": "episodes, steps and megabytes per second that each dataset format is read and written with",
}


def add_arguments(parser) -> None:
    subparsers = parser.add_subparsers(
        dest="benchmark", metavar="benchmark", required=True, parser_class=BenchmarkParser
    )
    for name, description in BENCHMARKS.items():
        subparsers.add_parser(name, help=description, description=description).name = name


class BenchmarkParser(argparse.ArgumentParser):
    """Imports a benchmark's module only when that one is chosen: not all of them need TensorFlow."""

    name: str

    def parse_known_args(self, args=None, namespace=None):
        module = importlib.import_module(f"mzu.bench.{self.name}")
        module.add_arguments(self)
        self.set_defaults(run_benchmark=module.run)
        return super().parse_known_args(args, namespace)


def run(arguments) -> int:
    return arguments.run_benchmark(arguments)
