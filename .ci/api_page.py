"""Turns the docstrings of the public names into tutorials/api.md.

python .ci/api_page.py             # write the page
python .ci/api_page.py --check     # is it up to date?
"""

import argparse
import doctest
import functools
import inspect
import re
import sys
from pathlib import Path

import mzu
from mzu.acting.evaluation import Evaluation
from mzu.acting.film import Film
from mzu.environments.environment import Environment
from mzu.episodes.dataset import EpisodeDataset
from mzu.episodes.doctor.check import Report
from mzu.explain.explanation import Explanation
from mzu.explain.model_report import ModelReport
from mzu.explain.offline_report import OfflineReport
from mzu.explain.run_verdict import RunVerdict
from mzu.files import written_whole
from mzu.presets import Preset
from mzu.search.search import SearchResult, search
from mzu.training.agent import Agent
from mzu.training.forecast import Forecast
from mzu.training.training_result import Comparison, TrainingResult

PAGE = Path(__file__).resolve().parent.parent / "tutorials" / "api.md"
WIDTH = 120
# Packages that can be called: what is called then.
CALLED = {"search": search, "explain": type(mzu.explain).__call__, "explain.model": mzu.explain.model}
CALLED["explain.verdict"] = mzu.explain.verdict
# Where the docstring has none.
EXAMPLES = {"SearchResult": ">>> result.policy.shape, result.value.shape\n((1, 2), (1,))"}
# In the order in which a session would use them, each with what it returns: the examples run from top to bottom.
GROUPS = {
    "Worlds and data": [
        "make", Environment, "Episode", "collect", "load_episodes", EpisodeDataset, "episodes_from_table", "check",
        Report,
    ],
    "Search": ["TabularModel", "SearchConfig", "search", SearchResult],
    "Training": ["preset", Preset, "train", TrainingResult, Forecast, "compare", Comparison, "Trainer"],
    "A trained agent": ["load", Agent, Film, "evaluate", Evaluation, "evaluate_offline", OfflineReport],
    "Looking inside": [
        "explain", Explanation, "explain.model", ModelReport, "explain.verdict", RunVerdict, "explain.bugs",
    ],
    "Settings": ["Config", *(name for name in mzu.__all__ if name.endswith("Config") and len(name) > len("Config"))],
}  # fmt: skip
GROUPS["Settings"].remove("SearchConfig")

HEAD = """# The front door

`import mzu` takes no time: what a name needs is imported when the name is first used. Every name of `mzu.__all__` is on
this page, with its signature, what its docstring says first, and an example; `help(mzu.make)`, or `mzu.make?` in a
notebook, shows all of it. What a function returns stands behind it, with its attributes. What the settings mean, and
which section of the paper each comes from, is written beside them in `mzu/config.py`. The examples are one session,
from top to bottom, after

```pycon
>>> import numpy as np
>>> import mzu
```

This page is made from the docstrings by `python .ci/api_page.py`.
"""


def public_names() -> list[str]:
    return [name for names in GROUPS.values() for name in names if name in mzu.__all__]


def page() -> str:
    """The text of tutorials/api.md."""
    parts = [HEAD]
    for title, entries in GROUPS.items():
        parts += [f"## {title}\n", *(section(one) if isinstance(one, str) else result_section(one) for one in entries)]
    return "\n".join(parts)


def section(name: str) -> str:
    """A public name: its signature, its first sentence, its attributes and methods, an example."""
    thing = named(name)
    doc = inspect.getdoc(thing)
    shown = [] if inspect.ismodule(thing) else ["```", f"mzu.{signature(name, thing)}", "```\n"]
    lines = [f"### mzu.{name}\n", *shown, f"{first_line(doc)}\n", *attributes(thing), *methods(thing)]
    return "\n".join([*lines, "```pycon", example(doc).rstrip(), "```\n"])


def named(name: str):
    """The public thing of this name, such as explain.model; of a package that can be called, what is called."""
    return CALLED.get(name) or functools.reduce(getattr, name.split("."), mzu)


