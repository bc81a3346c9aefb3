"""Controllers in Python beside contacts: the compiled steps pause for them, and go no other way."""

import numpy as np
import pytest

import catena as ct
from benchmarks.walkers import LEGS, askew, standing_walker, walker_on_springs

LOOSE = {"rtol": 1e-7, "atol": 1e-9, "check": False}


class Zeros:
    """A controller that gives zeros and counts how often it is asked; it may have a rate."""

    def __init__(self, nv, rate=None):
        self.nothing, self.asked = np.zeros(nv), 0
        if rate is not None:
            self.rate = rate

    def __call__(self, t, q, v):
        self.asked += 1
        return self.nothing


def test_zeros_leave_everything_as_it_is():
    """A walker falls askew, slips, and lands again: without a controller, with one that is always asked, and with one
    that is asked at samples. The steps are the same ones, and so is the motion: to the last bit where nothing ends at
    samples, to the order of careful steps where they do."""
    s = walker_on_springs().system()
    q = askew(s, 0.05)
    given = {"contacts": [ct.Contact(f"{leg}/foot", friction=0.8) for leg in LEGS], **LOOSE}
    alone = ct.simulate(s, q, None, 0.3, **given)
    assert len(alone.transitions) > 5
    for rate in (None, 200.0):
        control = Zeros(s.nv, rate)
        run = ct.simulate(s, q, None, 0.3, control=control, **given)
        assert [x.told for x in run.transitions] == [x.told for x in alone.transitions]
        off = 0.0 if rate is None else 3e-4
        assert [x.t for x in run.transitions] == pytest.approx([x.t for x in alone.transitions], abs=off)
        assert np.abs(run.at(0.3)[0] - alone.at(0.3)[0]).max() <= off
        taken = [[x.settings["steps taken by"] for x in each.segments] for each in (run, alone)]
        assert taken[0] == taken[1]
        steps = sum(x.steps for x in run.segments)
        # A step has six stages of its own; forces are also asked for where contacts are decided about.
        assert control.asked < (7 * steps + 500 if rate is None else 70)
        assert [x.settings["control"] for x in run.segments if "control" in x.settings][0] == (
            "at every stage" if rate is None else "200 Hz"
        )


def test_springs_from_python():
    """Springs and dampers at the legs are parts of the mechanism, or a controller that is always asked: the same
    motion, and the control forces that are recorded are those of the springs. What the controller has not got to, it
    does not lose either."""
    with_springs, s = walker_on_springs().system(), standing_walker().system()
    q = askew(s, 0.05)
    legs = [joint for joint in s.joints if joint != "base"]
    at, own = (
        np.concatenate([np.arange(n)[part(j)] for j in legs])
        for n, part in ((s.nq, s.slice_q), (s.nv, s.slice_v))
    )

    def law(t, q, v):
        tau = np.zeros(s.nv)
        tau[own] = -600.0 * q[at] - 15.0 * v[own]
        return tau

    given = {"contacts": [ct.Contact(f"{leg}/foot", friction=0.0) for leg in LEGS], **LOOSE}
    run, expected = (
        ct.simulate(x, q, None, 0.25, control=c, **given) for x, c in ((s, law), (with_springs, None))
    )
    assert len(run.transitions) > 3
    assert [x.told for x in run.transitions] == [x.told for x in expected.transitions]
    assert [x.t for x in run.transitions] == pytest.approx([x.t for x in expected.transitions], abs=1e-7)
    assert np.abs(run.at(0.25)[0] - expected.at(0.25)[0]).max() < 1e-7
    for part in run.segments:
        assert np.abs(part.tau - [law(*row) for row in zip(part.t, part.q, part.v, strict=True)]).max() < 1e-9

    def gives_up(t, q, v):
        if t > 0.2:
            raise RuntimeError("no more")
        return law(t, q, v)

    with pytest.raises(RuntimeError, match="no more") as caught:
        ct.simulate(s, q, None, 0.25, control=gives_up, **given)
    assert 0.15 < caught.value.trajectory.t[-1] <= 0.2 + 1e-9
    with pytest.raises(ct.SimulationError, match="gave nan for joint"):
        ct.simulate(
            s, q, None, 0.25, control=lambda t, q, v: law(t, q, v) + (np.nan if t > 0.1 else 0.0), **given
        )
