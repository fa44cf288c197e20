"""Builds the executed notebooks, tutorials and the API page into a static site that needs no network.

    pip install -e '.[site]'
    python .ci/build_site.py                  # into build/site; open build/site/index.html
    python .ci/build_site.py --out FOLDER

It reads the files as they are stored and executes nothing. In the end it looks through the pages for whatever a browser
would fetch from elsewhere, and fails where it finds something. jupyter-book may live in another environment than mzu.
"""

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
OUT = REPOSITORY / "build" / "site"
# The parts of the navigation. A pattern stands for all pages that match it, but for those that an earlier one has, or
# that stand elsewhere by name.
NAVIGATION = {
    "Begin": ["tutorials/quickstart.md", "tutorials/api.md", "tutorials/muzero_unplugged.py"],
    "The course": ["notebooks/README.md", "notebooks/[0-9]*.ipynb"],
    "Solutions": ["tutorials/solutions/*.md"],
    "Understand a run": [
        "tutorials/my_run_does_not_learn.md", "tutorials/verdict.md", "tutorials/debug_reanalyse_targets.md",
        "tutorials/model_report.md", "tutorials/offline_judgement.md", "tutorials/metrics.md",
        "tutorials/reliability.md",
    ],
    "Your own": ["tutorials/your_own_environment.md", "tutorials/your_own_dataset.md"],
    "How it works": [
        "tutorials/reading_the_code.md", "tutorials/networks.md", "tutorials/environments.md", "tutorials/data.md",
        "tutorials/deviations_and_choices.md",
    ],
    "What was measured": ["tutorials/results.md", "tutorials/steady_learning.md"],
    "Teaching": [
        "tutorials/teaching.md", "tutorials/teaching/*.md", "tutorials/assignments/README.md",
        "tutorials/assignments/[0-9]*.ipynb",
        "tutorials/assignments/final_project.md",
    ],
    "More": ["tutorials/**/*.md"],  # what has no place of its own yet
}  # fmt: skip
LEFT_OUT = ("tutorials/assignments/solutions/", "tutorials/exam_solutions.md")  # given out by the teacher, if at all
FRONT = "README.md"
TITLES = {"notebooks/README.md": "The course", "tutorials/assignments/README.md": "Assignments"}
STATIC = "site_files"  # not _static: jupyter-book would load all of its programs, and MathJax twice
CONFIG = {
    "title": "mzu",
    "author": "the authors of mzu",
    "copyright": "",
    "execute": {"execute_notebooks": "off"},
    "only_build_toc_files": True,
    "html": {"use_issues_button": False, "use_repository_button": False, "use_edit_page_button": False},
    "launch_buttons": {"thebe": False, "notebook_interface": "classic"},
    "parse": {
        "myst_enable_extensions": ["dollarmath", "amsmath", "html_image"], "myst_url_schemes": ["http", "https"],
    },
    "sphinx": {
        "config": {
            "html_theme_options": {
                "show_navbar_depth": 1, "search_bar_text": "Search", "navigation_with_keys": False,
                "navbar_start": [], "navbar_center": [], "navbar_end": [], "navbar_persistent": [],
                "use_download_button": False,
            },
            "highlight_language": "none",
            "html_static_path": [STATIC],
            "html_css_files": ["site.css"],
            "html_context": {"default_mode": "auto"},
            "mathjax_path": "tex-svg.js",
            "mathjax_options": {},
            "nb_ipywidgets_js": {},
            "suppress_warnings": ["myst.header", "mystnb.unknown_mime_type"],
            "myst_heading_anchors": 4,
            "numfig": False,
        }
    },
}  # fmt: skip
STYLE = REPOSITORY / ".ci" / "site.css"
# What a browser would fetch while it shows a page: not the links that a reader may click.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|icon|preconnect|modulepreload))[^>]*?\bhref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|url\(["']?((?:https?:)?//[^"')]+)|@import\s+["']((?:https?:)?//[^"']+)""",
    re.IGNORECASE,
)


def pages() -> dict[str, list[str]]:
    """The pages {part: [paths in the repository]}, in the order of the navigation."""
    named = {page for patterns in NAVIGATION.values() for page in patterns}
    found: dict[str, list[str]] = {}
    for part, patterns in NAVIGATION.items():
        found[part] = []
        for pattern in patterns:
            matching = [path.relative_to(REPOSITORY).as_posix() for path in sorted(REPOSITORY.glob(pattern))]
            taken = named.union(*found.values())
            matching = [page for page in matching if not page.startswith(LEFT_OUT)]
            found[part] += [page for page in matching if page == pattern or page not in taken]
    return found