def result_section(kind: type) -> str:
    """What functions return: which ones, its first sentence, its attributes and methods, an example."""
    doc = inspect.getdoc(kind)
    origin = f"Returned by {', '.join(f'`{name}`' for name in returned_by(kind))}."
    lines = [f"### {kind.__name__}\n", f"{first_line(doc)} {origin}\n", *attributes(kind), *methods(kind)]
    return "\n".join([*lines, "```pycon", (example(doc) or EXAMPLES[kind.__name__]).rstrip(), "```\n"])


def returned_by(kind: type) -> list[str]:
    """The public functions and methods on this page that return it."""
    entries = [one for entries in GROUPS.values() for one in entries]
    found = {f"mzu.{name}": named(name) for name in entries if isinstance(name, str)}
    for owner in (Agent, mzu.Trainer):
        found |= {f"{owner.__name__}.{name}": getattr(owner, name) for name in vars(owner) if not name.startswith("_")}
    return [name for name, thing in found.items() if inspect.isroutine(thing) and kind.__name__ in results_of(thing)]


def results_of(function) -> set[str]:
    """The names of what a function returns: by its annotation, or behind the arrow in its docstring."""
    said = str(inspect.signature(function)).partition(" -> ")[2]
    return set(re.findall(r"\w+", f"{said} {first_line(inspect.getdoc(function) or '').partition(' -> ')[2]}"))


def attributes(thing) -> list[str]:
    """The paragraph of a class's docstring that lists its attributes or calls."""
    for part in inspect.getdoc(thing).split("\n\n") if inspect.isclass(thing) else []:
        if re.match(r"(attribute|field|symbol|call) +\w", part):
            return ["```text", part, "```\n"]
    return []


def first_line(doc: str) -> str:
    return " ".join(doc.split("\n\n")[0].split())


def uncapitalised(text: str) -> str:
    return text[0].lower() + text[1:]


def example(doc: str) -> str:
    """The examples of a docstring, as a session shows them; empty where there are none."""
    return "".join(
        f">>> {one.source.rstrip().replace(chr(10), chr(10) + '... ')}\n{one.want}"
        for one in doctest.DocTestParser().get_examples(doc)
    )


def methods(thing) -> list[str]:
    """A line for each public method that a class has of its own, or for each public function of a module."""
    if not inspect.isclass(thing) and not inspect.ismodule(thing):
        return []
    found = [(name, getattr(thing, name)) for name in vars(thing) if not name.startswith("_")]
    if inspect.ismodule(thing):
        found = [(name, one) for name, one in found if inspect.isfunction(one) and one.__module__ == thing.__name__]
    lines = [
        f"- `.{signature(name, method, wrapped=False)}`: {uncapitalised(first_line(inspect.getdoc(method)))}"
        for name, method in found
        if callable(method) and inspect.getdoc(method)
    ]
    return [*lines, ""] if lines else []


def signature(name: str, thing, wrapped: bool = True) -> str:
    """`name(arguments) -> result`, on one line where that fits; annotations without the modules they come from."""
    whole = inspect.signature(thing)
    parameters = [one for one in whole.parameters.values() if one.name != "self"]
    text = str(whole.replace(parameters=parameters)).replace("<factory>", "...").replace(" -> None", "")
    text = re.sub(r"(?:\b[a-zA-Z_]\w*\.)+(?=[a-zA-Z_])", "", text)
    text = re.sub(r"'([A-Z]\w+(?: \| [A-Z]\w+)*)'", r"\1", text)  # classes that are annotated by name
    if not wrapped or len(f"mzu.{name}{text}") <= WIDTH:
        return name + text
    inside, _, result = text.removeprefix("(").rpartition(")")
    return f"{name}(\n" + "".join(f"    {one},\n" for one in split_parameters(inside)) + f"){result}"


def split_parameters(text: str) -> list[str]:
    """Cut at the commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    if parser.parse_args().check:
        if not PAGE.is_file() or PAGE.read_text() != page():
            print(f"{PAGE.name} is out of date: python .ci/api_page.py")
            return 1
        return 0
    with written_whole(PAGE) as temporary:
        temporary.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
