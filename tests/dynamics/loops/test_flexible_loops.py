"""Flexible bodies in loops: elimination against singular values, any cut the same motion, energy and closure."""

import numpy as np
import pytest

import catena as ct
from tests.bodies.slider_crank import moving, slider_crank


def clamped_beam():
    """A spatial beam that is clamped to ground at one end and supported at the other, with a body on its middle."""
    m = ct.Mechanism("bridge")
    beam = ct.Beam(2.0, 1e-3, 1e-6, 2700.0, 7e10, modes={"y": 2, "z": 2})
    m.add_body("beam", flexible=beam)
    m.add_body("load", mass=1.0, inertia=(0.01, 0.01, 0.01))
    m.add_joint("left", "ground", "beam", ct.Fixed())
    m.add_joint(
        "right",
        "beam",
        "ground",
        ct.Sdof("dx", "rx", "ry", "rz"),
        in_parent=ct.Pose(p=(2.0, 0.0, 0.0)),
        in_child=ct.Pose(p=(2, 0, 0)),
    )
    m.add_joint("on", "beam", "load", ct.Spherical(), in_parent=ct.Pose(p=(1.0, 0.0, 0.0)))
    return m


@pytest.mark.parametrize("cut", [(), ("B",), ("A",)])
def test_elimination_agrees_with_singular_values_whatever_is_cut(cut):
    s = slider_crank(damping=0.01).system(cut=cut)
    q, v = moving(s)
    tau = np.zeros(s.nv)
    tau[s.slice_v("rod.modes")] = [0.5, -1.0]
    a = s.forward_dynamics(q, v, tau)
    b = s.forward_dynamics(q, v, tau, method="kkt")
    np.testing.assert_allclose(a, b, atol=1e-11 * np.abs(b).max())
    np.testing.assert_allclose(a[s.slice_v("rod.modes")], expected_modes(), rtol=1e-9)


def expected_modes():
    s = slider_crank(damping=0.01).system()
    q, v = moving(s)
    tau = np.zeros(s.nv)
    tau[s.slice_v("rod.modes")] = [0.5, -1.0]
    return s.forward_dynamics(q, v, tau, method="kkt")[s.slice_v("rod.modes")]


@pytest.mark.slow
def test_a_body_in_a_loop_with_three_places_is_eliminated_too():
    s = clamped_beam().system()
    assert s.loops == ("right",)
    q, rng = s.neutral(), np.random.default_rng(0)
    v = s.project(q, 0.1 * rng.normal(size=s.nv))[1]
    a, b = s.forward_dynamics(q, v), s.forward_dynamics(q, v, method="kkt")
    np.testing.assert_allclose(a, b, atol=1e-9 * np.abs(b).max())
    assert np.abs(np.concatenate(s.closure(q, v))).max() < 1e-12


@pytest.mark.slow
def test_any_cut_gives_the_same_motion_and_keeps_energy_and_closure():
    ends = []
    for cut in ((), ("B",)):
        s = slider_crank().system(cut=cut)
        q, v = moving(s)
        run = ct.simulate(s, q, v, duration=0.01, samples=3)
        assert run.energy_drift < 1e-9
        assert np.max(run.closure_error) < 1e-11
        ends.append([*run["rod.modes"][-1] / 0.3, *run["A"][-1]])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


@pytest.mark.slow
def test_reactions_accelerate_the_slider():
    s = slider_crank().system()
    q, v = moving(s)
    a, wrench = s.forward_dynamics(q, v), s.reactions(q, v)
    push = 0.03 * a[s.slice_v("D")][0]
    # Joint C passes its wrench to the slider, in axes that turn with the rod's end; joint D adds none along x.
    tip = s.pose(q, "slider").R
    assert set(wrench) == {"A", "B", "C", "D"}
    np.testing.assert_allclose((tip @ wrench["C"][3:])[0], push, rtol=1e-8)


def test_a_stiff_rod_moves_as_a_rigid_one():
    soft, hard = slider_crank(young=2e15).system(), slider_crank().lock("rod.modes").system()
    moved = []
    for s in (soft, hard):
        q = s.assemble({"A": 0.4})
        v = s.velocity(q, {"A": 20.0})
        moved.append((s.kinetic_energy(q, v), s.reactions(q, v)["A"][3:]))
    assert moved[0][0] == pytest.approx(moved[1][0], rel=1e-12)


@pytest.mark.slow
def test_modes_of_an_assembled_mechanism_with_a_loop():
    m = slider_crank()
    m.gravity = (0.0, 0.0, 0.0)
    s = m.system()
    q = s.assemble({"A": 0.4})
    found = s.modes(q).frequencies
    rod = m.bodies["rod"].flexible
    # One mode turns the crank freely; the others are those of the rod, whose ends now move with crank and slider.
    assert found[0] < 1e-3
    assert 0.9 * rod.frequencies[0] < found[1] < 2.0 * rod.frequencies[0]