def gather(folder: Path) -> None:
    """Copies the pages and the pictures beside them to `folder`, with what jupyter-book wants to know."""
    every = [page for part in pages().values() for page in part]
    for page in (FRONT, *every):
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if page.endswith(".ipynb"):
            target.write_text(json.dumps(folded(json.loads((REPOSITORY / page).read_text()))))
        elif page.endswith(".py"):
            target.with_suffix(".md").write_text(as_page(REPOSITORY / page))
        else:
            target.write_text(linked((REPOSITORY / page).read_text(), page, every))
    for pictures in ("notebooks/pictures", "tutorials/pictures"):
        shutil.copytree(REPOSITORY / pictures, folder / pictures)
    for file in REPOSITORY.glob("tutorials/*.csv"):
        shutil.copy(file, folder / "tutorials")
    (folder / STATIC).mkdir()
    shutil.copy(STYLE, folder / STATIC)
    shutil.copy(mathjax(), folder / STATIC)
    (folder / "_config.yml").write_text(json.dumps(CONFIG))  # JSON is YAML
    (folder / "_toc.yml").write_text(json.dumps(table_of_contents()))


def table_of_contents() -> dict:
    def chapter(page: str) -> dict:
        title = TITLES.get(page) or (f"Notebook {Path(page).stem[:2]}" if "/solutions/" in page else None)
        return {"file": str(Path(page).with_suffix(""))} | ({"title": title} if title else {})

    parts = [{"caption": part, "chapters": list(map(chapter, listed))} for part, listed in pages().items() if listed]
    return {"format": "jb-book", "root": str(Path(FRONT).with_suffix("")), "parts": parts}


def linked(text: str, page: str, every: list[str]) -> str:
    """The text of a page with links from the names of other pages, such as `tutorials/quickstart.md`, to these."""

    def link(match: re.Match) -> str:
        name = "notebooks/README.md" if match[1] == "notebooks/" else match[1]
        if name not in every or name == page:
            return match[0]
        target = Path(name).with_suffix(".md" if name.endswith(".py") else Path(name).suffix)
        return f"[{match[0]}]({os.path.relpath(target, Path(page).parent)})"

    return re.sub(r"(?<![\[`])`((?:notebooks|tutorials)/[\w./]*)`(?![\]`])", link, text)


def folded(notebook: dict) -> dict:
    """The notebook with the tags by which jupyter-book folds what JupyterLab folds."""
    for cell in notebook["cells"]:
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            cell["metadata"].setdefault("tags", []).append("hide-input")
    return notebook


def as_page(program: Path) -> str:
    """A program as a page: its first line, and all of it as code."""
    text = program.read_text()
    return f"# The algorithm in one file\n\n`{program.relative_to(REPOSITORY)}`\n\n```python\n{text}```\n"


def mathjax() -> Path:
    """The one file of MathJax that draws TeX without fonts or anything else, out of a package that has all of it."""
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if package is None:
        raise SystemExit("sphinx-mathjax-offline is missing: pip install -e '.[site]'")
    return Path(package.origin).parent / "static" / "mathjax" / "tex-svg.js"


def without_thebe(folder: Path) -> None:
    """Takes the settings of a program out that runs cells elsewhere: the pages have them twice, which is an error."""
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r"<script>const THEBE_JS_URL.*?</script>", "", text), encoding="utf-8")


def fetched(folder: Path) -> list[str]:
    """A line for each place where a page or a style sheet makes a browser fetch something from elsewhere."""
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".html", ".css")):
        for match in FETCHED.finditer(file.read_text(encoding="utf-8")):
            found.append(f"{file.relative_to(folder)}: {next(filter(None, match.groups()))}")
    return found


def build(out: Path) -> int:
    """Builds into `out`, which is replaced -> exit status."""
    if importlib.util.find_spec("jupyter_book") is None:
        raise SystemExit("jupyter-book is missing: pip install -e '.[site]'")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".site-", dir=out.parent) as temporary:
        sources = Path(temporary) / "sources"
        gather(sources)
        command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
        done = subprocess.run([*command, "build", str(sources), "--path-output", temporary, "-q"], check=False)
        if done.returncode:
            return done.returncode
        html = Path(temporary) / "_build" / "html"
        without_thebe(html)
        if found := fetched(html):
            print("The pages fetch from elsewhere:", *found, sep="\n", file=sys.stderr)
            return 1
        shutil.rmtree(out, ignore_errors=True)
        html.rename(out)
    print(f"{out / 'index.html'}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="(default build/site) is replaced")
    return build(parser.parse_args().out.resolve())


if __name__ == "__main__":
    sys.exit(main())
