"""Contacts of mechanisms with loops, couplings and flexible bodies: what the compiled step finds by elimination,
and what is found from the motions of all joints, by other plans, in closed form and on the plain road."""

import numpy as np
import pytest

import catena as ct
from catena.simulation.arguments import TimeWindow
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.geometry import ContactPlaces
from catena.simulation.contacts.holding import Holding
from catena.simulation.contacts.inside import Inside, can_be_inside
from catena.simulation.contacts.instant_loads import InstantLoads
from catena.simulation.contacts.quick_steps import QuickSteps
from catena.simulation.contacts.situation import ByJoints, Mobile
from catena.simulation.contacts.standing import Standing
from catena.simulation.problem import Problem

INSIDE = "compiled steps with contacts inside"


def on_two_legs(geared=False):
    """A free trunk on two legs that keep their shanks parallel to it, by a second link or by a gear."""
    m = ct.Mechanism()
    m.add_body("trunk", mass=5.0, inertia=(0.1, 0.2, 0.25))
    m.add_joint("base", "ground", "trunk", ct.Free())
    for leg, x, y in (("left", 0.2, 0.12), ("right", -0.15, -0.1)):
        for part, mass in (("thigh", 0.3), ("shank", 0.2)):
            m.add_body(f"{leg}/{part}", mass=mass, com=(0.0, 0.0, -0.1), inertia=(1e-3, 1e-3, 2e-4))
        hip, knee = ct.Pose(p=(x, y, 0.0)), ct.Pose(p=(0.0, 0.0, -0.25))
        m.add_joint(f"{leg}/hip", "trunk", f"{leg}/thigh", ct.Revolute("y"), in_parent=hip)
        m.add_joint(f"{leg}/knee", f"{leg}/thigh", f"{leg}/shank", ct.Revolute("y"), in_parent=knee)
        m.add_spring(f"{leg}/spring", f"{leg}/hip", stiffness=200.0, damping=5.0)
        if geared:
            m.add_coupling(f"{leg}/gear", {f"{leg}/hip": 1.0, f"{leg}/knee": 1.0})
        else:
            m.add_body(f"{leg}/link", mass=0.1, com=(0.0, 0.0, -0.125), inertia=(5e-4, 5e-4, 1e-4))
            top = ct.Pose(p=(x + 0.06, y, 0.0))
            m.add_joint(f"{leg}/top", "trunk", f"{leg}/link", ct.Revolute("y"), in_parent=top)
            m.add_joint(
                f"{leg}/end", f"{leg}/link", f"{leg}/shank", ct.Revolute("y"), in_parent=knee,
                in_child=ct.Pose(p=(0.06, 0.0, 0.0)),
            )  # fmt: skip
        m.add_frame(f"{leg}/foot", f"{leg}/shank", knee)
    return m


def on_a_beam():
    """A trunk on a rail whose leg is a beam that bends."""
    m = ct.Mechanism()
    m.add_body("trunk", mass=1.0, inertia=(0.01, 0.01, 0.01))
    m.add_joint("rail", "ground", "trunk", ct.Prismatic("z"))
    beam = ct.Beam(0.5, 6e-5, (6e-10, 6e-10), 2700.0, 7e9, modes={"y": 2, "z": 2}, damping=0.02)
    m.add_body("leg", flexible=beam)
    m.add_joint("hip", "trunk", "leg", ct.Revolute("y"))
    m.add_frame("foot", "leg", ct.Pose(p=(0.5, 0.0, 0.0)))
    m.add_spring("hip spring", "hip", stiffness=20.0, damping=0.3, rest=1.0)
    return m


def anywhere(kind, seed=1):
    """A mechanism in any closed state, its contacts, and what is prescribed."""
    rng = np.random.default_rng(seed)
    if kind == "flexible":
        s = on_a_beam().system()
        q, v = s.integrate(s.neutral(), 0.05 * rng.normal(size=s.nv)), rng.normal(size=s.nv)
        return s, q, v, [ct.Contact("foot", friction=0.3), *ct.Stop("hip", upper=0.2).sides(s)], {}, rng
    s = (on_a_strut(0.0) if kind == "strutted" else on_two_legs(kind == "geared")).system()
    q = s.integrate(s.assemble(), 0.2 * rng.normal(size=s.nv))
    q, v = s.project(q, rng.normal(size=s.nv))
    contacts = [ct.Contact("left/foot", friction=0.5), ct.Contact("right/foot", radius=0.02, friction=0.3)]
    if kind == "stopped":
        return s, q, v, [*contacts, *ct.Stop("left/hip", upper=0.2).sides(s)], {}, rng
    if kind == "driven":
        hip = "left/hip"
        motion = {hip: lambda t: (q[s.slice_q(hip)], v[s.slice_v(hip)], [0.7])}
        return s, q, v, contacts, {"motion": motion}, rng
    return (
        s,
        q,
        v,
        [
            *contacts,
            ct.Contact("right/foot", on="left" if kind == "strutted" else "left/thigh", friction=0.4),
        ],
        {},
        rng,
    )


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("driven", "stopped")]


