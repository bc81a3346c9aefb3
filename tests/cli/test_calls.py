"""Names with arguments: only literals are evaluated."""

import pytest

from catena.cli.console import UsageError
from catena.cli.models import read_call


@pytest.mark.parametrize(
    ("text", "name", "arguments", "keywords", "called"),
    [
        ("four_bar", "four_bar", (), {}, False),
        ("four-bar", "four-bar", (), {}, False),
        ("n_four_bars(40)", "n_four_bars", (40,), {}, True),
        ("make()", "make", (), {}, True),
        ("make(-3, dof=7)", "make", (-3,), {"dof": 7}, True),
        (
            "tree(n=3, x=[1, (2.5, None)], y='a(b)')",
            "tree",
            (),
            {"n": 3, "x": [1, (2.5, None)], "y": "a(b)"},
            True,
        ),
    ],
)
def test_a_call_is_read(text, name, arguments, keywords, called):
    call = read_call(text)
    assert (call.name, call.arguments, dict(call.keywords), call.called) == (
        name,
        arguments,
        keywords,
        called,
    )


@pytest.mark.parametrize(
    "text",
    [
        "n_four_bars(__import__('os').system('true'))",
        "make(open('x'))",
        "make(n)",
        "make(**{'n': 1})",
        "make(1",
        "a.b(1)",
        "(lambda: 1)()",
        "make(1)(2)",
        "make(f'{1}')",
        "(" * 5000,
    ],
)
def test_nothing_else_is_evaluated(text):
    with pytest.raises(UsageError):
        read_call(text)


def test_arguments_that_do_not_fit_show_the_signature():
    def make(n, dof=7):
        raise AssertionError("must not be called")

    with pytest.raises(UsageError, match=r"make\(n, dof=7\): missing a required argument: 'n'"):
        read_call("make(dof=3)").on(make)
