"""Rotors geared to joints: the same machine with the rotor's inertia added by hand, in every algorithm, and MuJoCo."""

import numpy as np
import pytest

import catena as ct

mujoco = pytest.importorskip("mujoco")
P = ct.Pose


def arm(armature):
    """An arm with rotors, whatever its joints are."""
    m = ct.Mechanism("arm")
    parts = (("a", 1.0, (0.1, 0, 0)), ("b", 2.0, (0, 0.2, 0)), ("c", 0.5, (0, 0, 0.1)))
    for name, mass, com in parts:
        m.add_body(name, mass, com, (0.1, 0.15, 0.12))
    rotors = ((0.7,), (0.3, 0.4), None) if armature else (None,) * 3
    kinds = (ct.Revolute("x"), ct.Universal("y", "z"), ct.Prismatic("x"))
    before = "ground"
    for (name, *_), kind, rotor in zip(parts, kinds, rotors, strict=True):
        m.add_joint(name.upper(), before, name, kind, in_parent=P(p=(0.3, 0.1, 0)), armature=rotor)
        before = name
    return m


ROTORS = np.diag([0.7, 0.3, 0.4, 0.0])


@pytest.fixture(scope="module")
def state():
    s = arm(True).system()
    rng = np.random.default_rng(1)
    return s, s.integrate(s.neutral(), rng.normal(size=s.nv)), *rng.normal(size=(2, s.nv))


def test_inertia_energy_and_both_dynamics_have_the_rotors(state):
    s, q, v, tau = state
    plain = arm(False).system()
    H = plain.mass_matrix(q) + ROTORS
    np.testing.assert_allclose(s.mass_matrix(q), H, atol=1e-14)
    np.testing.assert_allclose(s.mass_matrix(q, method="structurally_recursive"), H, atol=1e-14)
    np.testing.assert_allclose(s.bias_force(q, v), plain.bias_force(q, v), atol=1e-13)
    assert s.kinetic_energy(q, v) == pytest.approx(0.5 * v @ H @ v, rel=1e-14)
    np.testing.assert_allclose(s.momentum(q, v), plain.momentum(q, v), atol=1e-14)
    vdot = np.linalg.solve(H, tau - plain.bias_force(q, v))
    for method in (
        "auto",
        "composite_body",
        "kkt",
        "absolute",
        "joint_multipliers",
        "minimal",
        "elimination",
    ):
        np.testing.assert_allclose(
            s.forward_dynamics(q, v, tau, method=method), vdot, atol=1e-12, err_msg=method
        )
    with ct.plain_numbers():
        np.testing.assert_allclose(s.forward_dynamics(q, v, tau), vdot, atol=1e-12)
    np.testing.assert_allclose(s.inverse_dynamics(q, v, vdot), tau, atol=1e-12)
    np.testing.assert_allclose(s.equations("mass_matrix")(q), H, atol=1e-13)


def test_derivatives_operational_space_and_prescribed_joints_have_the_rotors(state):
    s, q, v, tau = state
    H_inv = np.linalg.inv(s.mass_matrix(q))
    J = s.jacobian(q, "c")
    Lambda_inv, Omega = s.operational_space(q, "c")
    np.testing.assert_allclose(Omega, H_inv @ J.T, atol=1e-12)
    np.testing.assert_allclose(Lambda_inv, J @ H_inv @ J.T, atol=1e-12)
    by_q, _, by_tau = s.forward_dynamics_derivatives(q, v, tau)
    np.testing.assert_allclose(by_tau, H_inv, atol=1e-12)
    step = 1e-6 * np.eye(s.nv)
    ahead, behind = (s.forward_dynamics(s.integrate(q, sign * step), v, tau) for sign in (1.0, -1.0))
    np.testing.assert_allclose(by_q, (ahead - behind).T / 2e-6, atol=1e-7)
    vdot, forces = s.hybrid_dynamics(q, v, tau, {"A": 2.0, "C": 0.4})
    np.testing.assert_allclose(s.inverse_dynamics(q, v, vdot), forces, atol=1e-12)
    e = s.equations("inverse_dynamics", symbols=["A.armature"])
    more = e(q, v, vdot, parameters={"A.armature": 1.7}) - s.inverse_dynamics(q, v, vdot)
    np.testing.assert_allclose(more, np.eye(s.nv)[0] * vdot[0], atol=1e-12)


def test_a_massless_body_moves_by_its_rotor():
    m = ct.Mechanism("rotor alone", gravity=(0, 0, 0))
    m.add_body("disc")
    m.add_joint("axle", "ground", "disc", ct.Revolute("z"), armature=0.25)
    assert m.system().forward_dynamics([0.0], [0.0], [2.0]) == pytest.approx(8.0)


def test_a_run_with_rotors_keeps_its_energy():
    m = ct.Mechanism("pendulum")
    m.add_body("bob", 1.0, (0.3, 0, 0), 0.1)
    m.add_joint("pivot", "ground", "bob", ct.Revolute("y"), armature=0.4)
    run = ct.simulate(m.system(), [0.3], [1.0], duration=2.0, integrator="rk4", step=0.01)
    assert run.energy_drift < 1e-8 and abs(run.v[-1, 0] - run.v[0, 0]) > 0.1


