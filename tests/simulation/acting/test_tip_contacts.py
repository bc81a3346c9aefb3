"""Tips on supports of known motion over time: against closed forms of nonholonomic mechanics and other formulations."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar
from catena.spatial import Pose


def planar(mass=2.0, inertia=0.3, com=0.0, gravity=(0, 0, -9.81), slope=0.0):
    """A body that moves in a plane, which falls by `slope` along x."""
    m = ct.Mechanism("sledge", gravity=gravity)
    m.add_body("sledge", mass, (com, 0, 0), (0.8 * inertia, 0.8 * inertia, inertia))
    m.add_joint("moves", "ground", "sledge", ct.Planar("z"), Pose(rpy=(0, slope, 0)), actuated=False)
    return m


BLADE = ct.TipContact("sledge", "dy", axes="tip")


def sideways(run):
    """The velocity of the blade across itself."""
    turn = run.q[..., 2]
    return run.v[..., 1] * np.cos(turn) - run.v[..., 0] * np.sin(turn)


# Nonholonomic mechanics.


def test_chaplygin_sleigh():
    """Its velocities are hyperbolic functions of the time, and its blade works nothing."""
    mass, inertia, ahead = 2.0, 0.3, 0.4
    s = planar(mass, inertia, ahead).system()
    about_blade = inertia + mass * ahead**2
    u, w = -0.4, 2.0
    run = ct.simulate(
        s, [0, 0, 0.3], [u * np.cos(0.3), u * np.sin(0.3), w], 1.5, contacts=[BLADE], rtol=1e-8, samples=5
    )
    energy = mass * u**2 + about_blade * w**2
    most, fastest = np.sqrt(energy / mass), np.sqrt(energy / about_blade)
    rate = ahead * fastest**2 / most
    begins = np.arctanh(u / most)
    forward = run.v[:, 0] * np.cos(run.q[:, 2]) + run.v[:, 1] * np.sin(run.q[:, 2])
    np.testing.assert_allclose(forward, most * np.tanh(rate * run.t + begins), atol=2e-8)
    np.testing.assert_allclose(run.v[:, 2], fastest / np.cosh(rate * run.t + begins), atol=2e-8)
    np.testing.assert_allclose(sideways(run), 0.0, atol=1e-12)
    across = mass * (run.v[:, 2] * forward - ahead * mass * ahead * forward * run.v[:, 2] / about_blade)
    np.testing.assert_allclose(run.tip_forces["sledge"][:, 4], -across, atol=1e-6)
    assert run.audit().ok


def test_a_stepper_holds_tips_as_a_run_does():
    """By itself, and under a controller."""
    s = planar(2.0, 0.3, 0.4).system()
    q, v = [0, 0, 0.3], [-0.4 * np.cos(0.3), -0.4 * np.sin(0.3), 2.0]
    for given in ({}, {"control": lambda t, q, v: np.zeros(3)}):
        options = {"contacts": [BLADE], "rtol": 1e-8, **given}
        run = ct.simulate(s, q, v, 0.1, **options)
        stepper = ct.Stepper(s, q, v, step=0.01, integrator="dopri5", **options)
        for _ in range(10):
            stepper.step()
        at_end = run.at(0.1)
        np.testing.assert_allclose(stepper.q, at_end[0], atol=1e-8)
        np.testing.assert_allclose(stepper.v, at_end[1], atol=1e-8)
    with pytest.raises(ct.StateError, match="sledge"):
        ct.Stepper(s, q, [0.0, 1.0, 0.0], contacts=[BLADE])


def test_knife_edge_on_a_slope():
    """It does not slide down: it goes along a cycloid across the slope (Neimark and Fufaev)."""
    slope, rate, g = 0.3, 2.5, 9.81
    s = planar(slope=slope).system()
    run = ct.simulate(s, [0, 0, 0], [0, 0, rate], 1.0, contacts=[BLADE], rtol=1e-8, samples=5)
    size, turned = g * np.sin(slope) / (2 * rate**2), rate * run.t
    np.testing.assert_allclose(run.q[:, 0], size * np.sin(turned) ** 2, atol=1e-8)
    np.testing.assert_allclose(run.q[:, 1], size * (turned - 0.5 * np.sin(2 * turned)), atol=1e-8)


def ball(radius):
    m = ct.Mechanism("ball", gravity=(0, 0, -9.81))
    m.add_body("ball", 1.5, inertia=0.4 * 1.5 * radius**2)
    m.add_joint("flies", "ground", "ball", ct.Free(), actuated=False)
    return m.system()


def rolling(frame, radius, **options):
    """A ball's centre, whose velocity is that of the rolling point and what the ball turns besides."""
    held = np.zeros((6, 3))
    held[3:] = np.eye(3)
    held[1, 0], held[0, 1] = -radius, radius
    return ct.TipContact(frame, held, **options)


