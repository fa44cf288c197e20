"""An id that is no environment is answered in a sentence."""

import pytest

from mzu.environments.make import make


@pytest.mark.parametrize(
    "id, options, sentence",
    [
        ("CartPol-v1", {}, "no environment 'CartPol-v1'; did you mean 'CartPole-v1'"),
        ("nothing", {}, "ids look like"),
        ("nothing:else", {}, "the module nothing, which Python does not find"),
        ("CartPole-v77", {}, "CartPole-v1"),
        ("catch", {"raws": 3}, "does not understand the options raws"),
        ("catch", {"rows": 1}, "at least 2"),
        ("point", {"dimensions": 7}, "must have 1..6"),
        ("chain", {"length": 2}, "at least 3"),
        ("identity", {"kind": "other"}, "must be 'discrete', 'image' or 'continuous'"),
        (3, {}, "neither an id nor a gymnasium.Env"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence(id, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(id, **options)
