"""Coordinates of Pinocchio, MuJoCo and Drake: what is translated is the same state, the same acceleration and the same
force, and comes back. Drake is not there: its documentation is written out as matrices."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import catena as ct

LINK = (
    '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="1"/>'
    '<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
)
# The joints are not in alphabetical order, in which Pinocchio has them.
URDF = f"""<robot name="r"><link name="world"/>
<link name="z">{LINK}<link name="y">{LINK}<link name="x">{LINK}<link name="w">{LINK}
<joint name="free" type="floating"><parent link="world"/><child link="z"/></joint>
<joint name="turn" type="continuous"><parent link="z"/><child link="y"/><axis xyz="0 1 0"/></joint>
<joint name="slide" type="prismatic"><parent link="z"/><child link="x"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="plane" type="planar"><parent link="x"/><child link="w"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.fixture
def urdf(tmp_path):
    (tmp_path / "r.urdf").write_text(URDF)
    return ct.load(tmp_path / "r.urdf").system(), pin.buildModelFromXML(URDF)


@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_pinocchio_has_the_same_energy_at_the_same_state(urdf, batch):
    s, model = urdf
    assert list(s.joints) != list(model.names)[1:]
    random = np.random.default_rng(1)
    flat = [pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq)) for _ in range(4)]
    q = np.array(flat[: int(np.prod(batch))]).reshape(*batch, model.nq)
    v = random.normal(size=(*batch, model.nv))
    own_q, own_v = ct.from_pinocchio_q(s, q, model), ct.from_pinocchio_v(s, q, v, model)
    assert own_q.shape == (*batch, s.nq) and own_v.shape == (*batch, s.nv)
    data = model.createData()
    for index in np.ndindex(*batch):
        energy = pin.computeKineticEnergy(model, data, q[index], v[index])
        assert s.kinetic_energy(own_q[index], own_v[index]) == pytest.approx(energy, rel=1e-12)
        height = pin.computePotentialEnergy(model, data, q[index])
        assert s.potential_energy(own_q[index]) == pytest.approx(height, rel=1e-12)
    np.testing.assert_allclose(ct.to_pinocchio_q(s, own_q, model), q, atol=1e-15)
    np.testing.assert_allclose(ct.to_pinocchio_v(s, own_q, own_v, model), v, atol=1e-14)


def test_a_step_in_the_same_direction_ends_at_the_same_place(urdf):
    s, model = urdf
    random = np.random.default_rng(2)
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    v = random.normal(size=model.nv)
    own = s.integrate(ct.from_pinocchio_q(s, q, model), ct.from_pinocchio_v(s, q, v, model), 1e-6)
    there = ct.from_pinocchio_q(s, pin.integrate(model, q, 1e-6 * v), model)
    np.testing.assert_allclose(own, there, atol=1e-11)


