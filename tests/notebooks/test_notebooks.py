"""Every notebook runs, is stored as it ran, agrees with its source and keeps the shape of a lesson."""

import ast
import functools
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import nbformat
import pytest
from made_processes import run_python

from mzu.classroom import exercises
from mzu.plots.circle import circle_svg

pytest.importorskip("jupytext", reason="needs jupytext: pip install jupytext")

REPOSITORY = Path(__file__).parent.parent.parent
specification = importlib.util.spec_from_file_location("notebooks", REPOSITORY / ".ci" / "notebooks.py")
notebooks = importlib.util.module_from_spec(specification)
specification.loader.exec_module(notebooks)

every_notebook = pytest.mark.parametrize("source", notebooks.SOURCES, ids=lambda path: path.stem)

FAST_SECONDS = 180
FAST_LINES = {"import os", 'FAST = os.environ.get("MZU_FAST") == "1"  # the test suite\'s short version'}
OPENING = ["You will build", "Lives in", "Takes", "You need"]
CLOSING = ["What the library adds", "Summary", "Exercises"]

# What must not be in an output, because another run or another machine would show something else, or nobody wants it.
UNWANTED = {
    "an absolute path": r"(?<![\w.:/])/(home|root|tmp|usr|work|opt|var|mnt|srv|data|private|Users)/|\b[A-Z]:\\",
    "a warning": r"\w*Warning\b",
    "a traceback": r"Traceback \(most recent call last\)",
    "an address in memory": r"\bat 0x[0-9a-f]{6,}",
    "TensorFlow's greeting": r"cpu_feature_guard|oneDNN|computation_placer|cuda_(dnn|blas|fft)|rebuild TensorFlow",
}


def stored(source):
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def code_cells(notebook):
    """Those of the lesson, without the one that installs mzu in the browser."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.id != notebooks.INSTALL]


def shown_text(cell):
    """All that a cell's outputs say in words."""
    texts = []
    for output in cell.outputs:
        texts.append(output.get("text", ""))
        texts += [str(content) for kind, content in output.get("data", {}).items() if not kind.startswith("image/")]
    return "\n".join(texts)


def figures(notebook):
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    return [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]


@functools.cache
def executed_fast(source, repetition=0):
    notebook = notebooks.read_source(source)
    notebooks.execute(notebook, fast=True, seconds=FAST_SECONDS)
    return notebook


@every_notebook
def test_the_stored_notebook_agrees_with_its_source_cell_by_cell(source):
    assert not notebooks.disagreements(source), f"run: python .ci/notebooks.py {source.stem}"


@every_notebook
def test_the_stored_notebook_was_executed_from_top_to_bottom(source):
    cells = code_cells(stored(source))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert len(figures(stored(source))) >= 3


@every_notebook
def test_the_stored_outputs_hold_nothing_unwanted(source):
    for number, cell in enumerate(code_cells(stored(source)), start=1):
        kinds = [output.get("name", output.output_type) for output in cell.outputs]
        assert "error" not in kinds, f"code cell {number} failed"
        assert "stderr" not in kinds, f"code cell {number} writes to stderr: {shown_text(cell)[:300]}"
        for name, pattern in UNWANTED.items():
            found = re.search(pattern, shown_text(cell))
            assert not found, f"the output of code cell {number} holds {name}: {found[0]}"


@every_notebook
def test_the_notebook_runs_in_the_short_version(source):
    cells = code_cells(executed_fast(source))
    assert all(cell.execution_count for cell in cells)


@pytest.mark.slow
@every_notebook
def test_a_second_run_shows_the_same(source):
    first, second = code_cells(executed_fast(source)), code_cells(executed_fast(source, repetition=1))
    for one, other in zip(first, second, strict=True):
        if "timing" not in one.metadata.get("tags", []):
            assert one.outputs == other.outputs, one.source