def test_ball_on_a_turntable():
    """It rolls in circles, two sevenths as fast as the table turns, wherever and however it begins."""
    radius, speed = 0.1, 3.0
    s = ball(radius)

    def table(t):
        return ct.Support(Pose(rpy=(0, 0, speed * t)), (0, 0, speed, 0, 0, 0))

    contact = rolling("ball", radius, support=table)
    q = np.array([0.4, 0.0, radius, 1, 0, 0, 0])
    v = ct.contact_velocity(s, q, [0.0, 0, 0, 0.3, -0.2, 0], [contact])
    run = ct.simulate(s, q, v, 1.0, contacts=[contact], rtol=1e-8, samples=5)
    u, turn = v[3:5], 2 / 7 * speed
    angle = turn * run.t
    along = np.stack([np.sin(angle), np.cos(angle) - 1], -1) * u[0] / turn
    across = np.stack([1 - np.cos(angle), np.sin(angle)], -1) * u[1] / turn
    sign = np.array([1.0, -1.0])
    expected = q[:2] + along * sign + across * np.array([-1.0, 1.0])
    np.testing.assert_allclose(run.q[:, :2], expected, atol=1e-7)
    np.testing.assert_allclose(run.q[:, 2], radius, atol=1e-9)
    np.testing.assert_allclose(run.tip_forces["ball"][:, 5], -1.5 * 9.81, atol=1e-7)


def bicycle(wheelbase=0.8):
    m = planar(mass=3.0, inertia=0.4, com=0.3)
    m.add_body("fork", 0.4, inertia=0.02)
    m.add_joint("steers", "sledge", "fork", ct.Revolute("z"), Pose(p=(wheelbase, 0, 0)))
    return m.system()


@pytest.mark.slow
def test_bicycle_with_locked_steering_runs_in_a_circle():
    """Two blades and a driven joint: the rear one describes a circle of the wheelbase over the tangent of steering."""
    base, steer, speed = 0.8, 0.4, 1.3
    s = bicycle(base)
    contacts = [BLADE, ct.TipContact("fork", "dy", axes="tip")]
    turning = speed * np.tan(steer) / base
    still = {"steers": lambda t: (steer, 0.0, 0.0)}
    run = ct.simulate(
        s,
        [0, 0, 0, steer],
        [speed, 0, turning, 0],
        1.0,
        contacts=contacts,
        motion=still,
        rtol=1e-8,
        samples=5,
    )
    angle = turning * run.t
    np.testing.assert_allclose(run.q[:, 0], np.sin(angle) * speed / turning, atol=1e-7)
    np.testing.assert_allclose(run.q[:, 1], (1 - np.cos(angle)) * speed / turning, atol=1e-7)
    np.testing.assert_allclose(run.velocity("moves")[:, 2], turning, atol=1e-7)


# Other formulations.


def arm():
    m = ct.Mechanism("arm", gravity=(0, 0, -9.81))
    for k, parent in enumerate(("ground", "upper", "lower")):
        name = ("upper", "lower", "hand")[k]
        m.add_body(name, 1.0, (0.25, 0, 0), (0.01, 0.03, 0.03))
        m.add_joint(f"j{k}", parent, name, ct.Revolute("y"), Pose(p=(0.5 * (k > 0), 0, 0)), damping=0.3)
    m.add_frame("tip", "hand", Pose(p=(0.5, 0, 0)))
    return m


