"""`mzu explain`: what is wrong with a run, where the numbers of a target come from, how far a model can be trusted.

As text, JSON or page. The first and the last of these live in `explain_run.py` and `explain_model.py`.
"""

import sys
from pathlib import Path

from mzu.commands.trust import add_trust, trust_run
from mzu.training.example_runs import chosen_position, example_words

PORT = 8765
EPISODES = 10
RECORD = ".json"


def add_arguments(parser) -> None:
    parser.add_argument("source", type=Path, metavar="RUN",
                        help="the folder of a run, an example such as example:cartpole, or a record that --json "
                        "wrote")  # fmt: skip
    parser.add_argument("--episode", type=int, metavar="N",
                        help="which stored episode, from 0 (without both: the whole run is judged)")  # fmt: skip
    parser.add_argument("--step", type=int, metavar="N",
                        help="which step of it, from 0 (an example has its own for the other one)")  # fmt: skip
    parser.add_argument("--simulations", metavar="FROM:TO",
                        help="written out in full; 0:5 is the first five (default: 0:3 and the last)")  # fmt: skip
    parser.add_argument("--checkpoint", default="latest", metavar="STEP", help="latest (default), or a learner step")
    parser.add_argument("--compare", metavar="STEP", help="another checkpoint, whose targets stand beside these")
    parser.add_argument("--model", action="store_true",
                        help="how far the whole model can be trusted, instead of one target")  # fmt: skip
    parser.add_argument("--episodes", type=int, default=EPISODES, metavar="N",
                        help="of --model: played with 0, 1, 16, 50 and 200 simulations "
                        f"(default {EPISODES}; 0 leaves this out)")  # fmt: skip
    add_trust(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes all numbers")
    parser.add_argument("--html", type=Path, metavar="FILE", help="writes one page that needs no network")
    parser.add_argument("--serve", action="store_true", help="shows the page of any position in a browser")
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help=f"of --serve (default {PORT})")


def run(arguments) -> int:
    """Explains the position and prints it, writes it, or serves the page."""
    if arguments.source.suffix != RECORD or arguments.source.is_dir():
        return _run(arguments, is_record=False)
    try:
        return _run(arguments, is_record=True)
    except UnicodeDecodeError:
        raise ValueError(f"{arguments.source} is no record of mzu, not even a text; explain the run again") from None
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{arguments.source} is incomplete or was changed ({what}); explain the run again") from error


def _run(arguments, is_record: bool) -> int:
    if arguments.trust and not is_record:
        trust_run(arguments.source)
    if notice := example_words(arguments.source):
        print(notice, file=sys.stderr, flush=True)
    if arguments.model:
        from mzu.commands import explain_model as model_command

        return model_command.run(arguments, is_record)
    if not is_record and not arguments.serve and (arguments.episode, arguments.step) == (None, None):
        from mzu.commands import explain_run

        return explain_run.run(arguments)
    simulations = None if arguments.simulations is None else parse_simulations(arguments.simulations)
    arguments.episode, arguments.step = chosen_position(arguments.source, arguments.episode, arguments.step)
    _check(arguments, is_record)
    if arguments.serve:
        from mzu.explain.server import serve

        print(f"Opening {arguments.source} ...", file=sys.stderr, flush=True)
        place = {"episode": arguments.episode or 0, "step": arguments.step or 0}
        serve(arguments.source, arguments.port, arguments.checkpoint, compare=arguments.compare, **place)
        return 0
    explanation = _load(arguments.source) if is_record else _explain(arguments)
    if arguments.json is not None:
        explanation.save(arguments.json)
        print(f"{arguments.json}: all numbers")
    if arguments.html is not None:
        from mzu.explain.page import write_explanation

        write_explanation(explanation, arguments.html)
        print(f"{arguments.html}: the page")
    if simulations is not None or (arguments.json is None and arguments.html is None):
        from mzu.explain.text import explanation_text

        print(explanation_text(explanation, simulations), end="")
    return 0


def parse_simulations(text: str) -> range:
    """As in a slice of Python's, counted from 0: "2:5" -> 2, 3, 4; "2" -> only that one; "3:" and ":3" leave an end
    open."""
    first, colon, behind = text.partition(":")
    if not all(part.isdecimal() for part in (first, behind) if part) or not (first or colon):
        raise ValueError(f"--simulations is '{text}', but must be FROM:TO, such as 0:5 for the first five, or a number")
    start = int(first or 0)
    return range(start, int(behind) if behind else (sys.maxsize if colon else start + 1))


def _check(arguments, is_record: bool) -> None:
    """Refuses what does not go together."""
    position = arguments.episode, arguments.step
    if is_record and arguments.serve:
        raise ValueError(f"{arguments.source} is the record of one position; --serve needs the folder of a run")
    if is_record and (position != (None, None) or arguments.compare or arguments.checkpoint != "latest"):
        raise ValueError(
            f"{arguments.source} is the record of one position; --episode, --step, --checkpoint and --compare need the "
            "folder of a run"
        )
    if not is_record and not arguments.serve and None in position:
        raise ValueError(
            "Which position? Give both --episode N and --step N, or neither for a verdict on the whole run"
        )


def _load(path: Path):
    from mzu.explain.explanation import Explanation

    return Explanation.load(path)


def _explain(arguments):
    import mzu.explain

    return mzu.explain(arguments.source, arguments.episode, arguments.step, arguments.checkpoint, arguments.compare)
