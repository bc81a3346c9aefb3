"""Coordinates of Pinocchio and MuJoCo: what is translated is the same state, and comes back."""

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
