"""Wittenburg's matrices: T S = 1 in a tree, loops close, and velocities of bodies are sums along paths."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, random_mechanism, tree


@pytest.mark.parametrize("make", [lambda: tree(7), four_bar, lambda: random_mechanism(3, 6, loops=2)])
def test_paths_are_the_inverse_of_incidence(make):
    system = make().system()
    found = ct.interconnection(system.plan)
    n = len(found.joints)
    np.testing.assert_array_equal(found.T @ found.S, np.eye(n))
    # Every arc leaves one body and arrives at another, ground included.
    np.testing.assert_array_equal(found.S0 + found.S.sum(axis=0), np.zeros(n))
    np.testing.assert_array_equal(found.S0_loops + found.S_loops.sum(axis=0), np.zeros(len(found.loops)))
    # Wittenburg, eq. 5.11: the paths from ground to every body.
    np.testing.assert_array_equal(found.S0 @ found.T, -np.ones(n))


def test_angular_velocities_are_sums_along_paths():
    """Of chains about parallel axes: w = -T^T Omega, Omega being the joints' own."""
    mechanism = ct.Mechanism("branches")
    for name, parent in (("a", "ground"), ("b", "a"), ("c", "a"), ("d", "c")):
        mechanism.add_body(name, 1.0, (0.2, 0, 0), 0.1)
        mechanism.add_joint(f"to {name}", parent, name, ct.Revolute("z"), ct.Pose(p=(0.5, 0, 0)))
    system = mechanism.system()
    v = np.array([1.0, 2.0, 4.0, 8.0])
    found = ct.interconnection(system.plan)
    own = np.array([v[system.slice_v(joint)][0] for joint in found.joints])
    turning = -found.T.T @ own
    for names, w in zip(found.bodies, turning, strict=True):
        np.testing.assert_allclose(system.twist(system.neutral(), v, names[0])[2], w, atol=1e-14)
