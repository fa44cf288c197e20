"""Where episodes begin, against resets: columns in another order or unit."""

from types import SimpleNamespace

import numpy as np

from mzu.environments.spaces import Spaces
from mzu.episodes.doctor.first_observations import Reading, begins_elsewhere, number_names, readings


def world(**sizes):
    made = SimpleNamespace(spaces=Spaces((3,), 2), sizes=sizes)
    made.unheld = made
    return made


def drawn(count, seed):
    """An angle, a speed that begins at 0, a height of 1.3."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.uniform(-1, 1, count), np.zeros(count), np.full(count, 1.3)], axis=1)


def test_what_is_drawn_alike_does_not_begin_elsewhere():
    for count in (1, 5, 400):
        assert not begins_elsewhere(drawn(count, 1), drawn(64, 2)).any()


def test_swapped_columns_are_found_and_put_right():
    swapped = drawn(40, 1)[:, [0, 2, 1]]
    assert begins_elsewhere(swapped, drawn(64, 2)).tolist() == [False, True, True]
    (found,) = readings(world(), swapped, drawn(64, 2))
    assert found.order.tolist() == [0, 2, 1]
    assert "number 2 holds number 1, number 1 holds number 2" in found.words
    assert np.allclose(found.read(swapped), drawn(40, 1))


def test_parts_in_another_order_are_named():
    environment = world(angle=1, speed=1, height=1)
    found = next(readings(environment, drawn(40, 1)[:, [2, 0, 1]], drawn(64, 2)))
    assert found.words == "the data have the parts in the order height, angle, speed"
    assert np.allclose(found.read(drawn(40, 1)[:, [2, 0, 1]]), drawn(40, 1))
    assert number_names(environment)[1] == "speed (number 1)"


def test_degrees_are_told_from_radians():
    degrees = drawn(40, 1) * [180 / np.pi, 1, 1]
    (found,) = readings(world(), degrees, drawn(64, 2))
    assert found.words == "another unit: number 0 is degrees instead of radians"
    assert np.allclose(found.read(degrees), drawn(40, 1), atol=1e-6)


def test_what_nothing_explains_is_not_explained():
    assert list(readings(world(), drawn(40, 1) + np.array([0, 0, 0.77]), drawn(64, 2))) == []


def test_a_reading_is_applied_to_the_last_axis():
    reading = Reading("", np.array([1, 0]), np.array([2.0, 1.0]))
    assert reading.read(np.array([[3.0, 4.0]])).tolist() == [[8.0, 3.0]]
