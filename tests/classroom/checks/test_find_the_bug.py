"""Assignment 6: every patient holds a bug of the gallery, the explainer shows it, and a mended function heals it."""

import functools
import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

from mzu.classroom import build
from mzu.classroom.assignments import ASSIGNMENTS
from mzu.classroom.checks.find_the_bug import DIAGNOSIS, MENDED, QUESTIONS, SICK_PART, WRITTEN, WRONG
from mzu.classroom.notebooks import read_source
from mzu.classroom.patients import batch_of, file_record, learner_step, patient
from mzu.commands.classroom import FOLDER
from mzu.explain import bugs
from mzu.explain.explanation import differing_numbers, explain_position
from mzu.explain.toy import toy_system

SOURCE = FOLDER / "source" / "6_find_the_bug.py"
GALLERY = {
    "P": "backup_unreversed",
    "A": "rewards_misaligned",
    "B": "priorities_misplaced",
    "C": "noise_unread",
    "D": "new_action_recorded",
    "E": "row_leak",
}
QUESTION = {letter: next(one for one in MENDED if one.name == SICK_PART[letter]) for letter in WRONG}
PLACES = [(number, step) for number, episode in enumerate(toy_system().episodes) for step in range(len(episode))]


@functools.cache
def cells() -> dict[str, str]:
    """The source's cells by their names."""
    notebook = read_source(SOURCE)
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


@pytest.mark.parametrize("letter", GALLERY)
def test_a_patient_is_the_gallerys_system_number_by_number(letter):
    handed_out, planted = patient(letter), bugs.planted(GALLERY[letter])
    learner_step(planted)
    for place in PLACES[::3]:
        found = differing_numbers(
            explain_position(handed_out, *place), explain_position(planted, *place), tolerance=1e-6
        )
        assert found == [f"about.system: patient {letter} and the corridor"]


@pytest.mark.parametrize("letter", WRONG)
def test_the_explainer_shows_the_bug_and_after_the_fix_nothing(letter):
    assert bugs.BUGS[GALLERY[letter]].check in flags(patient(letter))
    assert flags(patient(letter, solution(letter))) == {}


@pytest.mark.parametrize("letter", WRONG)
def test_a_part_that_was_right_already_heals_nobody(letter):
    others = [solution(other) for other in WRONG if other != letter]
    assert flags(patient(letter, *others)) == flags(patient(letter))


@pytest.mark.parametrize("letter", WRONG)
def test_the_notebook_does_not_show_what_is_wrong(letter):
    """The shortest way to the bug must be the explainer."""
    handed_out = "\n".join(cell.source for cell in build.student_notebook(SOURCE).cells)
    assert f"def {SICK_PART[letter]}(" in handed_out
    right = cells()[QUESTION[letter].number.replace(".", "-")].splitlines()
    wrong = [line for line in inspect.getsource(WRONG[letter]).splitlines()[1:] if line not in right]
    assert wrong and not [line for line in wrong if line.strip() in handed_out]
    assert WRONG[letter] in QUESTION[letter].mistakes.values()


def test_the_wrong_numbers_can_be_seen_without_the_verdict():
    reward = explain_position(patient("A"), 0, 0).position["reward"]
    assert (reward, file_record(0)["reward"][1]) == (0, np.float32(0.2))
    searched = explain_position(patient("C"), 0, 0)
    candidate = searched.root["candidates"][2]
    first = {row["action"]: row["prior"] for row in searched.simulations[0]["path"][0]["candidates"]}
    assert first[2] == pytest.approx(candidate["pi"]) != pytest.approx(candidate["prior"])
    unrolled = explain_position(patient("D"), 0, 2).loss["steps"][1]
    assert [unrolled["reward"][name] for name in ("predicted", "target")] == pytest.approx([0.5, 0.2])


def test_what_was_written_back_tells_a_mix_up_everywhere_from_a_leak_at_the_ends():
    def differing(system):
        parts = {place: explain_position(system, *place).priority for place in PLACES}
        return [place for place, part in parts.items() if part["now"] != pytest.approx(part["to_the_alpha"])]

    assert differing(patient("B")) == PLACES
    assert differing(patient("E")) == [(0, 9), (0, 10), (2, 0), (2, 1)]
    assert differing(patient("A")) == differing(patient("B", solution("B"))) == []


def test_a_batch_holds_the_positions_that_are_asked_for():
    system = patient("A", solution("A"))
    batch = batch_of(system, *PLACES)
    for row, (number, step) in enumerate(PLACES):
        episode = system.episodes[number]
        assert batch.observations[row] == episode.observations[step]
        assert batch.actions[row, 0] == episode.actions[step] and batch.rewards[row, 0] == episode.rewards[step]


def test_the_leak_of_patient_e_is_what_the_solution_says():
    system = patient("E")
    alone = system.targets(batch_of(system, (2, 1))).values[0]
    assert alone.tolist() == [step["target"] for step in explain_position(system, 2, 1).value_target["steps"]]
    beside = system.targets(batch_of(system, (0, 0), (2, 1))).values[1]
    assert beside - alone == pytest.approx([0.81 * 1.2, 0.81 * 0.8, 0.81 * 1.2])


def test_an_unknown_patient_or_part_is_named():
    with pytest.raises(ValueError, match="no patient 'F'; there are A, B, C, D, E"):
        patient("F")
    with pytest.raises(ValueError, match="no function 'file_record'; there are read, add_noise"):
        patient("A", file_record)


def test_every_patient_has_its_words_its_function_and_a_diagnosis_among_ten():
    assignment = ASSIGNMENTS["6_find_the_bug"]
    assert [question.number for question in assignment.questions] == [f"6.{number}" for number in range(6, 12)]
    assert [question.number for question in WRITTEN] == [f"6.{number}" for number in range(1, 6)]
    assert {question.points for question in (*QUESTIONS, *WRITTEN)} == {2}
    parts = re.findall(r"^\| `(\w+)` \|", read_source(SOURCE).cells[0].source, flags=re.MULTILINE)
    assert len(parts) == 10 and set(SICK_PART.values()) < set(parts)
    for mistaken in DIAGNOSIS.mistakes.values():
        assert {mistaken(letter) for letter in SICK_PART} <= set(parts)


def test_judging_needs_no_tensorflow():
    """Cells that explain are locked, so that a grader does not run them; the others must not import it either."""
    code = [cells()[name] for name in (f"6-{number}" for number in range(6, 12))]
    checks = [f"check('{question.number}', {question.name}, hidden=True)" for question in QUESTIONS]
    program = "\n".join(["import numpy as np", "from mzu.classroom import check", *code, *checks])
    program += "\nimport sys\nassert not {'tensorflow', 'keras'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
