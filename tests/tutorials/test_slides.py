"""Slides are the notebook in short: every section, every figure, formulas drawn, nothing fetched, nothing too high."""

import importlib.util
import re
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install 'mzu[classroom]'")
pytest.importorskip("nbconvert", reason="needs nbconvert: pip install 'mzu[classroom]'")

REPOSITORY = Path(__file__).parent.parent.parent
specification = importlib.util.spec_from_file_location("slides", REPOSITORY / ".ci" / "slides.py")
slides = importlib.util.module_from_spec(specification)
specification.loader.exec_module(slides)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
STORED = sorted((REPOSITORY / "notebooks").glob("[0-9]*.ipynb"))


def text(source):
    return nbformat.v4.new_markdown_cell(source)


def code(source, *outputs, **metadata):
    return nbformat.v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)


def printed(words):
    return nbformat.v4.new_output("stream", name="stdout", text=words)


def drawn():
    return nbformat.v4.new_output("display_data", data={"image/png": PIXEL, "text/plain": "<Figure>"})


def deck(*cells):
    return slides.deck(nbformat.v4.new_notebook(cells=[text("# 00. A lesson\n\nWhat it is."), *cells]), REPOSITORY)


def test_a_section_begins_a_stack_and_a_heading_below_it_a_slide():
    stacks = deck(
        text("## 1. One\n\nFirst.\n\n### Below\n\nSecond."),
        text("## 2. Two\n\nThird."),
        text("## Exercises\n\nFourth."),
    )
    assert [len(stack) for stack in stacks] == [1, 2, 1]
    assert "Below" in stacks[1][1] and "1. One" in stacks[1][1] and "Third" in stacks[2][0]
    assert "Fourth" not in str(stacks)


def test_the_first_sentence_is_shown_and_the_rest_is_in_the_notes():
    slide = deck(text("## 1. One\n\nA short claim. And a long\nexplanation of it.\n\n* a point, whole. Really.\n"))[1][
        0
    ]
    shown, notes = slide.split('<aside class="notes">')
    assert "A short claim." in shown and "explanation" not in shown and "Really." in shown
    assert "explanation of it." in notes


def test_formulas_are_mathml_and_dollars_in_code_stay():
    slide = deck(text("## 1. One\n\nThe value $v_0$ is `$HOME` and\n\n$$\\sum_k a_k$$"))[1][0]
    assert slide.count("<math") >= 2 and "$HOME" in slide and "FORMULA" not in slide and "v_0" not in slide


def test_short_code_is_shown_with_what_it_printed_and_drawing_code_is_not():
    short, drawing = code("print(1 + 1)", printed("2\n")), code("axes.plot(x)", drawn())
    long = code("\n".join(f"x = {number}" for number in range(30)), printed("said\n"))
    shown = "".join(deck(text("## 1. One"), short, drawing, long)[1])
    plain = re.sub(r"<[^>]+>", "", shown)
    assert "print(1 + 1)" in plain and "2" in plain and "axes.plot" not in plain
    assert "x = 29" not in plain and "said" in plain and shown.count("<img") == 1


def test_tags_leave_a_cell_out_or_show_its_code():
    skipped = code("print('left out')", printed("left out\n"), tags=["slide-skip"])
    long = code("\n".join(f"x = {number}" for number in range(30)), tags=["slide-code"])
    plain = re.sub(r"<[^>]+>", "", str(deck(text("## 1. One"), skipped, long)))
    assert "left out" not in plain and "x = 29" in plain


def test_what_does_not_fit_goes_to_the_next_slide():
    paragraphs = "\n\n".join(
        f"Sentence number {number} says something of a certain length, as they do." for number in range(40)
    )
    stack = deck(text(f"## 1. One\n\n{paragraphs}"))[1]
    assert len(stack) >= 3
    assert [
        number for slide in stack for number in map(int, re.findall(r"number (\d+)", slide.split("<aside")[0]))
    ] == list(range(40))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_notebook_becomes_one_page_with_all_its_sections_and_figures(path):
    notebook = nbformat.read(path, as_version=4)
    made = slides.page(notebook, path.parent)
    assert not re.search(r"<script[^>]+src|<link|@import", made)
    body = made.split("<body>")[1].split("<script>")[0]
    outside = re.findall(r"""(?:src|href)=["'](?!data:|#|https?://)[^"']+""", body)
    assert not outside and not re.search(r"""src=["']http""", body), "a page fetches nothing"
    for heading in re.findall(r"^## (.+)$", "\n".join(cell.source for cell in notebook.cells), flags=re.MULTILINE):
        if heading != "Exercises" and "$" not in heading and "`" not in heading:
            assert heading.replace("'", "&#39;") in body or heading in body, heading
    drawn_figures = sum(
        "image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])
    )
    assert body.count('<img alt="figure"') == drawn_figures
    assert "FORMULA" not in body
