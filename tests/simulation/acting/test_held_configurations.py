"""Configurations that dry friction holds, as `sticking` tells them, and equilibria, where nothing needs to be held:
against runs that begin there."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, chain, four_bar, random_mechanism

LOOPS = ["Revolute", "Universal", "Cylindrical", "Prismatic"]
FAMILY = {
    "chain": lambda: chain(3), "four-bar": four_bar, "arm7": arm7,
    **{f"random loops {k}": lambda k=k: random_mechanism(k, 6, LOOPS, loops=1 + k % 2) for k in range(4)},
}  # fmt: skip
QUICK = ("chain", "four-bar")
MEMBERS = [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in FAMILY]
# The others have no equilibrium that a search finds.
BALANCED = MEMBERS[:3]


def rubbing(m, friction):
    for name in [joint.name for joint in m.joints.values() if 0 < joint.dof < 6]:
        m = m.with_joint(name, friction=friction)
    return m


def moved(s, q):
    """How far a run of 1 s goes from rest [rad or m]."""
    run = ct.simulate(s, q, np.zeros(s.nv), 1.0, samples=5, check=False)
    return np.abs([s.difference(run.q[0], x) for x in run.q]).max()


@pytest.mark.parametrize("name", MEMBERS)
def test_what_friction_holds_does_not_move_and_what_it_does_not_hold_does(name):
    """At the friction that just holds a configuration, found by halving, and 0.1 % beside it."""
    m = FAMILY[name]()
    base = m.system()
    step = 0.3 * np.random.default_rng(1).standard_normal(base.nv)
    q, _ = base.project(base.integrate(base.neutral(), step), np.zeros(base.nv)) if base.loops else (
        base.integrate(base.neutral(), step), None
    )  # fmt: skip

    def holds(friction):
        return bool(rubbing(m, friction).system().sticking(q, np.zeros(base.nv)).holds)

    least, most = 0.0, 1e4
    assert holds(most)
    for _ in range(26):
        half = 0.5 * (least + most) if least else most / 16.0
        least, most = (least, half) if holds(half) else (half, most)
    assert moved(rubbing(m, 1.001 * most).system(), q) < 1e-9
    assert moved(rubbing(m, 0.999 * most).system(), q) > 1e-6


@pytest.mark.parametrize("name", BALANCED)
def test_at_an_equilibrium_friction_has_nothing_to_hold(name):
    m = FAMILY[name]()
    bare, s = m.system(), rubbing(m, 0.01).system()
    rest = s.equilibrium(seek="stable").q
    np.testing.assert_allclose(bare.equilibrium(seek="stable").q, rest, atol=1e-12)
    found = s.sticking(rest, np.zeros(s.nv))
    assert found.holds and np.abs(found.force).max() < 1e-8
    assert moved(s, rest) < 1e-9
