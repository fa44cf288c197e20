"""The text has the numbers of the explanation, fits a terminal, and says in words how a target ends."""

import dataclasses
import itertools
import re

import pytest
from made_systems import KINDS, made_system, positions

from mzu.explain import tables
from mzu.explain.drawing import tree_svg
from mzu.explain.explanation import explain_position
from mzu.explain.prefix import tree_after
from mzu.explain.text import explanation_text, tree_lines
from mzu.explain.wording import number


@pytest.fixture(scope="module", params=KINDS)
def explanation(request):
    return explain_position(made_system(request.param), 0, 3)


@pytest.fixture(scope="module")
def tabular():
    return explain_position(made_system("tabular"), 0, 3)


def headings(text):
    lines = text.splitlines()
    return [above for above, below in itertools.pairwise(lines) if below and set(below) == {"-"}]


def section(text, heading):
    """The lines below a heading, up to the next empty one."""
    return text.split(f"\n{heading}\n", 1)[1].split("\n\n")[0].splitlines()[1:]


def test_every_line_fits_and_no_number_has_more_than_six_digits(explanation):
    text = explanation_text(explanation)
    assert max(map(len, text.splitlines())) <= 100
    for found in re.findall(r"\d+\.\d+", text):
        assert len(found.replace(".", "").lstrip("0")) <= 6, found
    assert "\x1b" not in text


def test_sections_come_in_the_order_of_the_table(explanation):
    found = [heading.split(" (")[0] for heading in headings(explanation_text(explanation)) if heading != "Implausible"]
    simulations = [f"Simulation {number} of 7" for number in (1, 2, 3, 7)]
    assert found == [
        "Position", "Root", *simulations, "Tree", "Result", "Policy target", "Value target", "Priority", "Loss",
        "Change", "Checks that found nothing",
    ]  # fmt: skip


def test_flagged_checks_come_first(tabular):
    flag = {"name": "value target", "flag": True, "says": "z is wrong"}
    text = explanation_text(dataclasses.replace(tabular, checks=[*tabular.checks, flag]))
    assert headings(text)[0] == "Implausible"
    assert "value target: z is wrong" in section(text, "Implausible")
    assert "value target: z is wrong" not in section(text, "Checks that found nothing")


def test_chosen_simulations(tabular):
    def shown(simulations):
        return [line for line in headings(explanation_text(tabular, simulations)) if line.startswith("Simulation")]

    assert shown(range(4, 6)) == ["Simulation 5 of 7", "Simulation 6 of 7"]
    assert shown(range(6, 100)) == ["Simulation 7 of 7"]
    with pytest.raises(ValueError, match=r"had 7 simulations, 0..6; none of them was asked for"):
        shown(range(7, 9))


@pytest.mark.parametrize("kind", KINDS)
def test_z_is_written_as_a_sum_that_is_right(kind):
    system, ends = made_system(kind), set()
    for position in positions(system)[:: 4 if kind == "image" else 1]:
        for entry in explain_position(system, *position).value_target["steps"]:
            words = tables.value_sum(entry, 2)
            ends.add(entry["why"])
            if not entry["mask"]:
                assert words == "z = -" and tables.value_words(entry).endswith("masked")
                continue
            _, *summands, total = words.split(" = ")
            assert float(total) == pytest.approx(entry["target"], rel=1e-5)
            for summed in summands:
                assert eval(summed) == pytest.approx(entry["target"], abs=1e-4)
    if kind != "image":
        assert ends == {
            "bootstrapped from 2 steps later",
            "the episode terminates: no bootstrap",
            "absorbing: past a terminal end nothing happens",
            "truncated: bootstrapped from the last one",
            "past the end of the data: masked",
        }


def test_the_sum_by_hand():
    entry = {
        "mask": 1.0,
        "terms": [{"factor": 1.0, "reward": 1.0}, {"factor": 0.9, "reward": -2.5}],
        "bootstrap": {"factor": 0.81, "value": 10.0, "masked": False},
        "target": 6.85,
        "why": "bootstrapped from 2 steps later",
    }
    assert tables.value_sum(entry, 2) == "z = 1 + 0.9 * (-2.5) + 0.81 * 10 = 6.85"
    assert tables.value_words(entry) == "bootstrapped from 2 steps later, v = 10"
    ended = entry | {"bootstrap": {"factor": 0.81, "value": 10.0, "masked": True}, "target": -1.25}
    assert tables.value_sum(ended, 2) == "z = 1 + 0.9 * (-2.5) = -1.25"
    assert tables.value_sum(entry | {"terms": [], "bootstrap": None}, 0) == "z = 6.85"


