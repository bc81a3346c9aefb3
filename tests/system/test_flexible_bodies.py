"""Flexible bodies in trees: two ways to the same dynamics, the rigid limit, conserved sums, published frequencies."""

import pickle

import numpy as np
import pytest

import catena as ct
from tests.bodies.slider_crank import moving, slider_crank

SLENDER = {"area": 1e-4, "inertia": 2e-9, "density": 2700.0, "young": 7e10}


def arm(modes=None, **options):
    """A spatial arm: a flexible boom on a universal joint, with a payload on its tip and a frame in its middle."""
    m = ct.Mechanism("arm", gravity=(0.5, -1.0, -9.81))
    m.add_body(
        "boom", flexible=ct.Beam(2.0, modes=modes or {"y": 2, "z": 1}, damping=0.01, **SLENDER, **options)
    )
    m.add_body("load", mass=0.3, com=(0.1, 0.02, 0.0), inertia=(1e-3, 2e-3, 2e-3))
    m.add_joint("A", "ground", "boom", ct.Universal("z", "x"), damping=0.1)
    m.add_joint(
        "B", "boom", "load", ct.Revolute("y"), in_parent=ct.Pose(p=(2.0, 0.0, 0.0), rpy=(0.1, 0.2, 0.3))
    )
    m.add_frame("middle", "boom", ct.Pose(p=(1.0, 0.0, 0.01)))
    return m


def states(s, count=4, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(-0.3, 0.3, (count, s.nq)),
        rng.normal(size=(count, s.nv)),
        rng.normal(size=(count, s.nv)),
    )


def test_forward_dynamics_inverse_dynamics_and_the_mass_matrix_agree():
    s = arm().system()
    q, v, tau = states(s)
    a = s.forward_dynamics(q, v, tau)
    size = np.abs(a).max()
    for method in ("composite_body", "kkt"):
        np.testing.assert_allclose(s.forward_dynamics(q, v, tau, method=method), a, atol=1e-11 * size)
    np.testing.assert_allclose(s.forward_dynamics(q[0], v[0], tau[0]), a[0], atol=1e-12 * size)
    np.testing.assert_allclose(s.inverse_dynamics(q, v, a), tau, atol=1e-9)
    H = s.mass_matrix(q)
    np.testing.assert_allclose(np.einsum("si,sij,sj->s", v, H, v), 2.0 * s.kinetic_energy(q, v), rtol=1e-13)
    with ct.plain_numbers():
        np.testing.assert_allclose(s.forward_dynamics(q[0], v[0], tau[0]), a[0], atol=1e-11 * size)
        np.testing.assert_allclose(s.mass_matrix(q[0]), H[0], atol=1e-12)


def test_jacobians_of_points_of_a_body_take_velocities_to_twists():
    s = arm().system()
    q, v, _ = states(s)
    for frame in ("middle", "load", "boom"):
        np.testing.assert_allclose(
            np.einsum("sij,sj->si", s.jacobian(q, frame), v), s.twist(q, v, frame), atol=1e-13
        )
    h = 1e-6
    moved = [s.pose(s.integrate(q, v, d), "middle")[:, :3, 3] for d in (h, -h)]
    R = s.pose(q, "middle")[:, :3, :3]
    np.testing.assert_allclose(
        np.einsum("sij,si->sj", R, (moved[0] - moved[1]) / (2 * h)), s.twist(q, v, "middle")[:, 3:], atol=1e-8
    )


def test_the_rate_of_a_jacobian_of_points_of_a_body_is_its_derivative(derivative):
    s = arm().system()
    q, v, _ = states(s)
    for frame in ("middle", "load", "boom"):
        rate = derivative(lambda t, frame=frame: s.jacobian(s.integrate(q, v, t), frame))
        np.testing.assert_allclose(ct.jacobian_rate(s, q, v, frame), rate, atol=1e-10)
        with ct.plain_numbers():
            np.testing.assert_allclose(ct.jacobian_rate(s, q[0], v[0], frame), rate[0], atol=1e-10)


