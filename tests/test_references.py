"""What README, docstrings, notebooks and tutorials point at exists: files, sections, exercises, questions."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mzu.classroom.assignments import ASSIGNMENTS

REPOSITORY = Path(__file__).parent.parent
FOLDERS = ("mzu", "notebooks", "tutorials", "tests", ".ci")
READ = ("mzu", "notebooks", "tutorials", ".ci")  # tests make up names as they need them
# A stored notebook is made from its source, which other tests compare with it.
DOCUMENTS = [REPOSITORY / "README.md", REPOSITORY / "setup.cfg", REPOSITORY / "requirements.txt"]
DOCUMENTS += [path for folder in READ for kind in ("py", "md") for path in (REPOSITORY / folder).rglob(f"*.{kind}")]
NAMES = {path.name for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*")}
NAMES |= {path.name for path in REPOSITORY.iterdir()}
MADE_BY_COMMANDS = {"changes.json", "config.json", "seals.json", "versions.json", "nbgrader_config.py"}
EXAMPLES = {"question 3.6"}  # tutorials/teaching.md shows how to add it
SECTIONS_OF_THE_PAPER = (
    "Introduction", "Related Work", "Reanalyse", "Reanalyse for Data Efficiency",
    "MuZero Unplugged: Offline RL with Reanalyse", "Offline RL and Continuous Action Spaces", "MuZero Implementation",
    "Conclusions", "Network Architecture", "Policy Representation", "Value Learning", "Optimization", "Evaluation",
    "Other Hyperparameters",
)  # fmt: skip

NUMBERS = r"([1-9]\d*\b(?:(?:, | and | to | or )[1-9]\d?\b)*)"
TWO_DIGITS = r"(\d\d(?:(?:, | and | to | or )\d\d)*)\b"
PATH = re.compile(r"(?<![\w./-])((?:mzu|notebooks|tutorials|tests|\.ci)/[\w.*/-]*[\w*])")
NO_PATH = re.compile(r"NAME|N_name|-v\d$")  # placeholders, and names of environments


def prose(document: Path) -> str:
    """A document as one line, without the marks of comments: a reference may be cut by the end of a line."""
    text = re.sub(r"^\s*#+ ", " ", document.read_text(), flags=re.MULTILINE)
    return " ".join(text.split())


def numbers_in(text: str) -> list[int]:
    """The numbers of "1, 2 and 5 to 7"."""
    found: list[int] = []
    for part in re.split(r", | and | or ", text):
        first, *last = map(int, part.split(" to "))
        found += range(first, (last or [first])[0] + 1)
    return found


def headings(path: Path) -> list[str]:
    text = re.sub(r"^# ?", "", path.read_text(), flags=re.MULTILINE) if path.suffix == ".py" else path.read_text()
    return re.findall(r"^#{1,4} (.+)$", text, flags=re.MULTILINE)


def notebook(number: int) -> Path | None:
    return next((REPOSITORY / "notebooks").glob(f"{number:02}_*.py"), None)


def missing_files(text: str, folder: Path) -> Iterator[str]:
    for path in PATH.findall(text):
        if NO_PATH.search(path):
            continue
        if not (any(REPOSITORY.glob(path)) if "*" in path else (REPOSITORY / path).exists()):
            yield path
    for name in re.findall(r"`(\w+\.(?:py|md|ipynb|json|css|js))`", text):
        if name not in NAMES | MADE_BY_COMMANDS and not NO_PATH.search(name):
            yield name


def missing_links(text: str, folder: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([\w./-]+\.(?:md|ipynb|py|png|gif)(?:#[\w-]+)?)\)", text):
        path, _, section = target.partition("#")
        if not (folder / path).exists():
            yield target
        elif section:
            anchors = [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings(folder / path)]
            if section not in anchors:
                yield target


def missing_code(text: str, folder: Path) -> Iterator[str]:
    """Names said to be in a module: `Replay.update` in `mzu/replay/replay.py`."""
    for names, path in re.findall(r"((?:`[\w.]+`(?:, | and | or ))*`[\w.]+`) in `(mzu/[\w/]+\.py)`", text):
        source = (REPOSITORY / path).read_text()
        for name in re.findall(r"[\w.]+", names.replace(" and ", " ").replace(" or ", " ")):
            if not all(
                re.search(rf"^\s*(def|class) {part}\b|^{part} = ", source, re.MULTILINE) for part in name.split(".")
            ):
                yield f"{name} in {path}"


def missing_notebooks(text: str, folder: Path) -> Iterator[str]:
    for cited in re.findall(rf"\bnotebooks? {TWO_DIGITS}", text, flags=re.IGNORECASE):
        yield from (f"notebook {number}" for number in numbers_in(cited) if notebook(number) is None)
    stems = {path.stem for path in (REPOSITORY / "notebooks").glob("*.py")}
    yield from sorted(set(re.findall(r"\b0\d_[a-z_]+\b", text)) - stems)


def missing_sections(text: str, folder: Path) -> Iterator[str]:
    """Sections of notebooks by number, of README and of the paper by name."""
    elsewhere = [(number, cited) for cited, number in re.findall(rf"\bsections? {NUMBERS} of notebook (\d\d)", text)]
    for number, cited in elsewhere + re.findall(rf"\b[Nn]otebook (\d\d), sections? {NUMBERS}", text):
        there = numbered_sections(notebook(int(number)))
        yield from (f"notebook {number}, section {one}" for one in numbers_in(cited) if one not in there)
    known = [*SECTIONS_OF_THE_PAPER, *headings(REPOSITORY / "README.md")]
    for title in re.findall(r'\b(?:section|appendix) "([^"]+)"', text):
        if not any(section.startswith(title) for section in known):
            yield f"section {title!r}"


def missing_choices(text: str, folder: Path) -> Iterator[str]:
    choices = (REPOSITORY / "tutorials" / "deviations_and_choices.md").read_text()
    there = set(map(int, re.findall(r"^(\d+)\. \*\*", choices, flags=re.MULTILINE)))
    for cited in re.findall(rf"\b(?:choices?|item) {NUMBERS}", text):
        yield from (f"choice {number}" for number in numbers_in(cited) if number not in there)


def missing_questions(text: str, folder: Path) -> Iterator[str]:
    there = {one.number for assignment in ASSIGNMENTS.values() for one in (*assignment.questions, *assignment.written)}
    cited = set(re.findall(r"\b[Qq]uestions? ([1-8]\.\d+)", text))
    yield from sorted({f"question {number}" for number in cited - there} - EXAMPLES)
    for cited in re.findall(rf"\b[Aa]ssignments? {NUMBERS}", text):
        yield from (f"assignment {number}" for number in numbers_in(cited) if not 1 <= number <= len(ASSIGNMENTS))


def numbered_sections(path: Path) -> set[int]:
    return {int(number) for heading in headings(path) for number in re.findall(r"^([1-9]\d*)\. ", heading)}


KINDS = (
    missing_files,
    missing_links,
    missing_code,
    missing_notebooks,
    missing_sections,
    missing_choices,
    missing_questions,
)


@pytest.mark.parametrize("missing", KINDS, ids=lambda kind: kind.__name__)
def test_every_reference_leads_somewhere(missing):
    found = {str(path.relative_to(REPOSITORY)): list(missing(prose(path), path.parent)) for path in DOCUMENTS}
    assert not {document: names for document, names in found.items() if names}


@pytest.mark.parametrize("source", sorted((REPOSITORY / "notebooks").glob("[0-9]*.py")), ids=lambda path: path.stem)
def test_a_notebook_and_its_solutions_name_sections_and_exercises_that_it_has(source):
    solutions = REPOSITORY / "tutorials" / "solutions" / f"{source.stem}.md"
    exercises = prose(source).split(" Exercises ")[-1]
    for document in (source, solutions):
        part = rf"(?:[Ss]ections?|[Ee]xercises?) {NUMBERS}"
        text = re.sub(rf"\b[Nn]otebook \d\d, {part}|{part} of notebook \d\d", "", prose(document))
        sections = [number for cited in re.findall(rf"\b[Ss]ections? {NUMBERS}", text) for number in numbers_in(cited)]
        assert set(sections) <= numbered_sections(source), document.name
        for cited in re.findall(rf"\b[Ee]xercises? {NUMBERS}", text):
            for number in numbers_in(cited):
                assert f"{number}. " in exercises, f"{document.name}: exercise {number}"


def test_what_leads_nowhere_is_found():
    """None of the tests above could fail if these did not."""
    text = (
        "`mzu/search/no_such.py`, tutorials/no_such_*.md, `no_such.py`; [a](no_such.md), [b](README.md#no-such-part); "
        'notebooks 03 and 12, 07_no_such; notebook 03, section 99; section "No Such"; choice 999; question 3.99 of '
        "assignment 9; `Replay.update` and `no_such` in `mzu/replay/replay.py`"
    )
    found = {kind.__name__.removeprefix("missing_"): list(kind(text, REPOSITORY)) for kind in KINDS}
    assert found == {
        "files": ["mzu/search/no_such.py", "tutorials/no_such_*.md", "no_such.py"],
        "links": ["no_such.md", "README.md#no-such-part"],
        "code": ["no_such in mzu/replay/replay.py"],
        "notebooks": ["notebook 12", "07_no_such"],
        "sections": ["notebook 03, section 99", "section 'No Such'"],
        "choices": ["choice 999"],
        "questions": ["question 3.99", "assignment 9"],
    }
