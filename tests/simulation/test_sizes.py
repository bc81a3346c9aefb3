"""A mechanism in millimetres gets the verdicts of the same one in metres or kilometres: errors of loops are measured in
radians and sizes of the mechanism."""

import numpy as np
import pytest

import catena as ct
from catena.spatial import Pose

SIZES = (1e-4, 1.0, 1e4)


def slider_crank(size):
    """A crank of 0.4 sizes and a rod of 1 that moves a piston along x; gravity grows with the size, so that all sizes
    move alike."""
    m = ct.Mechanism("slider-crank", gravity=(0, 0, -9.81 * size))
    for name, mass, half, inertia in (
        ("crank", 1.0, 0.2, (1e-3, 1e-2, 1e-2)),
        ("rod", 1.0, 0.5, (1e-3, 1e-1, 1e-1)),
        ("piston", 0.5, 0.0, (1e-3, 1e-3, 1e-3)),
    ):
        m.add_body(name, mass, (half * size, 0, 0), np.array(inertia) * size**2)
    m.add_joint("A", "ground", "crank", ct.Revolute("y"))
    m.add_joint("B", "crank", "rod", ct.Revolute("y"), Pose(p=(0.4 * size, 0, 0)))
    m.add_joint("C", "rod", "piston", ct.Revolute("y"), Pose(p=(size, 0, 0)))
    m.add_joint("slide", "ground", "piston", ct.Prismatic("x"), Pose(p=(1.4 * size, 0, 0)))
    return m


@pytest.fixture(params=SIZES)
def machine(request):
    s = slider_crank(request.param).system()
    q = s.assemble({"A": 0.5})
    return s, q, s.velocity(q, {"A": 2.0}), request.param


@pytest.mark.parametrize("what", ["positions", "velocities"])
def test_loops_that_are_open_at_the_start_are_refused_in_all_sizes(machine, what):
    s, q, v, size = machine
    slide = s.slice_v("slide").start
    for part, refused in ((1e-4, True), (1e-8, False)):
        off = np.zeros(s.nv)
        off[slide] = part * size
        start = (s.integrate(q, off), v) if what == "positions" else (q, v + off)
        if refused:
            with pytest.raises(ct.StateError, match="not closed at the start"):
                ct.simulate(s, *start, 0.01)
        else:
            assert ct.simulate(s, *start, 0.01).audit().ok


def test_the_audit_sees_open_loops_in_all_sizes(machine):
    s, q, v, size = machine
    run = ct.simulate(s, q, v, 0.2, samples=21)
    assert run.audit().ok
    run.q[:, s.slice_q("slide")] += 1e-6 * size
    assert run.audit()["loops"].level == "warn"


def test_a_fast_machine_may_open_its_loops_by_a_part_of_its_speed():
    s = slider_crank(1.0).system()
    q = s.assemble({"A": 0.5})
    v = 1e6 * s.velocity(q, {"A": 1.0})
    v[0] *= 1.0 + 1e-10
    assert ct.simulate(s, q, v, 1e-9).t[-1] == 1e-9


@pytest.mark.parametrize("speed", [1e-9, 1.0, 1e6])
def test_velocities_that_do_not_fit_together_are_changed_however_slow(speed):
    """The slide is given a millionth too fast for the crank."""
    s = slider_crank(1.0).system()
    q = s.assemble({"A": 0.5})
    fits = s.velocity(q, {"A": speed})
    given = {"A": speed, "slide": (1.0 + 1e-6) * fits[s.slice_v("slide")]}
    v = s.velocity(q, given)
    assert np.abs(s.closure(q, v)[1]).max() < 1e-14 * speed
    np.testing.assert_allclose(v, fits, rtol=1e-5)


@pytest.mark.parametrize("duration", [1e-9, 1.0])
def test_events_are_as_exact_in_short_runs(duration):
    m = ct.Mechanism("cart", gravity=(0, 0, 0))
    m.add_body("cart", 1.0, inertia=0.1)
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"))
    goes_by = ct.Event(lambda t, q, v: (q[0] / duration) ** 3 - 0.3**3)
    run = ct.simulate(m.system(), [0.0], [1.0], duration, events=[goes_by])
    assert run.events[0].t == pytest.approx(0.3 * duration, rel=1e-12)