@every_notebook
def test_the_notebook_opens_with_what_why_where_and_how_long(source):
    cells = notebooks.read_source(source).cells
    number = source.stem.split("_")[0]
    assert re.match(rf"# {number}\. \S", cells[0].source)
    first_code = next(index for index, cell in enumerate(cells) if cell.cell_type == "code")
    opening = "\n".join(cell.source for cell in cells[:first_code])
    for words in OPENING:
        assert words in opening
    modules = re.findall(r"`(mzu/[\w/]+\.py)`", opening)
    assert modules, "the opening names no module of the library such as `mzu/search/search.py`"
    for module in modules:
        assert (REPOSITORY / module).is_file(), f"{module} does not exist"
    assert not FAST_LINES - set(cells[first_code].source.splitlines())


@every_notebook
def test_the_notebook_closes_with_the_library_a_summary_and_exercises(source):
    texts = [cell.source for cell in notebooks.read_source(source).cells if cell.cell_type == "markdown"]
    headings = re.findall(r"^## (.+)$", "\n".join(texts), flags=re.MULTILINE)
    assert headings[-3:] == CLOSING


@every_notebook
def test_every_exercise_has_a_worked_solution(source):
    text = "\n".join(cell.source for cell in notebooks.read_source(source).cells if cell.cell_type == "markdown")
    exercises = text.split("\n## Exercises\n")[1]
    numbers = numbered(exercises)
    assert 3 <= len(numbers) <= 6
    assert numbers == list(range(1, len(numbers) + 1))
    solutions = REPOSITORY / "tutorials" / "solutions" / f"{source.stem}.md"
    assert f"tutorials/solutions/{solutions.name}" in exercises
    headings = re.findall(r"^#{2,} .*$", solutions.read_text(), flags=re.MULTILINE)
    assert numbered("\n".join(headings)) == numbers
    assert "```python\n" in solutions.read_text()


@every_notebook
def test_every_exercise_has_a_cell_to_write_into_that_is_checked(source):
    number = source.stem.split("_")[0]
    code = [cell.source for cell in code_cells(notebooks.read_source(source))]
    for exercise in exercises.of_notebook(number):
        [cell] = [one for one in code if f"check.exercise_{exercise.number.replace('.', '_')}(" in one]
        function, check, solution = ast.parse(cell).body
        right = ast.parse(inspect.getsource(exercise.right)).body[0]
        assert function.name == exercise.name and ast.dump(function.args) == ast.dump(right.args)
        assert ast.get_docstring(function) == ast.get_docstring(right), "the docstring is that of the right function"
        assert ast.unparse(function.body[1:]) == "raise NotImplementedError"
        assert ast.unparse(check) == f"check.exercise_{exercise.number.replace('.', '_')}({exercise.name})"
        assert ast.unparse(solution) == f"check.solution('{exercise.number}')"


@every_notebook
def test_what_is_not_written_yet_is_said_in_a_sentence_and_the_solution_is_folded(source):
    cells = [cell for cell in code_cells(stored(source)) if "check.exercise_" in cell.source]
    assert len(cells) == len(exercises.of_notebook(source.stem.split("_")[0]))
    for cell in cells:
        said, shown = cell.outputs
        assert re.fullmatch(r"Exercise \d\d\.\d: \w+ is not written yet\. .+\n", said.text)
        assert shown.data["text/html"].startswith("<details><summary>Solution of exercise")


@every_notebook
def test_an_assert_says_in_words_what_it_found(source):
    for cell in code_cells(notebooks.read_source(source)):
        for node in ast.walk(ast.parse(cell.source)):
            assert not isinstance(node, ast.Assert) or node.msg, f"no words: {ast.unparse(node)}"


