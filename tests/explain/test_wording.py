"""Numbers and actions in words."""

from mzu.explain.wording import action_name, number


def test_numbers_and_actions():
    assert [number(value) for value in (None, -0.0, 1.0, 1 / 3, 1234567.0)] == [
        "-",
        "0",
        "1",
        "0.333333",
        "1.23457e+06",
    ]
    assert action_name(2000) == "2000" and action_name([0.25]) == "0.25" and action_name([0.25, -1.0]) == "(0.25, -1)"
