"""A collapse is noticed: far below the best, and surely so."""

from mzu.training.collapse import is_collapse


def test_a_run_that_loses_most_of_its_return_has_collapsed():
    assert is_collapse(100, 150, 450)
    assert not is_collapse(300, 350, 450)  # a third is lost
    assert not is_collapse(100, 400, 450)  # nobody knows: the interval reaches far up


def test_negative_returns_are_compared_by_their_size():
    assert is_collapse(-300, -250, -150)
    assert not is_collapse(-200, -180, -150)