def test_the_force_of_inverse_dynamics_is_the_slope_of_the_energy_at_rest():
    s = arm().system()
    q, _, _ = states(s)
    rest, h = np.zeros(s.nv), 1e-6
    tau = s.inverse_dynamics(q, rest, rest)
    slopes = [
        (s.potential_energy(s.integrate(q, e, h)) - s.potential_energy(s.integrate(q, e, -h))) / (2 * h)
        for e in np.eye(s.nv)
    ]
    np.testing.assert_allclose(tau, np.transpose(slopes), atol=1e-6)


def rigid_arm():
    m = arm()
    mass, com, inertia = m.bodies["boom"].flexible.rigid
    r = ct.Mechanism("rigid", gravity=(0.5, -1.0, -9.81))
    r.add_body("boom", mass=mass, com=com, inertia=inertia, physical=False)
    r.add_body("load", mass=0.3, com=(0.1, 0.02, 0.0), inertia=(1e-3, 2e-3, 2e-3))
    for joint in m.joints.values():
        r.add_joint(
            joint.name, joint.parent, joint.child, joint.kind, joint.in_parent, joint.in_child, joint.damping
        )
    return m, r


def test_a_body_with_locked_modes_is_the_rigid_body():
    m, r = rigid_arm()
    locked, rigid = m.lock("boom.modes").system(), r.system()
    assert locked.nv == rigid.nv == 3
    q, v, tau = states(rigid)
    a = rigid.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(
        locked.forward_dynamics(q, v, tau), a, rtol=1e-12, atol=1e-12 * np.abs(a).max()
    )
    np.testing.assert_allclose(locked.mass_matrix(q), rigid.mass_matrix(q), atol=1e-12)
    bent = m.lock("boom.modes", at=[0.05, 0.0, 0.02]).system()
    s = m.system()
    wide = np.concatenate([q, np.broadcast_to([0.05, 0.0, 0.02], (4, 3))], axis=1)
    np.testing.assert_allclose(bent.mass_matrix(q), s.mass_matrix(wide)[:, :3, :3], atol=1e-12)
    assert m.lock("boom.modes").unlock("boom.modes").system().nv == 6


def test_the_mass_matrix_of_an_undeformed_body_begins_as_the_rigid_one():
    m, r = rigid_arm()
    q, _, _ = states(r.system())
    wide = np.concatenate([q, np.zeros((4, 3))], axis=1)
    np.testing.assert_allclose(m.system().mass_matrix(wide)[:, :3, :3], r.system().mass_matrix(q), atol=1e-12)


@pytest.mark.slow
def test_any_root_gives_the_same_motion():
    m = arm()
    s = m.system()
    q, v, tau = states(s, 1)
    a, T = s.forward_dynamics(q[0], v[0], tau[0]), s.kinetic_energy(q[0], v[0])
    for root in ("boom", "load"):
        other = m.system(root=root)
        assert other.plan.owner is not None
        at = {joint: q[0][s.slice_q(joint)] for joint in ("B", "boom.modes")}
        q2 = other.assemble({**at, "A": q[0][s.slice_q("A")]})
        v2 = other.velocity(q2, {joint: v[0][s.slice_v(joint)] for joint in s.joints})
        assert other.kinetic_energy(q2, v2) == pytest.approx(T, rel=1e-9)
        tau2 = np.zeros(other.nv)
        for joint in ("B", "boom.modes"):
            tau2[other.slice_v(joint)] = tau[0][s.slice_v(joint)]
        free = tau[0].copy()
        free[s.slice_v("A")] = 0.0
        a2 = other.forward_dynamics(q2, v2, tau2)
        expected = s.forward_dynamics(q[0], v[0], free)
        for joint in ("B", "boom.modes"):
            np.testing.assert_allclose(
                a2[other.slice_v(joint)], expected[s.slice_v(joint)], rtol=1e-8, atol=1e-9 * np.abs(a).max()
            )


