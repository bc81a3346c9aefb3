"""The closure of loops against finite differences: residuals, Jacobians and the drift of the constraints."""

import numpy as np
import pytest

import catena as ct
from catena.joints import KINDS
from catena.kinematics import stacks
from catena.kinematics.kind_values import PORTION, kind_values, nearest_coordinates
from catena.kinematics.loops.closure import loop_kinematics
from catena.mechanism.generators import four_bar, n_four_bars, random_mechanism, stewart
from catena.spatial import Motion, Transform, exp, log

SDOF = [ct.Sdof("ry", "rz", "dx"), ct.Sdof("dz", "rx")]
CLOSING = ["Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", *SDOF]
SEEDS = range(6)


def looped(seed):
    return random_mechanism(seed, 6, CLOSING, loops=3, floating=bool(seed % 2)).system()


def anywhere(system, seed, size=0.4):
    """A state whose loops are open."""
    random = np.random.default_rng(seed)
    return system.integrate(system.neutral(), random.normal(size=system.nv), size), random.normal(
        size=system.nv
    )


def at(system, q, v=None):
    return loop_kinematics(system.mechanics.evaluator, q, v)


def alike(Phi, moved):
    """Signs that make the columns of a constraint space those of its neighbour: a basis may change signs on the way."""
    return np.sign(np.sum(Phi * moved, axis=0))


def side_pose(system, q, node, pose):
    """The pose in ground of a frame placed in a node, by way of any body there."""
    body = system.plan.bodies[node][0]
    here = system.pose(q, body) * system.plan.body_pose[body][1].inverse()
    return here * pose


