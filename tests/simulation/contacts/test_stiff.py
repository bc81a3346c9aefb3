"""Careful steps of mechanisms whose springs, dampers, modes or controllers are stiff for them."""

import numpy as np
import pytest

import catena as ct
from catena.simulation.contacts.careful import CarefulSteps
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.geometry import ContactPlaces
from catena.simulation.contacts.stiffness import StiffnessWatch, stiffness_at
from catena.simulation.problem import Problem

H = 1.6e-4


def hopper(leg):
    """A trunk on a light leg, which is elastic, or has a strong spring and damper at the hip, or between two points."""
    m = ct.Mechanism(f"hopper with {leg}")
    m.add_body("trunk", 2.0, inertia=0.02)
    m.add_joint("base", "ground", "trunk", ct.Free(), actuated=False)
    down = ct.Pose(rpy=(0.0, np.pi / 2, 0.0))
    if leg == "modes":
        beam = ct.Beam(
            length=0.5, area=4e-5, inertia=4e-10, density=2700.0, young=7e10, modes={"z": 2}, damping=0.01
        )
        m.add_body("leg", flexible=beam)
    else:
        m.add_body("leg", 0.05, com=(0.25, 0.0, 0.0), inertia=(1e-6, 1e-3, 1e-3))
    m.add_joint("hip", "trunk", "leg", ct.Revolute("y"), in_parent=down)
    m.add_frame("foot", "leg", ct.Pose(p=(0.5, 0.0, 0.0)))
    if leg == "two points":
        m.add_frame("on the trunk", "trunk", ct.Pose(p=(0.1, 0.0, 0.0)))
        m.add_frame("on the leg", "leg", ct.Pose(p=(0.1, 0.0, 0.0)))
        m.add_spring_between(
            "strut", "on the trunk", "on the leg", 1e6, rest_length=0.1 * np.sqrt(2.0), damping=2e4
        )
    elif leg != "control":
        m.add_spring("hip spring", "hip", stiffness=80.0, damping=100.0 if leg == "damper" else 2.0)
    if leg == "loop":
        # A light damper with two ends, from the trunk to the leg.
        m.add_body("tube", 0.01, com=(0.03, 0.0, 0.0), inertia=(1e-6, 1e-5, 1e-5))
        m.add_body("rod", 0.01, com=(-0.03, 0.0, 0.0), inertia=(1e-6, 1e-5, 1e-5))
        m.add_joint("eye", "trunk", "tube", ct.Revolute("y"), in_parent=ct.Pose(p=(0.1, 0.0, 0.0)) * down)
        m.add_joint("slide", "tube", "rod", ct.Prismatic("x"), in_parent=ct.Pose(p=(0.2, 0.0, 0.0)))
        m.add_joint("pin", "rod", "leg", ct.Revolute("y"), in_child=ct.Pose(p=(0.2, 0.0, 0.1)))
        m.add_spring("strut", "slide", stiffness=1e4, damping=2e4)
    return m


def pd(s):
    hip = s.slice_v("hip")

    def law(t, q, v):
        tau = np.zeros(s.nv)
        tau[hip] = -3e3 * q[s.slice_q("hip")] - 100.0 * v[hip]
        return tau

    return law


KINDS = ["modes", "damper", "two points", "loop", "control"]


@pytest.mark.parametrize("leg", KINDS)
def test_careful_steps_on_a_foot_that_sticks(leg):
    """A hopper that stands askew on its foot moves by careful steps as it does with a joint there, to first order; its
    resistance would make explicit steps of this size grow without bound; and its energy is what forces leave of it."""
    s = hopper(leg).system(cut=["pin"] if leg == "loop" else [])
    turn = np.zeros(s.nv)
    turn[s.slice_v("base")][1] = 0.1
    q = s.integrate(s.neutral(), turn)
    if s.loops:
        q = s.project(q)
    q[s.slice_q("base")][2] -= s.pose(q, "foot").p[2]
    control = pd(s) if leg == "control" else None
    free_motion = FreeMotion(Problem(s, control), ContactPlaces(s, [ct.Contact("foot", friction=2.0)]))
    free_motion.places.refer(q)
    v = np.zeros(s.nv)
    v[s.slice_v("hip")] = -0.5
    stuck = free_motion.stuck([0], q, v)
    v = stuck.project(q, v)[1]
    assert np.linalg.norm(stiffness_at(free_motion, 0.0, q, v).resistance(H), 2) > 2.0

    law = pd(stuck) if leg == "control" else None
    true = ct.simulate(
        stuck, q, v, 0.04, control=law, rtol=1e-9, atol=1e-11, samples=2, integrator="dop853", check=False
    )
    errors = []
    for h in (H, H / 2):
        run, forces = CarefulSteps(free_motion, 0.5, h, None, StiffnessWatch(free_motion)).go(
            0.0, q, v, 0.04, lambda *_: True
        )
        errors.append(np.abs(run.q[-1] - true.q[-1]).max())
        assert np.abs(run.position("foot") - run.position("foot")[0]).max() < 1e-4
        assert forces[:-1, 0, 2].min() > 0.0
        rest = run.energy - run.energy[0] - sum(run.work.values())
        assert np.abs(rest).max() < 1e-4 * (run.kinetic_energy.max() + np.ptp(run.potential_energy))
    assert errors[0] < (0.1 if leg == "modes" else 1e-3) * np.abs(true.q[-1] - q).max()
    assert 0.45 < errors[1] / errors[0] < 0.55


@pytest.mark.parametrize("leg", ["modes", "damper", "two points"])
def test_a_hopper_lands(leg):
    """Nothing grows without bound when a foot slips slowly on a leg that is stiff."""
    s = hopper(leg).system()
    turn = np.zeros(s.nv)
    turn[s.slice_v("base")][1] = 0.2
    q = s.integrate(s.neutral(), turn)
    q[s.slice_q("base")][2] += 0.02 - s.pose(q, "foot").p[2]
    run = ct.simulate(
        s, q, np.zeros(s.nv), 0.15, contacts=[ct.Contact("foot", friction=0.5)], rtol=1e-6, atol=1e-8
    )
    assert run.t[-1] == pytest.approx(0.15)
    told = [x for change in run.transitions for x in change.told]
    assert "foot: open -> slide" in told or "foot: open -> stick" in told
    assert run.audit().ok
    assert np.max(np.diff(run.energy)) < 1e-5 * run.kinetic_energy.max()


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
@pytest.mark.parametrize("leg", ["modes", "damper", "two points"])
def test_what_a_flight_shows(leg, integrator):
    """Careful steps that a flight in large explicit steps vouches for are none that resistance is too stiff for."""
    s = hopper(leg).system()
    q, v = s.neutral(), np.zeros(s.nv)
    v[s.slice_v("hip")] = -0.5
    run = ct.simulate(s, q, v, 0.05, integrator=integrator, rtol=1e-6, atol=1e-8, check=False)
    free_motion = FreeMotion(
        Problem(s, integrator=integrator), ContactPlaces(s, [ct.Contact("foot", friction=2.0)])
    )
    resists = stiffness_at(free_motion, 0.05, run.q[-1], run.v[-1])
    vouched, stiff = [], []
    for h in np.geomspace(1e-7, 1e-2, 40):
        watch = StiffnessWatch(free_motion)
        watch.passed(run.t, h)
        vouched.append(watch.left > 0)
        stiff.append(resists.is_stiff(h))
    assert any(vouched) and any(stiff)
    assert not any(a and b for a, b in zip(vouched, stiff, strict=True))
