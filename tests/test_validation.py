"""What is taken for a number, a word or a list at the public edge, and what is not."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from catena.validation import (
    entries,
    is_count,
    is_finite,
    is_not_negative,
    is_one_of,
    is_positive,
    real_array,
    real_number,
    shown,
)


class Odd:
    """Pretends to be a number and fails at it."""

    def __float__(self):
        raise KeyError("no number")

    def __array__(self, *_, **__):
        raise IndexError("no array")

    def __repr__(self):
        raise RuntimeError("no words")


def itself():
    x = []
    x.append(x)
    return x


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, 3.0), (True, 1.0), ([1, 2.5], [1.0, 2.5]), (range(3), [0.0, 1.0, 2.0]), (np.float32(0.5), 0.5),
        (np.arange(3, dtype=">i4"), [0.0, 1.0, 2.0]), ([Fraction(1, 2), Decimal("0.25")], [0.5, 0.25]), ([], []),
        (np.zeros((0, 3)), np.zeros((0, 3))), (np.inf, np.inf),
    ],
)  # fmt: skip
def test_numbers_become_an_array_of_floats(given, expected):
    found = real_array(given)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


def test_an_array_of_floats_is_taken_as_it_is():
    x = np.ones(3)
    assert real_array(x) is x


def test_none_in_a_row_is_not_a_number():
    np.testing.assert_array_equal(real_array([1.0, None]), [1.0, np.nan])


NO_NUMBERS = [
    1j, np.complex128(2.0), np.zeros(3, dtype=complex), [1.0, 1j], np.array([1j], dtype=object), "1.0", ["1", "2"],
    np.array(["a"]), b"1", [[1, 2], [3]], [1, [2]], {}, {"a": 1}, {1, 2}, object(), Odd(), [Odd()], itself(), int,
    np.zeros(2, dtype="datetime64[s]"), np.zeros(2, dtype=[("a", float)]), 10**400, [10**400], (x for x in [1.0]),
]  # fmt: skip


@pytest.mark.parametrize("given", NO_NUMBERS, ids=[type(x).__name__ for x in NO_NUMBERS])
def test_what_is_no_array_of_real_numbers_is_said_to_be_none(given):
    with pytest.raises(ValueError, match="."):
        real_array(given)
    with pytest.raises(ValueError, match="."):
        real_number(given)
    assert not is_finite(given) and not is_positive(given) and not is_not_negative(given)


def test_one_number():
    assert real_number(3) == 3.0 and real_number(np.array(2)) == 2.0 and np.isnan(real_number(np.nan))
    with pytest.raises(ValueError, match=r"it has shape \(1,\)"):
        real_number([1.0])


def test_kinds_of_numbers():
    assert is_finite(-3) and is_finite(np.float64(0.0)) and not is_finite(np.nan) and not is_finite(np.inf)
    assert is_positive(1e-300) and not is_positive(0) and not is_positive(np.ones(1))
    assert is_not_negative(0) and not is_not_negative(-1e-300)
    assert (
        is_count(0)
        and is_count(np.int64(3))
        and not is_count(True)
        and not is_count(1.0)
        and not is_count(-1)
    )


def test_words_and_lists():
    assert (
        is_one_of("a", ("a", "b")) and not is_one_of(np.array("a"), ("a",)) and not is_one_of(["a"], ("a",))
    )
    assert entries("ab") == ("ab",) and entries(["a", "b"]) == ("a", "b") and entries({"a": 1}) == ("a",)
    for nothing in (None, 3, b"ab", np.array(1.0)):
        with pytest.raises(ValueError, match="."):
            entries(nothing)


def test_everything_can_be_shown():
    assert shown([1, 2]) == "[1, 2]"
    assert shown(Odd()) == "a Odd" and shown(10**5000) == "a int"
    assert len(shown("x" * 10_000)) < 300