@every_notebook
def test_the_notebook_links_its_neighbours_and_shows_where_it_stands(source):
    first = notebooks.read_source(source).cells[0].source
    place = notebooks.SOURCES.index(source)
    neighbours = [one.stem for one in notebooks.SOURCES[max(0, place - 1) : place + 2] if one != source]
    assert re.findall(r"\]\((\w+)\.ipynb\)", first) == neighbours
    [parts, picture] = re.search(r"!\[.*circle of data: (.+)\]\((.+)\)", first).groups()
    drawn = (source.parent / picture).read_text()
    assert drawn == circle_svg(*parts.split(", ")), f"write circle_svg(...) of mzu/plots/circle.py to {picture}"


@every_notebook
def test_the_stored_notebook_is_not_too_large_to_be_opened_quickly(source):
    assert source.with_suffix(".ipynb").stat().st_size < 1.5e6


def numbered(text):
    """The exercises of a text: lines such as `1. Do this`, `**1. This.** Do it`, `### Exercise 1. Title`."""
    return [int(number) for number in re.findall(r"^(?:#+ |\*\*)?(?:Exercise )?(\d+)[.:] ", text, flags=re.MULTILINE)]


@every_notebook
def test_code_fits_into_100_columns(source):
    for cell in code_cells(notebooks.read_source(source)):
        long = [line for line in cell.source.splitlines() if len(line) > 100]
        assert not long


def test_a_wrong_cell_is_noticed(tmp_path):
    """The comparison of source and stored notebook sees a changed line, a changed tag and a missing cell."""
    source = tmp_path / "00_example.py"
    source.write_text('# %% [markdown]\n# # 00. Example\n\n# %% tags=["timing"]\nx = 1\n')
    assert notebooks.disagreements(source) == ["00_example.ipynb does not exist"]
    nbformat.write(notebooks.read_source(source), source.with_suffix(".ipynb"))
    assert notebooks.disagreements(source) == []
    source.write_text(source.read_text().replace("x = 1", "x = 2"))
    assert notebooks.disagreements(source) == ["cell 1 differs in its source"]
    source.write_text("# %% [markdown]\n# # 00. Example\n\n# %%\nx = 1\n")
    assert notebooks.disagreements(source) == ["cell 1 differs in its metadata"]
    source.write_text("# %% [markdown]\n# # 00. Example\n")
    assert notebooks.disagreements(source) == ["the source has 1 cells, 00_example.ipynb 2"]


def test_the_kernel_is_this_interpreter_in_fast_mode_and_an_empty_folder(tmp_path):
    source = tmp_path / "00_example.py"
    source.write_text(
        "# %%\nimport os, sys, mzu\n"
        'print(sys.executable, os.environ["MZU_FAST"], os.listdir("."), mzu.__file__, sep="\\n")\n'
    )
    notebook = notebooks.read_source(source)
    notebooks.execute(notebook, fast=True, seconds=FAST_SECONDS)
    package = str(REPOSITORY / "mzu" / "__init__.py")
    assert shown_text(notebook.cells[0]).split("\n")[:4] == [sys.executable, "1", "[]", package]


URL = "https://github.com/someone/some-where"


def test_a_notebook_of_a_public_repository_opens_in_the_browser_and_installs_mzu_there_only(tmp_path):
    source = notebooks.SOURCES[0]
    notebook = notebooks.with_badge(notebooks.read_source(source), source, URL)
    badge = notebook.cells[0].source.split("\n")[3]
    address = "https://colab.research.google.com/github/someone/some-where/blob/main/notebooks/"
    assert badge == f"[![Run in the browser](pictures/run_in_the_browser.svg)]({address}{source.stem}.ipynb)"
    assert (source.parent / notebooks.BADGE).is_file()
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert first.id == notebooks.INSTALL and "skip-execution" in first.metadata.tags
    assert "mzu[atari,bench,control,data,video] @ git+https://github.com/someone/some-where" in first.source
    missing = "import importlib.util\nimportlib.util.find_spec = lambda name: None\n"
    watched = "import subprocess\nsubprocess.run = lambda command, check: print(command[1:], check)\n"
    said = [run_python(before + watched + first.source) for before in ("", missing)]
    wanted = ["-m", "pip", "install", "--quiet", f"mzu[atari,bench,control,data,video] @ git+{URL}"]
    assert [done.stdout for done in said] == ["", f"{wanted} True\n"], said[1].stderr


