"""One source makes the student's notebook, the solved one and nbgrader's; always the same bytes."""

import json

import made_assignment
import nbformat
import pytest

from mzu.classroom import build
from mzu.commands import cli


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("assignments")
    source = made_assignment.write_source(folder)
    build.build(source, folder)
    return folder


def cells(path):
    return {cell["id"]: cell for cell in json.loads(path.read_text())["cells"]}


def text(cell):
    return "".join(cell["source"])


def test_the_students_notebook_has_stubs_for_solutions_and_no_hidden_tests_and_no_outputs(built):
    student = cells(built / "9_made.ipynb")
    assert text(student["9-1"]) == (
        'def double(number):\n    """Twice the number."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'
    )
    assert text(student["9-1-check"]) == "assert double(2) == 4"
    assert text(student["9-4-words"]) == "YOUR ANSWER HERE"
    assert not any(cell.get("outputs") for cell in student.values())
    for word in ("SOLUTION", "HIDDEN", "2 * number", "double(3)", "later counts less"):
        assert word not in (built / "9_made.ipynb").read_text()


def test_the_solved_notebook_was_executed_and_keeps_everything(built):
    solved = cells(built / "solutions" / "9_made.ipynb")
    counts = [cell["execution_count"] for cell in solved.values() if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert "2 * number" in text(solved["9-1"]) and "double(3)" in text(solved["9-1-check"])
    assert text(solved["9-4-words"]) == "Because what comes later counts less."


def test_both_are_valid_and_name_no_machine(built):
    for path in (built / "9_made.ipynb", built / "solutions" / "9_made.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert set(notebook.metadata) == {"kernelspec", "language_info"}
        assert notebook.metadata.language_info == {"file_extension": ".py", "name": "python"}


def test_building_again_gives_the_same_bytes(built, tmp_path):
    build.build(built / "source" / "9_made.py", tmp_path)
    for name in ("9_made.ipynb", "solutions/9_made.ipynb"):
        assert (tmp_path / name).read_bytes() == (built / name).read_bytes()


def test_check_finds_what_is_out_of_date(built, tmp_path, capsys):
    def checked():
        status = cli.main(["classroom", "build", "9", "--check", "--folder", str(built)])
        return status, capsys.readouterr().out.strip()

    path, solved = built / "9_made.ipynb", built / "solutions" / "9_made.ipynb"
    good, good_solved = path.read_text(), solved.read_text()
    assert checked() == (0, "9_made: up to date")
    path.write_text(good.replace("Twice the number", "Thrice the number"))
    assert checked() == (1, "9_made: 9_made.ipynb: cell 3 differs in its source")
    path.write_text(
        good.replace('"outputs": []', '"outputs": [{"name": "stdout", "output_type": "stream", "text": "1"}]', 1)
    )
    assert checked() == (1, "9_made: 9_made.ipynb: holds outputs or other things that are not in the source")
    path.write_text(good)
    solved.write_text(good_solved.replace("2 * number", "number + number"))
    assert checked() == (1, "9_made: solutions/9_made.ipynb: cell 3 differs in its source")
    solved.unlink()
    assert checked() == (1, "9_made: solutions/9_made.ipynb: 9_made.ipynb does not exist")
    solved.write_text(good_solved)


def test_a_solution_that_fails_its_check_is_not_written(tmp_path, capsys):
    source = made_assignment.write_source(tmp_path)
    source.write_text(made_assignment.SOURCE.replace("2 * number", "3 * number"))
    assert cli.main(["classroom", "build", "--folder", str(tmp_path)]) == 2
    assert "The solution of 9_made.py fails" in capsys.readouterr().err
    assert not (tmp_path / "9_made.ipynb").exists() and not (tmp_path / "solutions").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    ### END SOLUTION\n", "", "BEGIN SOLUTION stands alone"),
        ("### BEGIN HIDDEN TESTS\n", "", "END HIDDEN TESTS stands alone"),
        ("pass\n", "### BEGIN SOLUTION\npass\n### END SOLUTION\n", "calls none"),
        ("from mzu", "### BEGIN SOLUTION\n### END SOLUTION\nfrom mzu", "needs nbgrader's metadata"),
    ],
)
def test_marks_that_do_not_fit_are_refused(tmp_path, old, new, words):
    source = made_assignment.write_source(tmp_path)
    assert old in made_assignment.SOURCE
    source.write_text(made_assignment.SOURCE.replace(old, new))
    with pytest.raises(ValueError, match=words):
        build.student_notebook(source)


def test_an_unknown_name_and_a_folder_without_sources_are_one_sentence(built, tmp_path, capsys):
    assert cli.main(["classroom", "build", "7_nothing", "--folder", str(built)]) == 2
    assert "No assignment's name begins with '7_nothing'; there are: 9_made" in capsys.readouterr().err
    assert cli.main(["classroom", "build", "--folder", str(tmp_path)]) == 2
    assert "There are no assignments in" in capsys.readouterr().err