def test_reactions_balance_weight_and_motion():
    s = arm().system()
    q, v, tau = states(s, 1)
    a = s.forward_dynamics(q[0], v[0], tau[0])
    wrench = s.reactions(q[0], v[0], tau[0])
    assert set(wrench) == {"A", "B"}
    h = 1e-6
    momenta = [s.momentum(s.integrate(q[0], v[0] + d / 2 * a, d), v[0] + d * a)[3:] for d in (h, -h)]
    rate = (momenta[0] - momenta[1]) / (2 * h)
    mass = 0.3 + 0.54
    # The wrench on the boom is told in the axes of the child-side frame, which turns with the root of the boom.
    R = s.pose(q[0], "boom").R
    np.testing.assert_allclose(R @ wrench["A"][3:], rate - mass * s.mechanism.gravity, rtol=1e-5, atol=1e-3)


@pytest.mark.slow
def test_derivatives_are_those_of_finite_differences():
    s = arm().system()
    q, v, tau = (x[0] for x in states(s, 1))
    a, h = s.forward_dynamics(q, v, tau), 1e-6
    found = s.forward_dynamics_derivatives(q, v, tau)
    I = np.eye(s.nv)  # noqa: E741
    expected = (
        [
            s.forward_dynamics(s.integrate(q, e, h), v, tau)
            - s.forward_dynamics(s.integrate(q, e, -h), v, tau)
            for e in I
        ],
        [s.forward_dynamics(q, v + h * e, tau) - s.forward_dynamics(q, v - h * e, tau) for e in I],
        [s.forward_dynamics(q, v, tau + h * e) - s.forward_dynamics(q, v, tau - h * e) for e in I],
    )
    for x, y in zip(found, expected, strict=True):
        y = np.transpose(y) / (2 * h)
        np.testing.assert_allclose(x, y, atol=1e-6 * np.abs(y).max())
    assert np.abs(a).max() > 0.0


@pytest.mark.slow
def test_a_free_flexible_body_keeps_energy_and_momentum_at_defaults():
    m = ct.Mechanism("free", gravity=(0.0, 0.0, 0.0))
    m.add_body("beam", flexible=ct.Beam(2.0, modes={"y": 1, "z": 1}, ends="free-free", **SLENDER))
    m.add_joint("fly", "ground", "beam", ct.Free(), in_child=ct.Pose(p=(1.0, 0.0, 0.0)))
    s = m.system()
    q, v = s.neutral(), np.array([0.3, 1.0, 2.0, 1.0, 0.5, -0.2, 1.0, -2.0])
    run = ct.simulate(s, q, v, duration=10.0, samples=21)
    momentum = s.momentum(run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-8 * np.abs(momentum).max()
    assert run.energy_drift < 1e-8


# Flap frequencies of a cantilever that rotates, in units of sqrt(EI / (rho A L^4)): by hub radius in lengths of the
# beam and by speed, the first and the second one, to 1e-7. For a hub without radius they are those of Wright, Smith,
# Thresher and Wang (1982).
ROTATING = {
    0.0: {
        0: (3.5160152, 22.034492),
        1: (3.6816469, 22.181011),
        2: (4.1373195, 22.614922),
        3: (4.7972785, 23.320264),
        4: (5.5850014, 24.273349),
        5: (6.4495448, 25.44608),
        6: (7.360373, 26.809082),
        8: (9.2568376, 29.995382),
        10: (11.202328, 33.640366),
        12: (13.17015, 37.603112),
    },
    1.0: {
        0: (3.5160152, 22.034492),
        1: (3.8888235, 22.375014),
        2: (4.8336889, 23.366042),
        3: (6.0817497, 24.927745),
        4: (7.4750478, 26.957262),
        5: (8.9403581, 29.352835),
        6: (10.443866, 32.027244),
        8: (13.507389, 37.953793),
        10: (16.606363, 44.368224),
        12: (19.721542, 51.070134),
    },
    5.0: {
        0: (3.5160152, 22.034492),
        1: (4.6241726, 23.133862),
        2: (6.9415096, 26.143245),
        3: (9.6063257, 30.471956),
        4: (12.381903, 35.608504),
        5: (15.201192, 41.224868),
        6: (18.040971, 47.131686),
        8: (23.748929, 59.432277),
        10: (29.474452, 72.080939),
        12: (35.208205, 84.91408),
    },
}


def rotating(hub, modes=6):
    """A blade of so many modes on a hub, and its first two flap frequencies as a function of the speed."""
    m = ct.Mechanism("rotor", gravity=(0.0, 0.0, 0.0))
    m.add_body("hub", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.add_body("blade", flexible=ct.Beam(1.0, 1e-4, 1e-9, 1.0, 1e5, modes={"z": modes}))
    m.add_joint("axis", "ground", "hub", ct.Revolute("z"))
    m.add_joint("root", "hub", "blade", ct.Fixed(), in_parent=ct.Pose(p=(hub, 0.0, 0.0)))
    s, unit = m.system(), np.sqrt(1e5 * 1e-9 / 1e-4)
    own, h = s.slice_v("blade.modes"), 1e-6
    moved = s.neutral() + h * np.concatenate([np.eye(s.nv)[own], -np.eye(s.nv)[own]])
    H = s.mass_matrix(s.neutral())[own, own]

    def frequencies(speed):
        v, rest = np.zeros((2 * modes, s.nv)), np.zeros((2 * modes, s.nv))
        v[:, s.slice_v("axis")] = speed * unit
        force = s.inverse_dynamics(moved, v, rest)[:, own]
        stiffness = (force[:modes] - force[modes:]).T / (2 * h)
        return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(H, stiffness)).real))[:2] / unit

    return frequencies


