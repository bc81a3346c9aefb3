"""Articulated inertias and bias forces, against bodies that are cut off and float with all that hangs on them."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar


def tree():
    """A branched tree of many kinds of joints with springs, friction, a wrench and welded bodies."""
    m = ct.Mechanism("tree", gravity=(1.0, -2.0, -9.0))
    rng = np.random.default_rng(1)
    kinds = [
        ct.Universal("x", "z"), ct.Revolute((1.0, 2.0, 0.5)), ct.Spherical(), ct.Sdof("rz", "dx"), ct.Fixed(),
        ct.Helical("y", 0.2), ct.Planar("z"),
    ]  # fmt: skip
    parents = ["ground", "b1", "b1", "b3", "b3", "b5", "b2"]
    for k, (kind, parent) in enumerate(zip(kinds, parents, strict=True), 1):
        m.add_body(
            f"b{k}",
            mass=rng.uniform(0.5, 2.0),
            com=rng.normal(size=3) * 0.1,
            inertia=rng.uniform(0.04, 0.06, 3),
        )
        places = [ct.Pose(p=rng.normal(size=3) * 0.4, rpy=rng.normal(size=3)) for _ in range(2)]
        rotor = {"armature": 0.05} if k == 2 else {}
        m.add_joint(f"j{k}", parent, f"b{k}", kind, *places, damping=0.1, **rotor)
    m.add_frame("tip", "b4", ct.Pose(p=(0.2, 0.1, 0.0)))
    m.add_spring_between("spring", "tip", "b6", stiffness=30.0, rest_length=0.1)
    m.add_spring("coil", "j2", stiffness=5.0)
    m.add_wrench("push", "b7", force=(1.0, 2.0, 3.0))
    return m


def cut_off(m, body):
    """The body with all that hangs on it, floating; the others stay, welded to ground so that they do not matter."""
    joint = f"j{body[1:]}"
    loose = m.detach(joint)
    return loose.attach("free", "ground", body, ct.Free())


@pytest.mark.parametrize("body", ["b1", "b2", "b3", "b6"])
def test_a_body_that_is_cut_off_shows_its_articulated_inertia(body, agree):
    """IA^-1 is what a wrench accelerates the floating body by, and IA (a - g) = -pA is how it falls."""
    m = tree()
    s = m.system()
    rng = np.random.default_rng(2)
    q = s.integrate(np.tile(s.neutral(), (3, 1)), rng.normal(size=(3, s.nv)))
    v, tau = rng.normal(size=(2, 3, s.nv))
    found = s.articulated_inertias(q, v, tau)
    assert set(found) == set(m.bodies) - {"ground"} and found[body].shape == (3, 6, 6)
    other = cut_off(m, body).system()
    for k in range(3):
        state = ct.transfer(s, q[k], v[k], other)
        inverse, _ = other.operational_space(state.q, body)
        agree(np.linalg.inv(inverse), found[body][k], 1e-9)
        # What lies before the body moves by itself now, and pulls by the spring only, as before.
        names = {joint: tau[k][s.slice_v(joint)] for joint in s.joints if joint != f"j{body[1:]}"}
        vdot = other.forward_dynamics(state.q, state.v, names)[other.slice_v("free")]
        R = s.body_poses(q[k])[body][:3, :3]
        falling = vdot - np.concatenate([np.zeros(3), R.T @ m.gravity])
        agree(found.bias[body][k], -found[body][k] @ falling, 1e-8)


def test_inertias_without_velocities_batches_and_welded_bodies(agree):
    s = tree().system()
    q = s.integrate(s.neutral(), np.linspace(-1.0, 1.0, s.nv))
    alone, several = s.articulated_inertias(q), s.articulated_inertias(np.stack([q, s.neutral()]))
    for body in alone:
        np.testing.assert_array_equal(several[body][0], alone[body])
        np.testing.assert_allclose(alone[body], alone[body].T, atol=1e-12)
    # b5 is welded to b3: both tell the inertia of the one body that they are, each in its own frame.
    X = np.linalg.inv(s.body_poses(q)["b3"]) @ s.body_poses(q)["b5"]
    R, p = X[:3, :3], X[:3, 3]
    skew = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    to_b3 = np.block([[R, skew @ R], [np.zeros((3, 3)), R]])
    agree(to_b3 @ alone["b5"] @ to_b3.T, alone["b3"], 1e-12)
    by_name = s.articulated_inertias({"j1": q[s.slice_q("j1")], "j3": q[s.slice_q("j3")]})
    assert set(by_name) == set(alone)


def test_loops_and_bending_bodies_are_refused_in_words():
    with pytest.raises(ct.StateError, match="has loops or couplings.*operational_space"):
        four_bar().system().articulated_inertias(four_bar().system().neutral())
    bare = tree().system()
    forces = bare.articulated_inertias(bare.neutral(), elements=False)
    assert not np.allclose(forces.bias["b7"], bare.articulated_inertias(bare.neutral()).bias["b7"])
