"""Long runs say how far they are, and Ctrl-C returns what there is."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain
from catena.simulation import progress
from catena.simulation.progress import Progress


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


def test_a_bar_appears_after_a_second_with_the_time_left(monkeypatch, capsys):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    bar = Progress(10.0, True)
    clock.now += 0.5
    bar.tick(1.0)
    assert capsys.readouterr().err == ""
    clock.now += 1.5
    bar.tick(4.0)
    shown = capsys.readouterr().err
    # 4 s of 10 took 2 s, so the other 6 take 3 s.
    assert "40 %" in shown and "3 s left" in shown
    bar.done()
    assert capsys.readouterr().err.endswith("\r")


def test_no_bar_where_none_is_wanted(monkeypatch, capsys):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    bar = Progress(10.0, False)
    clock.now += 60.0
    bar.tick(4.0)
    bar.done()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("samples", [None, 11])
def test_an_interrupted_run_returns_what_there_is(samples):
    def pressed(t, q, v):
        if t > 0.05:
            raise KeyboardInterrupt
        return np.zeros(2)

    system = chain(2).system()
    run = ct.simulate(
        system, [0.1, 0.2], np.zeros(2), 1.0, control=pressed, samples=samples, rtol=1e-6, atol=1e-8
    )
    assert run.ended.startswith("interrupted")
    assert run.t[0] == 0.0 and run.t[-1] <= 0.05
    assert run.q.shape == (len(run.t), 2)
    if samples is None:
        assert run.ended == f"interrupted at t = {run.t[-1]:.6g} s"
