"""Slides for class from the executed notebooks: one page per notebook that opens without a network.

    python .ci/slides.py                      # all, into build/slides
    python .ci/slides.py 03 --out FOLDER      # one

Arrow keys move (right: the next section, down: within one), S shows what to say, Esc all slides; `?print-pdf` behind
the address prints. reveal.js (MIT, .ci/reveal) turns pages, nbconvert draws cells; nothing is executed.

A section's heading begins a slide, and a heading below it one beneath. Of prose the first sentence of a paragraph is
shown, with lists, tables, formulas and figures; all of it is in the notes. Code is shown where it is short and draws
nothing. A cell's tags in the notebook's source say otherwise: slide-skip leaves a cell out, slide-code shows its code,
however long.
"""

import argparse
import base64
import html
import math
import re
import struct
import sys
from pathlib import Path
from typing import NamedTuple

import nbformat
from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from pygments.formatters import HtmlFormatter

from mzu.files import written_whole

CI = Path(__file__).resolve().parent
NOTEBOOKS = CI.parent / "notebooks"
OUT = CI.parent / "build" / "slides"
LINES = 18  # of code on a slide
HEIGHT, HEADING, WHERE = 700, 90, 25  # pixels: of a slide, of what is no more than a heading, of the line above it
STYLE = """
body { background: #fff; }
.reveal { font: 26px/1.35 "DejaVu Sans", Verdana, sans-serif; color: #111827; }
.reveal .slides section { text-align: left; }
.reveal h1, .reveal h2, .reveal h3 { line-height: 1.2; color: #0b4f8a; margin: 0 0 .6em; }
.reveal h1 { font-size: 1.7em; } .reveal h2 { font-size: 1.35em; } .reveal h3 { font-size: 1.1em; }
.reveal .where { font-size: .5em; color: #6b7280; margin: 0 0 .6em; }
.reveal p, .reveal li { margin: .45em 0; } .reveal ul, .reveal ol { padding-left: 1.2em; }
.reveal table { border-collapse: collapse; font-size: .62em; margin: .6em 0; }
.reveal th, .reveal td { border-bottom: 1px solid #d1d5db; padding: .3em .7em; text-align: left; vertical-align: top; }
.reveal pre, .reveal code { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.reveal pre { font-size: .58em; line-height: 1.3; margin: .5em 0; white-space: pre-wrap; }
.reveal code { font-size: .88em; } .reveal pre code { font-size: 1em; }
.reveal .highlight { background: #f6f8fa; padding: .2em .6em; border-radius: 6px; }
.reveal .output { border-left: 4px solid #9ca3af; padding-left: .8em; }
.reveal img, .reveal svg { width: auto; height: auto; max-width: 1160px; max-height: 560px; }
.reveal img, .reveal svg { display: block; margin: 0 auto; }
.reveal img { min-width: 60%; object-fit: contain; }
.reveal math { font-size: 1.05em; } .reveal a { color: #0b4f8a; }
aside.notes { display: none; }
#notes { display: none; position: fixed; inset: auto 0 0 0; max-height: 38%; overflow: auto; z-index: 40; }
#notes { background: #fffbeb; color: #111827; border-top: 2px solid #d97706; padding: .6em 1.4em; }
#notes { font: 17px/1.45 "DejaVu Sans", Verdana, sans-serif; }
#notes.shown { display: block; }
"""
SCRIPT = """
Reveal.initialize({
  width: 1200, height: 750, margin: 0.05, hash: true, slideNumber: "c/t", transition: "none", center: false,
  keyboard: {83: () => { document.getElementById("notes").classList.toggle("shown"); }},
});
const say = () => { const found = Reveal.getCurrentSlide().querySelector("aside.notes");
                    document.getElementById("notes").innerHTML = found ? found.innerHTML : ""; };
Reveal.on("ready", say); Reveal.on("slidechanged", say);
"""
FORMULA = re.compile(r"(```.*?```|`[^`\n]+`)|\$\$(.+?)\$\$|(?<![\\$])\$(?!\s)([^$]+?)(?<!\s)\$", re.DOTALL)


