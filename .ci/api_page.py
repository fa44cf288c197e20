"""Turns the docstrings of the public names into tutorials/api.md.

python .ci/api_page.py             # write the page
python .ci/api_page.py --check     # is it up to date?
"""

import argparse
import doctest
import inspect
import re
import sys
from pathlib import Path

import mzu
from mzu.files import written_whole
from mzu.search.search import search
from mzu.training.agent import Agent

PAGE = Path(__file__).resolve().parent.parent / "tutorials" / "api.md"
WIDTH = 120
# Packages that can be called: what is called then.
CALLED = {"search": search, "explain": type(mzu.explain).__call__}
# In the order in which a session would use them: the examples run from top to bottom.
GROUPS = {
    "Worlds and data": ["make", "Episode", "collect", "load_episodes", "check"],
    "Search": ["TabularModel", "SearchConfig", "search"],
    "Training": ["preset", "train", "compare", "Trainer"],
    "A trained agent": ["load", "evaluate", "explain"],
    "Settings": ["Config", *(name for name in mzu.__all__ if name.endswith("Config") and len(name) > len("Config"))],
}
GROUPS["Settings"].remove("SearchConfig")

HEAD = """# The front door

`import mzu` takes no time: what a name needs is imported when the name is first used. Every name of `mzu.__all__` is on
this page, with its signature, what its docstring says first, and an example; `help(mzu.make)`, or `mzu.make?` in a
notebook, shows all of it. What the settings mean, and which section of the paper each comes from, is written beside
them in `mzu/config.py`; the fields of a result are in the docstring of its class (`help(result)`). The examples are
one session, from top to bottom, after

```pycon
>>> import numpy as np
>>> import mzu
```

This page is made from the docstrings by `python .ci/api_page.py`.
"""


def public_names() -> list[str]:
    return [name for names in GROUPS.values() for name in names]


def page() -> str:
    """The text of tutorials/api.md."""
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts += [f"## {title}\n", *(section(name) for name in names)]
    return "\n".join(parts)


def section(name: str) -> str:
    thing = CALLED.get(name) or getattr(mzu, name)
    doc = inspect.getdoc(thing)
    lines = [
        f"### mzu.{name}\n",
        "```",
        f"mzu.{signature(name, thing)}",
        "```\n",
        f"{first_line(doc)}\n",
        *methods(thing),
    ]
    if name == "load":
        lines += [f"An `Agent` is {uncapitalised(first_line(inspect.getdoc(Agent)))}\n", *methods(Agent)]
    return "\n".join([*lines, "```pycon", example(doc).rstrip(), "```\n"])


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
    """A line for each public method that a class has of its own."""
    if not inspect.isclass(thing):
        return []
    found = [(name, getattr(thing, name)) for name in vars(thing) if not name.startswith("_")]
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
    text = re.sub(r"'(Config|Agent|Trainer)'", r"\1", text)
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