def test_the_priority_is_written_with_its_numbers(explanation):
    part = explanation.priority
    distance, powers, probability, weight = tables.priority_lines(explanation)
    assert distance.endswith(f"= {number(part['now'])} now")
    left, right = distance.split("|")[3].split(" - ", 1)
    assert abs(float(left) - float(right.strip("()"))) == pytest.approx(part["now"], abs=1e-4)
    formula, result = probability.split(" = ")[2:]
    assert eval(formula) == pytest.approx(part["probability"], rel=1e-4) and result == number(part["probability"])
    formula, result = weight.split(" = ")[2:]
    assert eval(formula.replace("^", "**")) == pytest.approx(part["weight"], rel=1e-4)
    assert number(part["to_the_alpha"]) in powers


def test_the_loss_table_adds_up(explanation):
    table = tables.loss_table(explanation)
    adds = [place for place, name in enumerate(table.header) if name.endswith("adds")]
    total = sum(float(row[place]) for row in table.rows for place in adds if row[place] != "-")
    assert total == pytest.approx(explanation.loss["unweighted"], rel=1e-3)
    assert [row[0] for row in table.rows] == ["0", "1", "2"]
    assert table.rows[0][table.header.index("reward adds")] == "-"


def test_old_targets_stand_beside_new_ones(explanation):
    lines = section(explanation_text(explanation), "Change")
    assert lines[0].split() == ["the", "replay", "a", "search", "of", "now"]
    values = {line.split("  ")[0].strip(): line.split()[-2:] for line in map(str.strip, lines[1:-1])}
    change = explanation.change
    assert values["z"] == [number(change[f"{age}_value_target"], 4) for age in ("old", "new")]
    assert lines[-1] == f"policies differ by {number(change['total_variation'], 4)} (total variation)"


def test_the_chosen_candidate_of_every_node_is_shown(explanation):
    for simulation in explanation.simulations:
        rows = tables.path_table(simulation).rows
        chosen = [row for row in rows if "chosen" in row[-1]]
        assert len(chosen) == len(simulation["path"])
        assert [row[0] for row in rows if row[0]] == [str(step["node"]) for step in simulation["path"]]
        best = [max(candidate["score"] for candidate in step["candidates"]) for step in simulation["path"]]
        assert [float(row[7]) for row in chosen] == pytest.approx(best, rel=1e-3)


def test_a_choice_that_was_not_the_best_is_shown_too():
    rows = [{"candidate": place, "action": place, "prior": 0.1, "visits": 0} for place in range(9)]
    scores = [row | {"value_term": 0.0, "prior_term": 0.0, "score": -row["candidate"]} for row in rows]
    table = tables.path_table({"path": [{"node": 0, "visits": 3, "chosen": 8, "candidates": scores}]})
    assert [row[2] for row in table.rows] == ["0", "1", "2", "3", "8"]
    assert table.rows[-1][-1] == "chosen  +4 more"


def test_the_tree_in_words(explanation):
    whole, size = tree_lines(explanation, depth=10, children=10), sum(map(bool, tree_after(explanation).visits))
    assert sum("visits" in line for line in whole) == size >= 8  # what was evaluated first is there once it was passed
    assert whole[0].startswith(f"root: visits 8, value {number(explanation.result['value'], 4)} ")
    assert tree_lines(explanation, 0) == [tree_lines(explanation, 0)[0]]
    shallow = tree_lines(explanation, depth=1)
    below = [int(line.split("… ")[1].split()[0]) for line in shallow if "…" in line]
    assert sum("visits" in line for line in shallow) + sum(below) == size
    narrow = tree_lines(explanation, depth=10, children=1)
    assert all("└─" in line or "├─" in line for line in narrow[1:])
    children = [edge for edge in explanation.tree["edges"][0] if edge["visits"]]
    if len(children) > 1:
        assert f"└─ +{len(children) - 1} more visited" in narrow[-1]


def test_a_position_without_search_or_replay_says_so():
    system = made_system("discrete", "learning.policy_loss=behaviour_cloning")
    text = explanation_text(explain_position(dataclasses.replace(system, replay=None), 0, 3))
    assert section(text, "Search") == ["Nothing is searched: the stored actions are learned."]
    assert section(text, "Priority") == ["The replay does not hold this position."]
    assert "Change" not in headings(text)


@pytest.mark.parametrize("setting", ["search.normaliser=siblings", "search.selection=gumbel"])
def test_values_that_are_normalised_among_siblings_are_not_said_to_be_by_a_range_of_the_tree(setting):
    explanation = explain_position(made_system("discrete", setting), 0, 3)
    assert tables.bounds_words(explanation, explanation.simulations[-1]) == (
        "values are normalised among the candidates of each node"
    )


def test_a_search_of_one_step_does_not_count_simulations():
    explanation = explain_position(made_system("gaussian", "search.improvement=one_step"), 0, 3)
    picture = tree_svg(explanation)
    assert "without simulations" in picture and "0 of 0" not in picture
