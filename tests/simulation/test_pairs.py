"""Everything a run can have, in pairs, and some by threes: a run against bodies in a plane that know nothing of it
(`planar`), the same in two pieces, and the same step by step from a saved state."""

from itertools import combinations

import numpy as np
import pytest

import catena as ct
from catena.simulation.results.batch import StateByState
from tests.simulation.planar import FRICTION, THROWN, Plane, bounced

INGREDIENTS = (
    "loop", "coupling", "flexible body", "spring at a loop joint", "prescribed joint", "moving base",
    "sampled controller", "law", "function", "contact", "structure change", "parameters",
)  # fmt: skip
QUICK = {
    ("loop", "function"),
    ("prescribed joint", "contact"),
    ("sampled controller", "structure change"),
    ("structure change", "parameters"),
}
END, CUT = 0.06, 0.04


def mechanism(having):
    """Return a pendulum of two links, and beside it whatever the ingredients need."""
    m = ct.Mechanism(" and ".join(having))
    m.gravity = (0.0, 0.0, -9.81)
    base = "ground"
    if "moving base" in having:
        m.add_body("base", 2.0, inertia=0.1)
        m.add_joint("base", "ground", "base", ct.Prismatic("x"))
        base = "base"
    for name, at in (("A", base), ("B", "link A")):
        m.add_body(f"link {name}", 1.0, com=(0.0, 0.0, -0.4), inertia=0.05)
        place = ct.Pose(p=(0.0, 0.0, -0.8 if name == "B" else 0.0))
        m.add_joint(name, at, f"link {name}", ct.Revolute("y"), in_parent=place, damping=0.02)
    if "loop" in having or "spring at a loop joint" in having:
        for name, at, length in (("C", "ground", 0.0), ("D", "bar C", 0.6), ("G", "bar D", 0.7)):
            m.add_body(f"bar {name}", 0.5, com=(0.0, 0.0, -0.3), inertia=0.02)
            place = ct.Pose(p=(2.0 if name == "C" else 0.0, 0.0, -length))
            m.add_joint(name, at, f"bar {name}", ct.Revolute("y"), in_parent=place)
        closes = {"in_parent": ct.Pose(p=(2.7, 0.0, -0.1)), "in_child": ct.Pose(p=(0.0, 0.0, -0.6))}
        m.add_joint("E", "ground", "bar G", ct.Revolute("y"), **closes)
    if "spring at a loop joint" in having:
        m.add_spring("spring", "E", stiffness=4.0, rest=0.3)
    if "coupling" in having:
        m.add_body("wheel", 0.4, inertia=0.03)
        m.add_joint("W", "ground", "wheel", ct.Revolute("y"))
        m.add_coupling("gear", {"A": 2.0, "W": -1.0})
    if "flexible body" in having:
        beam = ct.Beam(
            length=1.0, area=4e-4, inertia=1.3e-8, density=2700.0, young=2e9, modes={"z": 1}, damping=0.01
        )
        m.add_body("beam", flexible=beam)
        m.add_joint("F", "ground", "beam", ct.Revolute("y"))
    if "prescribed joint" in having:
        m.add_body("slide", 1.0, inertia=0.1)
        m.add_joint("P", "link A", "slide", ct.Prismatic("x"))
    if "contact" in having:
        for name in THROWN:
            m.add_body(name, 0.3, inertia=0.01)
            m.add_joint(name, "ground", name, ct.Sdof("dx", "dz"))
    return m


def lock(here):
    return here.system.mechanism.lock("B", at=here.configuration)


def control_of(s, having):
    """Return the sum of the controllers that the ingredients ask for, at the first joint of the pendulum."""
    at = s.slice_v("A").start
    n = s.slice_q("A").start

    def pushed(t, q, v):
        tau = np.zeros(v.shape)
        tau[..., at] = np.sin(9.0 * t) - 2.0 * q[..., n]
        return tau

    def formula(t, q, v):
        return [
            0.5 * ct.symbols.cos(5.0 * t) - q[..., n] if k == at else 0.0 * v[..., k] for k in range(s.nv)
        ]

    def plain(t, q, v):
        tau = np.zeros(v.shape)
        tau[..., at] = -0.3 * v[..., at]
        return tau

    known = {
        "sampled controller": ct.sampled(pushed, 50.0),
        "law": ct.SymbolicControl(formula),
        "function": plain,
    }
    parts = [known[name] for name in known if name in having]
    return parts[0] + parts[1] if len(parts) > 1 else parts[0] if parts else None


BASE = ct.spline([0.0, 0.03, 0.1], [[0.0], [0.01], [0.05]])


def slide(t):
    return 0.1 * np.sin(8.0 * t), 0.8 * np.cos(8.0 * t), -6.4 * np.sin(8.0 * t)