class Piece(NamedTuple):
    """Something that stands on a slide: its HTML, about how many pixels high it is, what to say, and what it begins."""

    body: str
    height: float
    notes: str = ""
    begins: str = ""  # "section" or "slide"


def deck(notebook: nbformat.NotebookNode, folder: Path) -> list[list[str]]:
    """The slides of a notebook: for each section its slides, one beneath the other, as HTML."""
    pieces = []
    for cell in shown_cells(notebook):
        if cell.cell_type == "code":
            pieces += code_pieces(cell)
        else:
            for heading, text in parts_of(cell.source):
                pieces += text_pieces(heading, text, folder)
    stacks, title = [], ""
    for piece in pieces:
        if piece.begins == "section":
            stacks.append([])
            title = re.sub(r"<[^>]+>|¶", "", piece.body).strip().splitlines()[0]
        so_far = sum(one.height for one in stacks[-1][-1]) if stacks[-1] else math.inf
        if piece.begins or (so_far + piece.height > HEIGHT and so_far > HEADING):  # a heading never stands alone
            where = Piece(f'<p class="where">{title}</p>', WHERE)
            stacks[-1].append([] if piece.begins == "section" else [where])
        stacks[-1][-1].append(piece)
    return [[slide(pieces) for pieces in stack] for stack in stacks]


def slide(pieces: list[Piece]) -> str:
    notes = "".join(piece.notes for piece in pieces)
    return f'<section>{"".join(piece.body for piece in pieces)}<aside class="notes">{notes}</aside></section>'


