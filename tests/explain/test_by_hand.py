"""Two rooms on a sheet of paper: every number of one explanation, worked out by hand.

    room 0   rest -> room 0, reward 0     go -> room 1, reward 1      policy 0.6, 0.4   value 2   target network 1
    room 1   rest -> room 1, reward 0     go -> outside, reward 4     policy 0.2, 0.8   value 2   target network 3
    outside  both -> outside, reward 0                                policy 0.6, 0.4   value 0   target network 1

The episode goes twice: rewards 1 and 4, then it terminates. Three simulations, discount 1/2, no noise, unroll 1, TD-1.
score = value term + prior * sqrt(N) / (1 + n), since puct_init is 1 and puct_base so large that its logarithm vanishes.
"""

import math

import pytest

from mzu.explain.explanation import explain_position
from mzu.explain.toy import two_rooms

REST, GO = 0, 1
ROOT_2, ROOT_3 = math.sqrt(2), math.sqrt(3)


@pytest.fixture(scope="module")
def system():
    return two_rooms()


@pytest.fixture(scope="module")
def explanation(system):
    return explain_position(system, episode=0, step=0)


def close(number):
    return pytest.approx(number, abs=1e-6)


def scores(step):
    """(visits, value term, prior term) of rest and go at one node of a path."""
    return [(row["visits"], row["value_term"], row["prior_term"]) for row in step["candidates"]]


def backups(simulation):
    """(node, reward, return, visits, mean value) from the leaf's parent up to the root."""
    return [tuple(row[key] for key in ("node", "reward", "return", "visits", "value")) for row in simulation["backup"]]


def test_the_root_has_the_policy_as_its_priors(explanation):
    root = explanation.root
    assert root["raw_value"] == 2.0
    assert [row["proposed"] for row in root["candidates"]] == close([0.6, 0.4])
    # No noise: fraction 0.
    assert [row["prior"] for row in root["candidates"]] == close([0.6, 0.4])
    assert [row["searched_prior"] for row in root["candidates"]] == close([0.6, 0.4])


def test_the_first_simulation_follows_the_prior(explanation):
    first = explanation.simulations[0]
    # N = 1 at the root: 0.6 * 1 / 1 and 0.4 * 1 / 1. No value has been seen.
    assert first["bounds"] is None
    (step,) = first["path"]
    assert (step["node"], step["visits"], step["chosen"]) == (0, 1, REST)
    assert scores(step) == [(0, 0, close(0.6)), (0, 0, close(0.4))]
    # Rest leads back to room 0: reward 0, value 2.
    assert (first["leaf"]["reward"], first["leaf"]["value"]) == (0, 2)
    # G = 0 + 1/2 * 2 = 1; the root's mean of 2 and 1 is 1.5. q = 0 + 1/2 * 2 = 1 is the first value in the tree.
    assert backups(first) == [(0, 0, 1, 2, 1.5)]


def test_the_second_simulation_takes_a_value_that_nothing_normalises_yet(explanation):
    second = explanation.simulations[1]
    assert second["bounds"] == [1, 1]
    at_root, at_child = second["path"]
    # N = 2. Rest: q = 1 as it is, since the range is one number; prior 0.6 * sqrt(2) / 2. Go: 0 and 0.4 * sqrt(2) / 1.
    assert scores(at_root) == [(1, 1, close(0.3 * ROOT_2)), (0, 0, close(0.4 * ROOT_2))]
    assert [row["score"] for row in at_root["candidates"]] == [close(1.424264), close(0.565685)]
    assert (at_root["chosen"], at_child["node"], at_child["chosen"]) == (REST, 1, REST)
    assert scores(at_child) == [(0, 0, close(0.6)), (0, 0, close(0.4))]
    # From below: node 1 gets 0 + 1/2 * 2 = 1, mean of 2 and 1. The root gets 0 + 1/2 * 1 = 0.5, mean of 2, 1 and 0.5.
    assert backups(second) == [(1, 0, 1, 2, 1.5), (0, 0, 0.5, 3, close(3.5 / 3))]


