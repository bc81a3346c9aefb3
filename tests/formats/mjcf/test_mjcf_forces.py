"""What acts in an MJCF file by itself: accelerations at the start of a run against those of MuJoCo, with each feature
at hinges, slides, balls and free bodies; and what is not read is told by name in one warning."""

import warnings

import mujoco
import numpy as np
import pytest

import catena as ct
from catena.bridges.conventions import mujoco_coordinates

INERTIAL = '<inertial pos="0.1 0.02 -0.2" mass="1.3" fullinertia="0.1 0.2 0.15 0.01 0 0.02"/>'
TYPES = ("hinge", "slide", "ball", "free", "two")


def model_of(way, joint="", body="", option="", flag="", rest="", second="", inside=""):
    """A body on a joint of a type, or on two joints that are merged, and a second one that hangs on it by a hinge."""
    joints = {
        "free": f'<joint name="j" type="free" {joint}/>',
        "two": f'<joint name="j" axis="0 1 0" {joint}/><joint name="k" axis="1 0 0" ref="10"/>',
    }
    own = joints.get(way, f'<joint name="j" type="{way}" axis="0.6 0.8 0" pos="0.1 0 0" {joint}/>')
    return (
        f'<mujoco model="m"><option {option}>{flag}</option><worldbody><site name="far" pos="1 2 0.5"/>'
        f'<body name="b" pos="0.1 0.2 0.3" euler="10 20 30" {body}>{own}{INERTIAL}{inside}'
        '<site name="near" pos="0 0.1 0"/>'
        f'<body name="c" pos="0 0 0.5"><joint name="w" axis="0 1 0" ref="20" {second}/>{INERTIAL}</body></body>'
        f"</worldbody>{rest}</mujoco>"
    )


def loaded(text, folder):
    path = folder / "m.xml"
    path.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return ct.load(path), [str(one.message) for one in caught]


def accelerations(text, m, seed):
    """Those of MuJoCo, and those at the start of a run in MuJoCo's coordinates, at a random state."""
    random = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, random.normal(size=model.nv), 0.4)
    data.qvel[:] = random.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    s = m.system()
    q = ct.from_mujoco_qpos(s, data.qpos, model)
    v = ct.from_mujoco_qvel(s, data.qpos, data.qvel, model)
    vdot = ct.simulate(s, q, v, 1e-6, check=False, samples=2).acceleration[0]
    ahead = 1e-6
    step, back = (ct.to_mujoco_qvel(s, s.integrate(q, v, h), v + h * vdot, model) for h in (ahead, -ahead))
    return data.qacc.copy(), (step - back) / (2.0 * ahead)


def agree(text, folder, seed=0):
    m, told = loaded(text, folder)
    theirs, ours = accelerations(text, m, seed)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-7 * max(1.0, np.abs(theirs).max()))
    return m, told


AT_JOINTS = {
    "nothing": {},
    "linear spring and damper": {"joint": 'stiffness="5" damping="0.3"'},
    "polynomials": {"second": 'stiffness="5 2 3" springref="30" damping="0.3 0.2 0.1"'},
    "armature and damper of a motor": {
        "rest": '<actuator><motor joint="w" gear="3" armature="0.02" damping="0.1 0.05 0.02"/></actuator>'
    },
    "springs switched off": {"joint": 'stiffness="5"', "second": 'stiffness="9"', "flag": '<flag spring="disable"/>'},
    "dampers switched off": {
        "joint": 'stiffness="5" damping="3"',
        "second": 'damping="9 1"',
        "flag": '<flag damper="disable"/>',
        "rest": '<actuator><motor joint="w" gear="3" damping="0.1"/></actuator>',
    },
    "springs and dampers switched off, and so a fluid": {
        "joint": 'stiffness="5" damping="3"',
        "option": 'density="50" viscosity="0.3"',
        "body": 'gravcomp="0.5"',
        "flag": '<flag spring="disable" damper="disable"/>',
    },
    "gravity switched off": {"flag": '<flag gravity="disable"/>', "body": 'gravcomp="0.7"'},
    "limits switched off": {"second": 'range="-1 1"', "flag": '<flag limit="disable"/>'},
    "friction switched off": {"second": 'frictionloss="2"', "flag": '<flag frictionloss="disable"/>'},
    "equalities switched off": {
        "rest": '<equality><joint joint1="w"/></equality>', "flag": '<flag equality="disable"/>',
    },
    "constraints switched off": {
        "second": 'range="-1 1" frictionloss="2"',
        "rest": '<equality><joint joint1="w"/></equality>',
        "flag": '<flag constraint="disable"/>',
    },
    "compensated weight": {"body": 'gravcomp="0.7"'},
    "a fluid": {"option": 'density="1000" viscosity="0.1"'},
    "wind": {"option": 'density="1.2" wind="10 -3 2"'},
    "syrup": {"option": 'viscosity="3" wind="0 1 0"'},
    "a tendon between two sites": {
        "rest": '<tendon><spatial name="t" stiffness="40" damping="2" springlength="0.3"><site site="far"/>'
        '<site site="near"/></spatial></tendon>',
    },
}  # fmt: skip