@pytest.mark.parametrize(("hub", "worst"), [(0.0, 2.5e-4), (1.0, 8.5e-4), (5.0, 2.5e-3)])
def test_a_rotating_beam_has_the_published_frequencies(hub, worst):
    found = rotating(hub)
    for speed, expected in ROTATING[hub].items():
        # Six modes of the beam at rest hold the shapes at this speed to some digits.
        np.testing.assert_allclose(found(speed), expected, rtol=worst * (speed / 12.0) ** 1.5 + 3e-8)


def ritz(modes, hub, speed):
    """The first two flap frequencies of a blade by Rayleigh and Ritz, with the tension that rotation makes in it."""
    shapes = ct.Beam(1.0, 1e-4, 1e-9, 1.0, 1e5, modes={"z": modes}).shapes_of_modes
    gauss, w = np.polynomial.legendre.leggauss(12)
    x, w = ((np.arange(40)[:, None] + 0.5 * (1.0 + gauss)) / 40).ravel(), np.tile(w / 80.0, 40)
    moved, slope, bent = (np.stack([mode.displacement(x, k) for mode in shapes], axis=1) for k in range(3))
    tension = speed**2 * (hub * (1.0 - x) + 0.5 * (1.0 - x**2))
    K = bent.T @ (w[:, None] * bent) + slope.T @ ((w * tension)[:, None] * slope)
    M = moved.T @ (w[:, None] * moved)
    return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real))[:2]


@pytest.mark.slow
@pytest.mark.parametrize("modes", [4, 6, 10])
def test_rotating_frequencies_are_those_of_rayleigh_and_ritz_with_the_same_modes(modes):
    np.testing.assert_allclose(rotating(1.0, modes)(12.0), ritz(modes, 1.0, 12.0), rtol=1e-7)


def test_rotating_frequencies_converge_with_the_fifth_power_of_the_number_of_modes():
    """At its root a blade under tension has a fourth derivative that modes at rest have not, so their parts of its
    shape fall with the fifth power of their number, and what is left of a frequency does so too."""
    counts = np.array([4, 6, 8, 10, 14, 20])
    errors = [np.max(np.abs(ritz(int(k), 0.0, 12.0) / ROTATING[0.0][12] - 1.0)) for k in counts]
    orders = -np.diff(np.log(errors)) / np.diff(np.log(counts))
    assert (np.diff(orders) > 0.0).all()
    assert 4.5 < orders[-1] < 5.0


