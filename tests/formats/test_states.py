"""States with names: keyframes of MJCF against MuJoCo, saved and loaded, taken along by edits, as starts of motions."""

import mujoco
import numpy as np
import pytest

import catena as ct
from catena.bridges.conventions import mujoco_coordinates
from catena.mechanism.generators import four_bar

ALL_JOINTS = """
<mujoco model="all joints">
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <body name="base" pos="0 0 1" quat="1 1 0 0">
      <freejoint name="floating"/><geom size="0.1"/>
      <body name="upper" pos="0.3 0 0" quat="1 0 1 0.3">
        <joint name="ball" type="ball" pos="0.1 0 0.02"/><geom size="0.1"/>
        <body name="middle" pos="0 0 0.4">
          <joint name="hinge" axis="0 1 0" ref="0.2"/><joint name="second" axis="1 0 0"/>
          <geom size="0.05" pos="0 0 0.2"/>
          <body name="tip" pos="0 0 0.4">
            <joint name="slide" type="slide" axis="0 1 1"/><geom size="0.05" pos="0 0.1 0.2"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="push" joint="slide"/>
    <position name="bend" joint="hinge" kp="10"/>
    <position name="tilt" joint="second" kp="20" ctrlrange="-1 1"/>
  </actuator>
  <keyframe>
    <key name="low" qpos="0 0 1 1 0 0 0 1 0 0 0 0.2 0 0"/>
    <key name="home" qpos="0.1 0.2 1.5 2 0.1 0.2 0.3 1 0.3 0 0.1 0.5 -0.2 0.03"
         qvel="1 2 3 4 5 6 0.1 0.2 0.3 0.4 0.5 0.6" ctrl="0 0.7 0.3"/>
    <key name="too short" qpos="0 0 1"/>
  </keyframe>
</mujoco>
"""


def test_keyframes_are_the_states_that_mujoco_has_and_its_servos_act_there(tmp_path):
    file = tmp_path / "all.xml"
    file.write_text(ALL_JOINTS.replace('<key name="too short" qpos="0 0 1"/>', ""))
    model = mujoco.MjModel.from_xml_path(str(file))
    m = ct.load(file)
    s, data = m.system(), mujoco.MjData(model)
    assert list(m.states) == ["low", "home"] and m.initial is m.states["home"]
    there = mujoco_coordinates(s, model)
    for k, name in enumerate(m.states):
        mujoco.mj_resetDataKeyframe(model, data, k)
        mujoco.mj_forward(model, data)
        q, v = s.start(name)
        assert np.abs(there.configuration(q) - data.qpos).max() < 1e-14
        assert np.abs(there.velocity(q, v) - data.qvel).max() < 1e-14
        told = m.with_signals(m.states[name].signals).system()
        vdot = told.forward_dynamics(q, v, np.zeros(s.nv))
        assert np.abs(there.acceleration(q, v, vdot) - data.qacc).max() < 1e-9 * np.abs(data.qacc).max()
    # What a motion starts from is home, with the signals of home.
    assert {name: servo.signal for name, servo in m.servos.items()} == dict(m.states["home"].signals)
    run = ct.simulate(s, duration=1e-3)
    assert np.array_equal(run.q[0], s.assemble()) and np.array_equal(run.q[0], s.start()[0])
    assert np.array_equal(ct.simulate(s, "low", duration=1e-3).q[0], s.start("low")[0])


def test_a_keyframe_that_does_not_fit_is_told_and_left_out(tmp_path):
    file = tmp_path / "all.xml"
    file.write_text(ALL_JOINTS)
    with pytest.warns(ct.CatenaWarning, match="keyframes that do not fit the model 'too short'"):
        m = ct.load(file)
    assert list(m.states) == ["low", "home"]


@pytest.mark.parametrize("ending", [".toml", ".xml"])
def test_states_come_back_from_files(tmp_path, ending):
    source, file = tmp_path / "all.xml", tmp_path / f"saved{ending}"
    source.write_text(ALL_JOINTS.replace('<key name="too short" qpos="0 0 1"/>', ""))
    m = ct.load(source).with_signals({"tilt": 0.0})
    m.save(file)
    back = ct.load(file)
    assert list(back.states) == list(m.states) and back.initial is back.states["home"]
    assert {n: x.signal for n, x in back.servos.items()} == {n: x.signal for n, x in m.servos.items()}
    for name, state in m.states.items():
        assert back.states[name].signals == state.signals
        for what in ("q", "v"):
            was, now = getattr(state, what), getattr(back.states[name], what)
            for own, other in zip(was.values(), now.values(), strict=True):
                assert np.allclose(own, other, rtol=1e-15, atol=1e-15)
                assert ending == ".xml" or np.array_equal(own, other)