def test_the_third_simulation_goes_because_resting_has_become_the_lowest_value(explanation):
    third = explanation.simulations[2]
    # After the second, rest is worth 0 + 1/2 * 1.5 = 0.75: the range is 0.75 .. 1.
    assert third["bounds"] == [0.75, 1]
    (step,) = third["path"]
    # N = 3. Rest: (0.75 - 0.75) / 0.25 = 0 and 0.6 * sqrt(3) / 3. Go: 0 and 0.4 * sqrt(3).
    assert scores(step) == [(2, 0, close(0.2 * ROOT_3)), (0, 0, close(0.4 * ROOT_3))]
    assert step["chosen"] == GO
    # Go leads to room 1: reward 1, value 2, policy 0.2 and 0.8.
    assert (third["leaf"]["reward"], third["leaf"]["value"]) == (1, 2)
    assert [row["prior"] for row in third["leaf"]["policy"]] == close([0.2, 0.8])
    # G = 1 + 1/2 * 2 = 2; the mean of 2, 1, 0.5 and 2 is 5.5 / 4.
    assert backups(third) == [(0, 1, 2, 4, 1.375)]


def test_the_visits_become_the_policy_target(explanation):
    assert explanation.result["visits"] == [2, 1]
    assert explanation.result["policy"] == close([2 / 3, 1 / 3])
    assert explanation.result["value"] == 1.375
    now, next_ = explanation.policy_target["steps"]
    assert now["weights"] == close([2 / 3, 1 / 3])
    assert next_["weights"] == [0, 1]  # in room 1 all three simulations go


def test_the_value_target_is_one_reward_and_the_target_network(explanation):
    now, next_ = explanation.value_target["steps"]
    # z_0 = 1 + 1/2 * 3, the target network's value of room 1.
    assert [term["product"] for term in now["terms"]] == [1]
    assert (now["bootstrap"]["factor"], now["bootstrap"]["value"], now["bootstrap"]["product"]) == (0.5, 3, 1.5)
    assert now["total"] == now["target"] == 2.5
    # z_1 = 4: it terminates, and what the target network says of the outside (1) does not count.
    assert (next_["bootstrap"]["masked"], next_["bootstrap"]["value"], next_["bootstrap"]["product"]) == (True, 1, 0)
    assert next_["total"] == next_["target"] == 4


def test_the_priority_is_the_distance_between_search_and_target(system, explanation):
    # Room 1, three simulations that go: 2, then 4 + 1/2 * 0 each time; (2 + 4 + 4 + 4) / 4 = 3.5.
    assert explain_position(system, 0, 1).result["value"] == 3.5
    # When the piece was finished, z was bootstrapped from these: p_0 = |1.375 - (1 + 3.5 / 2)|, p_1 = |3.5 - 4|.
    priority = explanation.priority
    assert priority["to_the_alpha"] == close(1.375)
    assert priority["total"] == close(1.375 + 0.5)
    assert priority["positions"] == 2
    # P = 0.8 * 1.375 / 1.875 + 0.2 / 2 = 0.686667; weight = 1 / (2 P).
    assert priority["probability"] == close(0.686667)
    assert priority["weight"] == close(0.728155)
    # With the target network in place of the search: |1.375 - 2.5|.
    assert priority["now"] == close(1.125)


def test_the_loss_is_cross_entropy_and_squared_errors(explanation):
    loss = explanation.loss
    now, next_ = loss["steps"]
    # -(2/3 ln 0.6 + 1/3 ln 0.4) = 0.340550 + 0.305430; the value is 2 and should be 2.5: (h(2) - h(2.5))^2, and
    # h(2) = sqrt(3) - 1 + 0.002 = 0.734051, h(2.5) = sqrt(3.5) - 1 + 0.0025 = 0.873329.
    assert now["adds"] == {"policy": close(0.645981), "value": close(0.019398)}
    # Unrolled by the stored action into room 1: -ln 0.8; value 2, should be 4, h(4) = 1.240068; the reward 1 is right.
    assert next_["adds"] == {"policy": close(0.223144), "value": close(0.256053), "reward": 0}
    assert loss["unweighted"] == close(0.645981 + 0.019398 + 0.223144 + 0.256053)
    # 1.144576 in all, times the weight 0.728155.
    assert loss["total"] == pytest.approx(0.833429, abs=1e-5)


def test_nothing_about_it_is_implausible(system):
    assert not explain_position(system, 0, 0).flags
    assert not explain_position(system, 0, 1).flags