@pytest.mark.parametrize("kind", ["looped", "geared", "flexible", "strutted", *SLOW])
def test_forces_and_mobility(kind):
    """The elimination and the motions of all joints give the same forces for known modes, and the same mobilities,
    accelerations and gains by impulses."""
    s, q, v, contacts, given, rng = anywhere(kind)
    places = ContactPlaces(s, contacts)
    places.refer(q)
    free_motion, count = FreeMotion(Problem(s, rtol=1e-6, atol=1e-8, **given), places), len(contacts)
    assert can_be_inside(free_motion.problem, places)
    inside, along = Inside(places), rng.normal(size=(count, 2))
    quick = QuickSteps(free_motion, inside, TimeWindow(0.0, 1.0, 1.0), 1.0, 1e-4, 1.0, start=q)
    tau = free_motion.command(0.0, q, v)
    for modes in (("slide", "stick", "slide"), ("stick", "slide", "open")):
        modes = tuple("slide" if k in [i for i, _ in places.stops] else modes[k] for k in range(count))
        holding = Holding(free_motion, Standing(modes, along), 1.0, along)
        holding.begin(0.0, q, v)
        quick.tell(inside.numbers_of(holding, np.zeros(count)))
        told = quick.look(0.0, q, v)
        expected = holding.forces(np.zeros(1), q[None], v[None], tau[None]).f[0]
        assert np.abs(told[holding.closed, :3] - expected).max() < 1e-10 * np.abs(expected).max()
        touches = places.at(q[None], v[None])
        assert np.abs(told[:, 3:6] - touches.u[0]).max() < 1e-12
        assert np.abs(told[:, 6] - touches.gap[0]).max() < 1e-14
    by_joints = ByJoints(free_motion, 0.0, q, v, tau)
    compiled = Mobile(InstantLoads(free_motion.acting), inside).at(0.0, q, v, tau)
    every, p = list(range(count)), rng.normal(size=(count, 3))
    for _ in range(2):
        for name, arguments in (("mobility", (every,)), ("accelerations", (every,)), ("pushed", (every, p))):
            a, b = (getattr(way, name)(*arguments) for way in (by_joints, compiled))
            assert np.abs(a - b).max() < 1e-10 * max(1.0, np.abs(a).max()), name


def test_masses_that_a_coupling_holds_together_bounce_as_one():
    """Two masses on rails that move alike, one of which bounces, against one mass: times and heights in closed form."""
    m = ct.Mechanism()
    for name, mass in (("ball", 0.4), ("beside", 0.9)):
        m.add_body(name, mass=mass, inertia=(1e-3, 1e-3, 1e-3))
        m.add_joint(f"{name} rail", "ground", name, ct.Prismatic("z"))
    m.add_coupling("alike", {"ball rail": 1.0, "beside rail": -1.0})
    s, (height, e, g) = m.system(), (0.2, 0.6, 9.81)
    q = np.full(s.nq, height)
    run = ct.simulate(s, q, np.zeros(s.nv), 0.7, contacts=[ct.Contact("ball", restitution=e)], rtol=1e-9)
    assert {part.settings["steps taken by"] for part in run.segments} == {INSIDE}
    fall = np.sqrt(2.0 * height / g)
    times = fall + 2.0 * fall * np.cumsum([0.0, e, e**2, e**3])
    assert np.abs(np.array([change.t for change in run.transitions]) - times).max() < 1e-9
    impulse = run.transitions[0].impulse["ball"]
    assert impulse == pytest.approx([0.0, 0.0, 1.3 * (1.0 + e) * g * fall], abs=1e-8)
    left = 0.7 - times[-1]
    assert run.q[-1] == pytest.approx(e**4 * g * fall * left - 0.5 * g * left**2, abs=1e-8)


def four_bar_on_a_foot():
    """A trunk on a rail over a four-bar linkage with a foot on its coupler."""
    m = ct.Mechanism()
    m.add_body("trunk", mass=2.0, inertia=(0.02, 0.02, 0.02))
    m.add_joint("rail", "ground", "trunk", ct.Prismatic("z"))
    for name, length in (("crank", 0.2), ("coupler", 0.35), ("rocker", 0.3)):
        m.add_body(name, mass=0.3, com=(length / 2.0, 0.0, 0.0), inertia=(1e-3, 2e-3, 2e-3))
    m.add_joint("A", "trunk", "crank", ct.Revolute("y"))
    m.add_joint("B", "crank", "coupler", ct.Revolute("y"), in_parent=ct.Pose(p=(0.2, 0.0, 0.0)))
    m.add_joint("D", "trunk", "rocker", ct.Revolute("y"), in_parent=ct.Pose(p=(0.25, 0.0, 0.0)))
    m.add_joint(
        "C", "coupler", "rocker", ct.Revolute("y"), in_parent=ct.Pose(p=(0.35, 0.0, 0.0)),
        in_child=ct.Pose(p=(0.3, 0.0, 0.0)),
    )  # fmt: skip
    m.add_frame("foot", "coupler", ct.Pose(p=(0.175, 0.0, -0.3)))
    m.add_spring("spring", "A", stiffness=30.0, damping=0.5)
    return m


