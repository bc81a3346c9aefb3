"""What joints pass on, split in what works and what does not (van der Merwe, eq. 2.10 to 2.16), the equation of motion
of a frame, and the parts of that of joints, each against other calls or the numbers of the thesis."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, four_link_chain, hslm, random_mechanism, stewart

KINDS = ("Revolute", "Prismatic", "Universal", "Spherical", "Cylindrical", "Helical", "Planar", "Sdof")


def moving(system, seed):
    random = np.random.default_rng(seed)
    q = system.integrate(system.neutral(), 0.5 * random.normal(size=system.nv))
    return q, random.normal(size=system.nv), random.normal(size=system.nv)


@pytest.mark.parametrize("seed", range(6))
def test_the_split_of_a_wrench_is_the_drive_and_what_is_left(seed):
    """In a tree the part that works is the force of inverse dynamics, whatever the kind and its axes."""
    system = random_mechanism(seed, 5, KINDS).system()
    q, v, vdot = moving(system, seed)
    tau = system.inverse_dynamics(q, v, vdot)
    for joint in system.joints:
        found = ct.joint_wrench(system, q, v, joint, tau)
        bases = found.bases
        n = bases.phi.shape[-1]
        together, dual = np.hstack([bases.phi, bases.phi_c]), np.hstack([bases.psi, bases.psi_c])
        np.testing.assert_allclose(dual.T @ together, np.eye(6), atol=1e-12)  # (2.11)
        np.testing.assert_allclose(
            found.tau, tau[system.slice_v(joint)], atol=1e-9 * max(1.0, np.abs(tau).max())
        )
        np.testing.assert_allclose(
            bases.psi @ found.tau + bases.psi_c @ found.tau_c, found.far, atol=1e-9
        )  # (2.16)
        assert len(found.tau) == n
        assert len(found.tau_c) == 6 - n


def test_the_same_wrench_at_the_near_side_does_the_same_work():
    """Seen from the parent-side frame, which a sliding joint leaves behind: moments of the same force."""
    mechanism = ct.Mechanism("slide")
    mechanism.add_body("block", 2.0, (0.1, 0.2, 0), 0.3)
    mechanism.add_joint("rail", "ground", "block", ct.Cylindrical("x"), ct.Pose(p=(0, 0, 1)))
    system = mechanism.system()
    q, v = np.array([0.3, 0.7]), np.array([1.0, 2.0])
    found = ct.joint_wrench(system, q, v, "rail", system.inverse_dynamics(q, v, [0.4, -0.2]))
    pose = system.pose(q, "block")
    R = pose.R
    force = R @ found.far[3:]
    np.testing.assert_allclose(found.near[3:], force, atol=1e-12)
    # The parent-side frame is 0.7 m or 0.3 m back along x, as the order of the kind has it.
    arm = pose.p - np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(found.near[:3], R @ found.far[:3] + np.cross(arm, force), atol=1e-12)


def test_joints_that_close_loops_have_their_wrenches_split_too():
    system = four_bar().system(cut=["C"])
    q = system.assemble()
    v = system.velocity(q, {"A": 2.0})
    found = ct.joint_wrench(system, q, v, "C", {"A": 3.0})
    np.testing.assert_allclose(found.tau, 0.0, atol=1e-10)
    assert np.linalg.norm(found.tau_c) > 1.0
    np.testing.assert_allclose(found.far, system.reactions(q, v, {"A": 3.0})["C"], atol=1e-12)
    with pytest.raises(ct.UnknownNameError):
        ct.joint_wrench(system, q, v, "Z")


def test_what_a_wrench_accelerates_a_frame_by():
    """Lambda a + mu + p = F, in a tree and with loops: a is what forward dynamics says."""
    for mechanism, frame, closed in ((arm7(), None, False), (stewart(), "platform", True)):
        system = mechanism.system()
        frame = frame or next(reversed(mechanism.bodies))
        bare = mechanism.without_forces().system()
        random = np.random.default_rng(4)
        q = bare.assemble() if closed else bare.integrate(bare.neutral(), 0.4 * random.normal(size=bare.nv))
        v = bare.project(q, random.normal(size=bare.nv))[1] if closed else random.normal(size=bare.nv)
        found = ct.operational_dynamics(system, q, v, frame)
        F = random.normal(size=6)
        vdot = bare.forward_dynamics(q, v, f_ext={frame: F})
        a = bare.jacobian(q, frame) @ vdot + bare.bias_acceleration(q, v, frame)
        left = found.Lambda @ a + found.mu + found.p
        np.testing.assert_allclose(
            left, F, atol=1e-7 * max(1.0, np.abs(found.Lambda).max() * np.abs(a).max())
        )
        # What does not move has no forces of velocities.
        still = ct.operational_dynamics(system, q, 0.0 * v, frame)
        np.testing.assert_allclose(still.mu, 0.0, atol=1e-8 * np.abs(still.p).max())
        np.testing.assert_allclose(still.p, found.p, rtol=1e-9, atol=1e-9 * np.abs(found.p).max())


def test_a_frame_that_cannot_be_moved_in_all_directions_has_no_inertia_there():
    system = four_link_chain().system()
    q = system.neutral()
    with pytest.raises(ct.SingularDynamicsError, match=r"operational_space\(q, "):
        ct.operational_dynamics(system, q, np.zeros(system.nv), next(reversed(system.mechanism.bodies)))


def test_velocities_and_gravity_apart():
    """C is quadratic in the velocity and G is the slope of the potential energy."""
    system = random_mechanism(11, 5, ("Revolute", "Prismatic")).system()
    q, v, _ = moving(system, 11)
    found = ct.bias_parts(system, q, v)
    np.testing.assert_allclose(found.C + found.G, system.bias_force(q, v, elements=False), atol=1e-12)
    np.testing.assert_allclose(
        ct.bias_parts(system, q, 3.0 * v).C, 9.0 * found.C, atol=1e-9 * np.abs(found.C).max()
    )
    h = 1e-6
    rows = h * np.eye(system.nv)
    slope = (system.potential_energy(q + rows) - system.potential_energy(q - rows)) / (2 * h)
    np.testing.assert_allclose(found.G, slope, atol=1e-6 * max(1.0, np.abs(slope).max()))


def test_the_high_stiffness_mechanism_pushes_its_member_as_printed():
    """Chapter 8: each chain pushes the member down with 0.0477382 N; welds resist everything."""
    system = hslm().system()
    q = system.assemble()
    for k in (1, 2, 3):
        found = ct.joint_wrench(system, q, np.zeros(system.nv), f"hold{k}")
        assert found.tau.shape == (0,)
        np.testing.assert_allclose(found.far[4], -0.0477382, atol=2e-5)
        np.testing.assert_allclose(found.bases.psi_c @ found.tau_c, found.far, atol=1e-12)
