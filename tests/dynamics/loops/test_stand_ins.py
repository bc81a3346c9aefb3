"""Bodies that many loops hold have stand-ins, one for each wing of the mechanism: what is summed up over them is what
other formulations find, which know no wings."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arms_on_object
from catena.mechanism.generators.shapes import box
from catena.structure import branches

# Where a foot is on the last link of its leg.
ANKLE = (0.05, 0.0, -0.3)


def legs_on_ground(legs: int, stands: bool = True) -> ct.Mechanism:
    """A plate that floats on legs of four links, which stand on balls in the ground, with damping."""
    m = ct.Mechanism("many legs")
    m.add_body("plate", **box(20.0, (2.0, 2.0, 0.2)))
    m.add_joint("base", "ground", "plate", ct.Free())
    for k in range(legs):
        turn = ct.Pose(rpy=(0.0, 0.0, 2.0 * np.pi * k / legs))
        above, at = "plate", turn * ct.Pose(p=(1.0, 0.0, 0.0))
        for i, kind in enumerate((ct.Revolute("z"), ct.Revolute("y"), ct.Prismatic("z"), ct.Revolute("y"))):
            name = f"leg{k}/{i}"
            m.add_body(name, **box(1.0 + 0.1 * i, (0.1, 0.1, 0.3), com=(0.0, 0.0, -0.15)))
            m.add_joint(name, above, name, kind, in_parent=at, damping=0.2)
            above, at = name, ct.Pose(p=ANKLE)
        foot = turn * ct.Pose(p=(1.15, 0.0, -0.9)) * at
        if stands:
            m.add_joint(f"foot{k}", "ground", above, ct.Spherical(), in_parent=foot, in_child=at)
    return m


SYSTEMS = {
    "arms": lambda: arms_on_object(12, 5, ct.Universal("x", "y")).system(),
    "legs": lambda: legs_on_ground(14).system(keep=["base"]),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_sums_over_wings_are_what_dense_equations_give(name, closed_state):
    system = SYSTEMS[name]()
    assert max(branches(system.plan).wings) > 2
    q, v = closed_state(system, 4)
    random = np.random.default_rng(1)
    tau, f_ext = random.normal(size=system.nv), {b: random.normal(size=6) for b in system.mechanism.bodies}
    f_ext.pop("ground", None)
    found = system.forward_dynamics(q, v, tau, f_ext=f_ext)
    exact = system.forward_dynamics(q, v, tau, f_ext=f_ext, method="joint_multipliers")
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-9 * np.abs(exact).max())


def test_reactions_and_driven_joints_across_wings(closed_state):
    """A plate whose feet are free moves as before under the wrenches that passed through them; and legs that are driven
    as they would move need no force for it."""
    system, free = SYSTEMS["legs"](), legs_on_ground(14, stands=False).system()
    q, v = closed_state(system, 4)
    vdot, wrenches, f_ext = system.forward_dynamics(q, v), system.reactions(q, v), {}
    for k in range(14):
        moment, force = np.split(wrenches[f"foot{k}"], 2)
        f_ext[f"leg{k}/3"] = np.concatenate([moment + np.cross(ANKLE, force), force])
    q_free, v_free, expected = free.neutral(), np.zeros(free.nv), np.zeros(free.nv)
    for joint in free.joints:
        q_free[free.slice_q(joint)] = q[system.slice_q(joint)]
        v_free[free.slice_v(joint)] = v[system.slice_v(joint)]
        expected[free.slice_v(joint)] = vdot[system.slice_v(joint)]
    found = free.forward_dynamics(q_free, v_free, f_ext=f_ext)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8 * np.abs(vdot).max())
    driven = {f"leg{k}/2": vdot[system.slice_v(f"leg{k}/2")] for k in range(14)}
    again, forces = system.hybrid_dynamics(q, v, None, driven)
    np.testing.assert_allclose(again, vdot, rtol=1e-7, atol=1e-8 * np.abs(vdot).max())
    assert all(
        np.abs(forces[system.slice_v(j)]).max() < 1e-7 * np.abs(wrenches["foot0"]).max() for j in driven
    )
