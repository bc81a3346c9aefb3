"""Joints that friction holds stay where they are: a family of mechanisms for 10 s, whatever takes the steps."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, humanoid, random_mechanism, stewart

FAMILY = {
    "arm7": arm7, "humanoid": humanoid, "four-bar": four_bar, "Stewart platform": stewart,
    **{f"random tree {seed}": lambda seed=seed: random_mechanism(seed, 8) for seed in range(3)},
}  # fmt: skip
BEARING, GUIDE = ct.BearingFriction(5.0, 1.0, span=0.1, thrust_radius=1.0), ct.SlideFriction(5.0, 0.1)
WAYS = {"adaptive": {}, "rk4": {"integrator": "rk4", "step": 5e-3}}


def rubbing(m, by_load):
    """The mechanism, which floats nowhere, with friction in all joints that holds it: a constant one, or that of
    bearings which lock themselves."""
    m = m.lock([joint.name for joint in m.joints.values() if joint.dof == 6])
    for name in [joint.name for joint in m.joints.values() if joint.dof]:
        S = m.joints[name].kind.motion_space(m.joints[name].kind.neutral()).array
        given = [BEARING if np.any(column[:3]) else GUIDE for column in S.T]
        m = m.with_joint(name, **({"load_friction": given} if by_load else {"friction": 2000.0}))
    return m


MEMBERS = [
    pytest.param(
        name, way, by_load, marks=[] if (name, way, by_load) == ("arm7", "rk4", True) else pytest.mark.slow
    )
    for name in FAMILY
    for way in WAYS
    for by_load in (False, True)
]


@pytest.mark.parametrize(("name", "way", "by_load"), MEMBERS)
def test_nothing_creeps_in_ten_seconds(name, way, by_load):
    """One state by itself, and three side by side."""
    s = rubbing(FAMILY[name](), by_load).system()
    q = s.assemble() if s.loops else s.integrate(s.neutral(), 0.3 * np.ones(s.nv))
    assert s.sticking(q, np.zeros(s.nv)).holds
    for states in (1, 3):
        q0 = q if states == 1 else np.tile(q, (states, 1))
        run = ct.simulate(s, q0, np.zeros(s.nv), 10.0, samples=5, check=False, **WAYS[way])
        for each in (run,) if states == 1 else [run.state(k) for k in range(states)]:
            assert np.abs(s.difference(each.q[0], each.q[-1])).max() < 1e-9
            assert np.abs(each.v).max() < 1e-9
