"""A contact together with whatever else a mechanism or a run may have: the same from another plan or formulation.

Each case gives two ways to say one thing, in both of which a foot lands on a floor, slips and sticks. Contacts that
have nothing to do with the other thing are in `tests/simulation/test_pairs.py`.
"""

import numpy as np
import pytest

import catena as ct
from tests.simulation.contacts.test_on_mechanisms import linkage, lowered

UNTIL, FLOOR = 0.2, ct.Contact("foot", on="floor", friction=0.2)
FLOOR_HEIGHT, EXACT = -0.6, {"rtol": 1e-8, "atol": 1e-10}
PD = {"hip": (40.0, 1.5, 0.3), "knee": (30.0, 1.0, -0.6)}
"""Stiffness, damping and rest of the joints of a leg."""


def leg(base=None, springs=True, wall=False, trunk=3.0, gravity=9.81):
    """A leg of two links under a hip that moves in a plane, over a floor."""
    m = ct.Mechanism("leg", gravity=(0.0, 0.0, -gravity))
    m.add_body("trunk", mass=trunk, inertia=0.05)
    m.add_joint("base", "ground", "trunk", ct.Planar("y") if base is None else base, actuated=False)
    for name, parent, z in (("hip", "trunk", 0.0), ("knee", "thigh", -0.3)):
        link = "thigh" if name == "hip" else "shank"
        m.add_body(link, mass=0.6, com=(0.0, 0.0, -0.15), inertia=(5e-3, 5e-3, 1e-3))
        m.add_joint(name, parent, link, ct.Revolute("y"), in_parent=ct.Pose(p=(0.0, 0.0, z)))
        stiffness, damping, rest = PD[name]
        if springs:
            m.add_spring(f"{name} spring", name, stiffness=stiffness, damping=damping, rest=rest)
    m.add_frame("foot", "shank", ct.Pose(p=(0.0, 0.0, -0.3)))
    m.add_frame("floor", "ground", ct.Pose(p=(0.0, 0.0, FLOOR_HEIGHT)))
    if wall:
        # Below the knee, on the thigh: the shank comes to it where the knee comes to its stop.
        m.add_frame("stud", "shank", ct.Pose(p=(0.1, 0.0, 0.0)))
        m.add_frame(
            "plate",
            "thigh",
            ct.Pose(p=(0.1 * np.cos(0.2), 0.0, -0.3 - 0.1 * np.sin(0.2)), rpy=(0.0, 0.2, 0.0)),
        )
    return m


def start(s, **joints):
    """A configuration with the leg bent a little, and velocities with which it lands sliding."""
    q, v = s.neutral(), np.zeros(s.nv)
    for joint, angle in {"hip": 0.3, "knee": -0.6, **joints}.items():
        q[s.slice_q(joint)] = angle
    base = s.slice_v("base").start
    # Along x: of a planar joint about y the second component, of a free one the fourth.
    v[base + (3 if s.mechanism.joints["base"].kind.nv == 6 else 1)] = 1.0
    return q, v


def law(t, q, v):
    """The springs and dampers of a leg as a controller."""
    found = np.zeros_like(v)
    for k, (stiffness, damping, rest) in enumerate(PD.values()):
        found[..., 3 + k] = -stiffness * (q[..., 3 + k] - rest) - damping * v[..., 3 + k]
    return found


def run(m, contacts=(FLOOR,), q=None, v=None, duration=UNTIL, **options):
    """The motion of a leg from its start on, or from another state."""
    s = m.system()
    begins = start(s) if q is None else (q, v)
    return ct.simulate(s, *begins, duration, contacts=list(contacts), **{**EXACT, **options})


def of_planar():
    """In a plane, and in space where nothing leaves the plane."""
    return [run(leg()), run(leg(ct.Free()))], 1e-6


def of_stop():
    """A rigid stop of the knee, and a stud that meets a plate."""
    runs = []
    for other in (ct.Stop("knee", lower=-2.0, upper=0.2), ct.Contact("stud", on="plate")):
        m = leg(springs=False, wall=True)
        q, v = start(m.system(), knee=0.0)
        v[-1] = 4.0
        runs.append(run(m, (FLOOR, other), q, v))
    assert all(len({name for change in x.transitions for name in change.impulse}) == 2 for x in runs)
    return runs, 1e-5


def of_drive():
    """A knee that is driven by a function that compiles, and by one that Python is asked for."""

    def turns(t):
        return [-0.6 + 0.3 * np.sin(9.0 * t)], [2.7 * np.cos(9.0 * t)], [-24.3 * np.sin(9.0 * t)]

    compiles = ct.references.function(lambda t: -0.6 + 0.3 * ct.symbols.sin(9.0 * t))
    runs = []
    for motion in (compiles, turns):
        q, v = start(leg().system())
        v[-1] = 2.7
        runs.append(run(leg(), q=q, v=v, motion={"knee": motion}))
    return runs, 1e-6


def of_lift():
    """A floor that is lifted faster and faster, and one that stays under a heavier weight. Slow slips of light feet end
    within a part of the size of a mechanism, which is another one."""
    m = leg()
    m.add_body("plate", mass=1.0, inertia=0.1)
    m.add_joint("lift", "ground", "plate", ct.Prismatic("z"), in_parent=ct.Pose(p=(0.0, 0.0, FLOOR_HEIGHT)))
    s, (q, v) = m.system(), start(leg().system())
    lifts, on = {"lift": lambda t: ([t * t], [2.0 * t], [2.0])}, ct.Contact("foot", on="plate", friction=0.2)
    whole = [np.zeros(s.nq), np.zeros(s.nv)]
    alone = leg().system()
    for joint in alone.joints:
        whole[0][s.slice_q(joint)], whole[1][s.slice_v(joint)] = (
            q[alone.slice_q(joint)],
            v[alone.slice_v(joint)],
        )
    lifted = ct.simulate(s, *whole, UNTIL, contacts=[on], motion=lifts, **EXACT)
    return [lifted, run(leg(gravity=9.81 + 2.0))], 1e-5


