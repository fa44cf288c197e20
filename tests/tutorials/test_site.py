"""The static site has every page, links them, and fetches nothing. Building it is slow, and needs the extra `site`."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
specification = importlib.util.spec_from_file_location("build_site", REPOSITORY / ".ci" / "build_site.py")
build_site = importlib.util.module_from_spec(specification)
specification.loader.exec_module(build_site)

PAGES = [page for part in build_site.pages().values() for page in part]


def test_every_page_is_in_the_navigation_once():
    written = {path for folder in ("notebooks", "tutorials") for path in (REPOSITORY / folder).rglob("*.md")}
    written |= {path for folder in ("notebooks", "tutorials") for path in (REPOSITORY / folder).rglob("*.ipynb")}
    names = {path.relative_to(REPOSITORY).as_posix() for path in written if ".ipynb_checkpoints" not in path.parts}
    names = {name for name in names if not name.startswith(build_site.LEFT_OUT)}
    assert sorted(PAGES) == sorted(names | {"tutorials/muzero_unplugged.py"}), "see NAVIGATION of .ci/build_site.py"


def test_solutions_that_a_teacher_gives_out_are_on_no_page_of_the_site():
    teachers = [
        page for page in PAGES if page.startswith("tutorials/assignments/solutions/") or "exam_solutions" in page
    ]
    assert not teachers and "tutorials/teaching/01_planning_with_a_model.md" in PAGES


def test_settings_of_thebe_are_taken_out_of_the_pages(tmp_path):
    (tmp_path / "page.html").write_text('a<script>const THEBE_JS_URL = "x"; const y = 1</script>b<script>c</script>')
    build_site.without_thebe(tmp_path)
    assert (tmp_path / "page.html").read_text() == "ab<script>c</script>"


def test_every_name_in_the_navigation_is_a_page():
    named = [page for patterns in build_site.NAVIGATION.values() for page in patterns if "*" not in page]
    assert not [page for page in [build_site.FRONT, *named, *build_site.TITLES] if not (REPOSITORY / page).is_file()]


def test_the_table_of_contents_names_files_and_parts():
    contents = build_site.table_of_contents()
    assert contents["root"] == "README"
    course = next(part for part in contents["parts"] if part["caption"] == "The course")
    assert course["chapters"][:2] == [
        {"file": "notebooks/README", "title": "The course"},
        {"file": "notebooks/01_planning_with_a_model"},
    ]


@pytest.mark.parametrize(
    ("page", "text", "shown"),
    [
        ("README.md", "`tutorials/data.md`", "[`tutorials/data.md`](tutorials/data.md)"),
        ("README.md", "see `notebooks/`", "see [`notebooks/`](notebooks/README.md)"),
        ("tutorials/api.md", "`tutorials/data.md`,", "[`tutorials/data.md`](data.md),"),
        ("tutorials/solutions/03_search.md", "`tutorials/data.md`", "[`tutorials/data.md`](../data.md)"),
        ("notebooks/README.md", "`tutorials/muzero_unplugged.py`",
         "[`tutorials/muzero_unplugged.py`](../tutorials/muzero_unplugged.md)"),
        ("tutorials/data.md", "`tutorials/data.md`", "`tutorials/data.md`"),
        ("README.md", "[`tutorials/data.md`](x)", "[`tutorials/data.md`](x)"),
        ("README.md", "`tutorials/nothing.md`", "`tutorials/nothing.md`"),
    ],
)  # fmt: skip
def test_the_names_of_pages_become_links(page, text, shown):
    assert build_site.linked(text, page, PAGES) == shown


def test_what_jupyterlab_folds_is_folded_on_the_page():
    cells = [{"metadata": {"jupyter": {"source_hidden": True}, "tags": ["timing"]}}, {"metadata": {}}]
    folded = build_site.folded({"cells": cells})["cells"]
    assert [cell["metadata"].get("tags") for cell in folded] == [["timing", "hide-input"], None]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script async src="https://cdn.example.org/a.js"></script>', ["https://cdn.example.org/a.js"]),
        ("<link href='//fonts.example.org/b.css' rel='stylesheet'>", ["//fonts.example.org/b.css"]),
        ('<img alt="x" src="http://example.org/c.png">', ["http://example.org/c.png"]),
        ("<style>a {background: url(https://example.org/d.png)}</style>", ["https://example.org/d.png"]),
        ('<style>@import "https://example.org/e.css"</style>', ["https://example.org/e.css"]),
        ('<a href="https://arxiv.org">a link</a> <script src="_static/a.js"></script>', []),
        ('<img src="data:image/gif;base64,aHR0cHM6Ly8="> <link rel="canonical" href="https://example.org/">', []),
    ],
)
def test_what_a_page_would_fetch_from_elsewhere_is_found(text, found, tmp_path):
    (tmp_path / "page.html").write_text(text)
    assert build_site.fetched(tmp_path) == [f"page.html: {address}" for address in found]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("jupyter_book", reason="needs jupyter-book: pip install -e '.[site]'")
    out = tmp_path_factory.mktemp("site") / "html"
    assert build_site.build(out) == 0
    return out


@pytest.mark.slow
def test_the_site_has_a_page_for_every_source(site):
    assert (site / "index.html").is_file()
    missing = [page for page in PAGES if not (site / page).with_suffix(".html").is_file()]
    assert not missing
    targets = [(page, link) for page in sorted(site.rglob("*.html")) for link in links(page)]
    assert not [f"{page.name}: {link}" for page, link in targets if not (page.parent / link).exists()]


def links(page):
    """The pages and pictures of the site that a page names."""
    text = re.sub(r"<(iframe|pre)\b.*?</\1>", "", page.read_text(), flags=re.DOTALL)
    found = re.findall(r'<(?:a|img)\b[^>]*?\b(?:href|src)="([^":#?]+)[#?"]', text)
    return {link for link in found if not link.startswith("/")}


@pytest.mark.slow
def test_without_a_network_formulas_are_drawn_and_what_moves_is_there(site):
    browser = shutil.which("chromium") or pytest.skip("needs chromium")
    page = site / "notebooks" / "04_reanalyse.html"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += ["--virtual-time-budget=20000", "--dump-dom", f"file://{page}"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=600).stdout
    assert shown.count("<mjx-container") > 50 and "\\(" not in re.sub(
        r"<(script|iframe)\b.*?</\1>", "", shown, flags=re.S
    )
    assert "<iframe" in shown and 'type="range"' in shown.replace("&quot;", '"').replace("type=range", 'type="range"')
