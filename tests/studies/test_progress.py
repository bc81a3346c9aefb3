"""How far a study is, on a terminal, in a notebook, in a log, and told to a function."""

import sys
from types import ModuleType

import pytest

import catena as ct
from catena.studies import progress
from catena.studies.progress import StudyProgress


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def halfway(clock, wanted=None):
    """Forty of a hundred variants were done before, and ten more take two seconds, of which one failed."""
    shower = StudyProgress(100, 40, wanted)
    clock.now += 2.0
    shower.add(10, 1)
    return shower


LINE = "50 of 100 runs, 5 a second, 10 s left, 1 failed"


def test_a_terminal_and_a_notebook_write_one_line_again(clock, capsys, monkeypatch):
    """The rate is that of this time, the time left that of what is not done."""
    with monkeypatch.context() as seen:
        seen.setattr(sys.stderr, "isatty", lambda: True)
        shower = halfway(clock)
        assert capsys.readouterr().err.strip("\r ") == LINE
        clock.now += 0.1
        shower.add(10, 1)
        assert capsys.readouterr().err == ""  # what comes soon after is not shown
        clock.now += 10.0
        shower.add(40, 1)
        shower.close()
        assert capsys.readouterr().err.strip() == "100 of 100 runs, 4.96 a second, 0 s left, 1 failed"
    assert halfway(clock).shown is False and capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    halfway(clock).close()
    assert capsys.readouterr().err.strip() == LINE


def test_a_log_gets_a_line_every_ten_seconds_and_at_the_end(clock, capsys):
    """No line is written over another there."""
    shower = halfway(clock, True)
    clock.now += 9.0
    shower.add(10, 1)
    clock.now += 9.0
    shower.add(40, 2)
    assert capsys.readouterr().err.splitlines() == [
        "60 of 100 runs, 1.82 a second, 22 s left, 1 failed",
        "100 of 100 runs, 3 a second, 0 s left, 2 failed",
    ]


def test_a_function_is_told_and_others_are_refused(clock):
    """What cannot be called is no function."""
    told = []
    halfway(clock, told.append)
    assert told == [{"done": 50, "total": 100, "rate": 5.0, "left": 10.0, "failed": 1}]
    with pytest.raises(ct.StateError, match="progress is 3; give True, False, None, or a function"):
        StudyProgress(100, 0, 3)
