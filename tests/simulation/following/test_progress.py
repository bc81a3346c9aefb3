"""Long runs say how far they are, and Ctrl-C returns what there is."""

import builtins
import io
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain
from catena.simulation.following import progress
from catena.simulation.following.progress import RunProgress


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    return Terminal()


def test_a_bar_appears_on_a_terminal_after_a_second_with_the_time_left(clock, terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = RunProgress(10.0, None)
    clock.now += 0.5
    bar.tick(1.0)
    assert terminal.getvalue() == ""
    clock.now += 0.5
    bar.tick(2.0)
    clock.now += 1.0
    bar.tick(4.0)
    # 2 s of 10 took 1 s, so the last 6 take 3 s.
    shown = terminal.getvalue().split("\r")[-1]
    assert "40%" in shown and "t = 4 s" in shown and "0:00:03" in shown
    bar.done()
    assert sys.stderr is terminal
    # The cursor goes up to the line of the bar and clears it.
    assert terminal.getvalue().endswith("\x1b[1A\x1b[2K")


def test_without_rich_a_plain_line_is_shown(clock, terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "rich", None)
    bar = RunProgress(10.0, None)
    clock.now += 2.0
    bar.tick(4.0)
    assert terminal.getvalue().strip() == "40 %, t = 4 s of 10 s"
    bar.done()
    assert terminal.getvalue().split("\r")[-2].strip() == ""


def test_a_file_gets_a_plain_line_if_progress_is_wanted_and_else_nothing(clock, capsys):
    for wanted, shown in ((True, "40 %, t = 4 s of 10 s"), (None, ""), (False, "")):
        bar = RunProgress(10.0, wanted)
        clock.now += 60.0
        bar.tick(4.0)
        assert capsys.readouterr().err.strip() == shown
        bar.done()


@pytest.mark.parametrize("has_widgets", [True, False])
def test_a_notebook_shows_progress(clock, capsys, monkeypatch, has_widgets):
    shown = []
    kernel, widgets, display = (ModuleType(name) for name in ("ipykernel", "ipywidgets", "IPython.display"))
    # rich knows a notebook by the class of its shell, and draws into a widget there.
    shell = type("ZMQInteractiveShell", (), {"kernel": kernel})()
    display.display = shown.append
    widgets.Output = Output
    widgets.__spec__ = ModuleSpec("ipywidgets", None)
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    for name, module in (("ipykernel", kernel), ("ipywidgets", widgets if has_widgets else None)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    bar = RunProgress(10.0, None)
    clock.now += 2.0
    bar.tick(4.0)
    if has_widgets:
        assert [type(widget) for widget in shown if isinstance(widget, Output)] == [Output]
        assert any("40%" in getattr(widget, "text", "") for widget in shown)
    else:
        assert "40 %" in capsys.readouterr().err
    bar.done()


class Output:
    """The part of a notebook's widget that rich uses."""

    def clear_output(self, wait=False):
        """Nothing is drawn."""

    def close(self):
        """Nothing is open."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_an_interrupted_run_returns_what_there_is():
    """Two runs from two lines: the same line again would be a loop, which is ended."""

    def pressed(t, q, v):
        if t > 0.05:
            raise KeyboardInterrupt
        return np.zeros(2)

    def go(samples):
        return ct.simulate(
            system, [0.1, 0.2], np.zeros(2), 1.0, control=pressed, samples=samples, rtol=1e-6, atol=1e-8
        )

    system = chain(2).system()
    run = go(None)
    assert run.ended == f"interrupted at t = {run.t[-1]:.6g} s"
    some = go(11)
    for one in (run, some):
        assert one.ended.startswith("interrupted")
        assert one.t[0] == 0.0 and one.t[-1] <= 0.05
        assert one.q.shape == (len(one.t), 2)
