"""An explanation in a notebook: a summary without scripts, pictures of root and tree, a walk through the simulations,
and the whole page. What moves is plain HTML with a line of script, and moves in a stored or exported notebook, too.

GitHub takes drawings out of HTML, so that only the tables of a summary show there; a `Picture` is an output of the type
image/svg+xml and stays.
"""

from html import escape
from types import SimpleNamespace

from mzu.explain import search_terms, tables
from mzu.explain.drawing import tree_svg
from mzu.explain.root_drawing import root_svg
from mzu.explain.tables import Table
from mzu.explain.wording import number


class Picture:
    """A drawing that a notebook shows."""

    def __init__(self, svg: str):
        self.svg = svg

    def __repr__(self) -> str:
        return "Picture"  # stored beside the drawing: an address in memory would differ from run to run

    def _repr_svg_(self) -> str:
        return self.svg


class Frame:
    """A small page with a script of its own; framed, so that neither it nor the notebook disturbs the other."""

    def __init__(self, words: str, page: str, height: int):
        self.words, self.page, self.height = words, page, height

    def __repr__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        look = f"width:100%;height:{self.height}px;border:1px solid #bbb;box-sizing:border-box"
        # Drawings are full of ", which would take six characters each; so the page stands in '.
        page = self.page.replace("&", "&amp;").replace("'", "&#39;")
        return f"""<iframe style="{look}" title="{escape(self.words)}" srcdoc='{page}'></iframe>"""


WALK_STYLE = """<!doctype html><meta charset="utf-8"><style>
body { font: 14px sans-serif; background: white; color: black }
input { width: 60%; vertical-align: middle }
table { border-collapse: collapse } td, th { padding: 2px 8px; border: 1px solid #ccc }
</style>"""
WALK_SCRIPT = """<script>
function show(count) {
  document.querySelectorAll("section").forEach((section, place) => { section.hidden = place != count })
  document.querySelector("output").textContent = count
}
</script>"""


def explanation_html(explanation) -> str:
    """The summary: flagged checks, stored step, root, tree, value and policy target."""
    flags = [f"<b>{escape(check['name'])}</b>: {escape(check['says'])}" for check in explanation.flags]
    parts = [
        _line(tables.explanation_words(explanation)),
        *(f'<p style="border-left:4px solid #c2410c;padding-left:0.5em">{flag}</p>' for flag in flags),
        _heading("Position"),
        *map(_line, tables.position_words(explanation)),
    ]
    if explanation.root is None:
        parts.append(_line("Nothing is searched: the stored actions are learned."))
    else:
        raw, nu = (number(value) for value in (explanation.root["raw_value"], explanation.result["value"]))
        parts += [
            _heading("Root"),
            _line(f"value {raw}, after the search {nu}"),
            table_html(tables.candidates_table(explanation)),
            *(f'<div style="overflow-x:auto">{draw(explanation)}</div>' for draw in (root_svg, tree_svg)),
        ]
    value, policy = explanation.value_target, explanation.policy_target
    first = value["steps"][0]
    parts += [
        _heading("Value target"),
        _line(f"{tables.value_sum(first, value['td_steps'])}; {tables.value_words(first)}"),
        _heading(f"Policy target, from {policy['from']}"),
        table_html(tables.policy_table(explanation)),
        _line(tables.loss_words(explanation)),
    ]
    return f"<div>{''.join(parts)}</div>"


def walk(explanation) -> Frame:
    """A slider through the simulations, with the tree after each and what its scores were."""
    if not explanation.simulations:
        raise ValueError("There are no simulations to walk through: these targets do not come from a tree")
    last = len(explanation.simulations)
    steps = "".join(
        f"<section{'' if count == last else ' hidden'}>{simulation_html(explanation, count)}</section>"
        for count in range(last + 1)
    )
    slider = f'<input type="range" min="0" max="{last}" value="{last}" oninput="show(this.value)">'
    page = f"{WALK_STYLE}<p>simulation {slider} <output>{last}</output> of {last}</p>{steps}{WALK_SCRIPT}"
    return Frame(f"a walk through {last} simulations", page, height=620)


def walk_search(result, discount: float) -> Frame:
    """The same for the first row of any search that was made with `record=True`."""
    if result.history is None:
        raise ValueError("This search was not recorded, so there is nothing to walk through; search with record=True")
    simulations = search_terms.simulations_section(result.tree, result.history, discount)
    parts = {"tree": search_terms.tree_section(result.tree), "value_target": {"discount": discount}}
    parts["about"] = {"config": {"search": {}}}  # a result does not say its settings: MuZero's are supposed
    return walk(SimpleNamespace(simulations=simulations, **parts))


def embedded_page(explanation) -> Frame:
    """The whole page of an explanation (`page.py`), as an output."""
    from mzu.explain.page import page_html

    return Frame(f"the page of {explanation!r}", page_html(explanation), height=900)


def simulation_html(explanation, simulations: int) -> str:
    """The tree after that many simulations, and the path and backup of the latest."""
    drawing = f'<div style="overflow-x:auto">{tree_svg(explanation, simulations)}</div>'
    if not simulations:
        return drawing
    simulation = explanation.simulations[simulations - 1]
    return "".join(
        [
            drawing,
            _line(tables.bounds_words(explanation, simulation)),
            table_html(tables.path_table(simulation)),
            _line(tables.leaf_words(simulation)),
            table_html(tables.backup_table(simulation)),
        ]
    )


def _heading(words: str) -> str:
    return f"<h4>{escape(words)}</h4>"


def _line(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def table_html(table: Table) -> str:
    """A table as HTML."""
    rows = [_row(table.header, "th"), *(_row(row, "td") for row in table.rows)]
    return f"<table>{''.join(rows)}</table>"


def _row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
