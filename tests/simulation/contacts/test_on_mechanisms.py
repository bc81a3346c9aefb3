"""Contacts on bodies that loops, couplings and flexible members hold: the same from another plan or formulation."""

import numpy as np
import pytest

import catena as ct

HOW = {"rtol": 1e-7, "check": False}


def linkage(flexible=False):
    """A four-bar linkage with a foot below its coupler, which falls on a floor."""
    m = ct.Mechanism("linkage over a floor")
    m.add_body("crank", 0.4, (0.15, 0, 0), (1e-3, 4e-3, 4e-3))
    m.add_body("coupler", 0.8, (0.4, 0, 0), (1e-3, 4e-2, 4e-2))
    if flexible:
        beam = ct.Beam(0.6, 4e-4, 1.3e-8, 2700.0, 2e9, modes={"z": 1}, damping=0.05)
        m.add_body("rocker", flexible=beam)
    else:
        m.add_body("rocker", 0.5, (0.3, 0, 0), (1e-3, 2e-2, 2e-2))
    m.add_joint("A", "ground", "crank", ct.Revolute("y"), damping=0.01)
    m.add_joint("B", "crank", "coupler", ct.Revolute("y"), ct.Pose(p=(0.3, 0, 0)))
    m.add_joint("C", "coupler", "rocker", ct.Revolute("y"), ct.Pose(p=(0.8, 0, 0)), ct.Pose(p=(0.6, 0, 0)))
    m.add_joint("D", "ground", "rocker", ct.Revolute("y"), ct.Pose(p=(0.7, 0, 0)))
    m.add_frame("foot", "coupler", ct.Pose(p=(0.3, 0, -0.2)))
    return m


def lowered(m, s, q):
    """The mechanism with a floor one centimetre below its foot."""
    p = s.pose(q, "foot").p
    m.add_frame("floor", "ground", ct.Pose(p=(0, 0, p[2] - 0.01)))
    return m


@pytest.mark.parametrize("flexible", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_linkage_lands_in_any_plan(flexible):
    """The loop is cut at one joint or another, so that contacts act through other coordinates."""
    m = linkage(flexible)
    first = m.system(cut=["C"])
    m = lowered(m, first, first.assemble({"A": -0.9}))
    contact = ct.Contact("foot", on="floor")
    runs = []
    for cut in ("C", "B"):
        s = m.system(cut=[cut])
        q = s.assemble({"A": -0.9})
        runs.append(ct.simulate(s, q, np.zeros(s.nv), 0.25, contacts=[contact], **HOW))
    times = np.linspace(0.0, 0.25, 26)
    one, other = (run.resample(times) for run in runs)
    assert {"open", "slide"} <= set(runs[0].contact("foot").mode)
    np.testing.assert_allclose(one.position("foot"), other.position("foot"), atol=1e-7)
    forces = [run.contact_forces["foot"][-1] for run in (one, other)]
    assert forces[0][2] > 1.0
    np.testing.assert_allclose(forces[0], forces[1], atol=1e-5)


def test_a_geared_leg_lands_as_one_with_a_rotor():
    """A coupling of ratio 3 to a wheel is an armature of nine times its inertia at the joint that it turns."""

    def leg(geared):
        m = ct.Mechanism("leg")
        m.add_body("hip", 2.0, inertia=0.02)
        m.add_joint("falls", "ground", "hip", ct.Prismatic("z"), actuated=False)
        m.add_body("leg", 0.7, (0, 0, -0.25), (0.02, 0.02, 1e-3))
        m.add_joint("turns", "hip", "leg", ct.Revolute("y"), armature=0.0 if geared else 9 * 4e-3)
        if geared:
            m.add_body("wheel", 0.4, inertia=4e-3)
            m.add_joint("spins", "ground", "wheel", ct.Revolute("y"))
            m.add_coupling("gear", {"turns": 3.0, "spins": -1.0})
        m.add_frame("foot", "leg", ct.Pose(p=(0, 0, -0.5)))
        return m.system()

    contact = ct.Contact("foot", friction=0.2, restitution=0.2)
    runs = []
    for geared in (True, False):
        s = leg(geared)
        q = s.assemble({"falls": 0.5, "turns": 0.4}) if geared else np.array([0.5, 0.4])
        q[s.slice_q("falls")] = 0.5 * np.cos(0.4) + 0.02
        runs.append(ct.simulate(s, q, np.zeros(s.nv), 0.25, contacts=[contact], **HOW))
    times = np.linspace(0.0, 0.25, 26)
    one, other = (run.resample(times) for run in runs)
    assert len(runs[0].transitions) >= 2
    np.testing.assert_allclose(one["turns"], other["turns"], atol=1e-7)
    np.testing.assert_allclose(one.position("foot"), other.position("foot"), atol=1e-7)


def test_numbers_that_differ_are_those_of_mechanisms_of_their_own():
    """Masses and coefficients of damping by state, in the exact way."""

    def sled(mass, damping):
        m = ct.Mechanism("sled")
        m.add_body("sled", mass, inertia=0.1)
        m.add_joint("moves", "ground", "sled", ct.Sdof("dx", "dz"), damping=damping, actuated=False)
        return m.system()

    masses, damping = np.array([0.5, 2.0]), np.array([0.3, 1.5])
    contact = [ct.Contact("sled", friction=0.4, restitution=0.3)]
    start = [0.0, 0.05], [2.0, 0.0]
    given = {"sled.mass": masses, "moves.damping": np.repeat(damping[:, None], 2, axis=1)}
    run = ct.simulate(sled(1.0, 0.1), *start, 0.4, contacts=contact, parameters=given, **HOW)
    for k in range(2):
        alone = ct.simulate(sled(masses[k], damping[k]), *start, 0.4, contacts=contact, **HOW)
        np.testing.assert_allclose(run.state(k).resample(5).q, alone.resample(5).q, atol=1e-7)