PATH = ct.PosePath(ct.quintic([0.0, 0.4, 0.8], [[1.1, 0, 0.2], [1.0, 0, 0.5], [1.2, 0, 0.1]]), (1, 0, 0, 0))


@pytest.mark.parametrize("integrator", ["dopri5", "rk4", pytest.param("radau", marks=pytest.mark.slow)])
def test_tip_on_a_moving_support_is_a_joint_to_a_driven_body(integrator):
    """With a controller that is sampled, and a wrench: once as a contact, once as a loop through a driven body."""
    m = arm()
    plate = m.copy()
    plate.add_body("plate", 0.5, inertia=0.01)
    plate.add_joint("carries", "ground", "plate", ct.Free())
    plate.add_joint(
        "pin", "plate", plate.frames["tip"].body, ct.Revolute("y"), Pose(), plate.frames["tip"].pose
    )
    open_arm, loop = m.system(), plate.system(cut=["pin"])
    start = PATH.at(0.0).q[:3]
    q = _reached(open_arm, start)
    contact = ct.TipContact("tip", ("dx", "dz"), support=ct.Support.along(PATH))

    class Damper:
        rate = 25.0

        def __call__(self, t, q, v):
            return np.concatenate([-2.0 * v[:3], np.zeros(len(v) - 3)])

    push = {"lower": lambda t: [0, 0.5, 0, 3.0 * t, 0, -2.0]}
    how = {"step": 4e-3} if integrator == "rk4" else {"rtol": 1e-7}
    duration = 0.1 if integrator == "radau" else 0.3
    common = {"control": Damper(), "forces": push, "samples": 4, "integrator": integrator, **how}
    run = ct.simulate(open_arm, q, np.zeros(3), duration, contacts=[contact], **common)
    assert loop.joints == ("j0", "j1", "j2", "carries")
    q_loop = np.concatenate([q, PATH.at(0.0).q])
    other = ct.simulate(loop, q_loop, np.zeros(9), duration, motion={"carries": PATH}, **common)
    np.testing.assert_allclose(run.q, other.q[:, :3], atol=1e-6)
    np.testing.assert_allclose(run.position("tip"), [PATH.at(t).q[:3] for t in run.t], atol=1e-6)


def _reached(s, place):
    from scipy.optimize import fsolve

    def off(x):
        return (s.pose([x[0], x[1], 0.6], "tip").p - place)[[0, 2]]

    return np.array([*fsolve(off, [-0.9, 0.9], xtol=1e-14), 0.6])


def flexible_arm():
    m = ct.Mechanism("arm with a boom", gravity=(0, 0, -9.81))
    m.add_body("arm", 1.0, (0.3, 0, 0), (0.01, 0.05, 0.05))
    m.add_joint("a", "ground", "arm", ct.Revolute("y"), damping=0.5)
    m.add_body("boom", flexible=ct.Beam(1.0, 1e-4, 1e-8, 2700.0, 7e8, modes={"z": 1}, damping=0.5))
    m.add_joint("b", "arm", "boom", ct.Revolute("y"), Pose(p=(0.6, 0, 0)))
    m.add_frame("tip", "boom", Pose(p=(1.0, 0, 0)))
    return m


