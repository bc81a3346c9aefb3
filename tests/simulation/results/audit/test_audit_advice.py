"""What the audit advises is tried: for every kind of warning, following its words makes it go away."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar
from catena.simulation import Trajectory

pytestmark = pytest.mark.filterwarnings("ignore::catena.errors.CatenaWarning")


def slide(**options):
    m = ct.Mechanism("slide", gravity=(0, 0, 0))
    m.add_body("mass", mass=2.0)
    m.add_joint("x", "ground", "mass", ct.Prismatic("x"), **options)
    return m


def pendulum(**options):
    s = arm7().system()
    return ct.simulate(s, np.full(7, 0.3), None, 0.2, **options)


def swinging(samples, sign=1.0):
    """Exact states of a mass of 2 kg that a force of -128 sin(8 t) N lets swing, at some samples, without works."""
    t = np.linspace(0.0, 2.0, samples)
    q, v, tau = np.sin(8.0 * t), 8.0 * sign * np.cos(8.0 * t), -128.0 * np.sin(8.0 * t)
    return Trajectory.of(slide().system(), t, q[:, None], v[:, None], tau[:, None], 0)


def driven(step):
    def pulse(t):
        return [0, 0, 0, -1e5 * np.exp(-(((t - 0.73) / 0.005) ** 2)), 0, 0]

    given = {"motion": {"x": lambda t: (t, 1.0, 0.0)}, "forces": {"mass": pulse}, "integrator": "rk4"}
    return ct.simulate(slide().system(), [0.0], [1.0], 1.5, samples=1501, step=step, **given)


def tumbling(step):
    m = ct.Mechanism("tumbling", gravity=(0, 0, 0))
    m.add_body("body", 1.0, inertia=(0.1, 0.2, 0.3))
    m.add_joint("base", "ground", "body", ct.Free())
    s = m.system()
    return ct.simulate(s, None, [0.1, 9.0, 0.1, 1.0, 2.0, 0.0], 1.0, integrator="rk4", step=step)


def bars(**options):
    s = four_bar().system()
    return ct.simulate(s, None, s.velocity(s.neutral(), {"A": 6.0}), 1.0, rtol=1e-4, atol=1e-6, **options)


def turned(length):
    run = tumbling(1e-3)
    q = run.q.copy()
    q[:, 3:7] *= 1.0 + 1e-7
    if length:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=-1, keepdims=True)
    return run.with_(q=q)


def stopped(**options):
    s = slide(limits=(-1.0, 1.0)).system()
    return ct.simulate(s, [0.9], [300.0], 0.05, **options)


def pushed(actuated, force):
    s = slide(actuated=actuated).system()
    return ct.simulate(s, [0.0], [1.0], 0.5, control=lambda t, q, v: [force if t > 0.1 else 0.0])


def bent(parts):
    """A beam that swings into a large deflection; or the same in rigid segments with springs in between."""
    beam = ct.Beam(length=1.0, area=1e-4, inertia=2e-9, density=2700.0, young=1e9, modes={"z": 1})
    if parts:
        m = ct.segmented(beam, parts, "z")
        return ct.simulate(m.system(), duration=0.35, rtol=1e-6, atol=1e-8)
    m = ct.Mechanism("beam")
    m.add_body("beam", flexible=beam)
    m.add_joint("root", "ground", "beam", ct.Fixed())
    return ct.simulate(m.system(), duration=0.35, rtol=1e-6, atol=1e-8)


def joined(carried):
    """Two bodies in space hold on to each other; the state goes over by ct.transfer, or with velocities of one's
    own."""
    m = ct.Mechanism("meeting", gravity=(0, 0, 0))
    for name in ("A", "B"):
        m.add_body(name, 1.0, inertia=0.1)
        m.add_joint(name, "ground", name, ct.Free())
    s = m.system()

    def then(here):
        new = here.system.mechanism.attach("grip", "A", "B", ct.Fixed(), at=here.configuration)
        if carried:
            return new
        moved = ct.transfer(here.system, here.q, here.v, new.system())
        return replace(moved, v=1.1 * moved.v)

    v = np.array([0.0, 0.0, 0.3, 1.0, 0.0, 0.0] + 6 * [0.0])
    return ct.simulate(s, None, v, 0.2, events=[ct.at_time(0.1, then=then)])


KINDS = {
    # The line, words of its advice, what it warns of, and one run for each thing it advises.
    "energy by steps": ("energy", "smaller step", lambda: pendulum(integrator="rk4", step=0.1),
        [lambda: pendulum(integrator="rk4", step=2e-3), lambda: pendulum(integrator="dop853")]),
    "energy by tolerances": ("energy", "rtol", lambda: pendulum(rtol=1e-2, atol=1e-2),
        [lambda: pendulum(rtol=1e-9, atol=1e-11)]),
    "energy by samples": ("energy", "take more samples", lambda: swinging(9), [lambda: swinging(201)]),
    "work": ("work", "smaller step", lambda: driven(0.25), [lambda: driven(1e-3)]),
    "velocities": ("velocities", "velocities of their motion", lambda: swinging(201, -1.0), [lambda: swinging(201)]),
    "linear momentum": ("angular momentum", "smaller step", lambda: tumbling(0.1), [lambda: tumbling(1e-3)]),
    "loops": ("loops", "drift='projection'", lambda: bars(drift="none"), [lambda: bars(drift="projection")]),
    "loop velocities": ("loop velocities", "drift='projection'", lambda: bars(drift="none"), [bars]),
    "quaternions": ("quaternions", "divide by the length", lambda: turned(False), [lambda: turned(True)]),
    "limits": ("limits", "ct.Stop", stopped, [
        lambda: stopped(contacts=[ct.Stop("x")]),
        lambda: stopped(events=[ct.Event(lambda t, q, v: q[0] - 1.0, "end", terminal=True)])]),
    "actuators": ("actuators", "actuated=True", lambda: pushed(False, 1.0),
        [lambda: pushed(True, 1.0), lambda: pushed(False, 0.0)]),
    "deformation": ("deformation of beam", "ct.segmented", lambda: bent(0), [lambda: bent(6)]),
    "change": ("change 1", "ct.transfer", lambda: joined(False), [lambda: joined(True)]),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_advice_helps(kind):
    name, words, bad, good = KINDS[kind]
    line = bad().audit()[name]
    assert line.level == "warn" and words in line.text, line
    for run in good:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ct.CatenaWarning)
            audit = run().audit()
        assert name not in audit or audit[name].ok, str(audit)