def given(s, having):
    """Return the arguments of `simulate` and of `Stepper`."""
    found = {"rtol": 1e-9, "atol": 1e-11}
    if {"sampled controller", "law", "function"} & set(having):
        changes = "structure change" in having
        found["control"] = (
            ct.PerStructure(lambda s: control_of(s, having)) if changes else control_of(s, having)
        )
    motion = {}
    if "prescribed joint" in having:
        motion["P"] = slide
    if "moving base" in having:
        motion["base"] = BASE
    if motion:
        found["motion"] = motion
    if "contact" in having:
        found["contacts"] = [ct.Contact(x, friction=FRICTION, restitution=e) for x, (_, e) in THROWN.items()]
    if "structure change" in having:
        found["events"] = [ct.at_time(0.025, then=lock)]
    if "parameters" in having:
        found["parameters"] = {"link B.mass": [1.0, 1.7]}
    return found


def states_of(run):
    """Return the states of a run whose states have structures of their own, one by one; else the run itself."""
    return [run.state(k) for k in range(2)] if isinstance(run, StateByState) else [run]


def ends(run):
    """Return positions and velocities at the end of a run, (..., nq + nv)."""
    rows = [part.segments[-1] for part in states_of(run)]
    found = [np.concatenate([part.q[..., -1, :], part.v[..., -1, :]], axis=-1) for part in rows]
    return np.array(found) if len(found) > 1 else found[0]


def going_on(run, options):
    """Return the end of a run that goes on from the end of another one, with the systems that it ends with."""
    found = []
    for part in states_of(run):
        last = part.segments[-1]
        late = {k: x for k, x in options.items() if k != "events"}
        if isinstance(late.get("control"), ct.PerStructure):
            late["control"] = late["control"].make(last.system)
        if isinstance(run, StateByState):
            del late["parameters"]
        state = last.q[..., -1, :], last.v[..., -1, :]
        found.append(
            ends(ct.simulate(last.system.variants.origin, *state, END - CUT, start=CUT, check=False, **late))
        )
    return np.array(found) if len(found) > 1 else found[0]


def as_in_the_plane(run, having):
    """Compare the end of a run with that of bodies in a plane, of a ball alone and of a beam alone."""
    for k, one in enumerate([run.state(k) for k in range(2)] if "parameters" in having else [run]):
        first, last = one.segments[0], one.segments[-1]
        m = mechanism(having)
        if "parameters" in having:
            m = m.with_body("link B", mass=(1.0, 1.7)[k])
        plane = Plane(m, having, BASE.at, slide)
        x, v = plane.end(*plane.state(first.system, first.q[0], first.v[0]), END)
        found = plane.state(last.system, last.q[-1], last.v[-1])
        np.testing.assert_allclose(found[0], x, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found[1], v, rtol=0, atol=1e-7)
        if "contact" in having:
            for name, (height, restitution) in THROWN.items():
                place, speed = bounced(height, restitution, END)
                # What touches is 1e-8 of the mechanism's size away or less.
                np.testing.assert_allclose(one[name][-1], place, rtol=0, atol=1e-7)
                np.testing.assert_allclose(one.velocity(name)[-1], speed, rtol=0, atol=1e-6)
        if "flexible body" in having:
            alone = mechanism(("flexible body",)).system()
            beam = ct.simulate(alone, integrator="dop853", duration=END, check=False)
            for name in ("F", "beam.modes"):
                np.testing.assert_allclose(one[name][-1], beam[name][-1], rtol=0, atol=1e-7)


TRIPLES = (
    ("loop", "prescribed joint", "contact"), ("moving base", "law", "parameters"),
    ("coupling", "contact", "structure change"), ("flexible body", "sampled controller", "contact"),
)  # fmt: skip
CASES = [
    pytest.param(having, id=" and ".join(having), marks=[] if having in QUICK else [pytest.mark.slow])
    # Of families of like cases the first are the quick ones.
    for having in [*sorted(combinations(INGREDIENTS, 2), key=lambda pair: pair not in QUICK), *TRIPLES]
]


@pytest.mark.parametrize("having", CASES)
def test_a_pair_moves_in_one_run_in_two_and_step_by_step(having):
    s = mechanism(having).system(keep=[x for x in ("P", "base") if x in mechanism(having).joints])
    thrown = THROWN if "contact" in having else {}
    first = {"A": 0.4, "B": -0.2, **{name: (0.0, height) for name, (height, _) in thrown.items()}}
    moves = {"A": 1.0, **dict.fromkeys(thrown, (0.4, -0.3))}
    moves |= {"C": 0.8} if "C" in s.mechanism.joints else {}
    q = s.assemble(first)
    v = s.velocity(q, moves)
    options, step = {"integrator": "dopri5", **given(s, having)}, END / 6
    run = ct.simulate(s, q, v, END, check=False, **options)
    as_in_the_plane(run, having)
    whole = ends(run)
    two = going_on(ct.simulate(s, q, v, CUT, check=False, **options), options)
    # With an event, which never happens, a step is as exact as a run.
    stepper = ct.Stepper(s, q, v, step=step, **{"events": [ct.at_time(9.0)]} | options)
    for k in range(6):
        if k == 3:
            saved = stepper.save_state()
            gone = [np.concatenate(stepper.step(), axis=-1) for _ in range(3)]
            stepper.restore_state(saved)
        state = np.concatenate(stepper.step(), axis=-1)
        if k >= 3:
            np.testing.assert_allclose(state, gone[k - 3], rtol=0, atol=1e-12)
    for there in (two, state):
        np.testing.assert_allclose(there, whole, rtol=0, atol=1e-6)