@pytest.mark.slow
@pytest.mark.parametrize("make", [flexible_arm, four_bar])
def test_tip_that_is_held_is_a_pin(make):
    """Of a flexible body, and of a mechanism with a loop: a tip that may only turn is pinned to the ground."""
    m = make()
    if make is four_bar:
        m.add_body("rod", 0.3, (0.3, 0, 0), (0.001, 0.01, 0.01))
        m.add_joint("swings", "coupler", "rod", ct.Revolute("y"), Pose(p=(0.2, 0, 0.1)))
        m.add_frame("tip", "rod", Pose(p=(0.6, 0, 0)))
        s = m.system()
        q = s.assemble({"A": 0.9})
    else:
        s = m.system()
        q = np.array([-0.5, 0.9, 0.004])
    pinned = m.copy()
    at, tip = s.pose(q, "tip").p, pinned.frames["tip"]
    pinned.add_joint("pin", "ground", tip.body, ct.Sdof("dx", "ry"), Pose(p=at), tip.pose)
    closed = pinned.system(cut=["pin", *s.loops])
    assert closed.joints == s.joints
    still, how = np.zeros(s.nv), {"rtol": 1e-8, "samples": 4}
    run = ct.simulate(s, q, still, 0.08, contacts=[ct.TipContact("tip", "dz")], **how)
    other = ct.simulate(closed, q, still, 0.08, **how)
    np.testing.assert_allclose(run.q, other.q, atol=1e-7)
    np.testing.assert_allclose(run.position("tip")[:, 2], at[2], atol=1e-8)


# Class II, prescribed motions, drift.


def block(**options):
    m = ct.Mechanism("block", gravity=(0, 0, -9.81))
    m.add_body("block", 2.0, inertia=0.1)
    m.add_joint("moves", "ground", "block", ct.Sdof("dx", "dy", "dz"), **options)
    return m.system()


@pytest.mark.slow
def test_friction_as_a_matrix_that_follows_the_slip_is_that_of_a_contact():
    """A puck that is pushed aside: friction as a function of the state, against Coulomb's law of `ct.Contact`."""
    s, mu = block(), 0.4

    def friction(t, q, v):
        along = v[..., :2] / np.linalg.norm(v[..., :2], axis=-1, keepdims=True)
        F = np.zeros((*np.shape(v)[:-1], 5, 1))
        F[..., 3:, 0] = -mu * along
        return F

    push = {"block": lambda t: [0, 0, 0, 0, 2.0, -1.0]}
    start = [0, 0, 0], [2.0, 0, 0]
    how = {"forces": push, "rtol": 1e-9, "samples": 5}
    run = ct.simulate(s, *start, 0.4, contacts=[ct.TipContact("block", "dz", friction=friction)], **how)
    other = ct.simulate(s, *start, 0.4, contacts=[ct.Contact("block", friction=mu)], **how)
    np.testing.assert_allclose(run.q, other.resample(5).q, atol=1e-7)
    np.testing.assert_allclose(
        run.tip_forces["block"][:, 3:], -other.resample(5).contact_forces["block"], atol=1e-5
    )


@pytest.mark.slow
def test_block_slides_down_a_slope_of_class_two():
    slope, mu = 0.5, 0.2
    m = ct.Mechanism("block", gravity=(0, 0, -9.81))
    m.add_body("block", 2.0, inertia=0.1)
    m.add_joint("moves", "ground", "block", ct.Sdof("dx", "dz"), Pose(rpy=(0, slope, 0)))
    s = m.system()
    contact = ct.TipContact.sliding("block", mu, (1, 0), support=ct.Support(Pose(rpy=(0, slope, 0))))
    run = ct.simulate(s, [0, 0], [0, 0], 1.0, contacts=[contact], rtol=1e-8, samples=5)
    a = 9.81 * (np.sin(slope) - mu * np.cos(slope))
    np.testing.assert_allclose(run.q, np.stack([a * run.t**2 / 2, 0 * run.t], -1), atol=1e-8)


