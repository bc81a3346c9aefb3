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