# Frequencies of a cantilever with a tip mass, in lengths and masses of the beam: mass, inertia, the first two of them.
TIP_MASSES = [
    (0.0, 0.0, 3.5160152685, 22.03449156467),
    (0.1, 0.0, 2.967838346776, 19.35580100988),
    (0.2, 0.0, 2.612747861352, 18.20781441541),
    (0.5, 0.0, 2.016298981807, 16.90141772097),
    (1.0, 0.0, 1.557297861199, 16.25008515824),
    (2.0, 0.0, 1.158197107383, 15.86088999239),
    (5.0, 0.0, 0.756937338929, 15.60234588038),
    (10.0, 0.0, 0.5413750329007, 15.51151311969),
    (1.0, 0.1, 1.429626344986, 6.275325700777),
    (0.5, 0.01, 1.987525575088, 13.403441938),
]


@pytest.mark.parametrize(("mass", "inertia", "first", "second"), TIP_MASSES)
def test_a_cantilever_with_a_tip_mass_has_the_analytic_frequencies(mass, inertia, first, second):
    beam = ct.Beam(1.0, 1e-4, 1e-9, 1e4, 1e9, modes={"y": 6}, interface=True)
    m = ct.Mechanism("cantilever", gravity=(0.0, 0.0, 0.0))
    m.add_body("beam", flexible=beam)
    m.add_body("tip", mass=mass, inertia=(inertia, inertia, inertia))
    m.add_joint("clamp", "ground", "beam", ct.Fixed())
    m.add_joint("weld", "beam", "tip", ct.Fixed(), in_parent=ct.Pose(p=(1.0, 0.0, 0.0)))
    found = m.system().modes(np.zeros(6)).frequencies
    assert found[0] == pytest.approx(first, rel=1e-10)
    assert found[1] == pytest.approx(second, rel=5e-8)


def test_modes_are_named_in_runs_and_large_deflections_warned_of():
    m = ct.Mechanism("pendulum")
    m.add_body("boom", flexible=ct.Beam(2.0, modes={"y": 2}, **SLENDER))
    m.add_joint("A", "ground", "boom", ct.Revolute("z"))
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("boom.modes")] = [0.5, 0.0]
    with pytest.warns(ct.CatenaWarning, match="'boom' deflects by 25 % of its length, most at t = 0 s"):
        run = ct.simulate(s, q, v, duration=0.01, samples=3)
    assert run["boom.mode1"].shape == (3,) and run["boom.mode1"][0] == 0.5
    np.testing.assert_array_equal(run["boom.modes"][:, 0], run["boom.mode1"])
    with pytest.raises(ct.UnknownNameError, match="2 modes, and no mode 3"):
        run["boom.mode3"]


def test_flexible_bodies_survive_pickling_copies_and_files(tmp_path):
    m = arm().lock("boom.modes", at=[0.01, 0.0, 0.0])
    s = arm().system()
    q, v, tau = states(s, 1)
    a = s.forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(s)).forward_dynamics(q, v, tau), a)
    arm().save(tmp_path / "arm.toml")
    np.testing.assert_allclose(
        ct.load(tmp_path / "arm.toml").system().forward_dynamics(q, v, tau), a, rtol=1e-12
    )
    m.save(tmp_path / "locked.toml")
    assert ct.load(tmp_path / "locked.toml").system().nv == 3


def test_places_beside_a_beam_and_wrong_bodies_are_refused_in_words():
    m = arm()
    m.add_frame("far", "boom", ct.Pose(p=(5.0, 0.0, 0.0)))
    with pytest.raises(ct.PlanError, match="frame 'far' on body 'boom'.*not on the beam"):
        m.system()
    with pytest.raises(ct.ModelError, match="its own mass"):
        m.add_body("more", mass=1.0, flexible=ct.Beam(2.0, modes=1, **SLENDER))
    with pytest.raises(ct.ModelError, match="no flexible body"):
        m.add_body("more", flexible="rubber")


