"""All formulations of closed-chain dynamics give the same accelerations, and these satisfy the equations of motion and
the constraints: on the gallery, on random mechanisms over all joint kinds, and at and beside singular configurations.
"""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.closed_chains import FORMULATIONS
from catena.dynamics.loops.formulations import LoopProblem
from catena.mechanism.generators import four_bar, n_four_bars
from catena.mechanism.generators.shapes import cylinder

METHODS = ("auto", *(name for name in FORMULATIONS if name != "kkt"))
RANDOM = 40
BESIDE = (1e-3, 1e-6, 1e-9)


def scales(system, q, v, tau, vdot):
    """For each state the size of the accelerations: that of vdot, or a tenth of what the bodies would do without
    loops, which is the measure of a mechanism that can hardly move."""
    problem = LoopProblem(system.mechanics.evaluator, q, v, tau)
    free = np.linalg.solve(problem.H, problem.force[..., None])[..., 0]
    return np.maximum(np.abs(vdot).max(axis=-1), 0.1 * np.abs(free).max(axis=-1))


def allowed(system, q):
    """How far the results of two formulations may be apart, for each state (states,): 1e-9, but where the constraints
    have a singular value sigma below 1e-4 rounding of the dimensions alone moves them by some 1e-16 / sigma."""
    problem = LoopProblem(system.mechanics.evaluator, q, np.zeros((len(q), system.nv)))
    values = np.linalg.svd(problem.scaled, compute_uv=False)
    least = np.min(np.where(values > problem.tolerance[:, None], values, 1.0), axis=-1, initial=1.0)
    return np.maximum(1e-9, 1e-13 / least)


def assert_same(system, q, v, tau):
    """Every method gives the accelerations of the rank-revealing solve, state by state."""
    expected = system.forward_dynamics(q, v, tau, method="kkt")
    scale = scales(system, q, v, tau, expected) * allowed(system, q)
    for method in METHODS:
        vdot = system.forward_dynamics(q, v, tau, method=method)
        error = np.max(np.abs(vdot - expected).max(axis=-1) / scale)
        assert error < 1.0, f"{method} differs by {error:.2g} times what is allowed"
    return expected


def residuals(system, q, v, tau, vdot, multipliers=None):
    """What is left of the equations of motion and of the constraints, each of its scale: (states,), (states,).

    Without multipliers they are taken as those that fit best.
    """
    problem = LoopProblem(system.mechanics.evaluator, q, v, tau)
    J, gamma, H, force = problem.J, problem.gamma, problem.H, problem.force
    missing = np.einsum("sij,sj->si", H, vdot) - force
    if multipliers is None:
        # Beside a singular configuration multipliers are huge; fitting what is left once more gives them all digits.
        inverse = np.linalg.pinv(np.swapaxes(J / problem.scale[..., None], -1, -2), rcond=1e-13)
        multipliers = np.zeros_like(problem.gamma)
        for _ in range(4):
            left = missing - np.einsum("smi,sm->si", J, multipliers)
            multipliers += np.einsum("smi,si->sm", inverse, left) / problem.scale
    held = np.einsum("smi,sm->si", J, multipliers)
    # Scales are those of the terms that have to cancel, and of what the bodies would do without loops.
    motion = np.einsum("sij,sj->si", np.abs(H), np.abs(vdot)) + np.abs(problem.bias)
    motion += np.einsum("smi,sm->si", np.abs(J), np.abs(multipliers))
    free = np.linalg.solve(H, force[..., None])[..., 0]
    closing = np.einsum("smi,si->sm", np.abs(J), np.abs(vdot) + np.abs(free)) + np.abs(gamma)
    left = np.abs(np.einsum("smi,si->sm", J, vdot) + gamma)
    return (
        np.abs(missing - held).max(axis=-1) / motion.max(axis=-1),
        left.max(axis=-1, initial=0.0) / np.maximum(closing.max(axis=-1, initial=0.0), 1e-30),
    )


def test_formulations_on_the_gallery(gallery, looped):
    _, system, (q, v, tau) = looped
    vdot = assert_same(system, q, v, tau)
    motion, closing = residuals(system, q, v, tau, vdot)
    assert motion.max() < 1e-9
    assert closing.max() < 1e-9


def test_formulations_of_the_gallery_at_rest(gallery, looped):
    """At the neutral configuration, where symmetry makes constraints redundant that are not elsewhere."""
    _, system, (_, v, tau) = looped
    assert_same(system, system.neutral()[None], np.zeros_like(v[:1]), tau[:1])


@pytest.mark.parametrize("seed", range(RANDOM))
def test_formulations_on_random_mechanisms(random_looped, seed):
    _, system, (q, v, tau) = random_looped(seed)
    vdot = assert_same(system, q, v, tau)
    motion, closing = residuals(system, q, v, tau, vdot)
    assert motion.max() < 1e-9
    assert closing.max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RANDOM, 200))
def test_formulations_on_more_random_mechanisms(random_looped, seed):
    _, system, (q, v, tau) = random_looped(seed)
    assert_same(system, q, v, tau)


@pytest.mark.parametrize("method", FORMULATIONS)
def test_multipliers_belong_to_accelerations(random_looped, method):
    # Even seeds have no friction, which a joint that the loops block may share with its constraints.
    for seed in range(0, 12, 2):
        _, system, (q, v, tau) = random_looped(seed)
        solution = FORMULATIONS[method](LoopProblem(system.mechanics.evaluator, q, v, tau))
        motion, _ = residuals(system, q, v, tau, solution.vdot, solution.multipliers)
        assert motion.max() < 1e-9