def test_prescribed_velocities_accelerations_and_motions():
    """A block is lifted with a constant acceleration, and shaken along x, while a known force drives it along y."""
    s = block()

    def shaken(t):
        return 0.1 * np.sin(5 * t), 0.5 * np.cos(5 * t), -2.5 * np.sin(5 * t)

    contacts = [
        ct.TipContact("block", "dz", velocity=0.2, acceleration=1.5, since=1.0, name="lift"),
        ct.TipContact(
            "block", "dx", motion=shaken, force=lambda t: [0, 0, 0, -3.0 * (t - 1.0), 0], name="shake"
        ),
    ]
    v = ct.contact_velocity(s, [0, 0, 0], [0, 0, 0], contacts, t=1.0)
    np.testing.assert_allclose(v, [0.5 * np.cos(5.0), 0, 0.2], atol=1e-12)
    run = ct.simulate(s, [0.1 * np.sin(5), 0, 0], v, 0.8, contacts=contacts, start=1.0, rtol=1e-9, samples=5)
    since = run.t - 1.0
    expected = np.stack([0.1 * np.sin(5 * run.t), 3.0 * since**3 / 12, 0.2 * since + 0.75 * since**2], -1)
    np.testing.assert_allclose(run.q, expected, atol=1e-8)
    np.testing.assert_allclose(run.tip_forces["lift"][:, 5], -2.0 * (9.81 + 1.5), atol=1e-7)


@pytest.mark.parametrize(
    ("drift", "least", "most"), [("projection", 0, 1e-13), ("none", 1e-8, 1), ("baumgarte", 1e-8, 1e-4)]
)
def test_velocities_that_fit_are_kept_for_long(drift, least, most):
    """Steps of a fixed size: without a remedy errors pile up in the velocity across the blade."""
    s = planar(slope=0.4).system()
    run = ct.simulate(
        s, [0, 0, 0], [0, 0, 3.0], 3.0, contacts=[BLADE], integrator="rk4", step=0.02, drift=drift
    )
    assert least <= np.abs(sideways(run)).max() <= most


def test_batches_move_as_their_states_do():
    """Also where masses differ from state to state."""
    s = planar(com=0.2).system()
    turning = np.array([0.5, 2.0, -1.0])
    q, v = np.zeros((3, 3)), np.stack([0.3 + 0 * turning, 0 * turning, turning], -1)
    how = {"contacts": [BLADE], "integrator": "rk4", "step": 0.02, "samples": 3}
    together = ct.simulate(s, q, v, 0.4, **how)
    masses = np.array([1.0, 2.0, 3.0])
    varied = ct.simulate(s, q, v, 0.4, parameters={"sledge.mass": masses}, **how)
    for k in range(3):
        np.testing.assert_allclose(together.state(k).q, ct.simulate(s, q[k], v[k], 0.4, **how).q, atol=1e-12)
        other = planar(mass=masses[k], com=0.2).system()
        np.testing.assert_allclose(varied.state(k).q, ct.simulate(other, q[k], v[k], 0.4, **how).q, atol=1e-9)


def test_accelerations_are_those_of_an_instant():
    """Under a controller that is asked always, with redundant contacts: runs tell what `contact_dynamics` says."""
    s = arm().system()
    q = np.array([-0.7, 0.8, 0.5])
    contacts = [ct.TipContact("tip", ("dz", "ry")), ct.TipContact("hand", "ry", name="again")]

    def control(t, q, v):
        return -1.0 * v + np.array([0.0, 2.0, -1.0]) * np.sin(3 * t)

    run = ct.simulate(s, q, np.zeros(3), 0.2, contacts=contacts, control=control, rtol=1e-7, samples=3)
    for k in range(3):
        at = ct.contact_dynamics(s, run.q[k], run.v[k], run.tau[k], contacts)
        np.testing.assert_allclose(run.acceleration[k], at.vdot, atol=1e-6)
        np.testing.assert_allclose(run.tip_forces["tip"][k] + run.tip_forces["again"][k],
                                   at.contacts[0].f + at.contacts[1].f, atol=1e-6)  # fmt: skip
    np.testing.assert_allclose(run.position("tip")[:, 2], run.position("tip")[0, 2], atol=1e-8)


def test_forces_of_tips_are_kept_in_files(tmp_path):
    run = ct.simulate(
        planar(com=0.2).system(), [0, 0, 0], [1.0, 0, 0.5], 0.1, contacts=[BLADE], samples=3, rtol=1e-6
    )
    run.save(tmp_path / "run.nc")
    read = ct.load_run(tmp_path / "run.nc")
    np.testing.assert_array_equal(read.tip_forces["sledge"], run.tip_forces["sledge"])