def test_badges_come_and_go_without_execution_and_leave_all_else_as_it_was(tmp_path):
    source = notebooks.SOURCES[0]
    for suffix in (".py", ".ipynb"):
        (tmp_path / source.name).with_suffix(suffix).write_bytes(source.with_suffix(suffix).read_bytes())
    copied = tmp_path / source.name
    notebooks.set_badge(copied, "")
    without = copied.with_suffix(".ipynb").read_bytes()
    for _ in range(2):  # a second time changes nothing
        notebooks.set_badge(copied, URL)
        one, other = stored(copied), nbformat.reads(without, as_version=4)
        assert len(one.cells) == len(other.cells) + 1 and one.cells[0] != other.cells[0]
        assert code_cells(one) == code_cells(other)
    notebooks.set_badge(copied, "")
    assert copied.with_suffix(".ipynb").read_bytes() == without


def test_without_an_address_there_is_no_badge_and_another_host_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "REPOSITORY", tmp_path)
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = mzu\n")
    assert notebooks.repository_url() == ""
    (tmp_path / "setup.cfg").write_text(f"[metadata]\nurl = {URL}/\n")
    assert notebooks.repository_url() == URL
    (tmp_path / "setup.cfg").write_text("[metadata]\nurl = https://example.org/mzu\n")
    with pytest.raises(
        SystemExit, match=r"url = https://example.org/mzu, but Colab opens notebooks from https://github"
    ):
        notebooks.repository_url()


def test_a_cell_that_takes_too_long_is_stopped(tmp_path):
    source = tmp_path / "00_example.py"
    source.write_text("# %%\nimport time\ntime.sleep(60)\n")
    with pytest.raises(TimeoutError):
        notebooks.execute(notebooks.read_source(source), fast=True, seconds=2)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("saved to /home/somebody/runs", "an absolute path"),
        ("C:\\Users\\somebody", "an absolute path"),
        ("UserWarning: tight layout", "a warning"),
        ("Traceback (most recent call last)", "a traceback"),
        ("<Line2D at 0x7f3a2c1b0d90>", "an address in memory"),
    ],
)
def test_unwanted_outputs_are_recognised(text, name):
    assert re.search(UNWANTED[name], text)


@pytest.mark.parametrize("text", ["mzu/search/search.py", "runs/data/x", "3 /4", "https://a.org/data/x", "0x10"])
def test_ordinary_outputs_are_not_unwanted(text):
    assert not [name for name, pattern in UNWANTED.items() if re.search(pattern, text)]


def test_the_course_page_links_the_notebooks_that_exist_and_no_others():
    page = (REPOSITORY / "notebooks" / "README.md").read_text()
    linked = re.findall(r"\]\(([\w]+)\.ipynb\)", page)
    existing = [source.stem for source in notebooks.SOURCES if source.with_suffix(".ipynb").exists()]
    assert linked == existing, "link exactly the notebooks that exist in the table of notebooks/README.md"


def test_the_glossary_names_what_stands_in_the_library():
    glossary = (REPOSITORY / "notebooks" / "README.md").read_text().split("\n## Glossary\n")[1]
    rows = [line.split(" | ") for line in glossary.splitlines() if line.startswith("| ") and "`mzu/" in line]
    assert len(rows) > 30
    for row in rows:
        module = REPOSITORY / re.search(r"`(mzu/[^`]+)`", row[-1])[1]
        for name in re.findall(r"`(\w+)`", row[1]):
            assert re.search(rf"\b{name}\b", module.read_text()), f"{name} is not in {module.name}"