def test_a_flipped_tree_keeps_its_states_in_mjcf(tmp_path):
    m = ct.Mechanism("flipped")
    for name in ("near", "far"):
        m.add_body(name, 1.0, (0.1, 0.2, 0.3), (0.02, 0.03, 0.04))
    turned = ct.Pose(p=(0.1, 0.0, 0.2), rpy=(0.3, 0.2, 0.1))
    m.add_joint("base", "near", "ground", ct.joints.Free(), in_parent=turned)
    m.add_joint("ball", "far", "near", ct.joints.Spherical(), in_parent=turned, in_child=turned)
    rng = np.random.default_rng(0)
    quats = rng.normal(size=(2, 4))
    quats /= np.linalg.norm(quats, axis=1)[:, None]
    q = {"base": [*rng.normal(size=3), *quats[0]], "ball": quats[1]}
    m.add_state("there", q, {"base": rng.normal(size=6), "ball": rng.normal(size=3)})
    m.save(tmp_path / "flipped.xml")
    back = ct.load(tmp_path / "flipped.xml")
    for body in ("near", "far"):
        found = []
        for one in (m, back):
            s = one.system()
            found.append((s.pose(s.start()[0], body), s.twist(*s.start(), body)))
        assert np.allclose(found[0][0].matrix(), found[1][0].matrix(), atol=1e-14)
        assert np.allclose(found[0][1], found[1][1], atol=1e-13)


def test_a_state_that_leaves_loops_open_is_the_closed_one_next_to_it():
    m = four_bar()
    exact = m.system().assemble({"A": 0.7})
    s = m.system()
    values = dict(zip(s.joints, exact + (2e-3, -1e-3, 0.0), strict=True))
    loop = s.loops[0]
    one = {"A": values["A"], "B": values["B"], loop: s.joint_position(exact, loop)}
    m.add_state("all of the tree", values, {"A": 1.0, "B": 1.0})
    m.add_state("one of the loop", one)
    s = m.system()
    for name in m.states:
        q, v = s.start(name)
        assert np.abs(s.closure(q, v)[0]).max() < 1e-12 and np.abs(s.closure(q, v)[1]).max() < 1e-12
        assert 0.0 < np.abs(q - exact).max() < 5e-3
    # Positions that leave something open are held as they are.
    m.add_state("home", {"A": 0.7})
    assert np.allclose(m.system().assemble(), exact, atol=1e-12) and m.system().assemble()[0] == 0.7
    with pytest.raises(ct.UnknownNameError, match="state"):
        s.start("nowhere")


def test_edits_take_states_along(tmp_path):
    m = four_bar()
    m.add_state("up", {"A": 0.5, "D": -0.4}, {"A": 1.0})
    assert set(m.copy().states["up"].q) == {"A", "D"}
    for changed in (m.lock("A", 0.5), m.detach("A"), m.with_joint("A", kind=ct.joints.Universal("x", "y"))):
        assert set(changed.states["up"].q) == {"D"} and not changed.states["up"].v
    assert set(m.with_joint("A", damping=1.0).states["up"].q) == {"A", "D"}
    m.save(tmp_path / "bar.toml")
    text = "".join(
        f'[[include]]\nfile = "bar.toml"\nprefix = "{side} "\nat = {{ p = [0.0, {k}.0, 0.0] }}\n'
        for k, side in enumerate(("left", "right"))
    )
    (tmp_path / "two.toml").write_text(f'[mechanism]\nname = "two"\n{text}')
    both = ct.load(tmp_path / "two.toml")
    assert set(both.states["up"].q) == {"left A", "left D", "right A", "right D"}
    m.set_initial()
    m.save(tmp_path / "bar.toml")
    assert not ct.load(tmp_path / "bar.toml").initial.q, "that nothing is said of the start is kept"
