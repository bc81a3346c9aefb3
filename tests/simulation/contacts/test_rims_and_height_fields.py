"""Rims of discs and floors that are height fields: steady motions in closed form, conserved quantities, planes said in
another way, and words."""

import numpy as np
import pytest

import catena as ct
from catena.errors import StateError
from catena.simulation.contacts.careful import CarefulSteps
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.geometry import ContactPlaces
from catena.simulation.contacts.impulses import ImpulseSteps
from catena.simulation.contacts.inside import Inside
from catena.simulation.contacts.instant_loads import InstantLoads
from catena.simulation.contacts.stiffness import StiffnessWatch
from catena.simulation.problem import Problem

G, MASS, RADIUS = 9.81, 0.2, 0.1


def disc():
    """A thin disc whose axis is z, free in space."""
    m = ct.Mechanism("disc")
    m.add_body(
        "disc", mass=MASS, inertia=(MASS * RADIUS**2 / 4.0, MASS * RADIUS**2 / 4.0, MASS * RADIUS**2 / 2.0)
    )
    m.add_joint("moves", "ground", "disc", ct.Free(), actuated=False)
    return m.system()


def placed(s, lean):
    """The configuration (nq,) in which the axis leans so far from the vertical, about x, and the rim touches."""
    q = s.integrate(s.neutral(), np.array([lean, 0.0, 0.0, 0.0, 0.0, 0.0]))
    pose = s.pose(q, "disc")
    turn = np.asarray(pose.R)
    step = np.zeros(6)
    step[3:] = turn.T @ (np.array([0.0, 0.0, RADIUS * np.sin(lean)]) - np.asarray(pose.p))
    return s.integrate(q, step)


