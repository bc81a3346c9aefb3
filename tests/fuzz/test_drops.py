"""Random mechanisms with 1 to 12 contacts, dropped in a random attitude: gaps, cones, no pull, no energy gained,
momentum kept, an end, or words. `python tests/fuzz/test_drops.py FIRST LAST` tells how many needed careful steps."""

import sys
from time import process_time

import numpy as np
import pytest

import catena as ct
from catena.errors import SimulationError
from catena.mechanism.generators import random_mechanism

KINDS = ["Revolute", "Spherical", "Universal", "Prismatic"]
DURATION, RTOL = 0.25, 1e-6


def dropped(seed):
    """A random tree over the floor, which moves a little, with joints that damp, and its contacts."""
    rng = np.random.default_rng(seed)
    bodies = int(rng.integers(1, 6))
    m = random_mechanism(seed, bodies, KINDS, floating=True, reversed_joints=False)
    for name, joint in m.joints.items():
        if 0 < joint.dof < 6:
            m = m.with_joint(name, damping=0.5)
    points = []
    for k in range(int(rng.integers(1, 13))):
        body = f"body{rng.integers(1, bodies + 1)}"
        m.add_frame(f"point{k}", body, ct.Pose(p=rng.normal(0.0, 0.3, 3)))
        points.append(f"point{k}")
    s = m.system()
    q = s.integrate(s.neutral(), 0.5 * rng.normal(size=s.nv))
    base = next(j.name for j in m.joints.values() if j.dof == 6)
    up = 0.01 - min(s.pose(q, point).p[2] for point in points)
    q[s.slice_q(base)][:3] += m.joints[base].in_parent.R.T @ (0.0, 0.0, up)
    mu, restitution = rng.choice([0.0, 0.3, 0.8]), rng.choice([0.0, 0.5])
    contacts = [ct.Contact(point, friction=mu, restitution=restitution) for point in points]
    return s, q, 0.2 * rng.normal(size=s.nv), contacts


def run_of(seed):
    """The run of a drop, its contacts, and the words it ended in, if it did."""
    s, q, v, contacts = dropped(seed)
    try:
        return ct.simulate(s, q, v, DURATION, contacts=contacts, rtol=RTOL, check=False), contacts, ""
    except SimulationError as error:
        return getattr(error, "trajectory", None), contacts, str(error)


def faults(run, contacts):
    """What is wrong with a run, in words."""
    found = []
    if not all(np.isfinite(x).all() for x in (run.q, run.v)):
        return ["not finite"]
    lowest = min(run.position(contact.frame)[:, 2].min() for contact in contacts)
    if lowest < -1e-5:
        found.append(f"a gap of {lowest:.2g} m")
    energy = run.energy
    gained = np.max(energy - np.minimum.accumulate(energy))
    if gained > 1e-4 * (1e-3 + np.ptp(energy)):
        found.append(f"{gained:.2g} J gained of {np.ptp(energy):.2g}")
    # With this relative error of steps the time at which a contact lifts is found to 1e-5 of all forces.
    most = max(np.abs(run.contact_forces[contact.frame]).max() for contact in contacts)
    for contact in contacts:
        f = run.contact_forces[contact.frame]
        size = 1e-6 * (1.0 + np.abs(f).max())
        if (f[:, 2] < -size - 1e-5 * most).any():
            found.append(f"{contact.frame} pulls with {-f[:, 2].min():.2g} N")
        if (np.hypot(f[:, 0], f[:, 1]) > contact.friction * f[:, 2] + 10.0 * size).any():
            found.append(f"{contact.frame} leaves its cone")
    for change in run.transitions:
        if change.energy_loss < -1e-7 * (1.0 + np.ptp(energy)):
            found.append(f"an impact gains {-change.energy_loss:.2g} J")
        if change.momentum_error > 1e-6:
            found.append(f"momentum is off by {change.momentum_error:.2g}")
    return found


def told(seeds):
    """Faults by seed, and how many runs took careful steps and how many ended in words."""
    wrong, careful, words = {}, 0, {}
    for seed in seeds:
        begun = process_time()
        run, contacts, text = run_of(seed)
        if text:
            words[seed] = text
        if run is not None:
            careful += any("careful" in str(part.settings) for part in run.segments)
            found = faults(run, contacts)
            if found:
                wrong[seed] = found
        if process_time() - begun > 120.0:
            wrong.setdefault(seed, []).append(f"{process_time() - begun:.0f} s")
    return wrong, careful, words


def test_some_drops():
    # In the second one redundant contacts come to the edge of what they hold together.
    wrong, _, words = told((0, 125))
    assert not wrong and not words


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_many_drops(first):
    wrong, _, words = told(range(first, first + 100))
    assert not wrong and len(words) <= 3, (wrong, words)


if __name__ == "__main__":
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        print(seed, *told([seed]), flush=True)
