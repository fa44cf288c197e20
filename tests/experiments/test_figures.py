"""A figure knows of which numbers it was drawn."""

from made_experiments import EXPERIMENT, ROWS

from mzu.experiments.figures import data_digest


def test_a_picture_of_other_numbers_has_another_digest():
    changed = [ROWS[0] | {"mean": 2.0001}, *ROWS[1:]]
    assert data_digest(EXPERIMENT, changed) != data_digest(EXPERIMENT, ROWS)
    slower = [ROWS[0] | {"minutes": 9.0}, *ROWS[1:]]
    assert data_digest(EXPERIMENT, slower) == data_digest(EXPERIMENT, ROWS)