@pytest.mark.parametrize("slips", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_coin_rolls_in_circles_at_its_steady_rate(slips):
    """A disc whose mass centre stands still (Euler's disc) precesses with Omega^2 = 4 g / (R sin(lean)),
    of the lean of its plane from the floor: without slip, and without friction with any spin that is given."""
    s, lean = disc(), 0.4
    rate = np.sqrt(4.0 * G / (RADIUS * np.sin(lean)))
    q, R = placed(s, lean), np.asarray(s.pose(placed(s, lean), "disc").R)
    axis = R[:, 2]
    # The whole turn is along the diameter through the point that touches: w = Omega z - (Omega z . axis) axis.
    w = rate * (np.array([0.0, 0.0, 1.0]) - axis[2] * axis)
    v = np.concatenate([R.T @ w, np.zeros(3)])
    rim = ct.Contact("disc", rim=RADIUS, friction=0.0 if slips else 0.5)
    turns = 2.0 * np.pi / rate
    run = ct.simulate(s, q, v, turns, contacts=[rim], rtol=1e-9, atol=1e-11, samples=41)
    axes = np.array([np.asarray(s.pose(x, "disc").R)[:, 2] for x in run.q])
    np.testing.assert_allclose(axes[:, 2], np.cos(lean), atol=1e-7)
    angle = np.unwrap(np.arctan2(axes[:, 1], axes[:, 0]))
    np.testing.assert_allclose(angle - angle[0], rate * run.t, atol=1e-6)
    np.testing.assert_allclose(run.position("disc")[:, 2], RADIUS * np.sin(lean), atol=1e-8)
    np.testing.assert_allclose(run.contact_forces["disc"][:, 2], MASS * G, rtol=1e-6)
    assert {part.settings["steps taken by"] for part in run.segments} == {
        "compiled steps with contacts inside"
    }
    told = run.contact("disc")
    assert np.abs(told.gap).max() < 1e-8
    if not slips:
        assert set(told.mode) == {"stick"} and np.abs(told.slip).max() < 1e-8


def test_coins_roll_by_time_stepping_to_second_order():
    """Euler's discs of several leans, side by side: their mass centres stand still, and they precess by a formula."""
    s, leans, duration = disc(), np.array([0.4, 0.7, 1.1]), 0.2
    rates = np.sqrt(4.0 * G / (RADIUS * np.sin(leans)))
    q, v = np.array([placed(s, lean) for lean in leans]), np.zeros((3, 6))
    for k, rate in enumerate(rates):
        R = np.asarray(s.pose(q[k], "disc").R)
        v[k, :3] = R.T @ (rate * (np.array([0.0, 0.0, 1.0]) - R[2, 2] * R[:, 2]))
    steps, errors = np.array([2e-3, 1e-3, 5e-4]), []
    for h in steps:
        run = ct.simulate(
            s, q, v, duration, contacts=[ct.Contact("disc", rim=RADIUS, friction=0.8)],
            integrator="time_stepping", step=h, samples=2,
        )  # fmt: skip
        axes = np.array([np.asarray(s.pose(x, "disc").R)[:, 2] for x in run.q[:, -1]])
        turned = [np.asarray(s.pose(x, "disc").R)[:, 2] for x in q]
        angles = rates * duration + np.arctan2([a[1] for a in turned], [a[0] for a in turned])
        apart = (np.arctan2(axes[:, 1], axes[:, 0]) - angles + np.pi) % (2.0 * np.pi) - np.pi
        place = np.linalg.norm(run.position("disc")[:, -1] - run.position("disc")[:, 0], axis=1)
        errors.append(np.abs([apart, np.arccos(axes[:, 2]) - leans, place / RADIUS]).max(axis=0))
    orders = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert np.all(orders > 1.85) and np.max(errors[-1]) < 2e-4


@pytest.mark.slow
def test_a_wheel_that_rolls_and_wobbles_keeps_its_energy_and_comes_back():
    """Rolling without slip takes no energy, and turned round in time it is a motion too."""
    s = disc()
    q, R = placed(s, 1.3), np.asarray(s.pose(placed(s, 1.3), "disc").R)
    w = np.array([0.3, 0.0, 0.0]) + 12.0 * R[:, 2]
    touch = RADIUS * (R[2, 2] * R[:, 2] - np.array([0.0, 0.0, 1.0])) / np.sin(1.3)
    v = np.concatenate([R.T @ w, R.T @ -np.cross(w, touch)])
    contact = [ct.Contact("disc", rim=RADIUS, friction=5.0)]
    there = ct.simulate(s, q, v, 0.4, contacts=contact, rtol=1e-9, atol=1e-11)
    assert set(there.contact("disc").mode) == {"stick"}
    assert np.ptp(there.energy) < 1e-7 * there.energy[0]
    back = ct.simulate(s, there.q[-1], -there.v[-1], 0.4, contacts=contact, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(s.pose(back.q[-1], "disc").p, s.pose(q, "disc").p, atol=1e-6)


def ball():
    m = ct.Mechanism("ball")
    m.add_body("ball", mass=0.3, inertia=0.4 * 0.3 * 0.05**2)
    m.add_joint("moves", "ground", "ball", ct.Free(), actuated=False)
    return m.system()


def raised(s, p):
    q = s.neutral()
    q[s.slice_q("moves")][:3] = p
    return q


def field(shape, size=1.0, count=41):
    x = np.linspace(-size, size, count)
    return ct.HeightField(x, x, shape(*np.meshgrid(x, x, indexing="ij")))


@pytest.mark.parametrize("radius", [0.0, pytest.param(0.05, marks=pytest.mark.slow)])
def test_a_slope_is_a_plane(radius):
    """A height field that rises evenly against a plane that is turned: land, bounce, slip and roll alike."""
    slope = 0.3
    m = ball().mechanism
    m.add_frame("plane", "ground", ct.Pose(rpy=(0.0, -np.arctan(slope), 0.0)))
    s = m.system()
    how = {"friction": 0.2, "restitution": 0.4, "radius": radius}
    q, v = raised(s, (0.1, 0.0, 0.2)), np.array([0.0, 0.0, 3.0, 0.5, 0.3, 0.0])
    rough = ct.Contact("ball", floor=field(lambda x, y: slope * x), **how)
    runs = [
        ct.simulate(s, q, v, 0.8, contacts=[one], rtol=1e-9, atol=1e-11)
        for one in (rough, ct.Contact("ball", on="plane", **how))
    ]
    one, other = (run.resample(41) for run in runs)
    np.testing.assert_allclose(one.position("ball"), other.position("ball"), atol=1e-7)
    np.testing.assert_allclose(one.v, other.v, atol=1e-6)
    told = [run.contact("ball") for run in (one, other)]
    np.testing.assert_allclose(told[0].gap, told[1].gap, atol=1e-7)
    np.testing.assert_allclose(told[0].normal_force, told[1].normal_force, atol=1e-5)
    assert len(runs[0].transitions) == len(runs[1].transitions) > 2


@pytest.mark.parametrize("kind", ["rim", "field"])
def test_careful_steps_by_compiled_code_and_from_python(kind):
    """A disc whose rim rubs, and a ball that lands in a bowl and slides: Moreau's steps are the same both ways."""
    if kind == "rim":
        s, v = disc(), np.array([0.3, 1.0, -2.0, 0.2, -0.5, -0.1])
        q, contact = placed(s, 0.9), ct.Contact("disc", rim=RADIUS, friction=0.3)
    else:
        s, v = ball(), np.array([0.0, 0.0, 1.0, 0.5, 1.0, 0.0])
        bowl = field(lambda x, y: (x**2 + y**2) / 1.6)
        q, contact = raised(s, (0.3, 0.1, 0.1166)), ct.Contact("ball", floor=bowl, friction=0.2, radius=0.05)
    free_motion = FreeMotion(Problem(s), ContactPlaces(s, [contact]))
    compiled = ImpulseSteps(InstantLoads(free_motion.acting), Inside(free_motion.places))
    (slow, f), (quick, g) = (
        CarefulSteps(free_motion, 0.6, 2e-4, steps, StiffnessWatch(free_motion)).go(
            0.0, q, v, 0.03, lambda p, u, yields: True
        )
        for steps in (None, compiled)
    )
    assert len(slow.t) == len(quick.t) > 100 and f[-1, 0, 2] > 0.1
    assert np.abs(f - g).max() < 1e-5 * np.abs(f).max()
    assert np.abs(slow.q - quick.q).max() < 1e-8 and np.abs(slow.v - quick.v).max() < 1e-7
    assert np.abs(free_motion.places.gaps(quick.q[-1:])).max() < 1e-9


@pytest.mark.slow
def test_a_point_in_a_parabolic_bowl_goes_round_and_up_and_down():
    """z = r^2 / (2 a): round a circle of any radius with the rate sqrt(g / a); and from rest to the other side, with
    the energy that it had."""
    a = 0.8
    bowl = ct.Contact("ball", floor=field(lambda x, y: (x**2 + y**2) / (2.0 * a), count=9))
    s, r = ball(), 0.37
    rate = np.sqrt(G / a)
    run = ct.simulate(
        s, raised(s, (r, 0.0, r**2 / (2.0 * a))), [0.0, 0.0, 0.0, 0.0, r * rate, 0.0], 1.0, contacts=[bowl], rtol=1e-9,
        atol=1e-11, samples=21,
    )  # fmt: skip
    p = run.position("ball")
    np.testing.assert_allclose(p[:, 0], r * np.cos(rate * run.t), atol=1e-6)
    np.testing.assert_allclose(p[:, 1], r * np.sin(rate * run.t), atol=1e-6)
    run = ct.simulate(
        s, raised(s, (r, 0.1, (r**2 + 0.01) / (2.0 * a))), contacts=[bowl], duration=1.0, rtol=1e-9
    )
    p = run.position("ball")
    np.testing.assert_allclose(p[:, 2], (p[:, 0] ** 2 + p[:, 1] ** 2) / (2.0 * a), atol=1e-7)
    assert p[:, 0].min() < -0.25 and np.ptp(run.energy) < 1e-6 * MASS * G * r


@pytest.mark.slow
def test_a_ball_that_rolls_in_a_round_valley_is_a_pendulum():
    """A ball that rolls without slip in a valley of constant curvature: its centre on a circle of R - r, with 7/5 of
    its mass; against the quadrature of its energy."""
    R, r, start = 0.6, 0.05, 0.35
    x, y = np.linspace(-0.45, 0.45, 181), np.linspace(-1.0, 1.0, 5)
    valley = ct.HeightField(x, y, np.repeat((R - np.sqrt(R**2 - x**2))[:, None], 5, axis=1))
    s = ball()
    q = raised(s, ((R - r) * np.sin(start), 0.0, R - (R - r) * np.cos(start)))
    run = ct.simulate(
        s, q, np.zeros(6), 1.2, contacts=[ct.Contact("ball", floor=valley, friction=0.9, radius=r)], rtol=1e-9
    )
    p = run.position("ball")
    np.testing.assert_allclose(np.hypot(p[:, 0], p[:, 2] - R), R - r, atol=2e-7)
    angle, speed = np.arctan2(p[:, 0], R - p[:, 2]), np.linalg.norm(run.v[:, 3:], axis=1)
    np.testing.assert_allclose(0.7 * speed**2, G * (R - r) * (np.cos(angle) - np.cos(start)), atol=2e-6)
    assert angle.min() < -0.349 and set(run.contact("ball").mode) == {"stick"}


def test_points_go_round_in_bowls_by_time_stepping_to_second_order():
    """Three bowls' circles at once, against their closed form, and the force that holds them on it."""
    a, s, r = 0.8, ball(), np.array([0.2, 0.37, 0.5])
    bowl = ct.Contact("ball", floor=field(lambda x, y: (x**2 + y**2) / (2.0 * a), count=9))
    rate, steps, errors = np.sqrt(G / a), np.array([4e-3, 2e-3]), []
    q, v = np.tile(raised(s, (0.0, 0.0, 0.0)), (3, 1)), np.zeros((3, 6))
    at = s.slice_q("moves").start
    q[:, at], q[:, at + 2], v[:, 4] = r, r**2 / (2.0 * a), r * rate
    for h in steps:
        run = ct.simulate(
            s, q, v, 0.4, contacts=[bowl], integrator="time_stepping", step=h, samples=11, check=False
        )
        p, turned = run.position("ball"), rate * run.t[:, None]
        circle = r[:, None, None] * np.stack([np.cos(turned), np.sin(turned)], axis=-1)[None, :, 0]
        wrong = p[..., :2] - circle, p[..., 2] - (p[..., :2] ** 2).sum(axis=-1) / (2.0 * a)
        pushes = np.linalg.norm(run.contact_forces["ball"][:, -1], axis=-1)
        off = pushes / (0.3 * np.hypot(G, r * rate**2)) - 1.0
        errors.append([np.abs(wrong[0]).max(), np.abs(wrong[1]).max(), np.abs(off).max()])
    assert np.log2(np.divide(*errors)).min() > 1.9 and np.max(errors[-1]) < 1e-5


def test_balls_land_in_a_bowl_by_time_stepping_as_on_the_exact_way():
    """They bounce, slip and roll; friction and restitution differ from state to state, and a slope is a plane."""
    s = ball()
    bowl = field(lambda x, y: 0.5 * (x**2 + 0.5 * y**2))
    mu, e = np.array([0.1, 0.6]), np.array([0.0, 0.5])
    q = np.array([raised(s, (0.1, 0.3, 0.15)), raised(s, (-0.3, 0.0, 0.2))])
    v = np.tile([0.0, 0.0, 2.0, 0.5, 0.3, 0.0], (2, 1))
    run = ct.simulate(
        s, q, v, 0.4, contacts=[ct.Contact("ball", floor=bowl, radius=0.05)], integrator="time_stepping", step=1e-3,
        parameters={"ball.friction": mu, "ball.restitution": e}, samples=3,
    )  # fmt: skip
    for k in range(2):
        own = ct.Contact("ball", floor=bowl, radius=0.05, friction=mu[k], restitution=e[k])
        exact = ct.simulate(s, q[k], v[k], 0.4, contacts=[own], rtol=1e-7, atol=1e-9, samples=3)
        assert np.abs(run.state(k).position("ball")[-1] - exact.position("ball")[-1]).max() < 2e-5
        assert np.abs(run.state(k).v[-1] - exact.v[-1]).max() < 2e-3
        assert np.abs(run.state(k).energy[-1] - exact.energy[-1]) < 1e-3


def test_contacts_of_shapes_on_a_floor():
    m = ball().mechanism.copy()
    m.add_collision("ball", ct.shapes.Sphere(0.05))
    rough = field(lambda x, y: 0.2 + 0.0 * x)
    s = m.system()
    contacts = ct.contacts_of(m, floor=rough, friction=0.3)
    s = m.system()
    run = ct.simulate(s, raised(s, (0.0, 0.0, 0.25)), duration=0.1, contacts=contacts)
    assert np.abs(run.position("ball")[:, 2] - 0.25).max() < 1e-9
    assert rough.height(5.0, -5.0) == pytest.approx(0.2)


def test_what_is_not_taken_is_said():
    flat, s = field(lambda x, y: 0.0 * x), ball()
    for words, give in (
        ("floor is 3; give a HeightField", {"floor": 3}),
        ("rim and floor are given", {"floor": flat, "rim": 0.1}),
        ("rim is -1", {"rim": -1}),
    ):
        with pytest.raises(StateError, match=words):
            ct.Contact("ball", **give)
    for words, x, z in (
        ("x is .* four or more places that increase", [0.0, 1.0, 1.0, 2.0], np.zeros((4, 5))),
        (r"z has the shape \(5, 4\)", range(4), np.zeros((5, 4))),
        ("z has an entry that is not finite", range(4), np.full((4, 5), np.nan)),
    ):
        with pytest.raises(StateError, match=words):
            ct.HeightField(x, range(5), z)
    with pytest.raises(StateError, match="'ball' begins 0.1 m below the floor"):
        ct.simulate(s, raised(s, (0.0, 0.0, -0.1)), duration=0.1, contacts=[ct.Contact("ball", floor=flat)])