def shown_cells(notebook: nbformat.NotebookNode):
    """The cells that have something to show, up to the exercises."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (end := re.search(r"^## Exercises$", cell.source, flags=re.MULTILINE)):
            yield nbformat.v4.new_markdown_cell(cell.source[: end.start()])
            return
        if "slide-skip" not in cell.metadata.get("tags", []):
            yield cell


def parts_of(source: str) -> list[tuple[str, str]]:
    """A text as (heading or "", what stands below it)."""
    pieces = re.split(r"^(#{1,3} .+)$", source, flags=re.MULTILINE)
    return [("", pieces[0]), *zip(pieces[1::2], pieces[2::2], strict=True)]


def text_pieces(heading: str, text: str, folder: Path) -> list[Piece]:
    """A heading, and a piece for each paragraph, list, table or formula."""
    found = []
    if heading:
        begins = "section" if heading.startswith(("# ", "## ")) else "slide"
        found.append(Piece(as_html(heading, folder), 65, begins=begins))
    for block in re.split(r"\n\s*\n", text.strip()):
        if shown := shortened(block):
            marks = len(re.findall(r"^\s*(?:[*|-]|\d+\.) ", shown, flags=re.MULTILINE))
            drawn = len(shown.splitlines()) if shown.startswith("```") else math.ceil(len(shown) / 95) + marks / 2
            found.append(Piece(as_html(shown, folder), 37 * drawn + 14, as_html(block, folder)))
    return found


def is_whole(block: str) -> bool:
    """Lists, tables, formulas, pictures and drawings are not cut."""
    return bool(re.match(r"\s*([*|>!<-]|\d+\. |\$\$|```)", block)) and not block.startswith("**")


def shortened(block: str) -> str:
    """The first sentence of a paragraph, and all of what is whole; nothing of the links to the neighbours."""
    if is_whole(block) or block.startswith("←"):
        return "" if block.startswith("←") else block
    flat = " ".join(block.split())
    end = re.search(
        r"(?<![A-Z]\.)(?<!e\.g)(?<!i\.e)(?<=[.!?:])[*)”\"]*\s(?=[A-Z(*$`\"“])",
        FORMULA.sub(lambda found: "x" * len(found[0]), flat),
    )
    return flat[: end.end()].rstrip() if end else flat


def code_pieces(cell: nbformat.NotebookNode) -> list[Piece]:
    """Its figures; its code and what it printed where there is no figure and the code is short."""
    tags, lines, found, words, pictures = cell.metadata.get("tags", []), cell.source.splitlines(), [], [], []
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/png" in data:
            pictures.append(figure(data["image/png"].strip()))
        elif "image/svg+xml" in data:
            pictures.append(Piece("".join(data["image/svg+xml"]), 570))
        elif "text/html" not in data:
            words += output.get("text", data.get("text/plain", "")).splitlines()
    only_names = all(re.match(r"(import|from|plt\.|np\.set|\s|$|[)\]]|FAST)", line) for line in lines)
    is_short = len(lines) <= LINES and not (
        pictures or only_names or cell.metadata.get("jupyter", {}).get("source_hidden")
    )
    if is_short or "slide-code" in tags:
        found.append(Piece(highlighted(cell.source), 20 * len(lines) + 30))
    if words and (found or not pictures):
        told = [*words[:LINES], "..."] if len(words) > LINES else words
        found.append(Piece(f'<pre class="output">{html.escape(chr(10).join(told))}</pre>', 20 * len(told) + 25))
    return found + pictures


def figure(picture: str) -> Piece:
    """A PNG, as wide as the slide or as high as it may be."""
    width, height = struct.unpack(">II", base64.b64decode(picture[:44])[16:24])
    shown = min(560.0, height * 1160 / width)
    return Piece(f'<img alt="figure" src="data:image/png;base64,{picture}">', shown + 15)


def highlighted(source: str) -> str:
    cell = nbformat.v4.new_code_cell(source)
    notebook = nbformat.v4.new_notebook(
        cells=[cell], metadata={"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    )
    body, _ = EXPORTER.from_notebook_node(notebook)
    return re.search(r'<div class="highlight.*?</pre>\s*</div>', body, flags=re.DOTALL)[0]


EXPORTER = HTMLExporter(
    template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True, exclude_anchor_links=True
)


def as_html(text: str, folder: Path) -> str:
    """Markdown with its formulas as MathML and its pictures inside; links to other pages become words."""
    formulas = []

    def kept(found):
        if found[1]:
            return found[1]
        formulas.append(convert(" ".join((found[2] or found[3]).split()), display="block" if found[2] else "inline"))
        return f"FORMULA{len(formulas) - 1}X"

    text = re.sub(r"!\[([^\]]*)\]\(([\w/]+\.svg)\)", lambda found: picture(folder / found[2]), FORMULA.sub(kept, text))
    text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    body, _ = EXPORTER.from_notebook_node(notebook)
    return re.sub(r"FORMULA(\d+)X", lambda found: formulas[int(found[1])], body)


def picture(path: Path) -> str:
    return "\n\n" + path.read_text().strip() + "\n\n"


def page(notebook: nbformat.NotebookNode, folder: Path) -> str:
    """One HTML file with everything in it."""
    stacks = deck(notebook, folder)
    title = re.search(r"^# (.+)$", notebook.cells[0].source, flags=re.MULTILINE)[1]
    sections = "\n".join(f"<section>\n{chr(10).join(stack)}\n</section>" for stack in stacks)
    styles = (CI / "reveal" / "reveal.css").read_text() + HtmlFormatter().get_style_defs(".highlight") + STYLE
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title>\n<style>{styles}</style>'
    body = f'<div class="reveal"><div class="slides">\n{sections}\n</div></div><div id="notes"></div>'
    scripts = f"<script>{(CI / 'reveal' / 'reveal.js').read_text()}</script>\n<script>{SCRIPT}</script>"
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}\n{scripts}</body>\n</html>\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="NN_name or its beginning; default all")
    parser.add_argument("--out", type=Path, default=OUT, help="folder (default build/slides)")
    arguments = parser.parse_args()
    stored = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
    chosen = [path for path in stored if not arguments.names or path.name.startswith(tuple(arguments.names))]
    if not chosen:
        known = ", ".join(path.stem for path in stored)
        raise SystemExit(f"No notebook's name begins with {' or '.join(arguments.names)}; there are: {known}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for path in chosen:
        notebook = nbformat.read(path, as_version=4)
        with written_whole(arguments.out / f"{path.stem}.html") as temporary:
            temporary.write_text(page(notebook, NOTEBOOKS), encoding="utf-8")
        print(f"{arguments.out / path.stem}.html: {sum(map(len, deck(notebook, NOTEBOOKS)))} slides")
    return 0


if __name__ == "__main__":
    sys.exit(main())
