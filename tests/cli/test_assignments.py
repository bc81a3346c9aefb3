"""Values of joints as they are typed."""

from argparse import ArgumentTypeError
from math import pi

import pytest

from catena.cli.parsing import assignment, by_name, count, positive, vector


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=0.3", ("A", (0.3,))),
        ("A=-1e-3", ("A", (-1e-3,))),
        ("arm1/joint2=90deg", ("arm1/joint2", (pi / 2,))),
        ("base=0, 0,1", ("base", (0.0, 0.0, 1.0))),
        ("a=b=2", ("a=b", (2.0,))),
    ],
)
def test_an_assignment_is_read(text, expected):
    name, values = assignment(text)
    assert name == expected[0]
    assert values == pytest.approx(expected[1], rel=1e-15)


@pytest.mark.parametrize("text", ["A", "=3", "A=", "A=x", "A=1,,2", "A=nan", "A=inf", "A=1rad"])
def test_other_texts_are_refused(text):
    with pytest.raises(ArgumentTypeError, match=text):
        assignment(text)


def test_single_values_are_numbers_and_the_last_one_counts():
    pairs = [assignment(text) for text in ("A=1", "B=1,2", "A=3")]
    assert by_name(pairs) == {"A": 3.0, "B": (1.0, 2.0)}
    assert by_name(None) == {}


@pytest.mark.parametrize(
    ("read", "text"), [(vector, "1,2"), (positive, "0"), (positive, "-1"), (count, "1"), (count, "2.5")]
)
def test_numbers_that_make_no_sense_are_refused(read, text):
    with pytest.raises(ArgumentTypeError, match=text):
        read(text)
