"""Mechanisms dropped in any attitude: each motion ends at rest or in words, energy never grows, nothing enters the
floor, and forces stay in their cones."""

import numpy as np
import pytest

import catena as ct
from benchmarks.walkers import LEGS, walker_on_springs

SIDES = [(x, y, z) for z in (-1, 1) for x in (-1, 1) for y in (-1, 1)]


def boxes(count, corners):
    """Boxes that touch the floor with their lower, or all, corners."""
    m, names = ct.Mechanism("boxes"), []
    a, b, c = 0.4, 0.3, 0.2
    for k in range(count):
        m.add_body(
            f"box{k}", mass=2.0, inertia=2.0 / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
        )
        m.add_joint(f"moves{k}", "ground", f"box{k}", ct.Free(), actuated=False)
        for i, (x, y, z) in enumerate(SIDES[:corners]):
            m.add_frame(f"box{k}/{i}", f"box{k}", ct.Pose(p=(x * a / 2, y * b / 2, z * c / 2)))
            names.append(f"box{k}/{i}")
    return m, names, [f"moves{k}" for k in range(count)]


def dropped(kind, seed, mu, restitution=0.0):
    """A mechanism over the floor in a random attitude that moves a little, and its contacts."""
    rng = np.random.default_rng(seed)
    m, names, bases = {
        "walker": lambda: (walker_on_springs(), [f"{leg}/foot" for leg in LEGS], ["base"]),
        "box on 4": lambda: boxes(1, 4), "box on 8": lambda: boxes(1, 8),
        "three boxes": lambda: boxes(3, 8),
    }[kind]()  # fmt: skip
    s = m.system()
    contacts = [ct.Contact(name, friction=mu, restitution=restitution) for name in names]
    tilt = {"walker": 0.25, "box on 4": 0.3}.get(kind, 3.0)
    turn, v = np.zeros(s.nv), np.zeros(s.nv)
    if kind == "walker":
        turn[6:] = 0.1 * rng.normal(size=s.nv - 6)
    for base in bases:
        turn[s.slice_v(base)][:3] = tilt * rng.normal(size=3)
        v[s.slice_v(base)] = 0.3 * rng.normal(size=6)
    q = s.integrate(s.neutral(), turn)
    for base in bases:
        own = [n for n in names if len(bases) == 1 or n.startswith(base.replace("moves", "box"))]
        low = min(s.pose(q, name).p[2] for name in own)
        q[s.slice_q(base)][2] += 0.02 - low
    return s, q, v, contacts


def check(s, run, contacts, rtol):
    length = 0.6
    heights = [run.position(contact.frame)[:, 2].min() for contact in contacts]
    assert min(heights) > -1e-7 * length
    energy = run.energy
    moved = energy.max() - energy.min()
    assert np.max(energy - np.minimum.accumulate(energy)) < 10.0 * rtol * moved
    # Where contacts lift and begin to slip is found as roughly as motions are, up to a part of the largest force.
    found_to = 10.0 * rtol * max(np.abs(run.contact_forces[contact.label]).max() for contact in contacts)
    for contact in contacts:
        f = run.contact_forces[contact.label]
        none = 1e-6 * np.abs(f).max() + found_to
        assert f[:, 2].min() >= -none
        assert np.max(np.hypot(f[:, 0], f[:, 1]) - contact.friction * f[:, 2]) <= none
    if all(contact.friction for contact in contacts):
        speeds = [abs(run.kinetic_energy[k]) for k in (0, -1)]
        assert speeds[-1] < 0.05 * max(run.kinetic_energy)


@pytest.mark.parametrize("kind, seed, mu", [("box on 8", 1, 1.0), ("box on 8", 2, 0.0)])
def test_some_drops(kind, seed, mu):
    s, q, v, contacts = dropped(kind, seed, mu)
    check(s, ct.simulate(s, q, v, 0.6, contacts=contacts, rtol=1e-6, atol=1e-8), contacts, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", ["walker", "box on 4", "box on 8", "three boxes"])
@pytest.mark.parametrize("seed", range(5))
def test_many_drops(kind, seed, mu):
    """60 drops: 5 attitudes of 4 mechanisms with 3 coefficients of friction."""
    s, q, v, contacts = dropped(kind, seed, mu, restitution=0.3 if seed % 2 else 0.0)
    try:
        run = ct.simulate(s, q, v, 1.0, contacts=contacts, rtol=1e-6, atol=1e-8)
    except ct.SimulationError as error:
        assert "Painleve" in str(error)
        run = error.trajectory
    check(s, run, contacts, 1e-6)


def test_no_event_is_missed_whichever_way_a_motion_takes():
    """Stretches, stretches that are broken off, careful steps and impacts follow each other. Every change of sign from
    one sample to the next is an event, and its time is between them."""
    s, q, v, contacts = dropped("three boxes", 1, 1.0)
    seen = {
        "height": lambda here: here.position("box0")[2] - 0.12,
        "turns x": lambda here: here.twist("box0")[0],
        "turns y": lambda here: here.twist("box0")[1],
        "slides": lambda here: here.twist("box0")[3],
    }
    events = [ct.Event(function, name) for name, function in seen.items()]
    run = ct.simulate(s, q, v, 0.4, contacts=contacts, events=events, rtol=1e-6, atol=1e-8, check=False)
    assert any("careful" in change.name for change in run.transitions)
    t, q, v = (np.concatenate([getattr(x, name) for x in run.segments]) for name in "tqv")
    for name, function in seen.items():
        values = np.array([function(ct.Instant(s, *state)) for state in zip(t, q, v, strict=True)])
        met = np.array([event.t for event in run.events if event.name == name])
        changes = np.flatnonzero(values[:-1] * values[1:] < 0.0)
        assert len(changes)
        for k in changes:
            assert np.any((t[k] <= met) & (met <= t[k + 1])), f"{name} at t = {t[k]}"