SCENARIO = """
format = 1

[mechanism]
name = "skate"
gravity = [0.0, 0.0, -9.81]

[[body]]
name = "skate"
mass = 2.0
com = [0.0, 0.0, 0.0]
inertia = [0.2, 0.2, 0.3]

[[joint]]
name = "moves"
parent = "ground"
child = "skate"
kind = "planar"
in_parent = { rpy = [0.0, 0.3, 0.0] }

[[tip_contact]]
frame = "skate"
constrained = ["dy"]
axes = "tip"

[initial.v]
moves = [0.0, 0.0, 2.5]

[run]
duration = 0.4
rtol = 1e-7
samples = 3
"""


def test_a_skate_in_a_file(tmp_path):
    """It moves as it does from Python, and files say all that can be said of contacts."""
    (tmp_path / "skate.toml").write_text(SCENARIO)
    scenario = ct.Scenario.load(tmp_path / "skate.toml")
    run, size = scenario.run(), 9.81 * np.sin(0.3) / (2 * 2.5**2)
    np.testing.assert_allclose(run.q[:, 0], size * np.sin(2.5 * run.t) ** 2, atol=1e-7)
    others = [
        ct.TipContact("skate", np.eye(6)[:, [4, 0]], velocity=[0.1, 0.0], since=0.5, name="a", force=[1, 2, 3, 4.0],
                      friction=0.1 * np.ones((4, 2)), acceleration=[1, 2.0], support=ct.Support(Pose(p=(1, 2, 3)))),
        ct.TipContact("skate", [[0.1], [0], [0], [1], [0], [0]], support=ct.Support.along(PATH), name="b"),
    ]  # fmt: skip
    changed = scenario.with_(contacts=others)
    changed.save(tmp_path / "other.toml")
    assert ct.Scenario.load(tmp_path / "other.toml") == changed
    with pytest.raises(ct.FormatError, match="skate"):
        scenario.with_(contacts=[ct.TipContact("skate", "dy", motion=lambda t: (0, 0, 0))]).save(
            tmp_path / "x.toml"
        )


# What cannot be.


@pytest.mark.parametrize(
    ("v", "contacts", "how", "message"),
    [
        ([0, 0.5, 0], [BLADE], {}, r"'sledge'.*differs by 0.5.*contact_velocity"),
        ([1, 0, 0], [BLADE, BLADE], {}, "Two contacts of tips are called 'sledge'"),
        ([1, 0, 0], [BLADE, ct.Contact("sledge")], {}, "'sledge' always holds and"),
        ([1, 0, 0], [ct.TipContact("ground", "dy")], {}, "belongs to ground"),
        ([1, 0, 0], [ct.TipContact("sledge", "dy", axes="tip", force=[np.zeros(5)] * 2)], {}, "for each state"),
        ([1, 0, 0], [ct.TipContact("sledge", "dy", support=lambda t: 3)], {}, "t = 0 s: the support is 3"),
        ([1, 0, 0], [ct.TipContact("sledge", "dy", motion=lambda t: 3)], {}, "the motion is not what it must be"),
        ([1, 0, 0], [ct.TipContact("sledge", "dy", force=lambda t: 3)], {}, "the force is not what it must be"),
        ([1, 0, 0], [BLADE], {"integrator": "time_stepping", "step": 1e-2}, "time_stepping does not take"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(v, contacts, how, message):
    with pytest.raises(ct.CatenaError, match=message):
        ct.simulate(planar().system(), [0, 0, 0], v, 0.1, contacts=contacts, **how)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"motion": 3.0}, "motion is 3.0"),
        ({"motion": lambda t: 0, "velocity": 1.0}, "leave the others out"),
        ({"since": np.nan}, "since is nan"),
        ({"support": 3}, "support is 3"),
        ({"name": 3}, "name is 3"),
    ],
)
def test_descriptions_over_time_that_cannot_be(options, message):
    with pytest.raises(ct.ModelError, match=message):
        ct.TipContact("sledge", "dy", **options)
