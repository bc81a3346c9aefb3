"""The same physical motion on every plan of many random mechanisms: any root, loops cut anywhere, joints locked or
carried along at rest."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import random_mechanism
from tests.changing.oracle import random_state

KINDS = ("Revolute", "Prismatic", "Spherical", "Universal", "Cylindrical", "Helical", "Planar", "Free")


def mechanism(seed):
    rng = np.random.default_rng(seed)
    return random_mechanism(
        seed=seed, bodies=int(rng.integers(2, 8)), kinds=list(rng.choice(KINDS[:7], 4, replace=False)),
        floating=bool(rng.integers(2)), loops=int(rng.integers(3)),
    )  # fmt: skip


def accelerations(s, q, v, vdot=None):
    """Of all bodies, [angular; linear] in their own axes, when nothing but gravity acts or the joints do `vdot`."""
    vdot = s.forward_dynamics(q, v) if vdot is None else vdot
    return {name: s.acceleration(q, v, vdot, name) for name in s.mechanism.bodies if name != "ground"}


def size_of(found):
    return max(1.0, max(float(np.abs(x).max()) for x in found.values()))


def assert_alike(one, other, what, tolerance=1e-9):
    size = size_of(one)
    for name, x in one.items():
        np.testing.assert_allclose(other[name], x, atol=tolerance * size, rtol=0.0, err_msg=f"{what} {name}")


def twists(s, q, v):
    return {name: s.twist(q, v, name) for name in s.mechanism.bodies if name != "ground"}


def other_plans(m, s, rng):
    """A few plans with another root, another cut, or another joint kept in the tree."""
    bodies = [name for name in m.bodies if name != "ground"]
    yield {"root": str(rng.choice(bodies))}
    for joint in rng.permutation(list(s.joints))[:3]:
        yield {"cut": [str(joint)]}
    for joint in list(s.loops)[:1]:
        yield {"keep": [joint]}


def check(seed):
    rng = np.random.default_rng(1000 + seed)
    m = mechanism(seed)
    s = m.system()
    if not s.nv:
        return 0
    try:
        q, v = random_state(s, seed)
    except ct.LoopError:
        return 0
    if np.abs(v).max() < 1e-10:
        # Its loops let nothing move, and rounding is no motion.
        v = np.zeros_like(v)
    compared = 0
    true_twists, true_accelerations = twists(s, q, v), accelerations(s, q, v)
    for options in other_plans(m, s, rng):
        try:
            other = m.system(**options)
        except ct.PlanError:
            # Not every joint can be left out.
            continue
        found = ct.transfer(s, q, v, other)
        assert not found.jumped and found.energy_loss == 0.0, (seed, options)
        assert_alike(true_twists, twists(other, *found), (seed, options))
        assert_alike(true_accelerations, accelerations(other, *found), (seed, options))
        energies = [float(x.kinetic_energy(*y)) for x, y in ((s, (q, v)), (other, found))]
        assert energies[1] == pytest.approx(energies[0], rel=1e-9)
        back = ct.transfer(other, *found, s)
        np.testing.assert_allclose(s.difference(q, back.q), 0.0, atol=1e-9, err_msg=str((seed, options)))
        np.testing.assert_allclose(
            back.v, v, atol=1e-9 * max(1.0, np.abs(v).max()), err_msg=str((seed, options))
        )
        compared += 1
    if not s.loops:
        compared += locked_and_carried(m, s, q, v, str(rng.choice(list(s.joints))), seed)
    return compared


def locked_and_carried(m, s, q, v, joint, seed):
    """A joint that is locked, and one that is driven to stay as it is."""
    v = v.copy()
    v[s.slice_v(joint)] = 0.0
    small = m.lock(joint, at=s.configuration(q)).system()
    if not small.nv:
        return 0
    found = ct.transfer(s, q, v, small)
    assert not found.jumped
    assert_alike(twists(s, q, v), twists(small, *found), (seed, joint))
    vdot = s.hybrid_dynamics(q, v, np.zeros(s.nv), {joint: np.zeros(m.joints[joint].dof)})[0]
    assert_alike(accelerations(s, q, v, vdot), accelerations(small, *found), (seed, joint))
    return 1


@pytest.mark.slow
def test_a_few_mechanisms_move_the_same_on_every_plan():
    assert sum(check(seed) for seed in (1, 6)) > 3


@pytest.mark.slow
@pytest.mark.parametrize("portion", range(10))
def test_many_mechanisms_move_the_same_on_every_plan(portion):
    assert sum(check(seed) for seed in range(20 * portion, 20 * portion + 20)) > 40