def test_stress_resultants_hold_what_hangs_on_the_beam():
    beam = ct.Beam(2.0, modes={"y": 3}, interface=True, **SLENDER)
    m = ct.Mechanism("cantilever", gravity=(0.0, 0.0, 0.0))
    m.add_body("beam", flexible=beam)
    m.add_joint("clamp", "ground", "beam", ct.Fixed())
    m.add_frame("tip", "beam", ct.Pose(p=(2.0, 0.0, 0.0)))
    m.add_wrench("load", "tip", force=(0.0, 0.01, 0.0), axes="ground")
    s = m.system()
    q = s.equilibrium(s.neutral()).q
    found = beam.resultants(q[s.slice_q("beam.modes")], [0.0, 1.0])
    np.testing.assert_allclose(found["Mz"], [0.02, 0.01], rtol=1e-5)
    np.testing.assert_allclose(found["Qy"], [0.01, 0.01], rtol=1e-5)
    assert np.abs(found["My"]).max() == 0.0


def test_the_operational_space_inertia_is_that_of_the_mass_matrix():
    s = arm().system()
    q, _, _ = states(s, 2)
    inverse, omega = s.operational_space(q, "load")
    J, H = s.jacobian(q, "load"), s.mass_matrix(q)
    expected = np.linalg.solve(H, np.swapaxes(J, -1, -2))
    np.testing.assert_allclose(omega, expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(inverse, J @ expected, atol=1e-9 * np.abs(J @ expected).max())


def test_the_regressor_is_that_of_the_rigid_bodies_beside_flexible_ones():
    m = arm()
    s, other = (
        m.system(),
        m.with_body("load", mass=0.5, com=(0.2, 0.01, 0.03), inertia=(2e-3, 3e-3, 4e-3)).system(),
    )
    q, v, a = states(s)
    Y, change = s.regressor(q, v, a), ct.inertial_parameters(other) - ct.inertial_parameters(s)
    assert Y.shape == (4, s.nv, 10)
    expected = other.inverse_dynamics(q, v, a) - s.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(Y @ change, expected, atol=1e-12 * np.abs(expected).max())
    # A body that is locked as it rests is one of the rigid ones.
    stiff = m.lock("boom.modes").system()
    q, v, a = (x[:, :3] for x in (q, v, a))
    damped = np.concatenate([0.1 * v[:, :2], np.zeros((4, 1))], axis=1)
    tau = stiff.regressor(q, v, a) @ ct.inertial_parameters(stiff) + damped
    np.testing.assert_allclose(tau, stiff.inverse_dynamics(q, v, a), atol=1e-12)
    assert m.lock("boom.modes", at=[0.1, 0.0, 0.0]).system().regressor(q, v, a).shape == (4, 3, 10)


def test_a_load_on_a_flexible_arm_with_friction_is_identified():
    m = arm()
    guess, true = (
        m.system(),
        m.with_body("load", mass=0.5, com=(0.2, 0.01, 0.03), inertia=(2e-3, 3e-3, 4e-3)).system(),
    )
    q, v, a = states(true, 40)
    found = ct.identify_inertia(guess, q, v, a, ["load"], tau=true.inverse_dynamics(q, v, a))
    assert found.rank == 10
    np.testing.assert_allclose(found.parameters["load"], ct.inertial_parameters(true), atol=1e-10)
    with pytest.raises(
        ct.StateError, match="body 'boom' is flexible, and its modes are not told by ten numbers"
    ):
        ct.identify_inertia(guess, q, v, a, ["boom"])


@pytest.mark.slow
def test_specialised_code_agrees_for_trees_and_loops():
    for s, q, v in ((arm().system(), *(x[0] for x in states(arm().system(), 1)[:2])), _loop()):
        fast = s.specialise("forward_dynamics", "inverse_dynamics", "mass_matrix")
        a = s.forward_dynamics(q, v)
        assert fast.variants.specialiser.wait(300.0)
        for x, y in (
            (fast.forward_dynamics(q, v), a),
            (fast.mass_matrix(q), s.mass_matrix(q)),
            (fast.inverse_dynamics(q, v, a), s.inverse_dynamics(q, v, a)),
        ):
            np.testing.assert_allclose(x, y, atol=1e-11 * max(1.0, np.abs(y).max()))


def _loop():
    """A slider-crank with a flexible rod, and a state of it."""
    s = slider_crank().system()
    return s, *moving(s)
