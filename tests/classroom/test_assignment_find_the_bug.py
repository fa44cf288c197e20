"""Assignment 6: every patient holds a bug of the gallery, the explainer shows it, and a mended function heals it."""

import functools
import inspect
import subprocess
import sys

import numpy as np
import pytest

from mzu.classroom.assignments import ASSIGNMENTS
from mzu.classroom.checks.find_the_bug import QUESTIONS, WRITTEN, WRONG
from mzu.classroom.command import FOLDER
from mzu.classroom.notebooks import read_source
from mzu.classroom.patients import file_record, learner_step, patient
from mzu.explain import bugs
from mzu.explain.explanation import difference, explain_position
from mzu.explain.toy import toy_system

GALLERY = {
    "A": "rewards_misaligned",
    "B": "noise_unread",
    "C": "new_action_recorded",
    "D": "priorities_misplaced",
    "E": "row_leak",
}
QUESTION = dict(zip(WRONG, QUESTIONS, strict=True))
PLACES = [(number, step) for number, episode in enumerate(toy_system().episodes) for step in range(len(episode))]


@functools.cache
def cells() -> dict[str, str]:
    """The source's cells by their names."""
    notebook = read_source(FOLDER / "source" / "6_find_the_bug.py")
    found = {cell.metadata["nbgrader"]["grade_id"]: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    return {name: cell.source for name, cell in found.items()}


def solution(letter: str):
    """The function of the source's solution."""
    names = {"np": np}
    exec(cells()[QUESTION[letter].number.replace(".", "-")], names)
    return names[QUESTION[letter].name]


def flags(system) -> dict[str, int]:
    """At how many positions each check finds something."""
    found = [flag["name"] for place in PLACES for flag in explain_position(system, *place).flags]
    return {name: found.count(name) for name in found}


@pytest.mark.parametrize("letter", WRONG)
def test_a_patient_is_the_gallerys_system_number_by_number(letter):
    handed_out, planted = patient(letter), bugs.planted(GALLERY[letter])
    if letter == "D":
        learner_step(planted)
    for place in PLACES[::3]:
        found = difference(explain_position(handed_out, *place), explain_position(planted, *place))
        assert found == [f"about.system: patient {letter} and the corridor"]


@pytest.mark.parametrize("letter", WRONG)
def test_the_explainer_shows_the_bug_and_after_the_fix_nothing(letter):
    assert bugs.BUGS[GALLERY[letter]].check in flags(patient(letter))
    assert flags(patient(letter, solution(letter))) == {}


@pytest.mark.parametrize("letter", WRONG)
def test_the_notebook_shows_the_function_that_the_patient_uses(letter):
    assert cells()[f"6-{letter}-wrong"] == inspect.getsource(WRONG[letter]).rstrip()
    assert WRONG[letter] in QUESTION[letter].mistakes.values()


def test_the_wrong_numbers_can_be_seen_without_the_verdict():
    reward = explain_position(patient("A"), 0, 0).position["reward"]
    assert (reward, file_record(0)["reward"][1]) == (0, np.float32(0.2))
    searched = explain_position(patient("B"), 0, 0)
    candidate = searched.root["candidates"][2]
    first = {row["action"]: row["prior"] for row in searched.simulations[0]["path"][0]["candidates"]}
    assert first[2] == pytest.approx(candidate["pi"]) != pytest.approx(candidate["prior"])
    unrolled = explain_position(patient("C"), 0, 2).loss["steps"][1]
    assert [unrolled["reward"][name] for name in ("predicted", "target")] == pytest.approx([0.5, 0.2])
    for step in range(4):
        priority = explain_position(patient("D"), 0, step).priority
        assert priority["now"] != pytest.approx(priority["to_the_alpha"], rel=0.5)
        priority = explain_position(patient("D", solution("D")), 0, step).priority
        assert priority["now"] == pytest.approx(priority["to_the_alpha"])


def test_the_leak_of_patient_e_is_what_the_notebook_says():
    system = patient("E")
    alone = system.targets(system.replay.at(np.array([21]), np.random.default_rng(0))).values[0]
    assert alone.tolist() == [step["target"] for step in explain_position(system, 2, 1).value_target["steps"]]
    beside = system.targets(system.replay.at(np.array([0, 21]), np.random.default_rng(0))).values[1]
    assert beside - alone == pytest.approx([0.81 * 1.2, 0.81 * 0.8, 0.81 * 1.2])


def test_an_unknown_patient_is_named():
    with pytest.raises(ValueError, match="no patient 'F'; there are A, B, C, D, E"):
        patient("F")


def test_every_function_has_its_words_and_each_patient_four_points():
    assignment = ASSIGNMENTS["6_find_the_bug"]
    assert [question.number for question in assignment.questions] == ["6.1", "6.3", "6.5", "6.7", "6.9"]
    assert [question.number for question in WRITTEN] == ["6.2", "6.4", "6.6", "6.8", "6.10"]
    assert {question.points for question in (*QUESTIONS, *WRITTEN)} == {2}
    assert {f"{question.number.replace('.', '-')}-words" for question in WRITTEN} <= cells().keys()


def test_judging_needs_no_tensorflow():
    """Cells that explain are locked, so that a grader does not run them; the others must not import it either."""
    code = [cells()[name] for name in ("6-1", "6-3", "6-5", "6-7", "6-9")]
    checks = [f"check('{question.number}', {question.name}, hidden=True)" for question in QUESTIONS]
    program = "\n".join(["import numpy as np", "from mzu.classroom import check", *code, *checks])
    program += "\nimport sys\nassert not {'tensorflow', 'keras'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
