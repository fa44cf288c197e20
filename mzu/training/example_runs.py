"""The example runs: small finished ones in the package, for whoever has trained nothing yet.

`example:cartpole` stands wherever a run's folder may stand. `mzu/explain/record_examples.py` trains them again and
says what of a run's folder they keep; nothing else ever writes into them.
"""

import json
from pathlib import Path
from typing import Literal, NamedTuple

FOLDER = Path(__file__).parent / "examples"
SCHEME = "example:"
NOTE = "example.json"  # what was kept of the run, and the position that is explained unless another is named

ExampleName = Literal["example:cartpole", "example:swingup", "example:catch"]


class Example(NamedTuple):
    """A run of a preset, of an offline one that of the name `only`; `step` is the one that is explained by default."""

    preset: str
    only: str | None
    step: int
    seed: int = 0

    @property
    def command(self) -> str:
        """What trains it."""
        only = f" --only {self.only}" if self.only else ""
        return f"mzu train {self.preset}{only}" + (f" --seed {self.seed}" if self.seed else "")


EXAMPLES = {
    "cartpole": Example("cartpole_offline", "unplugged", step=40),
    "swingup": Example("swingup", None, step=40, seed=100),
    "catch": Example("catch", None, step=4),
}


def is_example(run: str | Path) -> bool:
    """Whether it is the name of an example run, right or wrong, rather than a folder."""
    return str(run).startswith(SCHEME)


def run_path(run: str | Path) -> Path:
    """The folder of a run: the path itself, or that of an example in the package; a sentence where there is none."""
    if not is_example(run):
        return Path(run)
    name = str(run).removeprefix(SCHEME)
    if name not in EXAMPLES:
        raise ValueError(f"There is no run {run}; {known_examples()}")
    path = FOLDER / name
    if not (path / NOTE).is_file():
        raise ValueError(f"{path} is missing; make it again with `python -m mzu.explain.record_examples {name}`")
    return path


def known_examples() -> str:
    """The end of a sentence: which example runs there are."""
    *others, last = (SCHEME + name for name in EXAMPLES)
    return f"the finished runs of the package are {', '.join(others)} and {last}"


def chosen_position(run, episode: int | None, step: int | None) -> tuple[int | None, int | None]:
    """Episode and step as they were given; what was not given of an example is its own, of any other run still None."""
    if isinstance(run, str | Path) and is_example(run):
        own_episode, own_step = _note(run)["position"]
        return (own_episode if episode is None else episode), (own_step if step is None else step)
    return episode, step


def example_words(run: str | Path) -> str:
    """A sentence about an example: where it comes from, and what it lacks; empty for any other run."""
    if not is_example(run):
        return ""
    kept, whole = _note(run)["segments"]
    command = EXAMPLES[str(run).removeprefix(SCHEME)].command
    return f"{run}: a finished run of `{command}`; of its replay the newest {kept} of {whole} segments are kept"


def refuse_example(run: str | Path) -> None:
    """A sentence where something is to be written into an example."""
    if is_example(run):
        name = Path(run).parts[0].removeprefix(SCHEME)
        own = EXAMPLES[name].command if name in EXAMPLES else "mzu train"
        raise ValueError(f"{run} is part of the package and stays as it is; `{own}` trains a run of your own")


def _note(run: str | Path) -> dict:
    return json.loads((run_path(run) / NOTE).read_text(encoding="utf-8"))
