"""Sensors of MJCF files: what they tell against MuJoCo's, through TOML, with a prefix, and those that are left out."""

import warnings

import mujoco
import numpy as np
import pytest

import catena as ct
from catena.bridges.conventions import mujoco_coordinates

INERTIAL = '<inertial pos="0.1 0.02 -0.2" mass="1.3" fullinertia="0.1 0.2 0.15 0.01 0 0.02"/>'
TEXT = f"""<mujoco>
  <worldbody>
    <site name="W" pos="1 0 1"/>
    <body name="b" pos="0.1 0.2 0.3" euler="10 20 30">
      <joint name="j" type="ball"/>{INERTIAL}<site name="s" pos="0.1 0.2 0.3" euler="20 10 50"/>
      <body name="c" pos="0 0 0.5">
        <joint name="k" axis="0 1 0" ref="20"/><joint name="l" axis="1 0 0" stiffness="3"/>{INERTIAL}
        <site name="t" pos="0.2 0 0.1" euler="0 40 0"/>
        <body name="d" pos="0 0.3 0">{INERTIAL}<site name="cell" pos="0.1 0 0" euler="5 0 9"/></body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="sum" stiffness="2"><joint joint="k" coef="2"/><joint joint="l" coef="-1"/></fixed>
    <spatial name="line" stiffness="30" damping="0.2"><site site="W"/><site site="t"/></spatial>
  </tendon>
  <actuator><position name="p" joint="k" kp="10" kv="1"/></actuator>
  <sensor>
    <accelerometer name="acc" site="s"/><gyro name="gyro" site="t"/>
    <jointpos name="pos" joint="l"/><jointvel name="vel" joint="k"/>
    <ballquat name="quat" joint="j"/><ballangvel name="omega" joint="j"/>
    <force name="force" site="cell"/><torque name="torque" site="cell"/>
    <force name="of two" site="t"/><torque name="by two" site="t"/>
    <tendonpos name="length" tendon="sum"/><tendonvel name="straight" tendon="line"/>
    <actuatorfrc name="effort" actuator="p"/>
    <framepos name="place" objtype="site" objname="s"/><touch name="skin" site="s"/><clock name="clock"/>
  </sensor>
</mujoco>"""
READINGS = {
    "acc": "accelerometer", "gyro": "gyroscope", "pos": "position", "vel": "velocity", "quat": "position",
    "omega": "velocity", "force": "force", "torque": "moment", "of two": "force", "by two": "moment",
    "length": "position", "straight": "rate", "effort": "effort",
}  # fmt: skip


@pytest.fixture(scope="module")
def read_again(tmp_path_factory):
    """The mechanism after TOML, and what was told when the file was loaded."""
    folder = tmp_path_factory.mktemp("sensors")
    (folder / "m.xml").write_text(TEXT)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = ct.load(folder / "m.xml")
    m.save(folder / "m.toml")
    return ct.load(folder / "m.toml"), [str(one.message) for one in caught]


def test_sensors_tell_what_they_tell_in_mujoco(read_again):
    m, _ = read_again
    model = mujoco.MjModel.from_xml_string(TEXT)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    mujoco.mj_integratePos(model, data.qpos, 0.4 * rng.normal(size=model.nv), 1.0)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    s = m.system()
    there = mujoco_coordinates(s, model)
    q = there.catena_configuration(data.qpos)
    v = there.catena_velocity(q, data.qvel)
    known = {name: q[s.slice_q(name)] for name in s.joints if name != "sum"}
    q = s.assemble(known, guess=q)
    v = s.velocity(q, {name: v[s.slice_v(name)] for name in known})
    run = ct.simulate(s, q, v, 1e-6, samples=2, check=False)
    instruments = ct.sensors_of(m)
    assert list(instruments) == list(READINGS)
    from_file = {"length": 2.0 * model.qpos0[model.joint("k").qposadr[0]]}
    for name, word in READINGS.items():
        theirs = data.sensor(name).data - from_file.get(name, 0.0)
        np.testing.assert_allclose(
            run.read(instruments[name])[word][0], theirs, rtol=0, atol=1e-9 * max(1.0, np.abs(theirs).max()),
            err_msg=name,
        )  # fmt: skip


def test_sensors_that_there_are_not_are_told_in_the_list(read_again):
    (told,) = read_again[1]
    for words in ("sensors <framepos> 'place'", "sensors <touch> 'skin'", "sensors <clock> 'clock'"):
        assert words in told
    assert "MuJoCo applies" not in told


def test_sensors_go_with_what_they_measure(read_again, tmp_path):
    m, _ = read_again
    two = ct.Mechanism("two")
    for prefix, side in (("left ", 1.0), ("right ", -1.0)):
        two.add_mechanism(m, prefix=prefix, pose=ct.Pose(p=(0, side, 0)))
    assert two.sensors["right torque"].frame == "right cell" and len(two.sensors) == 2 * len(READINGS)
    assert "effort" not in m.without_force("p").sensors and "straight" not in m.without_force("line").sensors
    assert {"quat", "omega"}.isdisjoint(m.detach("j").sensors)
    with pytest.warns(ct.CatenaWarning, match="MJCF gets no .*sensors 'acc'"):
        m.save(tmp_path / "m.xml")


FAULTS = [
    (("s", "radar", "b"), "sensor 's': kind is 'radar': give one of 'imu', 'encoder', 'force', 'gauge'"),
    (("s", "imu", "q"), "sensor 's': no body or frame is named 'q'"),
    (("s", "encoder", "j", "", 3), "sensor 's': component is 3: the joint has 3, counted from 0"),
    (
        ("s", "force", "j", "cell"),
        "frame 'cell' is not part of 'b', the child of joint 'j': give one that is",
    ),
    (("s", "imu", "b", "", 1), "only an encoder looks at one component"),
    (("s", "imu", "b", "b"), "only a force sensor tells what it measures in another frame"),
    (("acc", "imu", "b"), "sensor 'acc': the name is taken"),
]


@pytest.mark.parametrize(("given", "words"), FAULTS)
def test_faults_of_sensors_are_named(read_again, given, words):
    with pytest.raises(ct.CatenaError) as caught:
        read_again[0].copy().add_sensor(*given)
    assert words in str(caught.value)