# Singular configurations.


def flat_four_bars(n, beside):
    """n parallelograms laid down, or `beside` rad from that: q and v with the rods turning at 2 rad/s."""
    system = n_four_bars(n).system()
    angle = np.pi / 2 - beside
    turns = {"pin": 1.0, "left": -1.0, "right": -1.0}
    q, v = np.zeros(system.nq), np.zeros(system.nv)
    for joint in system.joints:
        sign = turns[joint.rstrip("0123456789")]
        q[system.slice_q(joint)], v[system.slice_v(joint)] = sign * angle, 2.0 * sign
    return system, q, v


def stretched_pair(beside):
    """Two legs of fixed length that pull an object from both sides, in line or bent by `beside` rad.

    Each leg is a universal joint on ground, a rod of 1 m and a spherical joint on the object between them, which is
    0.4 m long; the loop is closed at the neutral configuration.
    """
    mechanism = ct.Mechanism("stretched pair")
    mechanism.add_body("object", mass=3.0, inertia=(0.02, 0.05, 0.05))
    for side, sign in (("left", -1.0), ("right", 1.0)):
        # The rods rise to the object, which stays level.
        end = np.array([0.2 * sign, 0.0, 0.0])
        foot = end + np.array([sign * np.cos(beside), 0.0, -np.sin(beside)])
        along = end - foot
        mechanism.add_body(side, **cylinder(1.0, 0.02, along))
        kind = ct.Universal("y", "z")
        mechanism.add_joint(f"{side} foot", "ground", side, kind, in_parent=ct.Pose(p=foot))
        at = {"in_parent": ct.Pose(p=along), "in_child": ct.Pose(p=end)}
        mechanism.add_joint(f"{side} end", side, "object", ct.Spherical(), **at)
    return mechanism.system()


def assert_sound(system, q, v, tau):
    """Every method: finite, and the equations of motion and constraints hold to 1e-9 of their scale."""
    # Minimal coordinates divide by a pivot of 1e-9 there, which costs their eighth digit.
    tolerances = {"minimal": 1e-8}
    for method in ("kkt", *METHODS):
        tolerance = tolerances.get(method, 1e-9)
        vdot = system.forward_dynamics(q, v, tau, method=method)
        assert np.isfinite(vdot).all(), method
        motion, closing = residuals(system, q[None], v[None], tau[None], vdot[None])
        assert motion.max() < tolerance, f"{method}: equations of motion off by {motion.max():.2g}"
        assert closing.max() < 1e-9, f"{method}: constraints off by {closing.max():.2g}"


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("beside", [0.0, *BESIDE, *(-b for b in BESIDE)])
def test_flat_four_bars(n, beside):
    system, q, v = flat_four_bars(n, beside)
    np.testing.assert_allclose(system.closure(q, v), 0.0, atol=1e-14)
    tau = np.linspace(-3.0, 5.0, system.nv)
    assert_sound(system, q, v, tau)
    assert_sound(system, q, 0.0 * v, tau)


FALLS = [
    (method, n, beside)
    for method in ("auto", "kkt", "joint_multipliers", "minimal")
    for n in (1, 3, 5)
    for beside in (0.3, 1e-3, 1e-5, 1e-6, 1e-9)
]


@pytest.mark.parametrize(
    ("method", "n", "beside"),
    FALLS,
)
def test_four_bars_fall_as_a_pendulum_beside_the_flat_configuration(method, n, beside):
    """On its branch the parallelogram has one freedom, and one line gives the answer at every angle but the singular
    one, where it may also leave the branch."""
    system, q, v = flat_four_bars(n, beside)
    vdot = system.forward_dynamics(q, v, np.zeros(system.nv), method=method)
    # Rods: moment of inertia 1/3 each; bars move without turning: mass 1 at distance 1.
    inertia, moment = (n + 1) / 3.0 + n, ((n + 1) / 2.0 + n) * 9.81 * np.cos(beside)
    np.testing.assert_allclose(vdot[system.slice_v("pin0")], moment / inertia, rtol=1e-9)


@pytest.mark.parametrize("beside", [0.0, *BESIDE])
def test_stretched_pair(beside):
    system = stretched_pair(beside)
    q = system.neutral()
    tau = np.linspace(-3.0, 5.0, system.nv)
    assert_sound(system, q, np.zeros(system.nv), tau)
    # A spin of the object about the line of the legs is a motion of the closed mechanism everywhere.
    spun = "left end" if "left end" in system.joints else "right end"
    assert_sound(system, q, system.velocity(q, {spun: (1.0, 0.0, 0.0)}), tau)


@pytest.mark.parametrize("beside", BESIDE)
def test_dead_point_of_a_crank(beside):
    """Crank and coupler in line: the rocker's end of its swing, where the rocker cannot drive the crank."""
    crank, coupler, rocker, ground = 0.4, 1.2, 0.9, 1.0
    # The angle of the crank at which it is in line with the coupler, by the law of cosines.
    angle = np.arccos((ground**2 + (crank + coupler) ** 2 - rocker**2) / (2 * ground * (crank + coupler)))
    system = four_bar(crank, coupler, rocker, ground, angle=angle + beside).system()
    q = system.neutral()
    v = system.velocity(q, {"A": 3.0})
    assert_sound(system, q, v, np.zeros(system.nv))