@pytest.mark.parametrize("way", TYPES)
@pytest.mark.parametrize("feature", AT_JOINTS)
def test_a_run_starts_with_the_acceleration_of_mujoco(feature, way, tmp_path):
    _, told = agree(model_of(way, **AT_JOINTS[feature]), tmp_path)
    assert not told, "all of it is applied, so there is nothing to tell"


SERVOS = {
    "position": '<position name="p" joint="w" kp="50" kv="2" gear="3"/>',
    "position within its range": '<position name="p" joint="w" kp="50" ctrlrange="0.4 1" gear="-2"/>',
    "position without the range": '<position name="p" joint="w" kp="50" ctrlrange="0.4 1"/>',
    "limited force": '<position name="p" joint="w" kp="500" forcerange="-3 2" gear="2"/>',
    "limited at the joint": '<position name="p" joint="w" kp="500" gear="-2"/>',
    "velocity": '<velocity name="p" joint="w" kv="5"/>',
    "damper": '<damper name="p" joint="w" kv="5" ctrlrange="0.5 1"/>',
    "affine bias": '<general name="p" joint="w" biastype="affine" biasprm="1 -3 -2" gear="2"/>',
    "affine gain": '<general name="p" joint="w" gaintype="affine" gainprm="1 -3 -2" ctrlrange="0.3 1"/>',
    "motor that cannot rest": '<motor name="p" joint="w" gear="2" ctrlrange="0.3 1"/>',
    "two at a joint": '<position name="p" joint="w" kp="50"/><velocity name="o" joint="w" kv="5" gear="2"/>',
    "beside a motor": '<position name="p" joint="w" kp="50"/><motor name="o" joint="w" gear="7"/>',
    "in the parent": '<position name="p" jointinparent="w" kp="50"/>',
    "switched off": '<position name="p" joint="w" kp="50" armature="0.1" damping="0.2"/>',
    "group switched off": '<position name="p" joint="w" kp="50" group="3"/>',
}


@pytest.mark.parametrize("servo", SERVOS)
@pytest.mark.parametrize("seed", [1, 2])
def test_servos_act_as_mujoco_has_them(servo, seed, tmp_path):
    flags = {
        "switched off": '<flag actuation="disable"/>',
        "position without the range": '<flag clampctrl="disable"/>',
    }
    options = {"group switched off": 'actuatorgroupdisable="3"'}
    second = 'actuatorfrcrange="-4 6"' if servo == "limited at the joint" else ""
    rest = f"<actuator>{SERVOS[servo]}</actuator>"
    text = model_of("two", rest=rest, flag=flags.get(servo, ""), option=options.get(servo, ""), second=second)
    m, told = agree(text, tmp_path, seed)
    assert not told and ("p" in m.forces) == ("switched off" not in servo)


def test_the_signal_of_a_servo_is_a_parameter_of_its_force(tmp_path):
    text = model_of("hinge", rest=f"<actuator>{SERVOS['position']}</actuator>")
    m, _ = loaded(text, tmp_path)
    assert m.actuators["p"].gear == 3.0 and m.joints["w"].actuated
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.ctrl[:] = 0.8
    mujoco.mj_forward(model, data)
    theirs = data.qacc.copy()
    s = m.with_force("p", signal=0.8).system()
    run = ct.simulate(s, s.neutral(), np.zeros(s.nv), 1e-6, check=False, samples=2)
    np.testing.assert_allclose(run.acceleration[0], theirs, atol=1e-9 * np.abs(theirs).max())


