"""Prescribed motion beside flexible bodies: hybrid dynamics against the mass matrix and singular values, and what runs
tell of the drives against the energy that they bring in."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import catena as ct
from benchmarks.states import random_states
from catena.kernels import plain_numbers
from tests.bodies.slider_crank import moving, slider_crank

KINDS = (ct.Revolute("z"), ct.Universal(), ct.Prismatic("y"), ct.Spherical(), ct.Cylindrical("x"))


def flexible_tree(seed):
    """A rigid link, two beams of other numbers of modes, and loads at the tips, joined by kinds drawn by chance; in
    even seeds it floats."""
    random = np.random.default_rng(seed)
    m = ct.Mechanism("tree", gravity=random.normal(size=3) * 6.0)
    m.add_body("link", 1.0, (0.3, 0.1, 0.0), (0.02, 0.1, 0.1))
    m.add_body("long", flexible=ct.Beam(1.0, 2e-4, (3e-8, 7e-9), 2700.0, 7e10, modes={"y": 2, "z": 1}))
    m.add_body("short", flexible=ct.Beam(0.5, 1e-4, 2e-9, 2700.0, 7e10, modes={"y": 1}))
    m.add_body("load", 0.25, (0.1, 0.2, 0.3), 1e-2)
    m.add_body("weight", 0.5, (0.0, 0.1, 0.0), 2e-2)
    kinds = [KINDS[k] for k in random.integers(len(KINDS), size=4)]
    m.add_joint("hub", "ground", "link", ct.Free() if seed % 2 == 0 else kinds[0])
    m.add_joint("elbow", "link", "long", kinds[1], in_parent=ct.Pose(p=(0.6, 0.0, 0.0)))
    m.add_joint("middle", "long", "short", kinds[2], in_parent=ct.Pose(p=(0.5, 0.0, 0.0)))
    m.add_joint("tip", "long", "load", kinds[3], in_parent=ct.Pose(p=(1.0, 0.0, 0.0)))
    m.add_joint("end", "short", "weight", ct.Revolute("y"), in_parent=ct.Pose(p=(0.5, 0.0, 0.0)))
    return m


def some_state(system, count, seed):
    """States in which beams bend by little, as they do."""
    q, v, tau, wish = random_states(system, count, seed)
    for name in system.joints:
        if name.endswith(".modes"):
            q[..., system.slice_q(name)] *= 0.02
            v[..., system.slice_v(name)] *= 0.2
    return q, v, tau, wish


@pytest.mark.parametrize("seed", range(6))
def test_hybrid_dynamics_solves_the_rows_of_the_mass_matrix(agree, seed):
    """Whole joints, single components and single modes are driven anywhere, in a batch: H_ff a_f = (tau - bias)_f -
    H_fd a_d, and drives give the rows that are left."""
    s = flexible_tree(seed).system()
    q, v, tau, wish = some_state(s, 3, seed)
    driven = np.random.default_rng(seed).uniform(size=s.nv) < 0.4
    given = np.where(driven, wish, np.nan)
    prescribed = {n: given[:, s.slice_v(n)] for n in s.joints if driven[s.slice_v(n)].any()}
    vdot, forces = s.hybrid_dynamics(q, v, tau, prescribed)
    np.testing.assert_array_equal(vdot[:, driven], wish[:, driven])
    np.testing.assert_array_equal(forces[:, ~driven], tau[:, ~driven])
    H, bias = s.mass_matrix(q), s.inverse_dynamics(q, v, 0.0 * v)
    for k in range(3):
        a = np.where(driven, wish[k], 0.0)
        left = (tau[k] - bias[k] - H[k] @ a)[~driven]
        a[~driven] = np.linalg.solve(H[k][np.ix_(~driven, ~driven)], left)
        size = np.abs(H[k]).max() * np.abs(a).max()
        agree(vdot[k], a, 1e-9)
        agree(forces[k], np.where(driven, H[k] @ a + bias[k], tau[k]), 1e-9, size)
    with plain_numbers():
        plain = s.hybrid_dynamics(q[0], v[0], tau[0], {n: x[0] for n, x in prescribed.items()})
    agree(plain[0], vdot[0], 1e-9)


@pytest.mark.parametrize("joint", ["A", "B", "C", "D"])
@pytest.mark.parametrize("cut", ["B", "A"])
def test_the_drive_of_any_joint_of_a_loop_makes_the_motion_that_it_was_found_for(agree, joint, cut):
    """The force that hybrid dynamics finds, given to forward dynamics by singular values, is the motion again."""
    s = slider_crank(damping=0.01).system(cut=[cut])
    q, v = moving(s)
    tau = np.zeros(s.nv)
    tau[s.slice_v("rod.modes")] = [0.5, -1.0]
    given = {name: tau[s.slice_v(name)] for name in s.joints}
    vdot, forces = s.hybrid_dynamics(q, v, given, {joint: 30.0})
    # Where a joint of a loop is driven, forces are told by name.
    by_name = forces if isinstance(forces, dict) else {joint: forces[s.slice_v(joint)]}
    again = s.forward_dynamics(q, v, {**given, joint: by_name[joint]}, method="kkt")
    agree(vdot, again, 1e-8)
    ahead, behind = (
        s.joint_velocity(s.integrate(q, h * v + 0.5 * h * h * vdot), v + h * vdot, joint)
        for h in (1e-5, -1e-5)
    )
    np.testing.assert_allclose((ahead - behind) / 2e-5, 30.0, rtol=1e-3)


def bent(t):
    """A motion that goes to and fro: position, velocity, acceleration."""
    return 0.2 * np.sin(3.0 * t), 0.6 * np.cos(3.0 * t), -1.8 * np.sin(3.0 * t)


@pytest.mark.parametrize("joint", ["hub", "elbow", "tip"])
def test_a_run_tells_the_forces_and_powers_of_drives_beside_flexible_bodies(joint):
    """Before, at and after the beam: the power integrates to the work and to the energy, the reaction about the axis
    is the force of the drive, and inverse dynamics confirms both."""
    m = ct.Mechanism("arm", gravity=(0.0, -9.81, 0.0))
    m.add_body("link", 1.0, (0.3, 0.0, 0.0), (0.01, 0.05, 0.05))
    m.add_body("beam", flexible=ct.Beam(0.8, 1e-4, 2e-9, 2700.0, 7e10, modes={"y": 2}, damping=0.02))
    m.add_body("load", 0.4, (0.3, 0.0, 0.0), 2e-2)
    m.add_joint("hub", "ground", "link", ct.Revolute("z"))
    m.add_joint("elbow", "link", "beam", ct.Revolute("z"), in_parent=ct.Pose(p=(0.6, 0.0, 0.0)))
    m.add_joint("tip", "beam", "load", ct.Revolute("z"), in_parent=ct.Pose(p=(0.8, 0.0, 0.0)))
    s = m.system()
    v = np.zeros(s.nv)
    v[s.slice_v(joint)] = 0.6
    run = ct.simulate(s, np.zeros(s.nq), v, 0.1, motion={joint: bent}, samples=401, rtol=1e-9, atol=1e-11)
    force = run.force(joint)[:, 0]
    assert np.abs(force).max() > 0.1
    needed = s.inverse_dynamics(run.q, run.v, run.acceleration)
    np.testing.assert_allclose(run.tau, needed, atol=1e-8 * np.abs(needed).max())
    np.testing.assert_allclose(run.reaction(joint)[:, 2], force, atol=1e-8 * np.abs(force).max())
    work = CubicSpline(run.t, run.power["motion"]).integrate(0.0, 0.1)
    scale = np.abs(run.work["motion"]).max()
    assert run.work["motion"][-1] == pytest.approx(work, abs=1e-5 * scale)
    gained = run.energy[-1] - run.energy[0] - run.work["friction"][-1]
    assert run.work["motion"][-1] == pytest.approx(gained, abs=1e-6 * max(scale, np.ptp(run.energy)))


def test_drives_of_a_loop_with_a_flexible_rod_in_a_batch_are_those_of_each_state():
    s = slider_crank(damping=0.02).system()
    q = np.array([s.assemble({"A": angle}) for angle in (0.4, 1.1)])
    v = np.array([s.velocity(x, {"A": 20.0}) for x in q])
    vdot, forces = s.hybrid_dynamics(q, v, None, {"A": 0.0})
    for k in range(2):
        one = s.hybrid_dynamics(q[k], v[k], None, {"A": 0.0})
        np.testing.assert_allclose(vdot[k], one[0], atol=1e-8 * np.abs(vdot[k]).max())
        np.testing.assert_allclose(forces[k], one[1], atol=1e-8 * np.abs(forces[k]).max())


@pytest.mark.slow
def test_a_run_of_a_loop_with_a_flexible_rod_tells_its_drive():
    """A crank is turned evenly: the power of the drive integrates to the energy."""
    s = slider_crank(damping=0.02).system()
    q = s.assemble({"A": 0.4})
    path = {"A": lambda t: (0.4 + 20.0 * t, 20.0, 0.0)}
    run = ct.simulate(s, q, s.velocity(q, {"A": 20.0}), 0.02, motion=path, samples=101)
    work = CubicSpline(run.t, run.power["motion"]).integrate(0.0, 0.02)
    gained = run.energy[-1] - run.energy[0] - run.work["friction"][-1]
    scale = np.ptp(run.energy)
    assert work == pytest.approx(run.work["motion"][-1], abs=1e-3 * scale)
    assert run.work["motion"][-1] == pytest.approx(gained, abs=1e-5 * scale)
