"""What the tests of formats share: the equality of two mechanisms, part by part and to the last digit."""

from dataclasses import fields

import numpy as np
import pytest

PARTS = ("bodies", "joints", "frames", "actuators", "springs", "wrenches", "forces")


def assert_same(a, b):
    """Two mechanisms hold the same parts in the same order, with the same numbers."""
    assert a.name == b.name
    np.testing.assert_array_equal(a.gravity, b.gravity)
    for what in PARTS:
        ours, theirs = getattr(a, what), getattr(b, what)
        assert list(ours) == list(theirs)
        for name, part in ours.items():
            assert_same_part(part, theirs[name])
    for what in ("q", "v"):
        ours, theirs = getattr(a.initial, what), getattr(b.initial, what)
        assert list(ours) == list(theirs)
        for name, value in ours.items():
            np.testing.assert_array_equal(value, theirs[name])


def assert_same_part(a, b):
    assert type(a) is type(b)
    for field in fields(a):
        ours, theirs = getattr(a, field.name), getattr(b, field.name)
        if isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{a.name}: {field.name}")
        else:
            assert ours == theirs, f"{a.name}: {field.name}"


@pytest.fixture(scope="session")
def same():
    """`assert_same`, as a function of two mechanisms."""
    return assert_same