def test_compensated_weight_follows_gravity_and_is_saved(tmp_path):
    """Against MuJoCo at another gravity; the same in lanes, as a parameter and after MJCF and TOML."""
    text = model_of("two", body='gravcomp="0.7"')
    m, _ = loaded(text, tmp_path)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    pulls, expected = np.array([[0.0, 0.0, -9.81], [2.0, -1.0, 3.0], [0.0, 0.0, 0.0]]), []
    for pull in pulls:
        model.opt.gravity[:] = pull
        mujoco.mj_forward(model, data)
        expected.append(data.qacc.copy())
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    there = mujoco_coordinates(s, model)
    in_lanes = s.forward_dynamics(q, v, parameters={"gravity": pulls})
    symbolic = s.equations("forward_dynamics", symbols=["gravity"])
    again = [
        ct.load(m.save(tmp_path / f"again.{ending}") or tmp_path / f"again.{ending}")
        for ending in ("xml", "toml")
    ]
    for k, pull in enumerate(pulls):
        tolerance = {"rtol": 0, "atol": 1e-9 * max(1.0, np.abs(expected[k]).max())}
        np.testing.assert_allclose(there.acceleration(q, v, in_lanes[k]), expected[k], **tolerance)
        np.testing.assert_allclose(
            symbolic(q, v, np.zeros(s.nv), parameters={"gravity": pull}), in_lanes[k], **tolerance
        )
        for one in (m, *again):
            one.gravity = pull
            t = one.system()
            np.testing.assert_allclose(t.forward_dynamics(q, v), in_lanes[k], **tolerance)
    assert all(
        isinstance(one.forces[name].kind, ct.forces.Buoyancy) for one in (m, *again) for name in one.forces
    )


def test_servos_of_joints_that_are_merged_act_on_their_component(tmp_path):
    rest = '<actuator><position name="p" joint="j" kp="50" gear="2"/><velocity name="o" joint="k" kv="5"/></actuator>'
    text = model_of("two", joint='stiffness="5 2" damping="0.1 0.2"', rest=rest)
    m, _ = agree(text, tmp_path)
    assert isinstance(m.joints["j+k"].kind, ct.Universal) and m.forces["o"].kind.component == 1


NOT_READ = {
    "tendons that pull 't'": {
        "rest": '<tendon><spatial name="t" stiffness="20" armature="1"><site site="far"/><site site="near"/></spatial>'
        "</tendon>"
    },
    "limits of the tendons through space 'u'": {
        "rest": '<tendon><spatial name="u" range="0 1" limited="true"><site site="far"/><site site="near"/></spatial>'
        "</tendon>"
    },
    "limits of the balls 'j'": {"way": "ball", "joint": 'range="0 30" limited="true"'},
    "springs that yield or are of higher order at the joints 'j'": {
        "way": "ball",
        "joint": 'stiffness="1 2"',
    },
    "damping of higher order at the free joints 'j'": {"way": "free", "joint": 'damping="1 2"'},
    "how activations follow the control signals (they are the signals here) of the actuators 'i'": {
        "rest": '<actuator><intvelocity name="i" joint="w" kp="5" actrange="-1 1"/></actuator>'
    },
    "muscles, PID, motors with windings) 'm'": {
        "rest": '<actuator><muscle name="m" joint="w" lengthrange="0.1 1"/></actuator>'
    },
    "actuators at sites (give wrenches on their frames) 's'": {
        "rest": '<actuator><general name="s" site="near" gear="0 0 1 0 0 0" biastype="affine" biasprm="1 0 0"/>'
        "</actuator>"
    },
    "actuators that make bodies adhere 'a'": {
        "rest": '<actuator><adhesion name="a" body="b" ctrlrange="0 1"/></actuator>'
    },
    "what moves nothing is not read: equality constraints that are not active 'e'": {
        "rest": '<equality><joint name="e" joint1="w" active="false"/></equality>'
    },
    "limits of what actuators and compensated weight do together, by the actuators 'p'": {
        "body": 'gravcomp="0.5"',
        "second": 'actuatorgravcomp="true" actuatorfrcrange="-4 6"',
        "rest": '<actuator><position name="p" joint="w" kp="5"/></actuator>',
    },
    "limits of what several actuators do together, by the actuators 'p', 'o'": {
        "second": 'actuatorfrcrange="-4 6"',
        "rest": f"<actuator>{SERVOS['two at a joint']}</actuator>",
    },
}


