"""Flexible bodies in everything: drift, couplings, equations, events, drives, derivatives, any root and cut."""

import numpy as np
import pytest

import catena as ct
from tests.bodies.slider_crank import moving, slider_crank

SLENDER = {"area": 1e-4, "inertia": 2e-9, "density": 2700.0, "young": 7e10}


def pendulum(modes=1, **options):
    """A flexible pendulum that swings in the x-y plane, and a frame at its tip."""
    m = ct.Mechanism("pendulum", gravity=(0.0, -9.81, 0.0))
    m.add_body("boom", flexible=ct.Beam(2.0, modes={"y": modes}, **SLENDER, **options))
    m.add_joint("A", "ground", "boom", ct.Revolute("z"))
    m.add_frame("tip", "boom", ct.Pose(p=(2.0, 0.0, 0.0)))
    return m


def geared():
    """The slider-crank whose crank turns a wheel besides."""
    m = slider_crank()
    m.add_body("wheel", mass=0.3, inertia=(1e-3, 1e-3, 2e-3))
    m.add_joint("W", "ground", "wheel", ct.Revolute("z"))
    m.add_coupling("gear", {"W": 1.0, "A": 2.0})
    return m


@pytest.mark.slow
def test_all_remedies_against_drift_give_the_same_motion():
    s = slider_crank().system()
    q, v = moving(s)
    settings = {"duration": 0.01, "samples": 3, "rtol": 1e-10, "atol": 1e-12}
    expected = ct.simulate(s, q, v, **settings)
    for drift in ("baumgarte", "corrective", "none"):
        run = ct.simulate(s, q, v, drift=drift, **settings)
        np.testing.assert_allclose(run.q, expected.q, atol=1e-9)
        assert np.max(run.closure_error) < 1e-9


@pytest.mark.slow
def test_feedback_closes_a_loop_with_a_flexible_rod_again():
    s = slider_crank().system()
    q, v = moving(s)
    # Large fixed steps open the loop; with feedback it stays closed better than without.
    gaps = [
        np.max(
            ct.simulate(s, q, v, 0.02, integrator="rk4", step=5e-5, drift=drift, check=False).closure_error
        )
        for drift in ("none", ct.Baumgarte(1e-3))
    ]
    assert gaps[1] < 0.2 * gaps[0]


@pytest.mark.slow
def test_couplings_and_flexible_bodies_are_eliminated_together():
    s = geared().system()
    q, v = moving(s)
    a, b = s.forward_dynamics(q, v), s.forward_dynamics(q, v, method="kkt")
    np.testing.assert_allclose(a, b, atol=1e-11 * np.abs(b).max())
    run = ct.simulate(s, q, v, duration=0.01, samples=3)
    assert run.energy_drift < 1e-9
    np.testing.assert_allclose(run["W"] + 2.0 * run["A"], 0.0, atol=1e-12)
    m = pendulum(2)
    m.add_body("load", mass=0.3, com=(0.1, 0.02, 0.0), inertia=(1e-3, 2e-3, 2e-3))
    m.add_joint("B", "boom", "load", ct.Revolute("z"), in_parent=ct.Pose(p=(2.0, 0.0, 0.0)))
    m.add_coupling("belt", {"A": 1.0, "B": 1.0})
    s = m.system()
    q = s.assemble({"A": 0.4})
    v = s.velocity(q, {"A": 2.0})
    a, b = s.forward_dynamics(q, v), s.forward_dynamics(q, v, method="kkt")
    np.testing.assert_allclose(a, b, atol=1e-11 * np.abs(b).max())
    assert ct.simulate(s, q, v, duration=0.05, samples=3).energy_drift < 1e-9