@pytest.mark.parametrize("seed", SEEDS)
def test_the_relative_transform_is_that_of_the_body_poses(seed, agree):
    system = looped(seed)
    q, _ = anywhere(system, seed)
    for state in at(system, q):
        P = side_pose(system, q, state.loop.parent_node, state.loop.parent_pose)
        C = side_pose(system, q, state.loop.child_node, state.loop.child_pose)
        agree(state.X, Transform.from_pose(P.inverse() * C).motion_matrix(), 1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_relative_twist_is_the_derivative_of_the_relative_transform(seed, agree, derivative):
    """Also where the loops are open."""
    system = looped(seed)
    q, v = anywhere(system, seed)
    for k, state in enumerate(at(system, q, v)):

        def moved(h, k=k, X=state.X):
            return stacks.logarithm(at(system, system.integrate(q, v, h))[k].X @ stacks.inverse(X))

        agree(state.v_rel, derivative(moved), 1e-9, 1.0)
        agree(state.v_rel, state.J_rel @ v, 1e-13, 1.0)
        agree(state.velocity, state.Phi.T @ state.v_rel, 1e-13, 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_at_closed_loops_the_jacobian_is_the_derivative_of_the_position_residual(seed, agree, derivative):
    system = looped(seed)
    q = system.neutral()
    v = np.random.default_rng(seed).normal(size=system.nv)
    for k, state in enumerate(at(system, q, v)):
        assert np.abs(state.position).max(initial=0.0) < 1e-14

        def residual(h, k=k, Phi=state.Phi):
            # Along one basis, since that of the moved state may turn within the same space.
            return Phi.T @ at(system, system.integrate(q, v, h))[k].error

        agree(state.J @ v, derivative(residual, 1e-3), 1e-7, 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_gamma_is_what_the_velocity_residual_drifts_by(seed, agree, derivative):
    """d/dt (Phi^T v_rel) = J vdot + gamma at a closed state with v that keeps it closed, for any vdot."""
    system = looped(seed)
    random = np.random.default_rng(seed)
    q = system.neutral()
    J = np.concatenate([s.J for s in at(system, q)])
    _, sigma, Vt = np.linalg.svd(J)
    free = Vt[np.count_nonzero(sigma > 1e-9) :].T
    v, vdot = free @ random.normal(size=free.shape[1]), random.normal(size=system.nv)
    for k, state in enumerate(at(system, q, v)):

        def residual(h, k=k, Phi=state.Phi):
            # The integrator's step follows a constant velocity; half of it for the change of v on the way is
            # enough for the first derivative.
            there = system.integrate(q, v + 0.5 * h * vdot, h)
            moved = at(system, there, v + h * vdot)[k]
            return alike(Phi, moved.Phi) * moved.velocity

        agree(state.J @ vdot + state.gamma, derivative(residual, 1e-3), 1e-6, 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_residuals_of_open_loops_vanish_exactly_when_the_joint_fits(seed):
    """The residual and the coordinates together give the relative transform back."""
    system = looped(seed)
    q, _ = anywhere(system, seed)
    for state in at(system, q):
        nearest = kind_values(state.loop.kind, state.q, np.zeros(state.loop.kind.nv))
        back = exp(Motion(state.error)).motion_matrix() @ nearest.X
        np.testing.assert_allclose(back, state.X, atol=1e-12)
        assert (
            np.linalg.norm(state.position) > 1e-6 * np.linalg.norm(state.error) or state.loop.constraints == 0
        )


def test_a_batch_is_its_states_one_by_one(agree):
    system = stewart().system()
    states = [anywhere(system, seed) for seed in range(3)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    for together, *single in zip(at(system, q, v), *(at(system, *state) for state in states), strict=True):
        for name in ("X", "q", "v", "S", "Phi", "J", "v_rel", "gamma", "position", "velocity"):
            agree(getattr(together, name), np.array([getattr(s, name) for s in single]), 1e-13, 1.0)


def test_joints_above_both_sides_do_not_appear():
    """A four-bar on a cart: the cart's column is exactly zero."""
    m = ct.Mechanism("cart")
    m.add_body("cart", 5.0, inertia=1.0)
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"))
    bars = four_bar()
    for body in list(bars.bodies.values())[1:]:
        m.add_body(body.name, body.mass, body.com, body.inertia)
    for j in bars.joints.values():
        parent = "cart" if j.parent == "ground" else j.parent
        m.add_joint(j.name, parent, j.child, j.kind, j.in_parent, j.in_child)
    system = m.system()
    (state,) = at(system, system.neutral() + [7.0, 0, 0, 0], [3.0, 0, 0, 0])
    assert not state.J[:, system.slice_v("slide")].any() and not state.v_rel.any() and not state.gamma.any()


def test_joint_positions_and_velocities_of_loop_joints_are_those_of_a_plan_that_has_them_in_its_tree(agree):
    """Four-bar by hand: cut at C and cut at B."""
    by_c, by_b = four_bar().system(cut=["C"]), four_bar().system(cut=["B"])
    q = by_c.assemble({"A": 0.4})
    v = by_c.velocity(q, {"A": 1.3})
    angles = np.concatenate([by_c.joint_position(q, name) for name in by_b.joints])
    rates = np.concatenate([by_c.joint_velocity(q, v, name) for name in by_b.joints])
    agree(by_b.joint_position(angles, "B"), by_c.joint_position(q, "B"), 1e-12)
    agree(by_b.joint_velocity(angles, rates, "B"), by_c.joint_velocity(q, v, "B"), 1e-12)
    for pose in ("crank", "coupler", "rocker"):
        agree(by_b.pose(angles, pose).matrix(), by_c.pose(q, pose).matrix(), 1e-12)


def test_joint_position_of_an_unknown_joint():
    with pytest.raises(ct.UnknownNameError, match="pin9"):
        n_four_bars(1).system().joint_position(np.zeros(3), "pin9")


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: type(k).__name__)
def test_a_kind_for_many_states_is_the_kind_for_each(kind, agree):
    random = np.random.default_rng(1)
    q = np.array([kind.integrate(kind.neutral(), random.normal(size=kind.nv)) for _ in range(4)]).reshape(
        4, kind.nq
    )
    v = random.normal(size=(4, kind.nv))
    values = kind_values(kind, q, v)
    for k in range(4):
        agree(values.X[k], np.asarray(kind.transform(q[k]).motion_matrix(), dtype=float), 1e-14)
        agree(values.S[k], np.asarray(kind.motion_space(q[k]).array, dtype=float), 1e-14, 1.0)
        agree(values.bias[k], np.asarray(kind.bias(q[k], v[k]).array, dtype=float), 1e-13, 1.0)
        agree(values.Phi[k], np.asarray(kind.constraint_space(q[k]).array, dtype=float), 1e-14, 1.0)


def test_a_kind_for_very_many_states_is_the_kind_for_few():
    """More states than are computed at a time, and no multiple of those."""
    kind, random = ct.Free(), np.random.default_rng(3)
    q = np.array([kind.integrate(kind.neutral(), random.normal(size=6)) for _ in range(7)])
    v, many = random.normal(size=(7, 6)), np.arange(2 * PORTION + 5) % 7
    few, found = kind_values(kind, q, v), kind_values(kind, q[many], v[many])
    for name in ("X", "S", "bias", "Phi"):
        np.testing.assert_array_equal(getattr(found, name), getattr(few, name)[many])
    np.testing.assert_array_equal(nearest_coordinates(kind, found.X), nearest_coordinates(kind, few.X)[many])


@pytest.mark.parametrize("size", [0.0, 1e-13, 1e-8, 1e-5, 1e-3, 1.0, 3.0, 3.14159265])
def test_logarithms_of_stacks_are_those_of_single_transforms(size, agree):
    random = np.random.default_rng(2)
    axes = random.normal(size=(20, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    twists = np.concatenate([size * axes, random.normal(size=(20, 3))], axis=-1)
    X = [exp(Motion(twist)) for twist in twists]
    got = stacks.logarithm(np.array([x.motion_matrix() for x in X]))
    agree(got, np.array([log(x).array for x in X]), 1e-9 if size > 3.1 else 1e-12)
