"""The command line: `mzu <command> ...`, the same as `python -m mzu <command> ...`.

Each command lives in a module of its own, which is imported only when that command is chosen: `mzu --help` answers at
once, although most commands need TensorFlow or Numba.
"""

import argparse
import codecs
import importlib
import os
import sys
from typing import NamedTuple

import mzu
from mzu.extras import EXTRAS, missing_sentence
from mzu.training.results import error_words


class Command(NamedTuple):
    """A subcommand; its module offers `add_arguments(parser)` and `run(arguments) -> exit status`."""

    name: str
    module: str
    help: str


COMMANDS = [
    Command("doctor", "mzu.commands.doctor", "versions, and whether all that mzu needs works on this machine"),
    Command("train", "mzu.commands.train", "train on a preset, an environment or a dataset"),
    Command("evaluate", "mzu.commands.evaluate", "play episodes with a trained run; a table, and a video"),
    Command("explain", "mzu.commands.explain", "take one target apart, or say how far a model can be trusted"),
    Command("presets", "mzu.commands.presets", "list the named settings of `mzu train`, or show one"),
    Command("network", "mzu.commands.network", "show the networks of a config: layers, parameters, memory of a search"),
    Command("collect", "mzu.commands.collect", "record episodes of a random or heuristic policy as a dataset"),
    Command("data", "mzu.commands.data", "look at a dataset, check it before training, or convert it"),
    Command("reproduce", "mzu.commands.reproduce", "rerun the paper's experiments at classroom scale"),
    Command("bench", "mzu.commands.bench", "measure speed, as ratios within one run"),
    Command("classroom", "mzu.commands.classroom", "make the notebooks of the assignments from their sources"),
    Command("grade", "mzu.commands.grade", "grade handed-in notebooks: a table, and a page per student"),
]


PLAIN = {"\u2514": "`", "\u251c": "|", "\u2502": "|", "\u2500": "-", "\u2026": "..."}  # corners and lines of a tree


def main(argv: list[str] | None = None, commands: list[Command] = COMMANDS) -> int:
    """Run one command and return its exit status: 2 for a mistake that can be said in a sentence, 130 for Ctrl-C."""
    argv = sys.argv[1:] if argv is None else argv
    show_traceback = "--traceback" in argv  # the module of a command may fail before its arguments are read
    write_plainly(sys.stdout)
    try:
        parser = build_parser(argv, commands)
        arguments = parser.parse_args(argv)
        if arguments.command is None:
            parser.print_help(sys.stderr)
            return 2
        return arguments.run(arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # `mzu doctor | head` is no mistake. Python would complain again when it flushes the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if show_traceback or package not in EXTRAS:
            raise
        print(f"mzu: {missing_sentence(package, 'This command')}", file=sys.stderr)
        return 2
    except (ValueError, OSError) as error:
        if show_traceback or not str(error):
            raise
        print(f"mzu: {error_words(error)}", file=sys.stderr)
        return 2
    except MemoryError as error:
        if show_traceback:
            raise
        print(f"mzu: memory ran out ({error or 'no more is said'}); ask for less at once", file=sys.stderr)
        return 2


def write_plainly(stream) -> None:
    """Lets a terminal that knows ASCII only show the lines of a drawing, and a question mark for any other sign."""
    codecs.register_error("mzu", lambda error: ("".join(PLAIN.get(sign, "?") for sign in _unknown(error)), error.end))
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="mzu")


def _unknown(error: UnicodeEncodeError) -> str:
    return error.object[error.start : error.end]


def build_parser(argv: list[str], commands: list[Command] = COMMANDS) -> argparse.ArgumentParser:
    """The parser for `argv`: all commands by name, and the arguments of the one that `argv` chooses."""
    parser = argparse.ArgumentParser(prog="mzu", description=mzu.__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"mzu {mzu.__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where in the code an error arose")
    subparsers = parser.add_subparsers(dest="command", metavar="command")
    # The options above take no value, so the first word that is not an option is the command.
    chosen = next((word for word in argv if not word.startswith("-")), None)
    for command in commands:
        subparser = subparsers.add_parser(command.name, help=command.help, description=command.help)
        if command.name == chosen:
            module = importlib.import_module(command.module)
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    return parser