def test_equations_of_a_flexible_pendulum_are_those_that_are_computed():
    s = pendulum().system()
    q, v, tau = np.array([0.3, 0.05]), np.array([1.0, -2.0]), np.array([0.5, 0.1])
    equations = s.equations("forward_dynamics")
    np.testing.assert_allclose(np.ravel(equations(q, v, tau)), s.forward_dynamics(q, v, tau), rtol=1e-10)
    H = s.equations("mass_matrix")(q)
    np.testing.assert_allclose(np.reshape(H, (2, 2)), s.mass_matrix(q), rtol=1e-12)


def test_events_and_samples_of_modes_and_resultants_in_batches():
    m = pendulum(damping=0.02)
    s = m.system()
    at = s.slice_q("boom.modes").start
    q = np.zeros((3, s.nq))
    q[:, at] = [0.05, 0.1, 0.15]
    stop = ct.Event(lambda t, q, v: q[at], terminal=True)
    run = ct.simulate(s, q[2], np.zeros(s.nv), duration=0.3, events=[stop])
    assert run.ended and abs(run["boom.mode1"][-1]) < 1e-9
    batch = ct.simulate(s, q, np.zeros((3, s.nv)), duration=0.05, samples=4)
    beam = m.bodies["boom"].flexible
    found = beam.resultants(batch["boom.modes"], [0.0, 1.0, 2.0])
    assert found["Mz"].shape == (*batch["boom.modes"].shape[:-1], 3)
    np.testing.assert_allclose(found["Mz"][..., 2], 0.0, atol=1e-8 * np.abs(found["Mz"]).max())
    one = beam.resultants(batch["boom.modes"][1, 2], [0.0])["Mz"]
    np.testing.assert_allclose(found["Mz"][1, 2, :1], one)


@pytest.mark.slow
def test_modes_can_be_driven_and_are_locked_together():
    m = pendulum()
    s = m.system()
    still = ct.simulate(
        s, s.neutral(), np.zeros(s.nv), duration=0.2, samples=5,
        motion={"boom.modes": lambda t: (np.zeros(1), np.zeros(1), np.zeros(1))},
    )  # fmt: skip
    stiff = m.lock("boom.modes").system()
    rigid = ct.simulate(stiff, stiff.neutral(), np.zeros(stiff.nv), duration=0.2, samples=5)
    np.testing.assert_allclose(still["A"], rigid["A"], atol=1e-9)
    with pytest.raises(ct.ModelError, match="locked and freed together: name 'boom.modes'"):
        m.lock("boom.mode1")


@pytest.mark.slow
def test_driven_modes_in_a_loop_move_as_locked_ones_and_take_a_force():
    """Modes that are held at amplitudes which are not zero move as those that are locked there; modes that are driven
    follow, and the drive gives what hybrid dynamics says."""
    m, held = slider_crank(), np.array([2e-3, -1e-3])
    s, stiff = m.system(), m.lock("rod.modes", at=held).system()
    runs = []
    for system, given, motion in (
        (s, {"rod.modes": held}, {"rod.modes": lambda t: (held, 0.0 * held, 0.0 * held)}),
        (stiff, {}, None),
    ):
        q = system.assemble({"A": 0.4, **given})
        v = system.velocity(q, {"A": 20.0, **{name: 0.0 * x for name, x in given.items()}})
        runs.append(
            ct.simulate(system, q, v, duration=0.02, samples=3, motion=motion, rtol=1e-10, atol=1e-12)
        )
    np.testing.assert_allclose(runs[0]["A"], runs[1]["A"], atol=1e-9)
    w = 300.0

    def swing(t):
        return held * np.cos(w * t), -w * held * np.sin(w * t), -(w**2) * held * np.cos(w * t)

    q = s.assemble({"A": 0.4, "rod.modes": held})
    v = s.velocity(q, {"A": 20.0, "rod.modes": 0.0 * held})
    run = ct.simulate(s, q, v, duration=0.02, samples=5, motion={"rod.modes": swing}, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run["rod.modes"], [swing(t)[0] for t in run.t], atol=1e-9)
    own = s.slice_v("rod.modes")
    for k, t in enumerate(run.t):
        force = s.hybrid_dynamics(run.q[k], run.v[k], None, {"rod.modes": swing(t)[2]})[1][own]
        np.testing.assert_allclose(run.tau[k, own], force, rtol=1e-6, atol=1e-6 * np.abs(force).max())


