"""An explanation as one page for a browser, which needs nothing else: no network, no other file.

`page.html` has the words, `page.css` the looks, and `page.js` fills the page from the record, which is embedded as
JSON. The trees are those of `drawing.py`, one after each simulation, the root's picture that of `root_drawing.py`.
"""

import json
import re
from html import escape
from importlib import resources
from pathlib import Path

from mzu.explain import search_terms as searching
from mzu.explain.drawing import tree_svg
from mzu.explain.explanation import Explanation
from mzu.explain.root_drawing import root_svg
from mzu.files import written_whole


def page_html(explanation: Explanation, walk: dict | None = None) -> str:
    """The page of an explanation; `walk` says where it stands in a run that is served (`server.py`)."""
    position = explanation.position
    title = f"Episode {position['episode']}, step {position['step']}"
    root = "" if explanation.root is None else root_svg(explanation)
    selection = explanation.about["config"]["search"]["selection"]
    parts = {"trees": _trees(explanation), "root": root, "selection": selection}
    return _page(title, record=explanation.to_json(), walk=walk, **parts)


def mistake_html(sentence: str, walk: dict | None = None) -> str:
    """The page that says in a sentence why there is nothing to explain."""
    return _page("Nothing to explain", mistake=sentence, walk=walk)


def write_explanation(explanation: Explanation, path: str | Path) -> None:
    """Writes the page to a file."""
    with written_whole(path) as temporary:
        temporary.write_text(page_html(explanation), encoding="utf-8")


def _page(
    title: str,
    record: str = "null",
    trees: str = "",
    root: str = "",
    selection: str = "puct",
    walk: dict | None = None,
    mistake: str = "",
) -> str:
    parts = {
        "title": escape(title),
        "mistake": escape(mistake),
        "score": escape(searching.SCORE[selection]),
        "backup": escape(searching.BACKUP),
        "trees": trees,
        "root": root,
        "record": _inside_script(record),
        "walk": _inside_script(json.dumps(walk)),
        "style": _part("page.css"),
        "script": _part("page.js"),
    }
    # In one go: what is filled in is never looked at again, whatever it contains.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _part("page.html"))


def _trees(explanation: Explanation) -> str:
    """The tree after 0, 1, ... simulations, in templates: a browser shows none of them until the script does."""
    if explanation.tree is None:
        return ""
    return "\n".join(
        f'<template data-simulations="{count}">{tree_svg(explanation, count)}</template>'
        for count in range(len(explanation.simulations) + 1)
    )


def _inside_script(text: str) -> str:
    """JSON in which no string can end the script element, or begin a comment there."""
    return text.replace("<", "\\u003c")


def _part(name: str) -> str:
    return resources.files("mzu.explain").joinpath(name).read_text(encoding="utf-8")
