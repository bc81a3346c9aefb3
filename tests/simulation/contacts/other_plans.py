"""The same contacts in another formulation: beside a loop that has nothing to do with them."""

import numpy as np

import catena as ct


def beside_a_loop(m):
    """Add a four-bar linkage to a mechanism, which then has loops, and return it. It is about as large, so that what
    counts as touching stays the same."""
    far = 0.5
    for name, length in (("crank", 0.2), ("coupler", 0.5), ("rocker", 0.4)):
        m.add_body(f"far {name}", mass=0.3, com=(length / 2.0, 0.0, 0.0), inertia=(1e-3, 2e-3, 2e-3))
    m.add_joint("far A", "ground", "far crank", ct.Revolute("y"), in_parent=ct.Pose(p=(far, 0.0, 0.0)))
    m.add_joint("far B", "far crank", "far coupler", ct.Revolute("y"), in_parent=ct.Pose(p=(0.2, 0.0, 0.0)))
    m.add_joint("far D", "ground", "far rocker", ct.Revolute("y"), in_parent=ct.Pose(p=(far + 0.5, 0.0, 0.0)))
    m.add_joint(
        "far C", "far coupler", "far rocker", ct.Revolute("y"), in_parent=ct.Pose(p=(0.5, 0.0, 0.0)),
        in_child=ct.Pose(p=(0.4, 0.0, 0.0)),
    )  # fmt: skip
    return m


def placed(s, alone, q):
    """The configuration (nq,) of a system in which all that another one has stands as it does there, at q (nq,)."""
    found = s.assemble() if s.loops else s.neutral()
    for joint in alone.joints:
        found[s.slice_q(joint)] = q[alone.slice_q(joint)]
    return found


def velocities(s, alone, v):
    """The velocities (nv,) of a system in which all that another one has moves as it does there, at v (nv,)."""
    found = np.zeros(s.nv)
    for joint in alone.joints:
        found[s.slice_v(joint)] = v[alone.slice_v(joint)]
    return found
