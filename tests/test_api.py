"""`import mzu`: light, lazy, and everything on its page exists and runs."""

import ast
import dataclasses
import doctest
import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from made_processes import run_python

import mzu

REPOSITORY = Path(__file__).parent.parent
HEAVY = ("tensorflow", "keras", "numba", "matplotlib", "gymnasium", "numpy")

specification = importlib.util.spec_from_file_location("api_page", REPOSITORY / ".ci" / "api_page.py")
api_page = importlib.util.module_from_spec(specification)
specification.loader.exec_module(api_page)


def test_import_mzu_loads_none_of_the_heavy_libraries():
    done = run_python(f"import mzu, sys; print([name for name in {HEAVY} if name in sys.modules])")
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_import_mzu_takes_less_than_50_milliseconds():
    code = "import time; start = time.perf_counter(); import mzu; print(time.perf_counter() - start)"
    assert min(float(run_python(code).stdout) for _ in range(5)) < 0.05


def test_every_public_name_has_a_room_and_is_known_to_editors():
    assert sorted([*mzu._PLACES, *mzu._CALLABLE_PACKAGES]) == sorted(mzu.__all__)
    tree = ast.parse(inspect.getsource(mzu))
    block = next(node for node in tree.body if isinstance(node, ast.If) and node.test.id == "TYPE_CHECKING")
    imported = {
        alias.asname or alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    declared = {node.target.id for node in block.body if isinstance(node, ast.AnnAssign)}
    assert {name for name in imported if not name.startswith("_")} | declared == set(mzu.__all__)
    rooms = {name: module for name, (module, _) in mzu._PLACES.items()}
    assert {name: module for name, module in imported.items() if name in rooms} == rooms
    assert (REPOSITORY / "mzu" / "py.typed").is_file()


@pytest.mark.parametrize(
    "typed, offered",
    [
        ("mzu.", mzu.__all__),
        ("mzu.Config().search.", [field.name for field in dataclasses.fields(mzu.SearchConfig)]),
        ("mzu.preset('cartpole').config.learning.", ["td_steps", "batch_size"]),
        ("mzu.Config(search=mzu.SearchConfig(num_sim", ["num_simulations="]),
        ("mzu.load('runs/mine').", ["act", "search", "evaluate", "watch"]),
        ("mzu.train('cartpole').", ["network", "curves", "evaluation", "plot"]),
        ("mzu.explain.", ["model", "bugs"]),
        ("mzu.explain('runs/mine', 0, 7).", ["value_target", "policy_target", "walk"]),
    ],
)
def test_an_editor_completes_what_is_typed(typed, offered):
    jedi = pytest.importorskip("jedi", reason="needs jedi, which comes with IPython")
    script = jedi.Script(f"import mzu\n{typed}", project=jedi.Project(REPOSITORY))
    assert set(offered) <= {completion.name for completion in script.complete(2, len(typed))}


@pytest.mark.parametrize("name", mzu.__all__)
def test_a_public_name_can_be_called(name):
    assert callable(getattr(mzu, name))
    assert name in dir(mzu)


def test_what_is_no_public_name_is_no_attribute():
    with pytest.raises(AttributeError, match="module 'mzu' has no attribute 'serach'"):
        _ = mzu.serach


@pytest.mark.parametrize("name", ["explain", "search"])
def test_a_room_can_be_called_straight_after_the_import_and_still_is_a_package(name):
    done = run_python(f"import mzu; assert callable(mzu.{name}); import mzu.{name}; print(mzu.{name}.__path__ != [])")
    assert done.stdout == "True\n", done.stderr


def test_search_says_its_signature():
    from mzu.search.search import search

    assert inspect.signature(mzu.search) == inspect.signature(search)


def test_the_page_is_made_of_the_docstrings_of_today():
    assert set(api_page.public_names()) == set(mzu.__all__)
    assert api_page.PAGE.read_text() == api_page.page(), "run: python .ci/api_page.py"


def test_what_public_functions_return_is_on_the_page_with_its_attributes():
    own = {
        node.name
        for path in (REPOSITORY / "mzu").rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    shown = [one for entries in api_page.GROUPS.values() for one in entries]
    functions = [api_page.named(name) for name in shown if isinstance(name, str)]
    returned = {name for one in functions if inspect.isroutine(one) for name in api_page.results_of(one)} & own
    assert {"SearchResult", "TrainingResult", "Comparison", "Agent", "ModelReport"} <= returned
    results = {one.__name__: one for one in shown if not isinstance(one, str)}
    assert returned <= {*results, *mzu.__all__}
    for kind in results.values():
        assert api_page.attributes(kind) and api_page.returned_by(kind), kind


@pytest.mark.parametrize("name", api_page.public_names())
def test_a_public_name_has_an_example(name):
    assert "```pycon\n>>> " in api_page.section(name)


def test_the_examples_of_the_page_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"mzu": mzu, "np": np}
    session = "\n".join(re.findall(r"```pycon\n(.*?)```", api_page.PAGE.read_text(), flags=re.DOTALL))
    example = doctest.DocTestParser().get_doctest(session, names, "api.md", "api.md", 0)
    results = doctest.DocTestRunner().run(example)
    assert results.failed == 0 and results.attempted > len(mzu.__all__)


def test_the_examples_of_the_config_run():
    tests = doctest.DocTestFinder().find(mzu.Config, "Config", globs={"mzu": mzu, "Config": mzu.Config})
    results = [doctest.DocTestRunner().run(test) for test in tests]
    assert sum(result.failed for result in results) == 0 and sum(result.attempted for result in results) >= 6
