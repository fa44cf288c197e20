"""Spaces that cannot be are refused."""

import pytest

from mzu.environments.spaces import Spaces


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((5, 5), 3), "must be .size,. for states or .height, width, channels. for images"),
        (((0,), 3), "observation_shape is .0,., but"),
        (((5,), 0), "at least one action"),
        (((5,), 2, False, "int64"), "observation_dtype is 'int64'"),
        (((5,), 2, False, "uint8"), "Only images may be uint8"),
    ],
)
def test_impossible_spaces_are_refused_in_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        Spaces(*arguments)