def on_a_strut(mass):
    """A trunk on two legs between which a rod without inertia, or with little, holds the distance."""
    m = ct.Mechanism("strutted")
    m.add_body("trunk", mass=3.0, inertia=0.05)
    m.add_joint("base", "ground", "trunk", ct.Free(), actuated=False)
    m.add_body("left", mass=0.4, com=(0.0, 0.0, -0.1), inertia=2e-3)
    m.add_body("rod", mass=mass, com=(0.1, 0.0, 0.0), inertia=1e-2 * mass)
    m.add_body("right", mass=0.5, com=(0.0, 0.0, -0.15), inertia=4e-3)
    knee, end = ct.Pose(p=(0.0, 0.0, -0.2)), ct.Pose(p=(-0.2, 0.0, 0.0))
    m.add_joint("left/hip", "trunk", "left", ct.Revolute("y"), in_parent=ct.Pose(p=(0.1, 0.0, 0.0)))
    m.add_joint("right/hip", "trunk", "right", ct.Revolute("y"), in_parent=ct.Pose(p=(-0.1, 0.0, 0.0)))
    m.add_joint("first", "left", "rod", ct.Revolute("y"), in_parent=knee)
    m.add_joint("second", "rod", "right", ct.Spherical(), in_parent=end, in_child=knee)
    m.add_spring("spring", "left/hip", stiffness=40.0, damping=1.0)
    for side, z in (("left", -0.3), ("right", -0.35)):
        m.add_frame(f"{side}/foot", side, ct.Pose(p=(0.0, 0.0, z)))
    return m


def dropped(s, height, feet, q):
    """The configuration (nq,) with the lowest of the feet at a height [m]."""
    base = "rail" if "rail" in s.joints else "base"
    q = q.copy()
    q[s.slice_q(base)][-1 if base == "rail" else 2] += height - min(s.pose(q, foot).p[2] for foot in feet)
    return q


@pytest.mark.slow
def test_every_cut_of_a_loop_gives_the_same_motion():
    """A foot of a four-bar linkage that lands and slips, with each of its joints cut. Where the joint with the spring
    closes the loop, its turns are counted."""
    found, contacts = [], [ct.Contact("foot", friction=0.3)]
    for cut in "ABCD":
        s = four_bar_on_a_foot().system(cut=[cut])
        q = dropped(s, 0.02, ["foot"], s.assemble({"A": -1.0}, guess={"A": -1.0, "B": 0.7, "D": -1.2}))
        run = ct.simulate(s, q, np.zeros(s.nv), 0.09, contacts=contacts, rtol=1e-9, atol=1e-11)
        ways = {part.settings["steps taken by"] for part in run.segments}
        assert ways == {INSIDE}
        found.append(np.array([s.pose(run.q[-1], body).p for body in ("trunk", "crank", "rocker", "foot")]))
    assert max(np.abs(x - found[0]).max() for x in found) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["looped", "geared", "flexible"])
def test_the_plain_road_gives_the_same_motion(kind):
    """A run whose contacts are inside the compiled step and one by a method of SciPy, in which contacts that stick are
    joints that close loops."""
    if kind == "flexible":
        s, feet, until = on_a_beam().system(), ["foot"], 0.1
        q = s.neutral()
        q[s.slice_q("hip")] = 1.0
    else:
        s, feet, until = on_two_legs(kind == "geared").system(), ["left/foot", "right/foot"], 0.12
        turn = np.zeros(s.nv)
        turn[s.slice_v("base")][:3] = 0.05, 0.08, 0.0
        q = s.integrate(s.assemble(), turn)
    q = dropped(s, 0.01, feet, q)
    contacts, close = [ct.Contact(foot, friction=0.8) for foot in feet], {"rtol": 1e-9, "atol": 1e-11}
    runs = [
        ct.simulate(s, q, np.zeros(s.nv), until, contacts=contacts, integrator=method, **close)
        for method in ("dopri5", "radau")
    ]
    ways = [{part.settings["steps taken by"] for part in run.segments} for run in runs]
    assert ways[0] == {INSIDE} and INSIDE not in ways[1]
    told = [[(change.name, change.told) for change in run.transitions] for run in runs]
    assert told[0] == told[1]
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() < 1e-8