@pytest.mark.slow
def test_branches_and_drives_of_linkages_leave_bodies_as_they_are():
    s = slider_crank().system()
    found = ct.branches(s, {"A": 0.4})
    assert len(found) == 2 and not found[:, s.slice_q("rod.modes")].any()
    driven = s.drive("A", samples=13)
    assert not driven.q[:, s.slice_q("rod.modes")].any()


@pytest.mark.slow
def test_derivatives_with_loops_are_those_of_finite_differences():
    s = slider_crank().system()
    q, v = moving(s)
    tau = np.zeros(s.nv)
    tau[s.slice_v("A")] = 0.3
    found, h = s.forward_dynamics_derivatives(q, v, tau), 1e-6
    # Along directions that keep the loop closed.
    free = np.linalg.svd(s.closure_jacobian(q))[2][-3:]

    def at(dq, dv):
        near = s.integrate(q, dq, 1.0)
        near, rate = s.project(near, v + dv)
        return s.forward_dynamics(near, rate, tau), s.difference(q, near), rate - v

    for e in free:
        (a, qa, va), (b, qb, vb) = at(h * e, np.zeros(s.nv)), at(-h * e, np.zeros(s.nv))
        expected = found[0] @ (qa - qb) + found[1] @ (va - vb)
        np.testing.assert_allclose(expected, a - b, atol=1e-5 * np.abs(a - b).max() + 1e-9 * np.abs(a).max())


