"""Servos that are told signals in the course of time, against MuJoCo and against mechanisms that have the signals."""

import mujoco
import numpy as np
import pytest

import catena as ct

ARM = """
<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping="0.1"/><geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/>
      <body name="lower" pos="0 0 -0.4">
        <joint name="elbow" axis="0 1 0" ref="0.3"/><geom type="capsule" size="0.04 0.2" pos="0 0 -0.2"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="p" joint="shoulder" kp="50" kv="2" forcerange="-8 8" gear="2"/>
    <velocity name="v" joint="elbow" kv="3"/>
  </actuator>
  <keyframe><key name="home" qpos="0.4 -0.2" ctrl="0.1 0"/></keyframe>
</mujoco>
"""


def test_signals_in_time_act_as_those_of_mujoco_and_as_constant_ones(tmp_path):
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    m = ct.load(file)
    s, model = m.without_force([*m.servos]).system(), mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(model)
    wave = ct.cubic([0.0, 0.5], [0.1, 0.9])
    control = ct.ServoSignals(s, m, {"p": wave, "v": 0.7})
    q, v = m.system().start()
    run = ct.simulate(s, q, v, 0.5, control=control, samples=6)
    for k, t in enumerate(run.t):
        data.qpos[:], data.qvel[:] = run.q[k] + model.qpos0, run.v[k]
        data.ctrl[:] = (wave.at(t).q[0], 0.7)
        mujoco.mj_forward(model, data)
        vdot = s.forward_dynamics(run.q[k], run.v[k], control(t, run.q[k], run.v[k]))
        np.testing.assert_allclose(vdot, data.qacc, rtol=0, atol=1e-9 * np.abs(data.qacc).max())
    constant = ct.simulate(s, q, v, 0.3, control=ct.ServoSignals(s, m, {"p": 0.8}), samples=4)
    told = m.with_signals({"p": 0.8}).system()
    assert np.abs(constant.q - ct.simulate(told, q, v, 0.3, samples=4).q).max() < 1e-9
    for wrong, words in (
        ({"q": 1.0}, "servo"),
        ({"p": "high"}, "no number"),
        ({"p": [1.0, 2.0]}, "2 coordinates"),
    ):
        with pytest.raises(ct.CatenaError, match=words):
            ct.ServoSignals(s, m, wrong)
    with pytest.raises(ct.StateError, match="act twice"):
        ct.ServoSignals(m.system(), m, {})


def test_contacts_come_from_collision_shapes_and_others_are_named():
    m = ct.Mechanism("things")
    shapes = {
        "ball": ct.shapes.Sphere(0.2),
        "pill": ct.shapes.Capsule(0.1, 0.6, pose=ct.Pose(rpy=(0.0, np.pi / 2, 0.0))),
        "brick": ct.shapes.Box((0.2, 0.4, 0.6)),
        "can": ct.shapes.Cylinder(0.1, 0.5),
    }
    for k, (name, shape) in enumerate(shapes.items()):
        m.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1), collisions=shape)
        m.add_joint(
            f"{name} way", "ground", name, ct.Prismatic("z"), in_parent=ct.Pose(p=(2.0 * k, 0.0, 0.5))
        )
    with pytest.warns(ct.CatenaWarning, match="left out: 'can cylinder 1'"):
        contacts = ct.contacts_of(m, friction=0.3)
    assert len(contacts) == 1 + 2 + 8 and {one.friction for one in contacts} == {0.3}
    run = ct.simulate(m.system(), duration=1.0, contacts=contacts)
    # Things that fell stand on the floor: half a height below where they began.
    ends = {name: float(run[f"{name} way"][-1][0]) for name in ("ball", "pill", "brick")}
    assert ends == pytest.approx({"ball": -0.3, "pill": -0.4, "brick": -0.2}, abs=1e-9)
    others = ct.Mechanism("two balls")
    for name in ("low", "high"):
        others.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1), collisions=ct.shapes.Sphere(0.1))
        others.add_joint(name, "ground", name, ct.Prismatic("z"))
    assert any(one.on_radius == 0.1 for one in ct.contacts_of(others, between=True))