def of_function():
    """Springs and dampers, and a function that gives their forces."""
    return [run(leg()), run(leg(springs=False), control=law)], 1e-6


def of_law():
    """Springs and dampers, and a law that compiles into the step and gives their forces."""

    def symbolic(t, q, v):
        forces = [-k * (q[3 + i] - rest) - c * v[3 + i] for i, (k, c, rest) in enumerate(PD.values())]
        return [0.0, 0.0, 0.0, *forces]

    return [run(leg()), run(leg(springs=False), control=ct.SymbolicControl(symbolic))], 1e-6


def of_coupling():
    """A flywheel that a coupling turns three times as fast as the knee, and an armature of nine times its inertia."""
    inertia, runs = 2e-3, []
    for geared in (True, False):
        m = leg()
        if geared:
            m.add_body("wheel", mass=0.4, inertia=inertia)
            m.add_joint("spins", "ground", "wheel", ct.Revolute("y"), actuated=False)
            m.add_coupling("gear", {"knee": 3.0, "spins": -1.0})
        else:
            m = m.with_joint("knee", armature=9.0 * inertia)
        s = m.system()
        q, v = start(s)
        q = s.assemble({joint: q[s.slice_q(joint)] for joint in ("base", "hip", "knee")}) if geared else q
        runs.append(ct.simulate(s, q, v, UNTIL, contacts=[FLOOR], **EXACT))
    return runs, 1e-6


def of_samples():
    """Forces that a controller gives at samples, and a run from sample to sample under constant forces."""
    m = leg(springs=False)
    whole = run(m, control=ct.sampled(law, 50.0))
    q, v = start(m.system())
    for _ in range(round(50.0 * UNTIL)):
        held = law(0.0, q, v)
        piece = run(m, q=q, v=v, duration=0.02, control=lambda t, q, v, held=held: held)
        q, v = piece.q[-1], piece.v[-1]
    return [whole, piece], 1e-6


def of_change():
    """A knee that is locked while the foot stands, and a run that goes on with a mechanism in which it is."""

    def locks(here):
        return here.system.mechanism.lock("knee", here.q[-1])

    whole = run(leg(), events=[ct.at_time(0.12, then=locks)])
    first = run(leg(), duration=0.12)
    state = first.system.mechanism.lock("knee", first.q[-1, -1]).system()
    known = [change for change in whole.transitions if "0.12" in change.name]
    assert known
    at = next(part for part in whole.segments if part.system.nv == state.nv)
    return [whole, ct.simulate(state, at.q[0], at.v[0], UNTIL - 0.12, contacts=[FLOOR], **EXACT)], 1e-6


def of_parameters():
    """A trunk whose mass is a parameter, and a mechanism of that mass."""
    s = leg().system()
    q, v = start(s)
    both = ct.simulate(
        s, np.tile(q, (2, 1)), np.tile(v, (2, 1)), UNTIL, contacts=[FLOOR], parameters={"trunk.mass": [3.0, 5.0]},
        **EXACT,
    )  # fmt: skip
    return [both.state(1), run(leg(trunk=5.0))], 1e-6


def of_loop(flexible=False):
    """A foot that slides on the coupler of a four-bar linkage, cut at two of its joints."""
    first = linkage(flexible).system(cut=["C"])
    m, runs = lowered(linkage(flexible), first, first.assemble({"A": -0.9})), []
    for cut in ("C", "B"):
        s = m.system(cut=[cut])
        runs.append(ct.simulate(s, s.assemble({"A": -0.9}), np.zeros(s.nv), UNTIL, contacts=[FLOOR], **EXACT))
    return runs, 1e-6


def of_flexible_body():
    """The same with a rocker that bends."""
    return of_loop(True)


CASES = (
    of_planar,
    of_stop,
    of_drive,
    of_lift,
    of_law,
    of_coupling,
    of_function,
    of_samples,
    of_change,
    of_parameters,
    of_loop,
    of_flexible_body,
)
QUICK = (of_planar, of_stop, of_change, of_parameters)


@pytest.mark.parametrize(
    "case", [pytest.param(x, id=x.__name__, marks=() if x in QUICK else pytest.mark.slow) for x in CASES]
)
def test_a_contact_beside(case):
    (one, other), bound = case()
    ends = []
    for each in (one, other):
        last = each.segments[-1]
        foot, floor = (np.asarray(last.system.pose(last.q[-1], x).p) for x in ("foot", each.contacts[0].on))
        ends.append(foot - floor)
    np.testing.assert_allclose(*ends, atol=bound)
    forces = [x.contact_forces["foot"][-1] for x in (one, other)]
    np.testing.assert_allclose(*forces, atol=1e4 * bound)
    modes = {str(mode) for part in one.segments for mode in _modes(part)}
    assert "open" in modes and modes & {"slide", "stick"} and forces[0][2] > 0.0


def _modes(part):
    """What the foot does in a segment, read off its force."""
    f = part.contact_forces["foot"]
    pushes, rubs = f[:, 2], np.hypot(f[:, 0], f[:, 1])
    return np.where(
        pushes <= 0.0, "open", np.where(rubs > (1.0 - 1e-9) * FLOOR.friction * pushes, "slide", "stick")
    )