@pytest.mark.parametrize("what", NOT_READ)
def test_what_is_not_read_is_told_by_name_when_the_file_is_loaded(what, tmp_path):
    options = {"way": "hinge", **NOT_READ[what]}
    _, told = loaded(model_of(**options), tmp_path)
    assert len(told) == 1 and "not read" in told[0] and what in told[0]


def test_all_that_is_not_read_is_one_list(tmp_path):
    rest = (
        '<tendon><spatial name="t" stiffness="20" armature="1"><site site="far"/><site site="near"/></spatial></tendon>'
        '<actuator><intvelocity name="i" joint="w" kp="5" actrange="-1 1"/></actuator>'
    )
    _, (told,) = loaded(model_of("ball", joint='range="0 30" limited="true"', rest=rest), tmp_path)
    assert all(word in told for word in ("'t'", "'i'", "'j'")) and told.count("warning") == 1


TENDONS = """
<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <body name="a">
      <joint name="h" axis="0 1 0" ref="0.2"/><geom size="0.1" pos="0 0 -0.4"/><site name="A" pos="0.1 0.1 -0.3"/>
      <body name="c" pos="0 0 -0.5">
        <joint name="k" axis="1 1 0"/><joint name="z" axis="0 0 1"/>
        <geom size="0.05" pos="0.1 0 -0.2"/><site name="B" pos="0.1 0.2 -0.2"/>
      </body>
    </body>
    <site name="W" pos="1 0 1"/><site name="V" pos="1 0.5 1"/>
  </worldbody>
  <tendon>
    <fixed name="tie" stiffness="20" damping="0.3" springlength="0.1" armature="0.02">
      <joint joint="h" coef="2"/><joint joint="k" coef="-1.5"/>
    </fixed>
    <fixed name="loose" stiffness="50" springlength="0.05 0.3"><joint joint="z" coef="2"/></fixed>
    <fixed name="bent" stiffness="5 3 2" damping="0.1 0.2 0.3"><joint joint="k" coef="1"/></fixed>
    <fixed name="pulled" range="-0.9 1.4"><joint joint="h" coef="1"/><joint joint="z" coef="-1"/></fixed>
    <spatial name="slack" stiffness="30" damping="0.2" springlength="0.2 0.4"><site site="A"/><site site="B"/></spatial>
    <spatial name="line" stiffness="30" damping="0.2"><site site="W"/><site site="B"/></spatial>
    <spatial name="path" stiffness="80" damping="0.7" springlength="0.3">
      <site site="W"/><site site="V"/><site site="A"/><site site="B"/><site site="W"/>
    </spatial>
    <spatial name="loose path" stiffness="60" springlength="0.2 3.1">
      <site site="B"/><site site="A"/><site site="W"/><site site="A"/>
    </spatial>
  </tendon>
  <actuator>
    <position name="p" tendon="pulled" kp="10" kv="1" gear="3" forcerange="-2 2"/>
    <intvelocity name="i" joint="h" kp="7" kv="0.5" actrange="-3 3"/>
    <cylinder name="c" joint="k" area="2" bias="0.1 -0.2 -0.3" timeconst="1"/>
    <damper name="d" joint="z" kv="0.4" ctrlrange="0 2"/>
    <motor name="m" tendon="tie" gear="2"/>
  </actuator>
</mujoco>
"""