def spatial(seed, ends=("clamped-free", "clamped-free")):
    """A loop in space: two beams and a rigid body, joints of several kinds at any places and in any axes."""
    rng = np.random.default_rng(seed)

    def turned(p=(0.0, 0.0, 0.0)):
        return ct.Pose(p=p, rpy=tuple(rng.uniform(-1.0, 1.0, 3)))

    m = ct.Mechanism(f"spatial {seed}", gravity=tuple(rng.normal(size=3)))
    for name, end in zip(("one", "two"), ends, strict=True):
        m.add_body(name, flexible=ct.Beam(1.0, modes={"y": 1, "z": 1}, ends=end, **SLENDER))
    m.add_body("bar", mass=0.4, com=tuple(rng.uniform(-0.1, 0.1, 3)), inertia=(0.01, 0.012, 0.014))
    kinds = [ct.Universal("x", "y"), ct.Spherical(), ct.Universal("y", "z"), ct.Spherical()]
    m.add_joint("A", "ground", "one", ct.Revolute("z"), turned(), turned((rng.uniform(0.0, 0.3), 0.0, 0.0)))
    m.add_joint("B", "one", "two", kinds[seed % 4], turned((rng.uniform(0.7, 1.0), 0.0, 0.0)), turned())
    m.add_joint("C", "two", "bar", ct.Revolute("y"), turned((1.0, 0.0, 0.0)), turned((0.1, 0.0, 0.1)))
    rest = m.system()
    frames = rest.body_poses(rest.neutral())
    # The loop is closed where the bodies stand at rest.
    m.add_frame("hand", "bar", ct.Pose(p=(0.2, 0.1, -0.1)))
    place = frames["bar"] @ np.array([0.2, 0.1, -0.1, 1.0])
    m.add_joint(
        "D", "ground", "bar", ct.Spherical(), ct.Pose(p=tuple(place[:3])), ct.Pose(p=(0.2, 0.1, -0.1)),
    )  # fmt: skip
    m.add_frame("tip", "one", ct.Pose(p=(1.0, 0.0, 0.0)))
    return m


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_any_root_and_any_cut_give_the_same_motion(seed):
    m = spatial(seed)
    # With this cut the neutral configuration is closed.
    s = m.system(cut=["D"])
    q = s.neutral()
    v = s.project(q, 0.3 * np.random.default_rng(100 + seed).normal(size=s.nv))[1]
    names = [*m.joints, "one.modes", "two.modes"]
    at, rates = {n: s.joint_position(q, n) for n in names}, {n: s.joint_velocity(q, v, n) for n in names}
    settings = {"duration": 0.02, "samples": 3, "rtol": 1e-11, "atol": 1e-13}
    expected = ct.simulate(s, q, v, **settings)
    for options in ({"cut": ["B"]}, {"cut": ["C"]}, {"root": "two"}, {"root": "bar"}):
        other = m.system(**options)
        q2 = other.assemble(at, guess={n: x for n, x in at.items() if n in other.joints})
        v2 = other.velocity(q2, rates)
        assert other.kinetic_energy(q2, v2) == pytest.approx(s.kinetic_energy(q, v), rel=1e-9)
        run = ct.simulate(other, q2, v2, **settings)
        if "root" in options:
            # Another root is what the motion is told from; compare places as the hand sees them.
            seen = [np.linalg.norm(r.position("tip") - r.position("hand"), axis=-1) for r in (run, expected)]
        else:
            seen = [np.concatenate([r.position("tip"), r.position("hand")]) for r in (run, expected)]
        np.testing.assert_allclose(seen[0], seen[1], atol=1e-9)
        for body in ("one", "two"):
            np.testing.assert_allclose(run[f"{body}.modes"], expected[f"{body}.modes"], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_locked_modes_in_a_loop_are_rigid_bodies(seed):
    m = spatial(seed)
    r = ct.Mechanism("rigid", gravity=tuple(m.gravity))
    for body in m.bodies.values():
        if body.name != "ground":
            r.add_body(body.name, mass=body.mass, com=body.com, inertia=body.inertia, physical=False)
    for joint in m.joints.values():
        r.add_joint(joint.name, joint.parent, joint.child, joint.kind, joint.in_parent, joint.in_child)
    locked, rigid = m.lock("one.modes").lock("two.modes").system(), r.system()
    rng = np.random.default_rng(seed)
    q, v = rigid.project(
        rigid.integrate(rigid.neutral(), 0.1 * rng.normal(size=rigid.nv)), rng.normal(size=rigid.nv)
    )
    a = rigid.forward_dynamics(q, v)
    np.testing.assert_allclose(locked.forward_dynamics(q, v), a, atol=1e-12 * np.abs(a).max())
    assert locked.kinetic_energy(q, v) == pytest.approx(rigid.kinetic_energy(q, v), rel=1e-12)


def test_forces_on_points_of_a_flexible_body_accelerate_its_modes_wherever_one_asks():
    m = pendulum(2)
    m.add_frame("middle", "boom", ct.Pose(p=(1.0, 0.0, 0.0)))
    m.add_frame("hook", "ground", ct.Pose(p=(0.0, 1.0, 0.0)))
    m.add_spring_between("rope", "hook", "middle", stiffness=50.0, rest_length=0.5, damping=0.3)
    m.add_wrench("wind", "tip", force=(0.1, 0.3, 0.0), axes="ground")
    s = m.system()
    q, v = np.array([0.3, 0.05, 0.01]), np.array([1.0, -2.0, 0.5])
    own = s.forces.loads(q, v)
    assert set(own.f_ext) == {"tip", "middle"}
    # By hand: the generalised force of the wind is J^T f.
    J = s.jacobian(q, "tip", axes="aligned")[3:]
    d = np.asarray(s.pose(q, "middle").p) - [0.0, 1.0, 0.0]
    along = d / np.linalg.norm(d)
    J_m = s.jacobian(q, "middle", axes="aligned")[3:]
    pull = 50.0 * (np.linalg.norm(d) - 0.5) + 0.3 * along @ J_m @ v
    tau = J.T @ [0.1, 0.3, 0.0] - pull * J_m.T @ along
    expected = s.mechanism.without_forces().system().forward_dynamics(q, v, tau)
    found = s.forward_dynamics(q, v)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    run = ct.simulate(s, q, v, duration=0.05, samples=401)
    np.testing.assert_allclose(run.acceleration[0], expected, atol=1e-9 * np.abs(expected).max())
    # The compiled step has always known: its velocities change so.
    h = run.t[1]
    slope = (-3.0 * run.v[200] + 4.0 * run.v[201] - run.v[202]) / (2.0 * h)
    np.testing.assert_allclose(slope, run.acceleration[200], atol=2e-3 * np.abs(run.acceleration).max())
    assert run.audit().ok


@pytest.mark.slow
def test_inverse_dynamics_and_diagnosis_of_a_loop_with_a_flexible_rod():
    s = slider_crank().system()
    q, v = moving(s)
    tau = np.zeros(s.nv)
    tau[s.slice_v("A")] = 0.7
    a = s.forward_dynamics(q, v, tau)
    found = s.inverse_dynamics(q, v, a, actuated=["A"])
    np.testing.assert_allclose(found["A"], 0.7, atol=1e-9)
    smallest = s.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(s.forward_dynamics(q, v, smallest), a, atol=1e-10 * np.abs(a).max())
    assert not smallest[s.slice_v("rod.modes")].any()
    told = s.diagnose(q)
    # The crank and two modes; a planar loop in space is redundant three times.
    assert told.mobility == 3 and len(told.redundant) == 3


def test_sensors_feel_a_point_of_a_flexible_body():
    m = pendulum(2)
    s = m.system()
    run = ct.simulate(s, np.array([0.3, 0.05, 0.01]), np.array([1.0, -2.0, 0.5]), duration=0.05, samples=401)
    told, k, h = run.read(ct.IMU("tip")), 200, run.t[1]
    p = run.position("tip")
    moved = (p[k + 1] - 2.0 * p[k] + p[k - 1]) / h**2
    R = s.pose(run.q[k], "tip").R
    expected = R.T @ (moved - m.gravity)
    np.testing.assert_allclose(told["accelerometer"][k], expected, atol=1e-3 * np.abs(expected).max())
    np.testing.assert_allclose(told["gyroscope"][k], s.twist(run.q[k], run.v[k], "tip")[:3], atol=1e-12)


@pytest.mark.slow
def test_a_flexible_body_strikes_a_floor_with_its_tip():
    m = pendulum(2, damping=0.05)
    m.gravity = (0.0, -9.81, 0.0)
    m.add_frame("floor", "ground", ct.Pose(p=(0.0, -0.3, 0.0), rpy=(-np.pi / 2, 0.0, 0.0)))
    s = m.system()
    contact = ct.Contact("tip", on="floor", restitution=0.3)
    run = ct.simulate(s, s.neutral(), np.zeros(s.nv), duration=0.25, contacts=[contact])
    hit = run.transitions[0]
    before, after = run.segments[0], run.segments[1]
    assert before.position("tip")[-1, 1] == pytest.approx(-0.3, abs=1e-8)
    # The impulse is along the normal: velocities change by H^-1 J^T, and the tip leaves with 0.3 of its speed.
    q, v = before.q[-1], before.v[-1]
    J = s.jacobian(q, "tip", axes="aligned")[4]
    H = s.mass_matrix(q)
    expected = v - 1.3 * np.linalg.solve(H, J) * (J @ v) / (J @ np.linalg.solve(H, J))
    np.testing.assert_allclose(after.v[0], expected, atol=1e-7 * np.abs(v).max())
    lost = s.kinetic_energy(q, v) - s.kinetic_energy(q, expected)
    assert hit.energy_loss == pytest.approx(lost, rel=1e-6)
