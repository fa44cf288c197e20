"""A missing package is named with the extra that brings it."""

import pytest

from mzu import extras


def test_a_missing_package_is_refused_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(extras.EXTRAS, "no_such_package", "control")
    with pytest.raises(ValueError, match=r"DM Control needs no_such_package, .*: pip install 'mzu\[control\]'"):
        extras.require("no_such_package", "DM Control")
    extras.require("pytest", "A test")
