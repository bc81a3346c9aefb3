"""Independent coordinates as a user says: in dynamics, in equations, and as matrices by name (Nikravesh, Gim, Arabyan
and Rein, eq. 5 to 25; Lampariello, Abiko and Hirzinger, eq. 4 and 5)."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, hslm, stewart


def moving(system, seed=0):
    """A closed state with velocities, and joint forces."""
    random = np.random.default_rng(seed)
    q = system.assemble()
    v = system.project(q, random.normal(size=system.nv))[1]
    return q, v, random.normal(size=system.nv)


@pytest.mark.parametrize("joint", ["A", "B", "D"])
def test_any_joint_of_a_four_bar_may_be_the_independent_one(joint):
    system = four_bar().system(cut=["C"])
    q, v, tau = moving(system)
    expected = system.forward_dynamics(q, v, tau, method="kkt")
    found = system.forward_dynamics(q, v, tau, method="minimal", independent=[joint])
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())
    equations = system.equations("forward_dynamics", method="minimal", at=q, independent=[joint])
    np.testing.assert_allclose(
        equations(q, v, tau), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max()
    )


def test_the_reduced_equation_is_that_of_the_joint_that_was_named():
    """The inertia that the crank feels is the second derivative of the kinetic energy by its own speed."""
    system = four_bar().system(cut=["C"])
    q = system.assemble()
    for joint in ("A", "B", "D"):
        form = system.equations("minimal_coordinates", at=q, independent=joint)
        felt = form(q, np.zeros(3), np.zeros(3))[0]
        energy = system.kinetic_energy(q, system.velocity(q, {joint: 1.0}))
        np.testing.assert_allclose(felt, [[2.0 * energy]], rtol=1e-11)


def components(system):
    """The names of all velocity components of a tree."""
    found = []
    for joint in system.joints:
        own = range(*system.slice_v(joint).indices(system.nv))
        found += [(k, joint if len(own) == 1 else f"{joint}[{i}]") for i, k in enumerate(own)]
    return [name for _, name in sorted(found)]


def assert_every_choice_agrees(system, q, v, tau, seed):
    """Random sets of as many components as there are freedoms, each of which determines the others or is refused."""
    expected = system.forward_dynamics(q, v, tau, method="kkt")
    best = ct.velocity_transformation(system, q[0]).independent
    names, random, refused = components(system), np.random.default_rng(seed), 0
    assert set(best) <= set(names)
    choices = [best, *(random.choice(names, len(best), replace=False).tolist() for _ in range(5))]
    for chosen in choices:
        try:
            E = max(
                np.abs(ct.velocity_transformation(system, x, independent=chosen).E).max(initial=1.0)
                for x in q
            )
            found = system.forward_dynamics(q, v, tau, method="minimal", independent=chosen)
        except ct.LoopError:
            refused += 1
            continue
        # Coordinates that determine others badly lose the digits that they lose in any other way.
        atol = 1e-11 * E**2 * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
    return refused


@pytest.mark.parametrize("seed", [2, 3, 5, 6, 8, 11])
def test_every_choice_that_determines_the_others_gives_the_same_accelerations(random_looped, seed):
    _, system, states = random_looped(seed)
    assert assert_every_choice_agrees(system, *states, seed) < 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 80))
def test_every_choice_of_more_mechanisms(random_looped, seed):
    _, system, states = random_looped(seed)
    assert assert_every_choice_agrees(system, *states, seed) < 6


@pytest.mark.parametrize("make", [stewart, hslm, lambda: four_bar()])
def test_batches_are_computed_together_as_state_by_state(make):
    system = make().system()
    random = np.random.default_rng(3)
    guesses = system.integrate(system.assemble(), 0.02 * random.normal(size=(20, system.nv)))
    q = np.stack([system.assemble(guess=x) for x in guesses])
    v = system.project(q, random.normal(size=(20, system.nv)))[1]
    tau = random.normal(size=(20, system.nv))
    expected = system.forward_dynamics(q, v, tau, method="kkt")
    together = system.forward_dynamics(q, v, tau, method="minimal")
    alone = [system.forward_dynamics(*one, method="minimal") for one in zip(q, v, tau, strict=True)]
    for found in (together, alone):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_batch_whose_states_need_other_coordinates():
    """A crank-rocker all the way round: at its dead points the rocker does not determine the crank."""
    crank, coupler, rocker, ground = 0.4, 1.2, 0.9, 1.0
    system = four_bar(crank, coupler, rocker, ground).system(cut=["C"])
    q = np.stack([system.assemble({"A": a}) for a in np.linspace(0.0, 2.0 * np.pi, 37)])
    v = np.stack([system.velocity(x, {"A": 2.0}) for x in q])
    expected = system.forward_dynamics(q, v, method="kkt")
    found = system.forward_dynamics(q, v, method="minimal")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    by_crank = system.forward_dynamics(q, v, method="minimal", independent=["A"])
    np.testing.assert_allclose(by_crank, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_coordinates_that_do_not_determine_the_others_are_refused_by_name():
    system = four_bar().system(cut=["C"])
    q, v, tau = moving(system)
    with pytest.raises(ct.LoopError, match=r"\['A', 'B'\] are 2 velocity components, but .* 1 degree"):
        system.forward_dynamics(q, v, tau, method="minimal", independent=["A", "B"])
    with pytest.raises(ct.UnknownNameError, match="joint of the tree"):
        system.forward_dynamics(q, v, tau, method="minimal", independent=["C"])
    with pytest.raises(ct.StateError, match="only the method minimal"):
        system.forward_dynamics(q, v, tau, independent=["A"])
    with pytest.raises(ct.EquationsError, match="no independent"):
        system.equations("forward_dynamics", independent=["A"])
    # A parallelogram that lies flat: turning its rods one way or the other is not told by its bar.
    crank, coupler, rocker, ground = 0.4, 1.2, 0.9, 1.0
    angle = np.arccos((ground**2 + (crank + coupler) ** 2 - rocker**2) / (2 * ground * (crank + coupler)))
    dead = four_bar(crank, coupler, rocker, ground, angle=angle).system(cut=["C"])
    with pytest.raises(ct.LoopError, match="do not determine"):
        dead.forward_dynamics(dead.neutral(), np.zeros(3), method="minimal", independent=["D"])


def test_one_component_of_a_joint_may_be_independent():
    system = hslm().system()
    q, v, tau = moving(system)
    wide = next(j for j in system.joints if system.slice_v(j).stop - system.slice_v(j).start > 1)
    chosen = ct.velocity_transformation(system, q, v).independent
    assert all("[" in name or name in system.joints for name in chosen)
    found = system.forward_dynamics(q, v, tau, method="minimal", independent=chosen)
    expected = system.forward_dynamics(q, v, tau, method="kkt")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    with pytest.raises(ct.UnknownNameError):
        system.forward_dynamics(q, v, tau, method="minimal", independent=[f"{wide}[9]"])


# The matrices by name.


def test_the_matrices_of_the_four_bar_on_a_slide_are_those_of_the_paper():
    """Section 3: C is 2 x 4 after redundant rows are left out, E as printed."""
    mechanism = ct.Mechanism("four-bar on a slide")
    axis = (1.0, -1.0, 0.0)
    for k in range(1, 5):
        mechanism.add_body(f"body{k}", 1.0, inertia=0.1)
    mechanism.add_joint("T1", "ground", "body1", ct.Prismatic("x"))
    mechanism.add_joint("R2", "body1", "body2", ct.Revolute(axis))
    mechanism.add_joint("R3", "body2", "body3", ct.Revolute(axis), ct.Pose(p=(0, 0, 2)))
    mechanism.add_joint("R4", "body3", "body4", ct.Revolute(axis), ct.Pose(p=(1, 1, 0)))
    mechanism.add_joint(
        "R5", "body4", "body1", ct.Revolute(axis), ct.Pose(p=(0, 0, -2)), ct.Pose(p=(1, 1, 0))
    )
    system = mechanism.system(cut=["R5"])
    found = ct.velocity_transformation(system, np.zeros(4), independent=["T1", "R2"])
    assert found.B.shape == (24, 4)
    assert found.D.shape == (25, 24)
    assert found.D_star.shape == (5, 24)
    assert found.rows == ("T1",) * 5 + ("R2",) * 5 + ("R3",) * 5 + ("R4",) * 5 + ("R5",) * 5
    assert found.independent == ("T1", "R2")
    np.testing.assert_allclose(found.E, [[1, 0], [0, 1], [0, -1], [0, 1]], atol=1e-14)
    assert found.C.shape == (2, 4)
    # The rows of C are those printed, seen along other axes.
    r = np.sqrt(2.0)
    printed = np.array([[0, 0, -r, -r], [0, -r, -r, 0]])
    turn = printed @ np.linalg.pinv(found.C)
    np.testing.assert_allclose(turn @ found.C, printed, atol=1e-13)
    assert abs(np.linalg.det(turn)) > 0.1


@pytest.mark.parametrize("seed", range(6))
def test_what_the_matrices_promise(random_looped, seed):
    """D B = 0 in the tree, C E = 0, twists of bodies and motions of the mechanism as by other calls, and rates."""
    _, system, (states, velocities, _) = random_looped(seed)
    q, v = states[0], velocities[0]
    found = ct.velocity_transformation(system, q, v)
    of_tree = ~np.isin(found.rows, system.loops)
    np.testing.assert_allclose((found.D @ found.B)[of_tree], 0.0, atol=1e-12)
    kept = found.C_rows[found.C_rows < len(found.D_star)]
    np.testing.assert_allclose(found.C[: len(kept)], (found.D_star @ found.B)[kept], atol=1e-11)
    np.testing.assert_allclose(found.C @ found.E, 0.0, atol=1e-9)
    assert len(found.C) == system.nv - found.E.shape[1] == system.nv - system.diagnose(q).mobility
    own = [components(system).index(name) for name in found.independent]
    np.testing.assert_array_equal(found.E[own], np.eye(len(own)))
    # All accelerations of the closed mechanism are E thetadd_i + E' thetadot_i.
    vdot = system.forward_dynamics(q, v)
    np.testing.assert_allclose(
        found.C @ vdot,
        -found.gamma,
        atol=1e-9 * max(1.0, np.abs(found.C).max(initial=0.0) * np.abs(vdot).max()),
    )
    left = vdot - found.E_rate
    fit = found.E @ np.linalg.lstsq(found.E, left, rcond=None)[0]
    np.testing.assert_allclose(fit, left, atol=1e-8 * max(1.0, np.abs(vdot).max()))
    # Twists through the plan of bodies.
    for k, names in enumerate(found.bodies):
        twist = found.B[6 * k : 6 * k + 6] @ v
        angular = system.twist(q, v, names[0])[:3]
        np.testing.assert_allclose(np.linalg.norm(twist[:3]), np.linalg.norm(angular), atol=1e-11)
    # B' thetadot is the rate of B along the motion.
    h = 1e-6
    ahead, behind = (ct.velocity_transformation(system, system.integrate(q, s * h * v), v).B for s in (1, -1))
    np.testing.assert_allclose(
        (ahead - behind) @ v / (2 * h), found.B_rate, atol=1e-6 * max(1.0, np.abs(v).max() ** 2)
    )


def test_matrices_are_for_one_state_of_rigid_bodies():
    system = four_bar().system()
    with pytest.raises(ct.StateError, match="one state"):
        ct.velocity_transformation(system, np.stack([system.assemble()] * 2))