def test_mujoco_has_the_same_accelerations_with_armature_and_a_joint_equality(tmp_path):
    text = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
      <body name="a" pos="0 0 1"><joint name="A" axis="0 1 0" armature="0.3" damping="0.1"/>
        <inertial pos="0.2 0 0" mass="2" diaginertia="0.02 0.03 0.03"/>
        <body name="b" pos="0.4 0 0"><joint name="B" axis="0 1 0" armature="0.1"/>
          <inertial pos="0.2 0 0.05" mass="1" diaginertia="0.01 0.02 0.02"/></body></body>
      <body name="c" pos="1 0 1"><joint name="C" axis="1 0 0" armature="0.05"/>
        <inertial pos="0 0.1 0" mass="0.5" diaginertia="0.01 0.02 0.02"/></body></worldbody>
      <equality><joint name="gear" joint1="C" joint2="A" polycoef="0.1 2 0 0 0" solref="-1e8 -1e4"
        solimp="0.9999999 0.9999999 0.001"/></equality></mujoco>"""
    (tmp_path / "m.xml").write_text(text)
    s = ct.load(tmp_path / "m.xml").system()
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    model.opt.tolerance, model.opt.iterations = 1e-16, 1000
    data = mujoco.MjData(model)
    q = s.assemble({"A": 0.3, "B": -0.5})
    v = s.velocity(q, {"A": 1.0, "B": 0.4})
    data.qpos[:], data.qvel[:] = q, v
    data.qfrc_applied[:] = tau = np.array([0.3, -0.2, 0.1])
    mujoco.mj_forward(model, data)
    mass = np.zeros((3, 3))
    mujoco.mj_fullM(model, data, mass)
    np.testing.assert_allclose(s.mass_matrix(q), mass, atol=1e-12)
    vdot = s.forward_dynamics(q, v, tau)
    # What MuJoCo's tree does with the third joint tied to the first by hand.
    E = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    force = tau + data.qfrc_passive - data.qfrc_bias
    np.testing.assert_allclose(vdot, E @ np.linalg.solve(E.T @ mass @ E, E.T @ force), atol=1e-11)
    # Its own equality is a spring whose impedance is at most 0.9999. (It leaves out what a bent equality takes of
    # velocities, so this one is straight.)
    np.testing.assert_allclose(vdot, data.qacc, atol=2e-4 * np.abs(vdot).max())
    force = s.coupling_forces(q, v, tau)["gear"]
    np.testing.assert_allclose(data.qfrc_constraint[2], force, rtol=2e-4)


def test_pinocchio_has_the_same_inertia_with_armature_and_mimics_what_is_coupled(tmp_path):
    pin = pytest.importorskip("pinocchio")
    inertial = '<inertial><origin xyz="0.1 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>'  # noqa: E501
    joint = '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>{3}</joint>'  # noqa: E501
    text = '<robot name="r"><link name="base"/>' + "".join(
        f'<link name="{n}">{inertial}</link>' for n in "abc"
    )
    text += joint.format("A", "base", "a", "") + joint.format("B", "a", "b", "")
    text += joint.format("C", "b", "c", '<mimic joint="A" multiplier="-0.5" offset="0.2"/>') + "</robot>"
    (tmp_path / "r.urdf").write_text(text)
    m = ct.load(tmp_path / "r.urdf")
    s = m.system()
    model = pin.buildModelFromUrdf(str(tmp_path / "r.urdf"))
    angles = {"A": 0.4, "B": -0.3}
    q = s.assemble(angles)
    assert s.joint_position(q, "C")[0] == pytest.approx(0.2 - 0.5 * 0.4, abs=1e-14)
    theirs = pin.neutral(model)
    theirs[:] = ct.to_pinocchio_q(s, q, model)
    mass = pin.crba(model, model.createData(), theirs)
    mass = np.triu(mass) + np.triu(mass, 1).T
    v = s.velocity(q, {"A": 1.0, "B": 0.5})
    bias = pin.rnea(model, model.createData(), theirs, v, np.zeros(3))
    # What Pinocchio's tree does with the third joint tied to the first by hand.
    E = np.array([[1.0, 0.0], [0.0, 1.0], [-0.5, 0.0]])
    reduced = np.linalg.solve(E.T @ mass @ E, -E.T @ bias)
    np.testing.assert_allclose(s.forward_dynamics(q, v), E @ reduced, atol=1e-12)


GEARED = (
    (ct.Revolute("z"), (0,)),
    (ct.Prismatic("x"), (0,)),
    (ct.Helical("y", 0.1), (0,)),
    (ct.Cylindrical("x"), (0, 1)),
    (ct.Universal("z", (0.6, 0.0, 0.8)), (0,)),
    (ct.Planar("z"), (0, 1)),
    (ct.Sdof("dx", "dz", "rx", "ry"), (0, 1)),
    (ct.Sdof("rz", "dx", "ry"), (0,)),
)


def force_free(kind, armature, flipped=False):
    """A skew body on a joint of a kind and another one on it, without weight."""
    m = ct.Mechanism("force-free", gravity=(0, 0, 0))
    m.add_body("a", 1.3, (0.1, 0.2, -0.1), (0.3, 0.5, 0.4))
    m.add_body("b", 0.7, (0.3, 0.0, 0.1), (0.1, 0.05, 0.12))
    m.add_joint("J", *(("a", "ground") if flipped else ("ground", "a")), kind, armature=armature)
    m.add_joint("K", "a", "b", ct.Revolute((0.0, 0.6, 0.8)), in_parent=P(p=(0.4, 0.1, 0.0)), armature=0.2)
    return m


@pytest.mark.parametrize(("kind", "cyclic"), GEARED)
def test_energy_and_the_momenta_of_ignorable_coordinates_hold_with_rotors(kind, cyclic):
    """Nothing depends on the first coordinates of these kinds, so the momenta (H v)_k that belong to them stay."""
    s = force_free(kind, 0.1 + 0.3 * np.arange(kind.nv)).system()
    v = np.random.default_rng(3).normal(size=s.nv)
    run = ct.simulate(s, s.neutral(), v, 1.0, samples=5, rtol=1e-11, atol=1e-12)
    assert run.energy_drift < 1e-9
    own = range(s.nv)[s.slice_v("J")]
    held = np.einsum("tij,tj->ti", s.mass_matrix(run.q), run.v)[:, [own[k] for k in cyclic]]
    np.testing.assert_allclose(held, np.broadcast_to(held[0], held.shape), atol=1e-9)
    assert np.ptp(run.v, axis=0).max() > 1e-3


@pytest.mark.parametrize("flipped", [False, True])
def test_the_rotors_of_a_ball_joint_keep_their_angular_momentum(flipped):
    """About the centre of a ball joint, the momentum of the bodies and of a ball of the rotors' inertia that turns with
    what the joint moves are constant in space."""
    s = force_free(ct.Spherical(), 0.6, flipped).system()
    v = np.random.default_rng(4).normal(size=s.nv)
    run = ct.simulate(s, s.neutral(), v, 1.0, samples=5, rtol=1e-11, atol=1e-12)
    assert run.energy_drift < 1e-9
    turn = np.einsum("tij,tj->ti", run.pose("a")[:, :3, :3], run.twist("a")[:, :3])
    total = run.momentum[:, :3] + 0.6 * turn
    np.testing.assert_allclose(total, np.broadcast_to(total[0], total.shape), atol=1e-9)
    assert np.ptp(turn, axis=0).max() > 0.1


def test_rotors_that_would_gyrate_are_refused_wherever_they_are_given():
    with pytest.raises(
        ct.ModelError, match=r"joint 'J'.*armature is 0\.5, but nothing drives a body that floats"
    ):
        force_free(ct.Free(), 0.5)
    with pytest.raises(ct.ModelError, match=r"joint 'J'.*give one number"):
        force_free(ct.Spherical(), (0.1, 0.2, 0.3))
    with pytest.raises(ct.ModelError, match="armature"):
        force_free(ct.Free(), None).with_joint("J", armature=0.1)
    assert force_free(ct.Free(), 0.0).joints["J"].armature is None
    s = force_free(ct.Spherical(), 0.5).system()
    v = np.ones(s.nv)
    with pytest.raises(ct.StateError, match=r"'J\.armature'.*state \(1,\).*give one number"):
        s.vary({"J.armature": [[0.5, 0.5, 0.5], [0.1, 0.2, 0.3]]}).forward_dynamics(s.neutral(), v)
    with pytest.raises(ct.StateError, match="give zero or more"):
        s.vary({"J.armature": [-0.5, -0.5, -0.5]})
    both = s.vary({"J.armature": [[0.5] * 3, [0.7] * 3]}).forward_dynamics(s.neutral(), v)
    np.testing.assert_allclose(both[0], s.forward_dynamics(s.neutral(), v), atol=1e-12)


def test_a_free_joint_with_armature_in_a_file_is_warned_of_by_name(tmp_path):
    text = """<mujoco><worldbody><body name="stone"><joint name="float" type="free" armature="0.5"/>
      <inertial pos="0.1 0 0" mass="2" diaginertia="0.02 0.03 0.03"/>
      <body name="ball"><joint name="ball" type="ball" armature="0.25"/>
      <inertial pos="0.1 0 0" mass="2" diaginertia="0.02 0.03 0.03"/></body></body></worldbody></mujoco>"""
    (tmp_path / "m.xml").write_text(text)
    with pytest.warns(
        ct.CatenaWarning, match="not read: armature of the free joints, a mass without weight 'float'"
    ):
        m = ct.load(tmp_path / "m.xml")
    assert m.joints["float"].armature is None and m.joints["ball"].armature.tolist() == [0.25] * 3
