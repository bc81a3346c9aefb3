"""Flexible bodies of many modes: code that does not know how many, against code for few, matrices and closed forms."""

import numpy as np
import pytest

import catena as ct
from catena.structure import stations


def beam(k):
    return ct.Beam(1.2, 4e-4, (2e-8, 3e-8), 2700.0, 7e10, modes={"y": k - k // 2, "z": k // 2}, damping=0.01)


def boom(k):
    """A load on a boom that hangs on a slanted hinge."""
    m = ct.Mechanism("boom")
    m.add_body("boom", flexible=beam(k))
    m.add_joint("hub", "ground", "boom", ct.Revolute((0.2, 0.3, 1.0)))
    m.add_body("load", mass=0.5, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.02))
    m.add_joint("wrist", "boom", "load", ct.Revolute("y"), in_parent=ct.Pose(p=(1.2, 0, 0)), damping=0.02)
    return m.system()


def crank(k):
    m = ct.Mechanism("crank")
    m.add_body("crank", mass=1.0, com=(0.15, 0, 0), inertia=(0.01, 0.01, 0.02))
    m.add_joint("main", "ground", "crank", ct.Revolute("z"))
    m.add_body("rod", flexible=beam(k))
    m.add_joint("pin", "crank", "rod", ct.Revolute("z"), in_parent=ct.Pose(p=(0.3, 0, 0)))
    m.add_body("slider", mass=0.5, inertia=(0.01, 0.01, 0.01))
    m.add_joint("wrist", "rod", "slider", ct.Revolute("z"), in_parent=ct.Pose(p=(1.2, 0, 0)))
    m.add_joint("guide", "ground", "slider", ct.Prismatic("x"))
    return m.system()


def states(s, count=3):
    rng = np.random.default_rng(4)
    q, v = 3e-3 * rng.normal(size=(count, s.nq)), 0.3 * rng.normal(size=(count, s.nv))
    if not s.loops:
        return q, v
    q = s.assemble(guess={"main": 0.7}) + q
    return s.project(q, v)


def told(s, q, v):
    """What a system tells about states q, v."""
    tau = np.random.default_rng(5).normal(size=s.nv)
    by_hub = s.hybrid_dynamics(q, v, tau, {s.joints[0]: [0.3]})
    frame = list(s.mechanism.bodies)[-1]
    return {
        "vdot": s.forward_dynamics(q, v, tau), "H": s.mass_matrix(q), "h": s.bias_force(q, v),
        "T": s.kinetic_energy(q, v), "V": s.potential_energy(q), "J": s.jacobian(q, frame),
        "loops": s.closure(q, v)[1], "driven": by_hub[0],
    }  # fmt: skip


def both(monkeypatch, make, k, ask):
    """What two systems of one mechanism tell about the same states: with code for k modes, and with points that are
    told."""
    found, at = [], None
    for few in (k, k - 1):
        monkeypatch.setattr(stations, "FEW_MODES", few)
        s = make(k)
        at = states(s) if at is None else at
        found.append(ask(s, *at))
    return found


@pytest.mark.parametrize("make", [boom, pytest.param(crank, marks=pytest.mark.slow)])
def test_points_that_are_told_agree_with_code_for_so_many_modes(make, monkeypatch):
    """All coordinates, batches, trees and loops: with code for three modes, and with points."""
    unrolled, by_points = both(monkeypatch, make, 3, told)
    for name, x in unrolled.items():
        largest = max(np.abs(x).max(initial=0.0), 1e-3)
        np.testing.assert_allclose(by_points[name], x, atol=1e-12 * largest, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("make", [boom, crank])
@pytest.mark.parametrize("integrator", ["rk4", "implicit_leapfrog"])
def test_runs_told_by_python_agree_with_compiled_ones(make, integrator, monkeypatch):
    def run(s, q, v):
        return ct.simulate(s, q[0], v[0], 2e-3, integrator=integrator, step=2e-5, drift="none").q[-1]

    compiled, by_python = both(monkeypatch, make, 3, run)
    np.testing.assert_allclose(by_python, compiled, atol=1e-12)


@pytest.mark.slow
def test_code_does_not_know_how_many_modes_there_are():
    """After 18 modes, 33 and 40 of other beams compile nothing, in calls and in steps."""
    counts = []
    for k in (18, 33, 40):
        s = boom(k)
        q, v = states(s, 2)
        s.forward_dynamics(q[0], v[0])
        s.inverse_dynamics(q, v, v)
        s.mass_matrix(q)
        ct.simulate(s, 0.0 * q[0], 0.0 * v[0], 2e-6, integrator="rk4", step=1e-6, check=False)
        counts.append(ct.compilations())
    assert counts[0] == counts[1] == counts[2]


def test_mass_and_forces_of_many_modes_are_those_of_the_points():
    """H and h of a beam on a hinge against sums over the points that have its mass: 24 modes, NumPy alone.

    The kinetic energy is a sum over points at x = s + S eta + eta^T B eta / 2, so H = sum m J^T J, and by Lagrange
    h = dH/dt v - dT/dq + dV/dq, here by complex steps and differences.
    """
    body = ct.Beam(1.2, 4e-4, 2e-8, 2700.0, 7e10, modes={"y": 24}, shear=1e7)
    m = ct.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_body("beam", flexible=body)
    m.add_joint("hinge", "ground", "beam", ct.Revolute("z"))
    s = m.system()
    some = body.points()
    rng = np.random.default_rng(0)
    q, v = np.append(0.4, 1e-3 * rng.normal(size=24)), np.append(1.5, 0.2 * rng.normal(size=24))

    def places(q):
        eta = q[1:]
        x = some.s + some.S @ eta + 0.5 * np.einsum("nikl,k,l->ni", some.B, eta, eta)
        c, d = np.cos(q[0]), np.sin(q[0])
        return np.stack([c * x[:, 0] - d * x[:, 1], d * x[:, 0] + c * x[:, 1], x[:, 2]], axis=1)

    def jacobian(q):
        return np.stack([places(q + 1e-30j * e).imag / 1e-30 for e in np.eye(25)], axis=2)

    def inertia(q):
        J = jacobian(q)
        return some.mass * np.einsum("nia,nib->ab", J, J)

    np.testing.assert_allclose(s.mass_matrix(q), inertia(q), atol=1e-11)
    h, e = 1e-6, np.eye(25)
    along = (inertia(q + h * v) - inertia(q - h * v)) @ v / (2 * h)
    dT = np.array([v @ (inertia(q + h * u) - inertia(q - h * u)) @ v / (4 * h) for u in e])
    weight = 9.81 * some.mass * jacobian(q)[:, 1].sum(axis=0)
    want = along - dT + weight + np.append(0.0, body.stiffness * q[1:])
    np.testing.assert_allclose(s.bias_force(q, v), want, atol=1e-6 * np.abs(want).max())
    np.testing.assert_allclose(
        s.forward_dynamics(q, v),
        np.linalg.solve(inertia(q), -want),
        rtol=1e-5,
        atol=1e-4 * np.abs(want).max(),
    )
