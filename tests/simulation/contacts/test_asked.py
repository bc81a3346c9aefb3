"""Controllers in Python beside contacts: the compiled steps pause for them, and go no other way."""

import numpy as np
import pytest

import catena as ct
from benchmarks.asked import CORNERS, FEET
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


def test_from_sample_to_sample():
    """A walker under a controller at 1 kHz lands and slips: where an event is watched, each step is looked at; where
    none is, steps go from sample to sample as long as contacts go on as they do. It is asked at the same times in the
    same states."""
    s = walker_on_springs().system()
    q, rest = askew(s, 0.02), s.neutral()
    given = {"contacts": [ct.Contact(f"{leg}/foot", friction=0.6) for leg in LEGS], **LOOSE}
    seen = []
    for events in ((), [ct.Event(lambda t, q, v: 1.0 + t, "never")]):
        asked = []

        def law(t, q, v, asked=asked):
            asked.append((t, q.copy(), v.copy()))
            return np.r_[np.zeros(6), -3.0 * (q - rest)[7:] - 0.1 * v[6:]]

        run = ct.simulate(s, q, None, 0.12, control=ct.sampled(law, 1000.0), events=events, **given)
        seen.append((run, asked))
    (a, first), (b, second) = seen
    assert len(a.transitions) > 2 and [x.told for x in a.transitions] == [x.told for x in b.transitions]
    assert [t for t, *_ in first] == [t for t, *_ in second]
    for i in (1, 2):
        assert np.abs(np.array([x[i] for x in first]) - [x[i] for x in second]).max() < 1e-9


def test_contacts_that_never_touch_change_nothing():
    """A crate that is thrown on four corners and slides, with the other four as contacts, which stay open, and
    without."""
    m = ct.Mechanism("crate")
    m.add_body("body", 2.0, inertia=(0.02, 0.03, 0.04))
    m.add_joint("free", "ground", "body", ct.Free())
    for k, p in enumerate(CORNERS):
        m.add_frame(f"point {k}", "body", ct.Pose(p=p))
    s = m.system()
    v, runs = np.array([0.0, 0.2, 0.5, 0.8, 0.4, -0.3]), []
    q = s.neutral()
    q[2] += 0.055
    low = [k for k, p in enumerate(CORNERS) if p[2] < 0.0]
    for corners in (low, range(len(CORNERS))):
        contacts = [ct.Contact(f"point {k}", friction=0.4) for k in corners]
        runs.append(ct.simulate(s, q, v, 0.2, contacts=contacts, rtol=1e-8, atol=1e-10))
    assert len(runs[0].transitions) > 3
    assert [x.t for x in runs[1].transitions] == pytest.approx([x.t for x in runs[0].transitions], abs=1e-8)
    assert np.abs(runs[0].at(0.2)[0] - runs[1].at(0.2)[0]).max() < 1e-9


def test_what_others_hold_does_not_slide():
    """A brick on three feet turns about one of them until all rest, where that one was at the edge of its cone: it
    stays in compiled steps, and where time stepping brings it once it has bounced."""
    m = ct.Mechanism("brick")
    m.add_body("body", 2.0, inertia=(0.02, 0.03, 0.04))
    m.add_joint("free", "ground", "body", ct.Free())
    for k, p in enumerate(FEET):
        m.add_frame(f"point {k}", "body", ct.Pose(p=p))
    s, rng = m.system(), np.random.default_rng(4)
    rng.standard_normal(3)
    v, q = np.zeros(6), s.neutral()
    v[2:5] = rng.uniform(-1.5, 1.5, 3)
    q[2] += rng.uniform(0.0, 0.05) + 0.05
    friction, restitution = rng.uniform(0.2, 0.9), float(rng.choice([0.0, 0.3]))
    contacts = [ct.Contact(f"point {k}", friction=friction, restitution=restitution) for k in range(3)]
    run = ct.simulate(s, q, v, 0.4, contacts=contacts)
    assert {x.settings["steps taken by"] for x in run.segments} == {"compiled steps with contacts inside"}
    assert np.abs(run.at(0.25)[1]).max() < 1e-9 and np.abs(run.at(0.25)[0] - run.at(0.4)[0]).max() < 1e-9
    begin = run.at(0.17)
    other = ct.simulate(s, *begin, 0.08, contacts=contacts, integrator="time_stepping", step=1e-4)
    assert np.abs(begin[1]).max() > 0.05
    assert np.abs(run.at(0.25)[0] - other.segments[-1].q[-1]).max() < 1e-6