@pytest.mark.filterwarnings("ignore::catena.errors.CatenaWarning")
def test_tendons_and_all_sorts_of_actuators_act_as_in_mujoco_at_their_signals(tmp_path):
    file, saved = tmp_path / "tendons.xml", tmp_path / "saved.toml"
    file.write_text(TENDONS)
    m = ct.load(file)
    m.with_signals({"p": 0.4, "i": 0.3, "c": -0.2, "d": 1.5}).save(saved)
    model = mujoco.MjModel.from_xml_string(TENDONS)
    data = mujoco.MjData(model)
    # A tendon has its length whether or not joints follow others.
    assert set(ct.load(file, mimic=False).couplings) == set(m.couplings)
    again = ct.load(saved)
    # Limits are counted from the configuration of the file, where the hinge "h" is at 0.2.
    np.testing.assert_allclose(again.joints["pulled"].limits, [[-1.1, 1.2]], rtol=1e-15)
    s = again.with_joint("pulled", limits=None).system()
    names = [model.joint(k).name for k in range(model.njnt)]
    rng = np.random.default_rng(0)
    for _ in range(5):
        data.qpos, data.qvel = 0.5 * rng.normal(size=model.nq), rng.normal(size=model.nv)
        data.ctrl[:] = (0.4, 0.0, 0.0, 1.5, 0.7)
        data.act[:] = (0.3, -0.2)
        mujoco.mj_forward(model, data)
        q = s.assemble({name: data.qpos[k] - model.qpos0[k] for k, name in enumerate(names)})
        v = s.velocity(q, {name: data.qvel[k] for k, name in enumerate(names)})
        tau = np.zeros(s.nv)
        tau[s.slice_v("tie")] = 2.0 * 0.7
        vdot = s.forward_dynamics(q, v, tau)
        ours = np.array([vdot[s.slice_v(name)][0] for name in names])
        np.testing.assert_allclose(ours, data.qacc, rtol=1e-9, atol=1e-9 * np.abs(data.qacc).max())
        told = s.forces.outputs(q, v)
        for name in ("line", "path", "loose path"):
            at = model.tendon(name).id
            length = (told[name]["length"], told[name]["rate"])
            np.testing.assert_allclose(length, (data.ten_length[at], data.ten_velocity[at]), rtol=1e-12)


ELLIPSOIDS = """
<mujoco>
  <option density="900" viscosity="0.4" wind="0.5 -1 0.3"/>
  <worldbody>
    <body name="fish" pos="0 0 1">
      <freejoint name="f"/>
      <geom type="ellipsoid" size="0.1 0.25 0.18" euler="10 20 30" fluidshape="ellipsoid"/>
      <geom type="capsule" size="0.05 0.2" pos="0.3 0 0.1" euler="50 20 0" fluidshape="ellipsoid"
            fluidcoef="0.7 0.3 1.1 0.8 1.2"/>
      <body name="tail" pos="-0.4 0 0">
        <joint name="t" axis="0 0 1"/>
        <geom type="box" size="0.2 0.02 0.1" pos="-0.2 0 0" fluidshape="ellipsoid"/>
        <body name="fin" pos="-0.4 0 0">
          <joint name="u" axis="0 1 1"/><geom type="cylinder" size="0.08 0.03" pos="-0.1 0 0" fluidshape="ellipsoid"/>
          <geom type="sphere" size="0.05" pos="-0.2 0 0" fluidshape="ellipsoid"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_ellipsoids_in_a_fluid_feel_what_they_feel_in_mujoco(tmp_path):
    file = tmp_path / "fish.xml"
    file.write_text(ELLIPSOIDS)
    m = ct.load(file)
    m.save(tmp_path / "fish.toml")
    s = ct.load(tmp_path / "fish.toml").system()
    model = mujoco.MjModel.from_xml_string(ELLIPSOIDS)
    data, there, rng = mujoco.MjData(model), mujoco_coordinates(s, model), np.random.default_rng(0)
    for size in (0.0, 1.0, 1.0, 3.0):
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
        data.qvel[:] = size * rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        q = there.catena_configuration(data.qpos)
        v = there.catena_velocity(q, data.qvel)
        ours = there.acceleration(q, v, s.forward_dynamics(q, v, np.zeros(s.nv)))
        np.testing.assert_allclose(ours, data.qacc, rtol=0, atol=1e-10 * max(1.0, np.abs(data.qacc).max()))