def test_mujoco_translates_there_and_back_with_frames_of_the_free_joint(tmp_path):
    m = ct.Mechanism("m")
    m.add_body("a", mass=1.0, inertia=0.1)
    m.add_joint(
        "f", "ground", "a", ct.Free(), in_parent=ct.Pose(p=(1, 2, 3), rpy=(0.1, 0.2, 0.3)), actuated=False
    )
    m.add_body("b", mass=1.0, inertia=0.1)
    m.add_joint("s", "a", "b", ct.Spherical())
    m.save(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    s = m.system()
    random = np.random.default_rng(0)
    q = np.array([s.integrate(s.neutral(), random.normal(size=s.nv), 1.0) for _ in range(3)])
    qpos = ct.to_mujoco_qpos(s, q, model)
    data = mujoco.MjData(model)
    for one, theirs in zip(q, qpos):
        data.qpos[:] = theirs
        mujoco.mj_kinematics(model, data)
        for name in "ab":
            np.testing.assert_allclose(data.body(name).xpos, s.pose(one, name).p, atol=1e-14)
            np.testing.assert_allclose(data.body(name).xmat, s.pose(one, name).R.ravel(), atol=1e-14)
    back = ct.from_mujoco_qpos(s, 2.0 * qpos - qpos, model)
    for one, other in zip(q, back):
        assert s.pose(one, "b").allclose(s.pose(other, "b"), 1e-14)
    # Quaternions of any length are rotations in MuJoCo.
    qpos[:, 3:7] *= 2.0
    assert s.pose(ct.from_mujoco_qpos(s, qpos, model)[0], "a").allclose(s.pose(q[0], "a"), 1e-14)


def test_states_and_models_that_do_not_fit_are_refused(urdf):
    s, model = urdf
    with pytest.raises(ct.StateError, match=r"q has shape \(3,\): give"):
        ct.from_pinocchio_q(s, [1, 2, 3], model)
    with pytest.raises(ct.StateError, match="not numbers"):
        ct.to_pinocchio_q(s, "abc", model)
    other = ct.generators.arm6().system()
    with pytest.raises(ct.StateError, match="which carries no coordinates here"):
        ct.from_pinocchio_q(other, pin.neutral(model), model)


def random_states(s, count, seed):
    random = np.random.default_rng(seed)
    q = np.array([s.integrate(s.neutral(), random.normal(size=s.nv), 1.0) for _ in range(count)])
    return q, *random.normal(size=(3, count, s.nv))


def assert_comes_back(there, q, v, vdot, tau):
    """Everything translated comes back, and forces keep their power."""
    q_there, v_there = there.configuration(q), there.velocity(q, v)
    again = there.catena_configuration(q_there)
    np.testing.assert_allclose(there.catena_velocity(q, v_there), v, atol=1e-13)
    np.testing.assert_allclose(
        there.catena_acceleration(q, v, there.acceleration(q, v, vdot)), vdot, atol=1e-12
    )
    tau_there = there.effort(q, tau)
    np.testing.assert_allclose(there.catena_effort(q, tau_there), tau, atol=1e-13)
    np.testing.assert_allclose(np.sum(tau_there * v_there, -1), np.sum(tau * v, -1), atol=1e-12)
    return again


def test_pinocchio_needs_the_same_forces_for_the_same_accelerations(urdf):
    s, model = urdf
    there = ct.pinocchio_coordinates(s, model)
    q, v, vdot, _ = random_states(s, 4, 3)
    tau = s.inverse_dynamics(q, v, vdot)
    assert_comes_back(there, q, v, vdot, tau)
    data = model.createData()
    theirs = there.configuration(q), there.velocity(q, v), there.acceleration(q, v, vdot)
    for k, (one_q, one_v, one_a) in enumerate(zip(*theirs)):
        needed = pin.rnea(model, data, one_q, one_v, one_a)
        np.testing.assert_allclose(there.effort(q[k], tau[k]), needed, rtol=1e-11, atol=1e-11)
        found = pin.aba(model, data, one_q, one_v, needed)
        np.testing.assert_allclose(there.catena_acceleration(q[k], v[k], found), vdot[k], atol=1e-9)


def test_names_that_differ_are_said(urdf):
    s, model = urdf
    model.names[int(model.getJointId("turn"))] = "otherwise"
    with pytest.raises(ct.StateError, match="names={'otherwise': ...}"):
        ct.pinocchio_coordinates(s, model)
    there = ct.pinocchio_coordinates(s, model, names={"otherwise": "turn"})
    assert there.nq_there == model.nq and len(there.blocks) == 4


def test_mujoco_accelerates_the_same_with_any_frames_of_a_free_joint(tmp_path):
    """The free joint has frames of its own on both sides: velocities, accelerations and forces go through them."""
    m = ct.Mechanism("m")
    m.add_body("a", mass=1.3, com=(0.1, 0.2, -0.1), inertia=(0.1, 0.12, 0.09))
    side, inner = ct.Pose(p=(1, 2, 3), rpy=(0.1, 0.2, 0.3)), ct.Pose(p=(0.2, -0.1, 0.3), rpy=(0.5, -0.4, 0.2))
    m.add_joint("f", "ground", "a", ct.Free(), in_parent=side, in_child=inner)
    m.add_body("b", mass=0.7, com=(0.0, 0.1, 0.2), inertia=(0.1, 0.12, 0.09))
    m.add_joint("s", "a", "b", ct.Spherical(), in_parent=ct.Pose(p=(0.3, 0, 0)))
    m.add_body("c", mass=0.5, com=(0.1, 0.0, 0.2), inertia=(0.02, 0.03, 0.02))
    m.add_joint("h", "b", "c", ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0.3, 0)))
    m.save(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    s = m.system()
    there = ct.mujoco_coordinates(s, model)
    q, v, vdot, tau = random_states(s, 3, 4)
    again = assert_comes_back(there, q, v, vdot, tau)
    for one, other in zip(q, again):
        assert s.pose(one, "c").allclose(s.pose(other, "c"), 1e-13)
    data = mujoco.MjData(model)
    own = s.forward_dynamics(q, v, tau)
    for k in range(3):
        data.qpos[:], data.qvel[:] = there.configuration(q[k]), there.velocity(q[k], v[k])
        data.qfrc_applied[:] = there.effort(q[k], tau[k])
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(data.qacc, there.acceleration(q[k], v[k], own[k]), rtol=1e-8, atol=1e-8)
        for name in "abc":
            np.testing.assert_allclose(data.body(name).xpos, s.pose(q[k], name).p, atol=1e-13)


class Part:
    """A joint of a plant, by the calls of Drake's Joint that are documented."""

    def __init__(self, name, type_name, q, v, nq, nv):
        self.name, self.type_name = (lambda: name), (lambda: type_name)
        self.position_start, self.velocity_start = (lambda: q), (lambda: v)
        self.num_positions, self.num_velocities = (lambda: nq), (lambda: nv)


class Plant:
    """A plant with such joints, by the calls of Drake's MultibodyPlant."""

    def __init__(self, *joints):
        self._joints = joints

    def num_positions(self):
        return sum(joint.num_positions() for joint in self._joints)

    def num_velocities(self):
        return sum(joint.num_velocities() for joint in self._joints)

    def GetJointIndices(self):
        return range(len(self._joints))

    def get_joint(self, index):
        return self._joints[index]


def test_drake_has_floating_bodies_and_balls_in_world_axes():
    m = ct.Mechanism("m")
    for name in "abc":
        m.add_body(name, mass=1.0, inertia=0.1)
    m.add_joint("f", "ground", "a", ct.Free(), in_parent=ct.Pose(p=(1, 2, 3), rpy=(0.1, 0.2, 0.3)))
    m.add_joint("s", "a", "b", ct.Spherical())
    m.add_joint("h", "b", "c", ct.Revolute("y"))
    s = m.system()
    parts = (
        Part("h", "revolute", 0, 0, 1, 1), Part("weld", "weld", 0, 0, 0, 0), Part("s", "ball_rpy", 1, 1, 3, 3),
        Part("a", "quaternion_floating", 4, 4, 7, 6),
    )  # fmt: skip
    there = ct.drake_coordinates(s, Plant(*parts), names={"a": "f"})
    assert (there.nq_there, there.nv_there) == (11, 10)
    q, v, vdot, tau = random_states(s, 5, 5)
    again = assert_comes_back(there, q, v, vdot, tau)
    theirs, rates = there.configuration(q), there.velocity(q, v)
    h = 1e-5
    for k in range(5):
        # Positions: the pose of the body in the world, and R = Rz(yaw) Ry(pitch) Rx(roll) of the ball.
        body = s.pose(q[k], "a")
        np.testing.assert_allclose(ct.Pose(quat=theirs[k, 4:8]).R, body.R, atol=1e-14)
        np.testing.assert_allclose(theirs[k, 8:], body.p, atol=1e-14)
        relative = body.R.T @ s.pose(q[k], "b").R
        np.testing.assert_allclose(ct.Pose(rpy=theirs[k, 1:4]).R, relative, atol=1e-14)
        assert s.pose(again[k], "c").allclose(s.pose(q[k], "c"), 1e-13)
        # Velocities: what positions do, in world axes; accelerations: what velocities do.
        aligned = s.twist(q[k], v[k], "a", axes="aligned")
        np.testing.assert_allclose(rates[k, 4:], aligned, atol=1e-13)
        ends = [s.integrate(q[k], v[k] + 0.5 * e * vdot[k], e) for e in (-h, h)]
        before, after = (
            there.velocity(end, v[k] + e * vdot[k]) for end, e in zip(ends, (-h, h), strict=True)
        )
        slope = (after - before) / (2 * h)
        np.testing.assert_allclose(there.acceleration(q, v, vdot)[k], slope, atol=1e-7)
    with pytest.raises(ct.StateError, match="'h' is a Revolute here and a 'prismatic' joint in Drake"):
        ct.drake_coordinates(s, Plant(Part("h", "prismatic", 0, 0, 1, 1)))


def test_batches_are_broadcast(urdf):
    s, model = urdf
    there = ct.pinocchio_coordinates(s, model)
    q, v, vdot, tau = random_states(s, 3, 6)
    for function, given in ((there.velocity, v), (there.effort, tau), (there.catena_velocity, v)):
        one_each = np.array([function(q[0], x) for x in given])
        np.testing.assert_array_equal(function(q[0], given), one_each)
        assert function(q[:, None], given).shape == (3, 3, s.nv)
    whole = there.acceleration(q[:, None], v, vdot)
    np.testing.assert_array_equal(whole[2, 1], there.acceleration(q[2], v[1], vdot[1]))


def test_a_joint_state_has_the_order_that_is_asked_for():
    s = ct.generators.four_bar().system()
    q = s.assemble({"A": 0.3})
    v = s.velocity(q, {"A": 2.0})
    tau = np.arange(1.0, 1.0 + s.nv)
    state = ct.joint_state(s, q, v, tau, names=["D", "C", "A"])
    assert state.name == ("D", "C", "A")
    for k, name in enumerate(state.name):
        assert state.position[k] == s.joint_position(q, name)[0]
        assert state.velocity[k] == s.joint_velocity(q, v, name)[0]
    assert state.effort[1] == 0.0 and state.effort[2] == tau[s.slice_v("A")][0]
    again = s.assemble(dict(zip(state.name, state.position)), guess=q)
    np.testing.assert_allclose(again, q, atol=1e-9)
    plain = ct.joint_state(s, np.stack([q, q]))
    assert plain.name == tuple(s.mechanism.joints) and plain.velocity.shape == (2, 0)
    assert plain.position.shape == (2, 4)
    with pytest.raises(ct.UnknownNameError, match="joint of one freedom"):
        ct.joint_state(s, q, names=["Z"])
    with pytest.raises(ct.StateError, match="give a list of joints"):
        ct.joint_state(s, q, names="A")
