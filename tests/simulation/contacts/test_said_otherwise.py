"""Contacts beside what else a run can have, and the same motion said in another way."""

import numpy as np
import pytest

import catena as ct
from tests.simulation.contacts.other_plans import beside_a_loop, placed, velocities

EXACT = {"rtol": 1e-11, "atol": 1e-13, "check": False}
INSIDE = {"compiled steps with contacts inside", "compiled steps, one by one"}
MASS, AMPLITUDE, RATE = 2.0, 0.05, 8.0


def taken(run):
    """Who took the steps of a run."""
    return {part.settings["steps taken by"] for part in run.segments}


def crate(on_a_plate):
    """A crate on four corners, on the floor or on a plate that can be driven along it."""
    m = ct.Mechanism("crate")
    if on_a_plate:
        m.add_body("plate", mass=5.0, inertia=0.1)
        m.add_joint("shakes", "ground", "plate", ct.Prismatic("x"))
    m.add_body("crate", mass=MASS, inertia=(0.02, 0.03, 0.04))
    m.add_joint("moves", "ground", "crate", ct.Free(), actuated=False)
    corners = [(x, y, 0.0) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]
    for k, place in enumerate(corners):
        m.add_frame(f"corner{k}", "crate", ct.Pose(p=place))
    on = "plate" if on_a_plate else "ground"
    return m, [ct.Contact(f"corner{k}", on=on, friction=0.3) for k in range(4)]


def shaking(way):
    """A motion of the plate, as a formula, and as functions that only Python knows."""
    if way == "formula":
        return ct.references.function(lambda t: AMPLITUDE * ct.symbols.sin(RATE * t))

    def motion(t):
        x, speed = AMPLITUDE * np.sin(RATE * t), AMPLITUDE * RATE * np.cos(RATE * t)
        return [x], [speed], [-(RATE**2) * x]

    return motion


@pytest.mark.parametrize("way", ["formula", "asked"])
def test_a_shaken_plate_is_a_floor_with_a_force(way):
    """A crate on a plate that shakes slides, sticks and slides back. Seen from the plate it moves as on the floor,
    under the force of inertia, which only Python knows. Four corners are more than hold it."""
    (shaken, on_plate), (still, on_floor) = crate(True), crate(False)
    s, f = shaken.system(), still.system()
    speed = AMPLITUDE * RATE
    v, w = np.zeros(s.nv), np.zeros(f.nv)
    v[s.slice_v("shakes")], w[f.slice_v("moves")][3] = speed, -speed
    motion = {"shakes": shaking(way)}
    run = ct.simulate(s, s.neutral(), v, 0.8, contacts=on_plate, motion=motion, **EXACT)
    force = {"crate": lambda t: [0, 0, 0, MASS * AMPLITUDE * RATE**2 * np.sin(RATE * t), 0, 0]}
    seen = ct.simulate(f, f.neutral(), w, 0.8, contacts=on_floor, forces=force, **EXACT)
    assert taken(run) <= INSIDE and taken(seen) <= INSIDE
    assert sum("stop" in x.name or "slips" in x.name for x in run.transitions) > 2
    for t in np.linspace(0.05, 0.8, 16):
        (q, v), (p, _) = run.at(t), seen.at(t)
        apart = q[s.slice_q("moves")][0] - q[s.slice_q("shakes")][0]
        assert apart == pytest.approx(p[f.slice_q("moves")][0], abs=1e-7)
    # What drives the plate is what accelerates it, and what the crate rubs.
    rubs = sum(run.contact_forces[c.label][:, 0] for c in on_plate)
    expected = -5.0 * AMPLITUDE * RATE**2 * np.sin(RATE * run.t) + rubs
    assert np.abs(run.force("shakes")[:, 0] - expected).max() < 1e-6 * np.abs(expected).max()
    audit = run.audit()
    assert audit.ok, audit


def pendulum(loop):
    """A pendulum on a carriage, with a plane on the carriage that its tip meets where it hangs straight down."""
    m = ct.Mechanism("pendulum")
    m.add_body("carriage", mass=3.0, inertia=0.1)
    m.add_joint("drives", "ground", "carriage", ct.Prismatic("x"))
    m.add_body("rod", mass=1.0, com=(0.0, 0.0, -0.4), inertia=(0.02, 0.02, 1e-3))
    m.add_joint("swings", "carriage", "rod", ct.Revolute("y"))
    m.add_frame("tip", "rod", ct.Pose(p=(0.0, 0.0, -0.8)))
    m.add_frame("wall", "carriage", ct.Pose(rpy=(0.0, np.pi / 2.0, 0.0)))
    return beside_a_loop(m) if loop else m


@pytest.mark.parametrize("acts", ["alone", "driven", "asked", "pushed", "sampled"])
def test_a_stop_is_a_wall(acts):
    """A pendulum that hits a rigid stop of its joint, and one whose tip hits a wall there, without friction: the same
    motion, alone, on a carriage that is driven, under a controller that is asked always or at samples, and under a
    wrench that only Python knows; and beside a loop, where Python finds the forces."""
    given = {
        "alone": {},
        "driven": {"motion": {"drives": ct.references.function(lambda t: 0.1 * ct.symbols.sin(9.0 * t))}},
        "asked": {"control": lambda t, q, v: np.concatenate([[3.0 * np.sin(5.0 * t)], 0.0 * q[1:]])},
        "pushed": {"forces": {"carriage": lambda t: [0, 0, 0, 4.0 * np.cos(6.0 * t), 0, 0]}},
        "sampled": {"control": ct.sampled(lambda t, q, v: np.concatenate([[-5.0 * v[0]], 0.0 * q[1:]]), 100.0)},
    }[acts]  # fmt: skip
    alone, runs, duration = pendulum(False).system(), [], 1.8 if acts == "driven" else 1.0
    for loop in (False, True):
        s = pendulum(loop).system(keep=["drives", "swings"])
        q, v = np.array([0.0, -0.7]), np.array([0.9 if acts == "driven" else 0.0, 0.5])
        start = placed(s, alone, q), velocities(s, alone, v)
        for contact in (
            ct.Stop("swings", upper=0.0, restitution=0.6),
            ct.Contact("tip", "wall", restitution=0.6),
        ):
            runs.append(ct.simulate(s, *start, duration, contacts=[contact], **given, **EXACT))
    assert all(taken(run) <= INSIDE for run in runs[:2])
    hits = [[x.t for x in run.transitions if x.impulse] for run in runs]
    assert len(hits[0]) >= 2
    for run, times in zip(runs[1:], hits[1:], strict=True):
        assert times[:2] == pytest.approx(hits[0][:2], abs=1e-8)
        for t in np.linspace(0.0, hits[0][1], 11):
            for joint in ("drives", "swings"):
                a, b = (x.at(t)[0][x.system.slice_q(joint)] for x in (run, runs[0]))
                assert np.abs(a - b).max() < 1e-7
